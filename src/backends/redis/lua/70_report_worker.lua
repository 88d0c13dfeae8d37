-- needs: 00_core
-- Workers:
--   workers        hash owner -> be8(started at) and what it said of itself, as the client packed it
--   workers_seen   zset seen at -> owner
--   orders         hash owner -> quiet or stop; none: work. A claim looks here
-- ARGV: owner, what it says of itself.
local FORGOTTEN_AFTER = 86400000000
local owner = ARGV[4]
-- Not the one that reports: it is here, whatever the clock says, and keeps its order.
for _, other in ipairs(call('ZRANGEBYSCORE', P .. 'workers_seen', '-inf', num(wall_now - FORGOTTEN_AFTER))) do
  if other ~= owner then
    call('HDEL', P .. 'workers', other)
    call('HDEL', P .. 'orders', other)
    call('ZREM', P .. 'workers_seen', other)
  end
end
local there = call('HGET', P .. 'workers', owner)
call('HSET', P .. 'workers', owner, (there and there:sub(1, 8) or be8(wall_now)) .. ARGV[5])
call('ZADD', P .. 'workers_seen', num(wall_now), owner)
return {}

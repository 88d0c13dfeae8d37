-- needs: 00_core 10_jobs
-- ARGV: owner. Answers its order, then id, fence and whether its job has no other fence for each delivery to it that was ended and keeps its slot.
local owner = ARGV[4]
local reply = {call('HGET', P .. 'orders', owner) or 'work'}
local queues = {}
for _, lane in ipairs(call('SMEMBERS', P .. 'lanes')) do
  local queue = lane:match('^[^/]*')
  if not queues[queue] then
    queues[queue] = true
    for _, member in ipairs(call('ZRANGEBYSCORE', P .. 'kept:' .. queue, '(' .. num(lease_now), '+inf')) do
      if member:sub(17) == owner then
        local r = load(member:sub(1, 16))
        reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = r.id, r.revoked_fence, r.fence == r.revoked_fence and 1 or 0
      end
    end
  end
end
return reply

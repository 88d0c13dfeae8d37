-- needs: 00_core
-- ARGV: owner, order (work, quiet, stop), actor, reason.
local owner, order = ARGV[4], ARGV[5]
if call('HEXISTS', P .. 'workers', owner) == 0 then
  return refuse('not_found', 'no worker ' .. owner .. ' is registered; `fenceline workers list` shows them')
end
local before = call('HGET', P .. 'orders', owner) or 'work'
if before == order then return {} end
if before == 'stop' then return refuse('refused', 'worker ' .. owner .. ' was told to stop; start another one') end
if order == 'work' then call('HDEL', P .. 'orders', owner) else call('HSET', P .. 'orders', owner, order) end
note_act(ARGV[6], 'worker_' .. order, owner, ARGV[7])
tell('o')
return {}

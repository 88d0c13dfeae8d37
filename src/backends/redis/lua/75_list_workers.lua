-- needs: 00_core
-- Answers now, then owner, what is kept of it, seen at and order for each.
local reply = {wall_now}
local all = call('HGETALL', P .. 'workers')
for i = 1, #all, 2 do
  local owner = all[i]
  local seen_at, order = call('ZSCORE', P .. 'workers_seen', owner), call('HGET', P .. 'orders', owner)
  for _, value in ipairs({owner, all[i + 1], tonumber(seen_at), order or 'work'}) do reply[#reply + 1] = value end
end
return reply

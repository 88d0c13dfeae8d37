-- needs: 00_core
-- Of all namespaces: answers how many schedules there are, of how many no tick fires before a moment that lies ahead of the clock, and the last such moment of all of them.
goes_on_when_full()
local all, ahead, last = 0, 0, 0
for _, space in ipairs(call('SMEMBERS', STORE .. 'spaces')) do
  local key = space .. 'schedules_at'
  all, ahead = all + call('ZCARD', key), ahead + call('ZCOUNT', key, '(' .. num(wall_now), '+inf')
  last = math.max(last, tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] or 0))
end
return {all, ahead, num(last)}

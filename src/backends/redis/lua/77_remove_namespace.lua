-- needs: 00_core 14_lock_fences 14_locks
-- ARGV: actor, reason. Removes every key of the namespace but its trail.
goes_on_when_full()
local largest = largest_fence_in(P)
if largest > 0 then raise_floor_to(largest) end
call('SREM', STORE .. 'spaces', P)
-- Who has a lock, or waits for one, is told that there is none any more; who follows schedules, too.
local names = {}
for _, member in ipairs(call('HVALS', P .. 'waiter')) do
  for _, name in ipairs(unpack_one(member)[1]) do names[name] = true end
end
for _, resource in ipairs(call('ZRANGE', P .. 'locks', 0, -1)) do
  if free_from(load_lock(resource)) > lease_now then names[name_of(resource)] = true end
end
if call('EXISTS', P .. 'schedule', P .. 'pipelines', P .. 'pipelines_gone') > 0 then tell('o') end
-- What stands in a pattern for itself: a prefix or a name may hold what a pattern knows.
local pattern = P:gsub('[%*%?%[%]\\^]', '\\%0') .. '*'
local cursor = '0'
repeat
  local found = call('SCAN', cursor, 'MATCH', pattern, 'COUNT', 1000)
  cursor = found[1]
  for _, key in ipairs(found[2]) do
    if key ~= P .. 'trail' then call('UNLINK', key) end
  end
until cursor == '0'
for name in pairs(names) do tell('l ' .. name) end
note_act(ARGV[4], 'namespace_removed', P:match('{(.*)}:$'), ARGV[5])
set_to_expire(P .. 'trail', 30 * 24 * 3600 * 1000000)
return {}

-- A lock as people see it: resource, fence, mode, pattern, how many hold it, free_in or '', how many wait, {owner, place, granted_at, left for each holder shown},
-- {owner, place, since, mode for each waiter shown}.
local PEOPLE_SHOWN = 10
local function shown_lock(lock)
  local row = lock.row
  local holders = {}
  for _, holder in ipairs(lock.holders) do
    if not holder.released then holders[#holders + 1] = holder end
  end
  table.sort(holders, function(a, b) return a.granted_at < b.granted_at or (a.granted_at == b.granted_at and a.owner < b.owner) end)
  local people, waiters, waiting = {}, {}, 0
  for i = 1, math.min(#holders, PEOPLE_SHOWN) do
    local holder = holders[i]
    for _, value in ipairs({holder.owner, holder.place, holder.granted_at, holder.lease_end - lease_now}) do people[#people + 1] = value end
  end
  if lock.waited then
    local key = P .. 'waiters:' .. lock.resource
    waiting = call('ZCARD', key)
    for _, member in ipairs(call('ZRANGE', key, 0, PEOPLE_SHOWN - 1)) do
      local waiter = unpack_one(call('HGET', P .. 'waiter', member))
      for _, value in ipairs({waiter[2], waiter[3], waiter[4], member:byte() == 120 and EXCLUSIVE or SHARED}) do waiters[#waiters + 1] = value end
    end
  end
  local from = free_from(lock)
  return {lock.resource, row[FENCE], row[MODE], row[PATTERN], #holders, from > lease_now and num(from - lease_now) or '', waiting, people, waiters}
end

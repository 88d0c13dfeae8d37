-- needs: 00_core 14_lock_fences 14_locks
-- ARGV: the lock behind which to go on, or empty: from the start, how many locks and waiters at most. Whoever has one of them, or waits for it, is told. Answers the last that was removed, or nothing if there are no more.
goes_on_when_full()
local last, most = ARGV[4], tonumber(ARGV[5])
local left, largest, more = most, 0, false
local some = call('ZRANGEBYLEX', P .. 'locks', last == '' and '-' or '(' .. last, '+', 'LIMIT', 0, most)
for _, resource in ipairs(some) do
  -- Who came since remove_waiters.
  local waiters = call('ZRANGE', P .. 'waiters:' .. resource, 0, left - 1)
  for _, member in ipairs(waiters) do dismiss(member) end
  left = left - #waiters
  if left <= 0 then
    more = true
    break
  end
  local key = lock_key(resource)
  local m, fields = call('HGET', key, 'm'), call('HLEN', key)
  if m then largest = math.max(largest, fence_of_row(m)) end
  call('UNLINK', key)
  call('ZREM', P .. 'locks', resource)
  call('ZREM', P .. 'locks_by_age', resource)
  if fields > 1 then tell_lock(resource) end
  last, left = resource, left - 1
end
if largest > 0 then raise_floor_to(largest) end
return {(more or #some == most) and 1 or 0, last}

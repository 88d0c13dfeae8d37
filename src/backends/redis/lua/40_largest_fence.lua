-- needs: 00_core 14_lock_fences
-- ARGV[4] the lock behind which to look, or empty: from the start, [5] how many to look at. Answers the largest fence of the jobs of the namespace and of these locks, and the last of them, or nothing if there are no more.
local some = call('ZRANGEBYLEX', P .. 'locks', ARGV[4] == '' and '-' or '(' .. ARGV[4], '+', 'LIMIT', 0, tonumber(ARGV[5]))
local largest = tonumber(call('GET', P .. 'fence') or 0)
for _, resource in ipairs(some) do
  local m = call('HGET', P .. 'lock:' .. resource, 'm')
  if m then largest = math.max(largest, fence_of_row(m)) end
end
return {num(largest), #some == tonumber(ARGV[5]) and some[#some] or ''}

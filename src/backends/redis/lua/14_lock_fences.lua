-- The largest fence of a namespace is that of its jobs, which is kept, or of its locks, which is looked for here: a grant of a lock has no time to write it down.
local function fence_of_row(m)
  if m:byte() == 112 then return tonumber(m:sub(2, 17)) end  -- 'p', see 14_locks.lua
  return unpack_one(m)[1]
end
-- `space` is where the namespace's keys begin.
local function largest_fence_in(space)
  local largest = tonumber(call('GET', space .. 'fence') or 0)
  for _, resource in ipairs(call('ZRANGE', space .. 'locks', 0, -1)) do
    local m = call('HGET', space .. 'lock:' .. resource, 'm')
    if m then largest = math.max(largest, fence_of_row(m)) end
  end
  return largest
end

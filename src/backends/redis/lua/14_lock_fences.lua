-- The largest fence of a namespace is that of its jobs, which is kept, or of its locks, which is looked for in their rows: a grant of a lock has no time to write it down.
local function fence_of_row(m)
  if m:byte() == 112 then return tonumber(m:sub(2, 17)) end  -- 'p', see 14_locks.lua
  return unpack_one(m)[1]
end

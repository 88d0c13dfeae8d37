-- part after: 09_batches
-- The first part of extend: batches of which all jobs that still run are named. What is left is renewed one by one, if anything is. ARGV: see 24_extend.lua.
goes_on_when_full()
local owner, ttl = ARGV[4], tonumber(ARGV[5])

-- Those of a batch are renewed by one word if all that still run are named, under its own fence.
local named = {}  -- by their common state: how many
local states = {}
for from = 6, #ARGV, 2000 do
  local ids = {}
  for at = from, math.min(from + 1998, #ARGV), 2 do ids[#ids + 1] = ARGV[at] end
  for i, state in ipairs(call('HMGET', P .. 'state', unpack(ids))) do
    local at = from + (i - 1) * 2
    states[at] = state
    if state and is_common(state) and state:byte(4) == RUNNING then
      local c = common_in(state)
      if c[1] == tonumber(ARGV[at + 1]) and c[2] == owner then named[state] = (named[state] or 0) + 1 end
    end
  end
end
local renewed = {}
for state, many in pairs(named) do
  local c = common_in(state)
  local leases, member = P .. 'leases:' .. c[6] .. '/' .. c[7], batch_member(c[5], owner)
  if tonumber(call('HGET', P .. 'batch_runs', num(c[5]))) == many and tonumber(call('ZSCORE', leases, member)) > lease_now then
    call('ZADD', leases, num(lease_now + ttl), member)
    note_reading(c[6])
    if c[8] ~= ttl then
      c[8] = ttl
      call('HSET', P .. 'batches', num(c[5]), pack(c))
    end
    renewed[state] = c[1]
  end
end

local left = {}
for at = 6, #ARGV, 2 do
  local fence = renewed[states[at]]
  if not fence or fence ~= tonumber(ARGV[at + 1]) then left[#left + 1] = at end
end
if #left == 0 then return {} end


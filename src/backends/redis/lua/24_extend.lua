-- needs: 00_core 10_jobs
-- ARGV: owner, ttl, then id and fence of each. Answers {id, its fence, reason} of each that was refused.
goes_on_when_full()
local owner, ttl = ARGV[4], tonumber(ARGV[5])
local refused = {}

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
    renewed[state] = c[1]
  end
end

for at = 6, #ARGV, 2 do
  if not renewed[states[at]] or renewed[states[at]] ~= tonumber(ARGV[at + 1]) then
    local r = load(ARGV[at])
    local reason
    if not r then reason = 'not_found'
    elseif r.fence ~= tonumber(ARGV[at + 1]) then reason = 'superseded'
    elseif r.owner ~= owner then reason = 'other_owner'
    elseif is_finished(r) then reason = 'finished'
    elseif r.state ~= RUNNING then reason = 'settled'
    elseif is_expired(r) then reason = 'expired' end
    if reason then
      refused[#refused + 1] = {ARGV[at], r and num(r.fence) or '0', reason}
    else
      r.lease_end = lease_now + ttl
      save(r)  -- out of its batch, if it is in one
      stand_by_lease(r)
    end
  end
end
return refused

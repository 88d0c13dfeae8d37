-- needs: 00_core 10_jobs
-- ARGV: owner, then id, fence, kind of outcome, result, error, retry_in and exit status (-1: none) of each. Answers {id, its fence, reason} of each that was refused.
local owner = ARGV[4]
local refused = {}
for at = 5, #ARGV, 7 do
  local r = load(ARGV[at])
  local kind = tonumber(ARGV[at + 2])
  local reason
  if not r then reason = 'not_found'
  elseif r.fence ~= tonumber(ARGV[at + 1]) then reason = 'superseded'
  elseif r.owner ~= owner then reason = 'other_owner'
  elseif r.state == RUNNING then settle_delivery(r, kind, ARGV[at + 3], ARGV[at + 4], tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6]))
  elseif r.last_outcome ~= kind then reason = is_finished(r) and 'finished' or 'settled' end
  if reason then refused[#refused + 1] = {ARGV[at], r and num(r.fence) or '0', reason} end
end
return refused

-- needs: 00_core 18_extend_batches 10_jobs
-- ARGV: owner, ttl, then id and fence of each. Answers {id, its fence, reason} of each that was refused.
local refused = {}
for _, at in ipairs(left) do
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
    r.lease_end, r.ttl = lease_now + ttl, ttl
    save(r)  -- out of its batch, if it is in one
    stand_by_lease(r)
  end
end
return refused

-- needs: 00_core 14_locks 14_lock_holder
-- ARGV: ttl, then resource, owner and fence of each. Answers number (from 1), newest fence and reason of each that was refused.
goes_on_when_full()
local ttl = tonumber(ARGV[4])
local refused = {}
for i = 5, #ARGV, 3 do
  local lock, holder, reason = meant(ARGV[i], ARGV[i + 1], ARGV[i + 2])
  if not reason then
    if is_alive(holder) then
      holder.lease_end, holder.known_until, holder.ttl = lease_now + ttl, lease_now + 2 * ttl, ttl
      save_lease_end(lock, holder)
    else
      reason = holder.released and 'released' or 'expired'
    end
  end
  if reason then add_refusal(refused, (i - 2) / 3, lock, reason) end
end
return refused

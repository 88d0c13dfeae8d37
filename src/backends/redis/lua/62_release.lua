-- needs: 14_release_fast 00_core 14_locks 14_lock_holder
-- ARGV: resource, owner and fence of each. Answers as renew does.
goes_on_when_full()
local refused = {}
for i = 4, #ARGV, 3 do
  local lock, holder, reason = meant(ARGV[i], ARGV[i + 1], ARGV[i + 2])
  if reason then
    add_refusal(refused, (i - 1) / 3, lock, reason)
  elseif not holder.released then
    free(lock, holder)
    save_row(lock)
    if is_waited_for(lock.resource) then tell_lock(lock.resource) end
  end
end
return refused

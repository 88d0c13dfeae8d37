-- needs: 00_core 14_locks
-- ARGV: how many names, the names, slots, owner, request, ttl.
goes_on_when_full()
local count = tonumber(ARGV[4])
local at = 4 + count
local slots, owner, request, ttl = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
local key = withdrawn_key(owner, request)
call('SET', key, num(lease_now + ttl))
set_to_expire(key, ttl)
local had_a_place = leave_queue(member_of(EXCLUSIVE, owner, request))
had_a_place = leave_queue(member_of(SHARED, owner, request)) or had_a_place
for i = 5, at do
  local freed = had_a_place
  for slot = 1, slots do
    local lock = load_lock(slot == 1 and ARGV[i] or ARGV[i] .. '#' .. slot)
    for _, holder in ipairs(lock.holders) do
      if holder.owner == owner and holder.request == request and not holder.released and lock.row[TO_ITS_END] == 0 then
        free(lock, holder)
        save_row(lock)
        freed = true
      end
    end
  end
  if freed and is_waited_for(ARGV[i]) then tell_lock(ARGV[i]) end
end
return {}

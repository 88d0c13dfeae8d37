-- needs: 00_core 14_lock_fences 14_locks
-- ARGV: the moment up to which those who asked are removed, or empty: now, how many waiters at most. Who waits is told by every name that it waits for, also where no lock is yet. Who asks again has come
-- later, and gets a place anew. Answers whether there are more, and the moment.
goes_on_when_full()
local up_to, most = ARGV[4], tonumber(ARGV[5])
if up_to == '' then up_to = num(lease_now + WAITER_KEPT_FOR) end
local some = call('ZRANGEBYSCORE', P .. 'waiters_seen', '-inf', up_to, 'LIMIT', 0, most)
for _, member in ipairs(some) do dismiss(member) end
return {#some == most and 1 or 0, up_to}

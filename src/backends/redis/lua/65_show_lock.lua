-- needs: 00_core 14_locks 14_lock_queries
-- ARGV: resource. Answers the lock as 14_lock_queries.lua has it, or nothing.
forget_the_silent()
local lock = load_lock(ARGV[4])
return lock.row and shown_lock(lock) or false

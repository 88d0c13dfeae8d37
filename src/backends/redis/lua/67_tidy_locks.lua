-- needs: 00_core 14_locks 14_lock_tidy
-- ARGV: limit. Answers how many locks were forgotten, and whether there are more.
goes_on_when_full()
local removed, more = tidy_locks(tonumber(ARGV[4]))
return {removed, more and 1 or 0}

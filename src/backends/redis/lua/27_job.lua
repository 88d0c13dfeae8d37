-- needs: 00_core 10_jobs
-- ARGV: the id. Answers shown(), or nothing.
local r = load(ARGV[4])
return r and shown(r, true) or false

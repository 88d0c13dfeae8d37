-- needs: 00_core 10_jobs
-- ARGV[4] id, [5] after, [6] how many at most. Answers nothing if there is no such job; else the bytes that had to go, the number of the last chunk that is
-- shown, or of `after`, and the chunks: see record.
local r = load(ARGV[4])
if not r then return false end
local after, most = tonumber(ARGV[5]), tonumber(ARGV[6])
local key = P .. 'log:' .. r.id
local gone = r.log_chunks - call('LLEN', key)
local from = math.max(0, after - gone)
local chunks = call('LRANGE', key, num(from), num(from + most - 1))
return {num(r.log_dropped), #chunks > 0 and num(gone + from + #chunks) or ARGV[5], chunks}

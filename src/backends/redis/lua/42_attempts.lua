-- needs: 00_core 10_jobs
-- ARGV[4] id. Answers two texts of msgpack: the list of the attempts before the last one, and the last one; each may be empty.
local r = load(ARGV[4])
if not r then return {'', ''} end
return {call('HGET', P .. 'attempts', r.id) or '', r.began_at >= 0 and pack(attempt_of(r)) or ''}

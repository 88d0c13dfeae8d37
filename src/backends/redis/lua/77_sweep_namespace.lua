-- needs: 00_core
-- ARGV: where to go on, '0' at first, how many keys of the server to look at. Removes what is left of a namespace in which nothing is: answers to requests, which would expire. As soon as somebody
-- uses it again nothing more is removed. Answers where to go on, '0' if this is the end.
goes_on_when_full()
local alive = {}
for i, key in ipairs({'body', 'locks', 'waiter', 'schedule', 'pipelines', 'pipelines_gone', 'queues', 'workers'}) do alive[i] = P .. key end
if call('EXISTS', unpack(alive)) > 0 then return '0' end
-- What stands in a pattern for itself: a prefix or a name may hold what a pattern knows.
local found = call('SCAN', ARGV[4], 'MATCH', P:gsub('[%*%?%[%]\\^]', '\\%0') .. '*', 'COUNT', ARGV[5])
for _, key in ipairs(found[2]) do
  if key ~= P .. 'trail' then call('UNLINK', key) end
end
set_to_expire(P .. 'trail', 30 * 24 * 3600 * 1000000)
return found[1]

-- needs: 00_core
-- ARGV: the name, how long it can be repeated, how long it is remembered. Answers when it was first seen; or {'old', how long ago}.
local first = tonumber(call('ZSCORE', P .. 'batch_names', ARGV[4]) or 'x')
local age = first and wall_now - first
if not first or age >= tonumber(ARGV[6]) then
  call('ZADD', P .. 'batch_names', num(wall_now), ARGV[4])
  return num(wall_now)
end
if age > tonumber(ARGV[5]) then return {'old', num(age)} end
return num(first)

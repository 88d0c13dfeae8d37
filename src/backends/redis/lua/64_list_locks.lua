-- needs: 00_core 14_locks 14_lock_queries
-- ARGV: prefix, held, after, limit. Answers the locks as 14_lock_queries.lua has them, one more than the limit if there are more.
local prefix, only_held, after, limit = ARGV[4], ARGV[5] == '1', ARGV[6], tonumber(ARGV[7])
forget_the_silent()
local from = prefix > after and '[' .. prefix or after == '' and '-' or '(' .. after
local to = prefix == '' and '+' or '(' .. prefix .. '\255'
local page = {}
while #page <= limit do
  local some = call('ZRANGEBYLEX', P .. 'locks', from, to, 'LIMIT', 0, 1000)
  for _, resource in ipairs(some) do
    local lock = load_lock(resource)
    if lock.row and (not only_held or free_from(lock) > lease_now) and #page <= limit then page[#page + 1] = shown_lock(lock) end
  end
  if #some < 1000 then break end
  from = '(' .. some[#some]
end
return page

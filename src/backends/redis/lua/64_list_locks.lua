-- needs: 00_core 14_locks 14_lock_queries
-- ARGV: prefix, held, after, limit, how many to look at. Answers the last one that it looked at, or nothing if there are no more behind it, then locks as 14_lock_queries.lua has them, at most as many as the limit.
local prefix, only_held, after, limit, looks = ARGV[4], ARGV[5] == '1', ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
forget_the_silent()
local from = prefix > after and '[' .. prefix or after == '' and '-' or '(' .. after
local to = prefix == '' and '+' or '(' .. prefix .. '\255'
if not only_held then looks = math.min(looks, limit) end
local some = call('ZRANGEBYLEX', P .. 'locks', from, to, 'LIMIT', 0, looks)
local page = {#some == looks and some[#some] or ''}
for _, resource in ipairs(some) do
  local lock = load_lock(resource)
  if lock.row and (not only_held or free_from(lock) > lease_now) then
    page[#page + 1] = shown_lock(lock)
    if #page > limit then
      page[1] = resource
      break
    end
  end
end
return page

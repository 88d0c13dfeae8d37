-- needs: 00_core 16_schedule_rows
-- ARGV: schedule, fired_only (0 or 1), after and before (or empty), limit. Answers rows as they are kept, the largest first, and one more than the limit if there are more.
local key, only_fired, limit = ticks_key(ARGV[4]), ARGV[5] == '1', tonumber(ARGV[8])
local from, to = ARGV[6] == '' and '-inf' or '(' .. ARGV[6], ARGV[7] == '' and '+inf' or '(' .. ARGV[7]
local page, skipped, some = {}, 0, nil
repeat
  some = call('ZREVRANGEBYSCORE', key, to, from, 'LIMIT', skipped, limit + 1)
  for _, row in ipairs(some) do
    if #page <= limit and (not only_fired or is_fired_row(row)) then page[#page + 1] = row end
  end
  skipped = skipped + #some
until #page > limit or #some <= limit
return page

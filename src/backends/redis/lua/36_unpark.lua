-- needs: 00_core 10_jobs
-- Parked jobs for which there is room after a setting changed, a bounded number. ARGV[4] queue, [5] where to go on in its limit keys (0: from the start),
-- [6] jobs at most. Answers where to go on, and 1 if that is to be done.
local queue, cursor, left = ARGV[4], ARGV[5], tonumber(ARGV[6])
local most = settings_of(queue)[2]
local page = call('SSCAN', P .. 'parked_keys:' .. queue, cursor, 'COUNT', 100)
for _, limit_key in ipairs(page[2]) do
  local free = most > 0 and most - key_slots_taken(queue, limit_key) or math.huge
  for _, stage in ipairs(stages_of(queue)) do
    local opened = 0
    while opened < free and left > 0 do
      local best = call('ZRANGEBYLEX', P .. 'parked:' .. queue .. ' ' .. limit_key, '[' .. stage .. '\0', '(' .. stage .. '\1', 'LIMIT', 0, math.min(free - opened, left))
      if #best == 0 then break end
      for _, member in ipairs(best) do
        -- One that must run alone leaves room for the next: nobody may come for it.
        if place_anew(member:sub(-16)).place == 'o' then opened = opened + 1 end
      end
      left = left - #best
    end
  end
end
tell('Q ' .. queue)
if left <= 0 then return {cursor, 1} end  -- these keys again: those that have no parked job any more are gone
return {page[1], page[1] == '0' and 0 or 1}

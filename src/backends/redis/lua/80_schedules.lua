-- needs: 00_core 09_batches 16_schedule_rows
-- ARGV: unfinished (0 or 1), after how many bytes of specs to stop, and one of: 'names', the names; 'changed', after which version, limit; 'all', after which name, limit.
-- Answers the clock, the namespace's version, 1 if there are more, and of each its name, row, spec and its unfinished runs, each tick, job and state. By name those too that are removed: their
-- rows say so.
local OVERLAP_LOOKED = 10
local with_unfinished, bytes_most, way = ARGV[4] == '1', tonumber(ARGV[5]), ARGV[6]

local names, more = {}, 0
if way == 'names' then
  for i = 7, #ARGV do names[#names + 1] = ARGV[i] end
else
  local limit = tonumber(ARGV[8])
  if way == 'all' then names = call('ZRANGEBYLEX', P .. 'schedules', ARGV[7] == '' and '-' or '(' .. ARGV[7], '+', 'LIMIT', 0, limit + 1)
  else names = call('ZRANGEBYSCORE', P .. 'schedule_versions', '(' .. ARGV[7], '+inf', 'LIMIT', 0, limit + 1) end
  if #names > limit then names[limit + 1], more = nil, 1 end
end

-- Of the largest ticks that fired, and that the clock has reached, those whose job is there and unfinished.
local function unfinished(name)
  local runs, looked, from, at_once = {}, 0, 0, OVERLAP_LOOKED
  while looked < OVERLAP_LOOKED do
    local rows = call('ZREVRANGEBYSCORE', ticks_key(name), num(wall_now), '-inf', 'LIMIT', from, at_once)
    for _, row in ipairs(rows) do
      if looked < OVERLAP_LOOKED and is_fired_row(row) then
        looked = looked + 1
        local tick = unpack_one(row)
        local state = call('HGET', P .. 'state', tick[2])
        local is = state and state:byte(4) or READY
        if is < DONE and (state or call('HEXISTS', P .. 'body', tick[2]) == 1) then table.insert(runs, 1, {tick[1], tick[2], is}) end
      end
    end
    if #rows < at_once then break end
    from, at_once = from + at_once, 500
  end
  return runs
end

local reply, bytes = {num(wall_now), call('HGET', P .. 'schedules_last', 'version') or '0', more, {}}, 0
for from = 1, #names, 100 do
  local some = {unpack(names, from, math.min(from + 99, #names))}
  local rows, specs = call('HMGET', P .. 'schedule', unpack(some)), call('HMGET', P .. 'schedule_specs', unpack(some))
  for i, name in ipairs(some) do
    if rows[i] then
      bytes = bytes + #specs[i]
      table.insert(reply[4], {name, rows[i], specs[i], with_unfinished and unfinished(name) or {}})
    end
  end
  if bytes > bytes_most and from + 100 <= #names then
    reply[3] = 1
    break
  end
end
return reply

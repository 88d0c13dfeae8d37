-- needs: 00_core 16_schedule_rows
-- ARGV: how many rows of ticks may go, how many removed schedules. Forgets what is older than is kept, the smallest first, and rows of schedules that have too many; the largest fired
-- one that went is the schedule's bar, so that those after the account of one that is not removed stay: ticks before them may be open. Then schedules that were removed long ago and have nothing left but a bar. Answers how many rows and how many schedules went, and 1 if there may
-- be more.
goes_on_when_full()
local rows_most, schedules_most = tonumber(ARGV[4]), tonumber(ARGV[5])
local NAMES_MOST, ROWS_AT_ONCE = 2000, 100
local over_up_to, more = wall_now - TICKS_KEPT_FOR, false

-- Lua compares texts as the server's language has it.
local function is_before(a, b)
  for i = 1, math.min(#a, #b) do
    if a:byte(i) ~= b:byte(i) then return a:byte(i) < b:byte(i) end
  end
  return #a < #b
end

-- The next row of a schedule that is over, in `one.row`; false if there is none.
local function goes_on(one)
  if one.gone == one.read then
    one.rows = call('ZRANGE', ticks_key(one.name), one.read, one.read + ROWS_AT_ONCE - 1)
    one.first, one.read = one.read, one.read + #one.rows
    if one.gone == one.read then return false end
  end
  one.row = unpack_one(one.rows[one.gone - one.first + 1])
  one.tick, one.last = one.row[1], one.row[6] or one.row[1]
  if one.tick > one.schedule.resolved_to and one.schedule.removed == 0 then return false end
  return one.gone < one.too_many or one.last <= over_up_to
end

local names, seen, waiting, touched = call('ZRANGEBYSCORE', P .. 'tick_ages', '-inf', num(over_up_to), 'LIMIT', 0, NAMES_MOST), {}, {}, {}
more = #names == NAMES_MOST
for _, name in ipairs(call('SMEMBERS', P .. 'ticks_many')) do names[#names + 1] = name end
for _, name in ipairs(names) do
  if not seen[name] then
    seen[name] = true
    local one = {name = name, schedule = load_schedule(name), gone = 0, read = 0, too_many = call('ZCARD', ticks_key(name)) - TICKS_KEPT_MOST, bar = 0}
    touched[#touched + 1] = one
    if goes_on(one) then waiting[#waiting + 1] = one end
  end
end
-- The smallest stands last.
local function is_after(a, b)
  if a.tick ~= b.tick then return a.tick > b.tick end
  return is_before(b.name, a.name)
end
table.sort(waiting, is_after)
local removed = 0
while #waiting > 0 do
  if removed == rows_most then
    more = true
    break
  end
  local one = table.remove(waiting)
  removed, one.gone = removed + 1, one.gone + 1
  if not one.row[6] then one.bar = one.tick end
  if goes_on(one) then
    local low, high = 1, #waiting + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if is_after(waiting[middle], one) then low = middle + 1 else high = middle end
    end
    table.insert(waiting, low, one)
  end
end

for _, one in ipairs(touched) do
  local key = ticks_key(one.name)
  if one.gone > 0 then
    call('ZREMRANGEBYRANK', key, 0, one.gone - 1)
    local s = one.schedule
    s.bar = math.max(s.bar, one.bar)
    s.fired_to = math.max(s.fired_to, s.bar)
    call('HSET', P .. 'schedule', one.name, packed_schedule(s))
  end
  local first = call('ZRANGE', key, 0, 0)[1]
  if first then
    local row = unpack_one(first)
    call('ZADD', P .. 'tick_ages', num(row[6] or row[1]), one.name)
  else
    call('ZREM', P .. 'tick_ages', one.name)
  end
  if one.too_many <= one.gone then call('SREM', P .. 'ticks_many', one.name) end
end

local old, over = wall_now - REMOVED_SCHEDULE_KEPT_FOR, {}
for _, name in ipairs(call('ZRANGEBYSCORE', P .. 'schedules_removed', '-inf', num(old))) do
  local s = load_schedule(name)
  if s.bar <= old and call('EXISTS', ticks_key(name)) == 0 then over[#over + 1] = s end
end
table.sort(over, function(a, b) return is_before(a.name, b.name) end)
if #over > schedules_most then more = true end
local bar, forgotten = tonumber(call('HGET', P .. 'schedules_last', 'bar') or 0), math.min(#over, schedules_most)
for i = 1, forgotten do
  local s = over[i]
  if s.bar > bar then
    bar = s.bar
    call('HSET', P .. 'schedules_last', 'bar', num(bar))
  end
  call('HDEL', P .. 'schedule', s.name)
  call('HDEL', P .. 'schedule_specs', s.name)
  call('ZREM', P .. 'schedule_versions', s.name)
  call('ZREM', P .. 'schedules_removed', s.name)
end
return {removed, forgotten, more and 1 or 0}

-- How an account is moved on. A step is [name, revision, from, to, {tick, job, head payload, when, ...}, {first, last, count, reason, ...}]. First all steps of a call are looked at,
-- then all that stood are taken.

local function has_fired(s, tick)
  if tick > s.fired_to then return false end
  local row = call('ZRANGEBYSCORE', ticks_key(s.name), num(tick), num(tick))[1]
  return row and is_fired_row(row)
end

-- Why the step of a schedule (or of none) is not taken; '' if it is.
local function refusal_of(s, step)
  if not s or s.removed == 1 then return 'not_found' end
  if s.revision ~= step[2] then return 'changed' end
  if s.resolved_to ~= step[3] then return 'moved' end
  if step[4] > wall_now then return 'early' end
  local ranges = step[6]
  for i = 1, #ranges, 4 do
    if ranges[i] <= s.fired_to and call('ZCOUNT', ticks_key(s.name), num(ranges[i]), num(ranges[i + 1])) > 0 then return 'covers' end
  end
  return ''
end

-- Moves the account in `s`, and answers what is to be written of its ticks. The jobs of those that have not fired before are added to `jobs`.
local function stepped(s, step, request, owner, place, jobs)
  local fired, duplicates, rows = step[5], {}, {}
  for i = 1, #fired, 4 do
    local tick = fired[i]
    if tick <= s.bar or has_fired(s, tick) then
      duplicates[#duplicates + 1] = tick
    else
      jobs[#jobs + 1] = new_job(fired[i + 1], fired[i + 2], fired[i + 3])
      rows[#rows + 1] = num(tick)
      rows[#rows + 1] = pack({tick, fired[i + 1], wall_now, owner, place})
    end
  end
  local last = #rows > 0 and tonumber(rows[#rows - 1]) or 0
  s.resolved_to, s.fired_to = step[4], math.max(s.fired_to, last)
  s.step_request, s.step_duplicates = request, duplicates
  return {schedule = s, fired = rows, ranges = step[6], owner = owner, place = place, counts_from = s.counts_from}  -- a change may set it anew
end

-- The id of a job that is there already, or stands for one that is; nil if there is none.
local function first_known(jobs)
  local _, _, has_aliases = read_last()
  for from = 1, #jobs, 1000 do
    local ids = {}
    for i = from, math.min(from + 999, #jobs) do ids[#ids + 1] = jobs[i].id end
    for _, key in ipairs(has_aliases and {'body', 'aliases'} or {'body'}) do
      for i, there in ipairs(call('HMGET', P .. key, unpack(ids))) do
        if there then return ids[i] end
      end
    end
  end
end

-- One that follows upon a range of the same reason and spec, with no row between, is joined to it.
local function write_range(moved, first, last, count, reason)
  local key = ticks_key(moved.schedule.name)
  local before = call('ZREVRANGEBYSCORE', key, '(' .. num(first), '-inf', 'LIMIT', 0, 1)[1]
  local row = before and unpack_one(before)
  if row and row[8] == reason and row[6] > moved.counts_from then
    first, count = row[1], row[7] + count
    call('ZREM', key, before)
  end
  call('ZADD', key, num(first), pack({first, '', wall_now, moved.owner, moved.place, last, count, reason}))
end

-- What became of their ticks, after the schedules themselves were written.
local function write_ticks(all_moved)
  local at, ages = {}, {}
  for _, moved in ipairs(all_moved) do
    local s, fired, ranges = moved.schedule, moved.fired, moved.ranges
    local key = ticks_key(s.name)
    in_parts(fired, function(...) call('ZADD', key, ...) end)
    for i = 1, #ranges, 4 do write_range(moved, ranges[i], ranges[i + 1], ranges[i + 2], ranges[i + 3]) end
    at[#at + 1], at[#at + 2] = num(ended_to(s)), s.name
    local smallest = math.min(tonumber(fired[1] or math.huge), ranges[2] or math.huge)
    if smallest < math.huge then
      ages[#ages + 1], ages[#ages + 2] = num(smallest), s.name
      if call('ZCARD', key) > TICKS_KEPT_MOST then call('SADD', P .. 'ticks_many', s.name) end
    end
  end
  in_parts(at, function(...) call('ZADD', P .. 'schedules_at', ...) end)
  in_parts(ages, function(...) call('ZADD', P .. 'tick_ages', 'LT', ...) end)
end

-- What people do to a schedule: the verbs change_schedule and stop_schedule.
--
-- ARGV: name, change, revision, request, owner, place, actor, reason; then, empty where it is not meant: the step, the spec, from and to of a rewind, what is kept (msgpack [first, last,
-- count, reason]), the job of a run (id, head and payload, when), and what the trail says behind the name. Answers the clock, the row, the spec and the duplicates of the step; or, with
-- nothing changed, {'known', the id of a job that is there already}.
local function change_asked_for()
  local function packed_in(text) return text ~= '' and unpack_one(text) or nil end
  return {name = ARGV[4], change = ARGV[5], revision = tonumber(ARGV[6]), request = ARGV[7], owner = ARGV[8], place = ARGV[9], actor = ARGV[10], reason = ARGV[11],
    step = packed_in(ARGV[12]), spec = ARGV[13], from = tonumber(ARGV[14]), to = tonumber(ARGV[15]), kept = packed_in(ARGV[16]),
    job = ARGV[17] ~= '' and new_job(ARGV[17], ARGV[18], ARGV[19]) or nil, words = ARGV[20]}
end

-- The range that begins at or before a moment and goes on behind it: its row as it is kept, and what it says; or nothing.
local function range_over(s, moment)
  local row = call('ZREVRANGEBYSCORE', ticks_key(s.name), num(moment), '-inf', 'LIMIT', 0, 1)[1]
  local range = row and not is_fired_row(row) and unpack_one(row)
  if range and range[6] > moment then return row, range end
end

local function rewind_refusal(s, asked)
  if s.resolved_to ~= asked.from then return refuse('conflict', 'schedule ' .. s.name .. ' has moved on since') end
  if asked.to < s.bar or asked.to < s.counts_from then
    return refuse('refused', 'schedule ' .. s.name .. ' can be moved back only to its last change and to where its history begins')
  end
  local _, range = range_over(s, asked.to)
  local kept = asked.kept
  local fits = range and kept and kept[1] == range[1] and kept[4] == range[8] and kept[3] < range[7]
  if (range or kept) and not fits then return refuse('conflict', 'what is kept of a skipped range of schedule ' .. s.name .. ' does not fit') end
end

-- Whether it is so already.
local function is_as_asked(s, asked) return asked.change == 'pause' and s.paused_at >= 0 or asked.change == 'resume' and s.paused_at < 0 end

local function change_refusal(s, asked)
  local name, is_there = asked.name, s and s.removed == 0
  if asked.revision == 0 then return is_there and refuse('conflict', 'schedule ' .. name .. ' is there already') or nil end
  if not is_there then return refuse('not_found', 'there is no schedule ' .. name) end
  if asked.revision ~= s.revision then
    return refuse('conflict', 'schedule ' .. name .. ' was changed: its revision is ' .. num(s.revision) .. ', not ' .. num(asked.revision))
  end
  if is_as_asked(s, asked) then return nil end
  local refused = asked.step and refusal_of(s, asked.step) or ''
  if refused == 'early' then return refuse('refused', 'a tick of schedule ' .. name .. " lies ahead of the store's clock") end
  if refused ~= '' then return refuse('conflict', 'schedule ' .. name .. ' has moved on since (' .. refused .. ')') end
  return asked.change == 'rewind' and rewind_refusal(s, asked) or nil
end

-- Ranges that end behind `to` are gone, but for what is kept of one.
local function move_back(s, to, asked)
  local key = ticks_key(s.name)
  local over, range = range_over(s, to)
  if over then call('ZREM', key, over) end
  if asked.kept then
    range[6], range[7] = asked.kept[2], asked.kept[3]
    call('ZADD', key, num(range[1]), pack(range))
    call('ZADD', P .. 'tick_ages', 'LT', num(range[6]), s.name)
  end
  for _, row in ipairs(call('ZRANGEBYSCORE', key, '(' .. num(to), '+inf')) do
    if not is_fired_row(row) then call('ZREM', key, row) end
  end
  s.resolved_to, s.step_request, s.step_duplicates = to, asked.request, {}
end

-- Changes `s`, and answers what the trail calls that.
local function apply_change(s, asked)
  local change = asked.change
  if change == 'put' then
    local is_new = asked.revision == 0
    -- What a new rule counts from is never ahead of the clock.
    if is_new or s.resolved_to > wall_now then move_back(s, wall_now, asked) end
    if is_new then
      s.paused_at, s.paused_by, s.paused_why, s.removed, s.created_at = -1, '', '', 0, wall_now
      call('ZADD', P .. 'schedules', 0, s.name)
      call('ZREM', P .. 'schedules_removed', s.name)
      call('SADD', STORE .. 'spaces', P)
    end
    s.counts_from = s.resolved_to
    call('HSET', P .. 'schedule_specs', s.name, asked.spec)
    return is_new and 'schedule_added' or 'schedule_changed'
  elseif change == 'pause' then
    s.paused_at, s.paused_by, s.paused_why = wall_now, asked.actor, asked.reason
    return 'schedule_paused'
  elseif change == 'resume' then
    s.paused_at, s.paused_by, s.paused_why = -1, '', ''
    return 'schedule_resumed'
  elseif change == 'rewind' then
    move_back(s, asked.to, asked)
    return 'schedule_rewound'
  end
  s.removed = 1
  call('ZREM', P .. 'schedules', s.name)
  call('ZADD', P .. 'schedules_removed', num(wall_now), s.name)
  return 'schedule_removed'
end

local function change_schedule()
  local asked = change_asked_for()
  local s = load_schedule(asked.name)
  local function answer(duplicates) return {num(wall_now), packed_schedule(s), call('HGET', P .. 'schedule_specs', s.name), duplicates} end
  if s and s.change_request == asked.request then return answer(s.change_duplicates) end
  if s and s.step_request == asked.request then return answer(s.step_duplicates) end
  local refused = change_refusal(s, asked)
  if refused then return refused end
  if asked.revision ~= 0 and is_as_asked(s, asked) then return answer({}) end

  local jobs, all_moved = {asked.job}, {}
  if asked.step then all_moved[1] = stepped(s, asked.step, asked.request, asked.owner, asked.place, jobs) end
  local known = first_known(jobs)
  if known then return {'known', known} end

  local last = call('HMGET', P .. 'schedules_last', 'version', 'bar')
  local version, bar = tonumber(last[1] or 0), tonumber(last[2] or 0)
  -- A name that is not remembered begins above all revisions that it may have had.
  s = s or {name = asked.name, revision = version, bar = bar, fired_to = bar}
  s.change_request, s.change_duplicates = asked.request, asked.step and s.step_duplicates or {}
  local act = 'schedule_run'
  if asked.change ~= 'run' then
    version = version + 1
    call('HSET', P .. 'schedules_last', 'version', num(version))  -- the first: a full server refuses it, and all the rest with it
    call('ZADD', P .. 'schedule_versions', num(version), s.name)
    s.version, s.revision, s.changed_at = version, s.revision + 1, wall_now
    act = apply_change(s, asked)
    tell('o')
  end
  call('HSET', P .. 'schedule', s.name, packed_schedule(s))
  if #jobs > 0 then add_jobs(jobs, false) end
  write_ticks(all_moved)
  if s.removed == 1 then call('ZREM', P .. 'schedules_at', s.name) else call('ZADD', P .. 'schedules_at', num(ended_to(s)), s.name) end
  note_act(asked.actor, act, s.name .. asked.words, asked.reason)
  return answer(s.change_duplicates)
end

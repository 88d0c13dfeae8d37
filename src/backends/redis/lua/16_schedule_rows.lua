-- Schedules, and what became of their ticks. Moments are microseconds since 1970; those of ticks end with the year 2200, below 2^53.
--
--   schedule            hash NAME -> msgpack of the fields below; removed ones too, as long as they are remembered
--   schedule_specs      hash NAME -> what it is; nobody reads it here
--   schedules           zset 0 -> NAME: those that are not removed; schedules_at: the same by resolved_to, or by the bar where that is later
--   schedules_removed   zset changed_at -> NAME: the others
--   schedule_versions   zset version -> NAME: all
--   schedules_last      hash: version, how many changes the namespace has seen; bar, that of names without a row
--   ticks:NAME          zset tick -> msgpack [tick, job, at, owner, place]; of a range, by its first one, [first, '', at, owner, place, last, count, reason].
--                       Rows never lie inside each other; behind resolved_to there are none but fired ones
--   tick_ages           zset -> NAME of all that have rows: no later than the (last) tick of its smallest one; ticks_many: set, those that have more than are kept
local SCHEDULE_FIELDS = {'revision', 'version', 'resolved_to', 'counts_from', 'fired_to', 'bar', 'paused_at', 'paused_by', 'paused_why', 'removed', 'created_at', 'changed_at',
  'change_request', 'change_duplicates', 'step_request', 'step_duplicates'}  -- paused_at -1: it is not; requests: the last that changed it, and that moved its account
local TICKS_KEPT_FOR, TICKS_KEPT_MOST, REMOVED_SCHEDULE_KEPT_FOR = 604800000000, 10000, 2592000000000

local function schedule_in(name, packed)
  local values, s = unpack_one(packed), {name = name}
  for i = 1, #SCHEDULE_FIELDS do s[SCHEDULE_FIELDS[i]] = values[i] end
  return s
end
local function packed_schedule(s)
  local values = {}
  for i = 1, #SCHEDULE_FIELDS do values[i] = s[SCHEDULE_FIELDS[i]] end
  return pack(values)
end
local function load_schedule(name)
  local packed = call('HGET', P .. 'schedule', name)
  return packed and schedule_in(name, packed)
end

local function ended_to(s) return math.max(s.resolved_to, s.bar) end  -- no tick up to there fires any more

local function ticks_key(name) return P .. 'ticks:' .. name end
local function is_fired_row(row) return row:byte(1) == 0x95 end  -- a list of five

-- Does `what` with some of a long list at a time: a call takes some thousand values.
local function in_parts(values, what)
  for from = 1, #values, 2000 do what(unpack(values, from, math.min(from + 1999, #values))) end
end

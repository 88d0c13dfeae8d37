-- What every script begins with: the clock, the keys, fences, the trail and wake-ups.
--
-- ARGV[1] is where the namespace's keys begin ("fl:{default}:"), ARGV[2] where those of the whole store do ("fl:"),
-- ARGV[3] the clock of a test ("LEASE WALL", both in microseconds) or empty: then the server's TIME is both of them. A
-- verb's own arguments follow. Numbers stay below 2^53, which Lua keeps exact; they are written with %.0f.
local P, STORE, call, pack, unpack_one
local FENCE_MAX = 9007199254740991
local tested  -- a test's clock: then nothing may expire by the server's own
local lease_now, wall_now  -- microseconds
-- What this call has read and told so far.
local floor_read, largest_read, settings_read, common_read, rows_read, told

-- Called before anything else of this file and those that build on it. A function of the server is defined once and called often, so what belongs to one call is set here.
local function begin()
  P, STORE, tested = ARGV[1], ARGV[2], ARGV[3] ~= ''
  call, pack, unpack_one = redis.call, cmsgpack.pack, cmsgpack.unpack
  floor_read, largest_read, settings_read, common_read, rows_read, told = nil, nil, {}, {}, {}, {}
  if tested then
    local l, w = ARGV[3]:match('^(%S+) (%S+)$')
    lease_now, wall_now = tonumber(l), tonumber(w)
  else
    local t = call('TIME')
    wall_now = t[1] * 1000000 + t[2]
    lease_now = wall_now
  end
end

local function num(n) return string.format('%.0f', n) end
local function be8(n) return struct.pack('>I8', n) end
local function of_be8(s, at) return (struct.unpack('>I8', s, at or 1)) end

-- `last`: be8(the last order given) be8(the last run time of a plain job), and '1' if there may be aliases.
local function read_last()
  local text = call('GET', P .. 'last')
  if not text then return 0, 0, false end
  return of_be8(text), of_be8(text, 9), #text > 16
end
local function write_last(order, run_at, has_aliases) call('SET', P .. 'last', be8(order) .. be8(run_at) .. (has_aliases and '1' or '')) end
local function last_order() return (read_last()) end
local function next_order()
  local order, run_at, has_aliases = read_last()
  write_last(order + 1, run_at, has_aliases)
  return order + 1
end

-- An answer that is no success: C++ makes an Error of it. Nothing may have been written before.
local function refuse(code, message) return {'!', code, message} end

local function set_to_expire(key, microseconds)
  if not tested then call('PEXPIRE', key, math.ceil(microseconds / 1000)) end
end

-- A server whose memory is full refuses a script at its first write, if that may add something. What keeps or ends work, or makes room, begins with this
-- one, which removes nothing, and goes on.
local function goes_on_when_full() call('DEL', P .. 'nothing') end

-- The floor: every fence is above it. One for the whole store.
local function floor_of_store() return tonumber(call('GET', STORE .. 'floor') or 0) end
local function raise_floor_to(fence)
  if fence > floor_of_store() then call('SET', STORE .. 'floor', num(fence)) end
end

-- The next fence of a job after `last`, or nil when they are used up. The largest one of the namespace is kept, for its removal; `spaces` are those that ever had one.
local FENCES_USED_UP = 'no fences are left: the next one would pass 2^53 - 1'
local function has_fence_after(last)
  floor_read = floor_read or floor_of_store()
  return math.max(last + 1, floor_read + 1, wall_now) <= FENCE_MAX
end
local function fence_after(last)
  floor_read = floor_read or floor_of_store()
  largest_read = largest_read or tonumber(call('GET', P .. 'fence') or 0)
  local fence = math.max(last + 1, floor_read + 1, wall_now)
  if fence > FENCE_MAX then return nil end
  if fence > largest_read then
    if largest_read == 0 then call('SADD', STORE .. 'spaces', P) end
    largest_read = fence
    call('SET', P .. 'fence', num(fence))
  end
  return fence
end

-- The newest hundred thousand acts are kept.
local function note_act(actor, verb, subject, reason)
  call('RPUSH', P .. 'trail', pack({wall_now, actor, verb, subject, reason}))
  call('LTRIM', P .. 'trail', -100000, -1)
  call('PERSIST', P .. 'trail')  -- of a namespace that was removed it would go
end

-- Who listens hears: "q QUEUE STAGE" (an empty stage is the only one), "Q QUEUE" for all its stages, "o" for orders, "l NAME".
local function tell(what)
  if not told[what] then
    told[what] = true
    call('PUBLISH', P .. 'wake', what)
  end
end

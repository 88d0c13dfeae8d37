-- What the short ways of verbs need, which are taken before all of 10_jobs.lua is defined anew: that alone takes as long as a claim of some jobs.
local READY, RUNNING, WAITING, DONE, DEAD, CANCELLED = 0, 1, 2, 3, 4, 5

local function queue_settings(queue)
  local there = call('HGET', P .. 'queues', queue)
  -- limit, limit_per_key, keep_done, keep_dead, paused at (-1: not), by, why
  return there and unpack_one(there) or {0, 0, 604800000000, 2592000000000, -1, '', ''}
end
local function settings_of(queue)
  settings_read[queue] = settings_read[queue] or queue_settings(queue)
  return settings_read[queue]
end
local function is_paused(queue) return settings_of(queue)[5] >= 0 end

-- What jobs of a batch have in common; read once, as the text is the same for all that run.
local function is_common(state) return state:byte(1) == 99 end
local function common_in(state)
  local there = common_read[state]
  if there then return there end
  if state:byte(4) == RUNNING then
    there = unpack_one(call('HGET', P .. 'batches', num(of_be8(state, 5))))
  else
    local after
    after, there = cmsgpack.unpack_one(state, 4)
    if after > 0 then there.result = state:sub(after + 1) end
  end
  common_read[state] = there
  return there
end

local NO_ORDER = '\0\0\0\0\0\0\0\0'  -- before all that a job has: of leases that end at once a batch comes first, so that its jobs get their places before one is chosen
local function batch_member(number, owner) return NO_ORDER .. be8(number) .. owner end
local function is_batch(member) return member:sub(1, 8) == NO_ORDER end
local function owner_in(member) return member:sub(is_batch(member) and 17 or 25) end
local function end_in_batch(number, owner, lane, many)
  if call('HINCRBY', P .. 'batch_runs', num(number), -many) > 0 then return end
  call('HDEL', P .. 'batch_runs', num(number))
  call('HDEL', P .. 'batches', num(number))
  call('DEL', P .. 'batch:' .. num(number))
  call('ZREM', P .. 'leases:' .. lane, batch_member(number, owner))
end

-- A lease of the queue is granted or renewed now. `read_at` has the largest reading of the clock at such a moment; one that lies ahead was taken while the server's clock was
-- ahead, and stays until the leases of that time have been brought back (bring_leases_back in 10_jobs.lua).
local function read_at(queue) return tonumber(call('HGET', P .. 'read_at', queue) or 0) end
local function note_reading(queue)
  if read_at(queue) < lease_now then call('HSET', P .. 'read_at', queue, num(lease_now)) end
end

-- Queues as people set and see them.
--   queues     hash QUEUE -> msgpack [limit, limit_per_key, keep_done, keep_dead, paused at (-1: not), by, why]; none: all as by default, not paused

local function save_settings(queue, s)
  local default = {0, 0, 604800000000, 2592000000000, -1}
  local same = true
  for i = 1, #default do same = same and s[i] == default[i] end
  if same then call('HDEL', P .. 'queues', queue) else call('HSET', P .. 'queues', queue, pack(s)) end
  settings_read[queue] = s
end

-- QUEUE -> its depths by state, of all that have, or had, a job.
local function depths()
  local all, there = {}, call('HGETALL', P .. 'depth')
  for i = 1, #there, 2 do
    local queue, state = there[i]:match('^(%S+) (%d)$')
    all[queue] = all[queue] or {[0] = 0, 0, 0, 0, 0, 0}
    all[queue][tonumber(state)] = tonumber(there[i + 1])
  end
  for _, lane in ipairs(call('SMEMBERS', P .. 'lanes')) do
    local queue = lane:match('^[^/]+')
    all[queue] = all[queue] or {[0] = 0, 0, 0, 0, 0, 0}
    all[queue][READY] = all[queue][READY] + plain_in(lane)
  end
  return all
end

-- after: 09_batches
-- The first part of settle: jobs of batches that are done. What is left of the request is settled one by one, if anything is. ARGV: see 25_settle.lua.
goes_on_when_full()
local owner = ARGV[4]

local words_read = {}
local function words_in(text)
  local words = words_read[text]
  if not words then
    local fence, kind, retry_in, exit_status = text:match('^(%S+) (%S+) (%S+) (%S+)$')
    words = {fence = tonumber(fence), kind = tonumber(kind), retry_in = tonumber(retry_in), exit_status = tonumber(exit_status)}
    words_read[text] = words
  end
  return words
end

-- Jobs of one batch that are done with the same words, in one go.
local RESULT_SHORT, MANY = 200, 8
local function settle_common(state, words, ids, results)
  local c = common_in(state)
  local queue, lane = c[6], c[6] .. '/' .. c[7]
  local done = 'cD\0' .. string.char(DONE) .. pack({c[1], c[2], c[4], wall_now, words.exit_status})
  for from = 1, #ids, 1000 do
    local states, n = {}, 0
    for i = from, math.min(from + 999, #ids) do
      local result = results[i]
      if #result > RESULT_SHORT then
        call('HSET', P .. 'result', ids[i], result)
        result = ''
      end
      states[n + 1], states[n + 2] = ids[i], result == '' and done or done .. result
      n = n + 2
    end
    call('HSET', P .. 'state', unpack(states))
  end
  if #ids >= MANY then
    local number = call('INCR', P .. 'batch_number')
    call('SET', P .. 'finished:' .. num(number), table.concat(ids))
    call('ZADD', P .. 'done:' .. queue, num(wall_now), 'f' .. be8(number))
  else
    for _, id in ipairs(ids) do call('ZADD', P .. 'done:' .. queue, num(wall_now), id) end
  end
  end_in_batch(c[5], owner, lane, #ids)
  call('HINCRBY', P .. 'depth', queue .. ' ' .. RUNNING, -#ids)
  call('HINCRBY', P .. 'depth', queue .. ' ' .. DONE, #ids)
  local settings = settings_of(queue)
  if settings[1] > 0 or settings[2] > 0 then tell('Q ' .. queue) end
end

local together, left = {}, {}  -- by common state and words; where in ARGV
local last_state, last_words, some, results  -- most are alike
for from = 5, #ARGV, 3000 do
  local ids = {}
  for at = from, math.min(from + 2997, #ARGV), 3 do ids[#ids + 1] = ARGV[at] end
  for i, state in ipairs(call('HMGET', P .. 'state', unpack(ids))) do
    local at = from + (i - 1) * 3
    if state == last_state and ARGV[at + 1] == last_words then
      some[#some + 1], results[#results + 1] = ids[i], ARGV[at + 2]
    else
      local words = words_in(ARGV[at + 1])
      local c = state and is_common(state) and state:byte(4) == RUNNING and words.kind == 0 and common_in(state)
      if c and c[1] == words.fence and c[2] == owner then
        local of_state = together[state] or {}
        together[state] = of_state
        local group = of_state[words] or {{}, {}}
        of_state[words] = group
        last_state, last_words, some, results = state, ARGV[at + 1], group[1], group[2]
        some[#some + 1], results[#results + 1] = ids[i], ARGV[at + 2]
      else
        left[#left + 1] = at
      end
    end
  end
end
for state, of_state in pairs(together) do
  for words, group in pairs(of_state) do settle_common(state, words, group[1], group[2]) end
end
if #left == 0 then return {} end


-- needs: 00_core 10_jobs
-- ARGV: owner, then of each its id, "FENCE KIND RETRY_IN EXIT_STATUS" (-1: none), and its result if it is done, else its error. Answers {id, its fence, reason} of each
-- that was refused.
goes_on_when_full()
local owner = ARGV[4]
local refused = {}

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

local together = {}  -- by common state and words
for from = 5, #ARGV, 3000 do
  local ids = {}
  for at = from, math.min(from + 2997, #ARGV), 3 do ids[#ids + 1] = ARGV[at] end
  for i, state in ipairs(call('HMGET', P .. 'state', unpack(ids))) do
    local id, at = ids[i], from + (i - 1) * 3
    local words, text = words_in(ARGV[at + 1]), ARGV[at + 2]
    local c = state and is_common(state) and state:byte(4) == RUNNING and words.kind == 0 and common_in(state)
    if c and c[1] == words.fence and c[2] == owner then
      local of_state = together[state] or {}
      together[state] = of_state
      local group = of_state[words] or {{}, {}}
      of_state[words] = group
      local some, results = group[1], group[2]
      some[#some + 1], results[#results + 1] = id, text
    else
      local r = load(id)
      local reason
      if not r then reason = 'not_found'
      elseif r.fence ~= words.fence then reason = 'superseded'
      elseif r.owner ~= owner then reason = 'other_owner'
      elseif r.state == RUNNING then
        settle_delivery(r, words.kind, words.kind == 0 and text or '', words.kind ~= 0 and text or '', words.retry_in, words.exit_status)
      elseif r.last_outcome ~= words.kind then reason = is_finished(r) and 'finished' or 'settled' end
      if reason then refused[#refused + 1] = {id, r and num(r.fence) or '0', reason} end
    end
  end
end
for state, of_state in pairs(together) do
  for words, group in pairs(of_state) do settle_common(state, words, group[1], group[2]) end
end
return refused

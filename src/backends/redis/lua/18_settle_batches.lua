-- part after: 09_batches
-- The first part of settle: jobs of batches that are done. What is left of the request is settled one by one, if anything is. ARGV: see 25_settle.lua.
goes_on_when_full()
local owner = ARGV[4]

-- Jobs of one batch that are done with the same words, in one go.
local RESULT_SHORT, MANY = 200, 8
local function settle_common(state, words, ids, results)
  local c = common_in(state)
  local queue, lane = c[6], c[6] .. '/' .. c[7]
  local done = 'cD\0' .. string.char(DONE) .. pack({c[1], c[2], c[4], wall_now, words.exit_status})
  local last, last_state  -- most are alike
  for from = 1, #ids, 1000 do
    local states, n = {}, 0
    for i = from, math.min(from + 999, #ids) do
      local result = results[i]
      if #result > RESULT_SHORT then call('HSET', P .. 'result', ids[i], result) end
      if result ~= last then last, last_state = result, #result > RESULT_SHORT and done or done .. result end
      states[n + 1], states[n + 2] = ids[i], last_state
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

local left = {}  -- {id, words, text} of each
local at = 5
while at <= #ARGV do
  local fence, kind, retry_in, exit_status, texts = ARGV[at]:match('^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  local words = {fence = tonumber(fence), kind = tonumber(kind), retry_in = tonumber(retry_in), exit_status = tonumber(exit_status)}
  local all, together = ARGV[at + 1], {}  -- by their state: {ids, results}, or false
  local first_text = at + 2
  for from = 1, #all, 16000 do
    local ids = {}
    for i = from, math.min(from + 15999, #all), 16 do ids[#ids + 1] = all:sub(i, i + 15) end
    for i, state in ipairs(call('HMGET', P .. 'state', unpack(ids))) do
      local text = ARGV[texts == '1' and first_text or first_text + (from - 1) / 16 + i - 1]
      local some = together[state]
      if some == nil then
        local c = state and is_common(state) and state:byte(4) == RUNNING and words.kind == 0 and common_in(state)
        some = c and c[1] == words.fence and c[2] == owner and {{}, {}} or false
        together[state] = some
      end
      if some then
        local n = #some[1] + 1
        some[1][n], some[2][n] = ids[i], text
      else
        left[#left + 1] = {ids[i], words, text}
      end
    end
  end
  for state, some in pairs(together) do
    if some then settle_common(state, words, some[1], some[2]) end
  end
  at = first_text + tonumber(texts)
end
if #left == 0 then return {} end

-- needs: 00_core 10_jobs 12_effects 15_order 17_queue_settings 19_forget_jobs
-- ARGV: the order behind which to go on, and up to which, how many places to look at. Answers the order behind which to go on, or nothing if there are no more.
goes_on_when_full()
local PARTED_MOST = 10000
local over, parted, parted_at = {}, 0, {}
-- Of one that was done with others at once: all of them get their own places, from which each can be taken.
local function part_from_others(r)
  local list = P .. 'done:' .. r.queue
  local where = list .. ' ' .. num(r.finished_at)
  if parted_at[where] then return end
  parted_at[where] = true
  for _, member in ipairs(call('ZRANGEBYSCORE', list, num(r.finished_at), num(r.finished_at))) do
    if #member == 9 then parted = parted + part_finished(list, member, num(r.finished_at)) end
  end
end
local function forget_doubts(id)
  if not has_intents(id) then return end
  for _, name in ipairs(call('HKEYS', P .. 'effects:' .. id)) do call('ZREM', P .. 'intents', id .. name) end
  call('HDEL', P .. 'intents_of', id)
end
local on = walk(tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), function(orders, ids)
  for i, id in ipairs(ids) do
    local r = load(id)
    if r and r.order == orders[i] then
      if r.state == DONE then part_from_others(r) end
      forget_doubts(id)
      call('ZREM', P .. 'look_again', id)
      over[#over + 1] = r
    end
    if parted > PARTED_MOST then return orders[i] end
  end
end)
forget_jobs(over)
-- Others may stand behind them that came later.
local opened = {}
for _, r in ipairs(over) do
  local name = r.queue .. ' ' .. r.group .. ' ' .. r.limit_key
  if (r.group ~= '' or r.limit_key ~= '') and not opened[name] then
    opened[name] = true
    open_next(r)
    tell('Q ' .. r.queue)
  end
end
return on and num(on) or ''

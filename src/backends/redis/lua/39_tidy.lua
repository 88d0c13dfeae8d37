-- needs: 00_core 10_jobs 12_effects 15_order 17_queue_settings
-- Removes finished jobs whose retention is over, up to ARGV[4] of them, and what nobody can ask for any more. Deleting never lowers a fence: the floor is
-- raised in the same step (L2). Answers how many went, and 1 if there may be more.
--
--   look_again   zset wall time -> id: finished jobs that had their unique key, or a slot, when their retention was over. They are not in done: and ended:
--                until then, so that they hold up no other. Those with an effect in doubt are in none of the three: who ends the last doubt brings them back
goes_on_when_full()
local limit = tonumber(ARGV[4])
local ALIAS_KEPT_FOR, BATCH_REMEMBERED_FOR, LOOKS_LEAST, LISTS_IN_FULL = 90000000000, 2592000000000, 32, 8
local more = false

local function list_of(r) return P .. (r.state == DONE and 'done:' or 'ended:') .. r.queue end
local again = call('ZRANGEBYSCORE', P .. 'look_again', '-inf', num(wall_now), 'LIMIT', 0, 10 * limit)
for _, id in ipairs(again) do
  call('ZREM', P .. 'look_again', id)
  local r = load(id)
  if r and is_finished(r) then call('ZADD', list_of(r), num(r.finished_at), id) end
end
more = #again == 10 * limit

-- The oldest of each list; with very many lists of each only some.
local lists, old, all_depths = {}, {}, depths()
for queue, depth in pairs(all_depths) do
  local s = settings_of(queue)
  if depth[DONE] > 0 then lists[#lists + 1] = {P .. 'done:' .. queue, wall_now - s[3]} end
  if depth[DEAD] + depth[CANCELLED] > 0 then lists[#lists + 1] = {P .. 'ended:' .. queue, wall_now - s[4]} end
end
-- Those that were done at once get their own places when their time has come.
local function part(list, member, at)
  local key = P .. 'finished:' .. num(of_be8(member, 2))
  local ids = call('GET', key)
  for from = 1, #ids, 16000 do
    local members = {}
    for i = from, math.min(from + 15999, #ids), 16 do
      members[#members + 1] = at
      members[#members + 1] = ids:sub(i, i + 15)
    end
    call('ZADD', list, unpack(members))
  end
  call('UNLINK', key)
  call('ZREM', list, member)
  return #ids / 16
end
-- The oldest ids of a list with their times, and whether there may be more.
local function oldest_in(list, up_to, most)
  local function look() return call('ZRANGEBYSCORE', list, '-inf', num(up_to), 'WITHSCORES', 'LIMIT', 0, most) end
  local found, parted = look(), 0
  for i = 1, #found, 2 do
    if parted < most and #found[i] == 9 then parted = parted + part(list, found[i], found[i + 1]) end
  end
  if parted > 0 then found = look() end
  local ids, there_is_more = {}, #found == 2 * most
  for i = 1, #found, 2 do
    if #found[i] == 16 then ids[#ids + 1] = {at = tonumber(found[i + 1]), id = found[i], list = list} else there_is_more = true end
  end
  return ids, there_is_more
end
local of_each = math.max(LOOKS_LEAST, math.min(limit + 1, math.ceil(LISTS_IN_FULL * (limit + 1) / math.max(1, #lists))))
for _, list in ipairs(lists) do
  local oldest, there_is_more = oldest_in(list[1], list[2], of_each)
  for _, one in ipairs(oldest) do old[#old + 1] = one end
  more = more or there_is_more
end
table.sort(old, function(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return a.id < b.id
end)

local any_intents, any_effects = call('EXISTS', P .. 'intents_of') == 1, call('EXISTS', P .. 'effects') == 1
local over = {}
local function look_at(one)
  local state, body = call('HGET', P .. 'state', one.id), call('HGET', P .. 'body', one.id)
  local r = state and body and made_from(one.id, body, state)
  if not r or not is_finished(r) then  -- nobody leaves such a one here, and none may stop all others
    call('ZREM', one.list, one.id)
    return
  end
  r.list, r.is_common = one.list, is_common(state)
  local ask_again = nil
  if keeps_slot(r) then ask_again = wall_now + r.revoked_end - lease_now end
  if r.key ~= '' and r.finished_at + r.key_for > wall_now and call('HGET', P .. 'keys', r.queue .. ' ' .. r.key) == r.id then
    ask_again = math.max(ask_again or 0, r.finished_at + r.key_for)
  end
  if ask_again then
    call('ZREM', one.list, r.id)
    call('ZADD', P .. 'look_again', num(ask_again), r.id)
  elseif any_intents and has_intents(r.id) then
    call('ZREM', one.list, r.id)
  else
    over[#over + 1] = r
  end
end
for _, one in ipairs(old) do
  if #over == limit then
    more = true
    break
  end
  look_at(one)
end

local function each_some(items, what)
  for from = 1, #items, 500 do what(unpack(items, from, math.min(from + 499, #items))) end
end
local ids, orders, highest, queues, common = {}, {}, 0, {}, {}
for _, r in ipairs(over) do
  ids[#ids + 1], orders[#orders + 1] = r.id, r.order
  highest = math.max(highest, r.fence)
  queues[r.queue] = true
  if r.is_common then  -- nothing but its list and the depth knows of it
    common[r.queue] = common[r.queue] or {list = r.list}
    table.insert(common[r.queue], r.id)
  else
    lift(r)
  end
  local key = r.queue .. ' ' .. r.key
  if r.key ~= '' and call('HGET', P .. 'keys', key) == r.id then call('HDEL', P .. 'keys', key) end
  if r.group ~= '' then
    local name = r.queue .. ' ' .. r.group
    if call('HINCRBY', P .. 'group_jobs', name, -1) <= 0 then
      highest = math.max(highest, tonumber(call('HGET', P .. 'group_fence', name) or 0))
      call('HDEL', P .. 'group_jobs', name)
      call('HDEL', P .. 'group_fence', name)
    end
  end
  if r.log_chunks > 0 then call('UNLINK', P .. 'log:' .. r.id) end
  if any_effects and r.deliveries > 0 then
    local members = call('HKEYS', P .. 'effects:' .. r.id)
    for i, name in ipairs(members) do members[i] = r.id .. name end
    each_some(members, function(...) call('ZREM', P .. 'effects', ...) end)
    if #members > 0 then call('UNLINK', P .. 'effects:' .. r.id, P .. 'effect_results:' .. r.id) end
  end
end
for queue, jobs in pairs(common) do
  call('HINCRBY', P .. 'depth', queue .. ' ' .. DONE, -#jobs)
  each_some(jobs, function(...) call('ZREM', jobs.list, ...) end)
end
for _, hash in ipairs({'body', 'state', 'result', 'attempts', 'logbytes', 'items'}) do
  each_some(ids, function(...) call('HDEL', P .. hash, ...) end)
end
-- Their places in the order of enqueue, as many at once as stand in a row.
table.sort(orders)
local from = 1
while from <= #orders do
  local n = math.floor(orders[from] / ORDERS_A_STRING)
  local key, to = P .. 'order:' .. num(n), from
  while orders[to + 1] == orders[to] + 1 and orders[to + 1] < (n + 1) * ORDERS_A_STRING do to = to + 1 end
  call('SETRANGE', key, (orders[from] - n * ORDERS_A_STRING) * 16, NO_ID:rep(to - from + 1))
  from = to + 1
  if (orders[from] or math.huge) >= (n + 1) * ORDERS_A_STRING and call('BITCOUNT', key) == 0 then call('UNLINK', key) end
end
if highest > 0 then raise_floor_to(highest) end

-- Where listings begin.
local first, last = tonumber(call('GET', P .. 'order_first') or 0), math.floor(last_order() / ORDERS_A_STRING)
local begins = first
while begins < last and begins < first + 1000 and call('EXISTS', P .. 'order:' .. num(begins)) == 0 do begins = begins + 1 end
if begins > first then call('SET', P .. 'order_first', num(begins)) end

-- A queue without a job leaves nothing but its settings.
for queue in pairs(queues) do
  local jobs = 0
  for state = READY, CANCELLED do jobs = jobs + tonumber(call('HGET', P .. 'depth', queue .. ' ' .. state) or 0) end
  for _, stage in ipairs(stages_of(queue)) do jobs = jobs + plain_in(queue .. '/' .. stage) end
  if jobs == 0 then
    for state = READY, CANCELLED do call('HDEL', P .. 'depth', queue .. ' ' .. state) end
    for _, stage in ipairs(stages_of(queue)) do
      call('SREM', P .. 'lanes', queue .. '/' .. stage)
      call('DEL', P .. 'plain:' .. queue .. '/' .. stage)
      call('HDEL', P .. 'plain_gone', queue .. '/' .. stage)
    end
    call('DEL', P .. 'stages:' .. queue)
    for _, hash in ipairs({'parked_at', 'unparking', 'unparking_early', 'read_at'}) do call('HDEL', P .. hash, queue) end
  end
end

local aliases = call('ZRANGEBYSCORE', P .. 'alias_ages', '-inf', num(wall_now - ALIAS_KEPT_FOR), 'LIMIT', 0, 1000)
each_some(aliases, function(...)
  call('HDEL', P .. 'aliases', ...)
  call('ZREM', P .. 'alias_ages', ...)
end)
more = more or #aliases == 1000
if #aliases > 0 and call('EXISTS', P .. 'aliases') == 0 then
  local order, run_at = read_last()
  write_last(order, run_at, false)
end
call('ZREMRANGEBYSCORE', P .. 'batch_names', '-inf', num(wall_now - BATCH_REMEMBERED_FOR))
return {#over, more and 1 or 0}

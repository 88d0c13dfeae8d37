-- How jobs are forgotten, with everything that is kept of them: what tidy and the removal of a namespace share. What is left afterwards is a namespace in which they never were, but for its floor.

local function each_some(items, what)
  for from = 1, #items, 500 do what(unpack(items, from, math.min(from + 499, #items))) end
end
-- Those that were done at once get their own places in the list, with this time. Answers how many they are.
local function part_finished(list, member, at)
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

-- Records of jobs, in any state; those that are `is_common` stand in the list `list`. The floor is raised in the same step (L2).
local function forget_jobs(over)
  local ids, orders, highest, queues, common = {}, {}, 0, {}, {}
  local any_effects = call('EXISTS', P .. 'effects') == 1
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
end

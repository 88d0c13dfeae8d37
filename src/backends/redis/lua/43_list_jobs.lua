-- needs: 00_core 10_jobs 15_order 17_queue_settings
-- A part of a page of jobs. ARGV[4] after (0: from the start), [5] how many at most, [6] queue or empty, [7] state or -1, [8] tag or empty, [9] 1: with payload and result,
-- [10] places to look at, [11] 1: newest first, [12] key or empty, [13] text of the error or empty, [14] and [15] enqueued from and before, or empty.
-- Answers where to go on, or nothing, and of each job its order, the job as shown() does, and how long its last delivery took, or has taken so far, or nothing.
local most, state, tag, whole, bytes = tonumber(ARGV[5]), tonumber(ARGV[7]), ARGV[8], ARGV[9] == '1', 0
local is_of_queue = of_queue(ARGV[6])
local newest_first, key, error_text, since, before = ARGV[11] == '1', ARGV[12], ARGV[13], tonumber(ARGV[14]), tonumber(ARGV[15])
local ERROR, BEGAN_AT, ENDED_AT = 15, 18, 19  -- in FIELDS
local rows = {}
local function has_tag(tags)
  for _, one in ipairs(tags or {}) do
    if one == tag then return true end
  end
  return false
end
local function is_of_time(body)
  if not (since or before) then return true end
  local created_at = of_be8(body, 9)
  return (not since or created_at >= since) and (not before or created_at < before)
end
local function run_time(began_at, ended_at)
  if began_at < 0 then return '' end
  return num(math.max(0, (ended_at < 0 and wall_now or ended_at) - began_at))
end
-- Without made_from(): of many jobs most are no match, and of those that are little is asked for. A row is the job, and how long it ran.
local function row_of(id, body, packed)
  if not is_of_time(body) then return nil end
  local after, head = cmsgpack.unpack_one(body, 16)
  if tag ~= '' and not has_tag(head[4].tags) then return nil end
  if key ~= '' and (head[4] or {}).key ~= key then return nil end
  if packed and is_common(packed) then
    if error_text ~= '' then return nil end
    local r = made_from(id, body, packed)
    local row = shown(r, whole)
    if not whole and after > 0 then row[2] = body:sub(1, after) end
    return row, run_time(r.began_at, r.ended_at)
  end
  local values = packed and unpack_one(packed)
  if error_text ~= '' and not (values and values[ERROR]:find(error_text, 1, true)) then return nil end
  if not whole and after > 0 then body = body:sub(1, after) end
  local left = ''
  if state_in(packed) == RUNNING then
    local lease_end, ttl = lease_in(values[LEASE_END])
    left = num(brought_back(lease_end, ttl) - lease_now)
  end
  local ran = values and run_time(values[BEGAN_AT], state_in(packed) == RUNNING and -1 or values[ENDED_AT]) or ''
  return {id, body, packed or '', whole and call('HGET', P .. 'result', id) or '', left}, ran
end
-- Of a job that fits: its row; else nothing.
local function fitting(id, packed)
  if state >= 0 and state_in(packed) ~= state then return nil end
  local body = call('HGET', P .. 'body', id)
  bytes = bytes + #body
  if not is_of_queue(body) then return nil end
  return row_of(id, body, packed)
end
local function add(order, row, ran)
  rows[#rows + 1] = {num(order), row, ran}
  bytes = bytes + #row[4]
end
local function is_full() return #rows >= most or bytes >= BYTES_MOST end

-- Few that run, wait or ended badly, and few ready ones of a queue, are found by where they stand, so that nobody looks through a million others for them. Nothing if they are many, or if not
-- all of them stand there. Of ready ones fewer are many: the next page of them is never far, while among others there may be a million that are done.
local STANDING_MOST, STANDING_BYTES_MOST = state == READY and 1000 or 10000, 16 * 1024 * 1024
local function with_running(ids)
  for _, lane in ipairs(call('SMEMBERS', P .. 'lanes')) do
    for _, which in ipairs(LEASES) do
      for _, member in ipairs(call('ZRANGE', P .. which .. lane, 0, -1)) do
        for _, id in ipairs(ids_in(member)) do ids[#ids + 1] = id end
      end
    end
  end
  return ids
end
local function with_ready(ids, queue)
  local function add_members(members)
    for _, member in ipairs(members) do ids[#ids + 1] = member:sub(9, 24) end
  end
  for _, stage in ipairs(stages_of(queue)) do
    local lane = queue .. '/' .. stage
    for _, at in pairs(BY_PRIORITY) do
      for _, priority in ipairs(call('ZRANGE', P .. at[2] .. lane, 0, -1)) do add_members(call('ZRANGE', P .. at[1] .. lane .. ':' .. priority, 0, -1)) end
    end
    add_members(call('ZRANGE', P .. 'blocked:' .. lane, 0, -1))
    -- An entry that no longer counts is of a job that has a record, is gone, or came anew with another order.
    for _, member in ipairs(call('LRANGE', P .. 'plain:' .. lane, 0, 2 * STANDING_MOST)) do
      local id = member:sub(9, 24)
      local body = call('HEXISTS', P .. 'state', id) == 0 and call('HGET', P .. 'body', id)
      if body and body:sub(1, 8) == member:sub(1, 8) then ids[#ids + 1] = id end
    end
  end
  return ids
end
local function with_ended(ids, queues)
  for queue in pairs(queues) do
    for _, id in ipairs(call('ZRANGE', P .. 'ended:' .. queue, 0, -1)) do ids[#ids + 1] = id end
  end
  return ids
end
local function standing()
  if state < 0 or state == DONE or (state == READY and ARGV[6] == '') then return nil end
  local all, ids, there = 0, nil, depths()
  for queue, depth in pairs(there) do
    if state >= DEAD then all = all + depth[DEAD] + depth[CANCELLED]
    elseif state ~= READY or queue == ARGV[6] then all = all + depth[state] end
  end
  if all > STANDING_MOST then return nil end
  if all == 0 then return {} end
  if state == READY then ids = with_ready({}, ARGV[6])
  elseif state == RUNNING then ids = with_running({})
  elseif state == WAITING then ids = call('SMEMBERS', P .. 'waiting')
  else ids = with_ended({}, there) end
  if #ids ~= all then return nil end
  local size, found = 0, {}
  for _, id in ipairs(ids) do size = size + call('HSTRLEN', P .. 'body', id) end
  if size > STANDING_BYTES_MOST then return nil end
  for _, id in ipairs(ids) do
    local body = call('HGET', P .. 'body', id)
    if not body then return nil end
    -- One that an older version took from there or put there: as many, and not the same.
    if state == WAITING and state_in(call('HGET', P .. 'state', id)) ~= WAITING then return nil end
    found[#found + 1] = {of_be8(body), id}
  end
  table.sort(found, function(a, b)
    if newest_first then return a[1] > b[1] end
    return a[1] < b[1]
  end)
  return found
end

local after = tonumber(ARGV[4])
local found = standing()
if found then
  for i, one in ipairs(found) do
    if after == 0 or (newest_first and one[1] < after) or (not newest_first and one[1] > after) then
      local row, ran = fitting(one[2], call('HGET', P .. 'state', one[2]))
      if row then add(one[1], row, ran) end
      if is_full() then return {i < #found and num(one[1]) or '', rows} end
    end
  end
  return {'', rows}
end
local function visit(orders, ids)
  local states = call('HMGET', P .. 'state', unpack(ids))
  for i, id in ipairs(ids) do
    local row, ran = fitting(id, states[i])
    if row then add(orders[i], row, ran) end
    if is_full() then return orders[i] end
  end
end
local on
if newest_first then on = walk_down(after > 0 and after or FENCE_MAX, tonumber(ARGV[10]), visit)
else on = walk(after, FENCE_MAX, tonumber(ARGV[10]), visit) end
return {on and num(on) or '', rows}

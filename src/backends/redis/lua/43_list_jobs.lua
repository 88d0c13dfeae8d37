-- needs: 00_core 10_jobs 15_order_words 17_queue_words
-- A part of a page of jobs. ARGV[4] after, [5] how many at most, [6] queue or empty, [7] state or -1, [8] tag or empty, [9] 1: with payload and result, [10] places
-- to look at. Answers where to go on, or nothing, and of each job its order and the job as shown() does.
local most, state, tag, whole, bytes = tonumber(ARGV[5]), tonumber(ARGV[7]), ARGV[8], ARGV[9] == '1', 0
local LEASE_END = 5  -- in FIELDS
local is_of_queue = of_queue(ARGV[6])
local rows = {}
local function has_tag(tags)
  for _, one in ipairs(tags or {}) do
    if one == tag then return true end
  end
  return false
end
-- Without made_from(): of many jobs most are no match, and of those that are little is asked for.
local function row_of(id, body, packed)
  local after, head = cmsgpack.unpack_one(body, 16)
  if tag ~= '' and not has_tag(head[4].tags) then return nil end
  if packed and is_common(packed) then
    local row = shown(made_from(id, body, packed), whole)
    if not whole and after > 0 then row[2] = body:sub(1, after) end
    return row
  end
  if not whole and after > 0 then body = body:sub(1, after) end
  local left = state_in(packed) == RUNNING and num(unpack_one(packed)[LEASE_END] - lease_now) or ''
  return {id, body, packed or '', whole and call('HGET', P .. 'result', id) or '', left}
end
-- Of a job that fits: its row; else nothing.
local function fitting(id, packed)
  if state >= 0 and state_in(packed) ~= state then return nil end
  local body = call('HGET', P .. 'body', id)
  bytes = bytes + #body
  return is_of_queue(body) and row_of(id, body, packed)
end
local function add(order, row)
  rows[#rows + 1] = {num(order), row}
  bytes = bytes + #row[4]
end
local function is_full() return #rows >= most or bytes >= BYTES_MOST end

-- Few that run, wait or ended badly are found by where they stand, so that nobody looks through a million others for them. Nothing if they are many, or if not all of them stand there.
local STANDING_MOST, STANDING_BYTES_MOST = 10000, 16 * 1024 * 1024
local function standing()
  if state ~= RUNNING and state ~= WAITING and state ~= DEAD and state ~= CANCELLED then return nil end
  local all, ids, there = 0, {}, depths()
  for _, depth in pairs(there) do all = all + (state >= DEAD and depth[DEAD] + depth[CANCELLED] or depth[state]) end
  if all > STANDING_MOST then return nil end
  if state == WAITING then
    ids = call('SMEMBERS', P .. 'waiting')
  elseif state == RUNNING then
    for _, lane in ipairs(call('SMEMBERS', P .. 'lanes')) do
      for _, which in ipairs(LEASES) do
        for _, member in ipairs(call('ZRANGE', P .. which .. lane, 0, -1)) do
          for _, id in ipairs(ids_in(member)) do ids[#ids + 1] = id end
        end
      end
    end
  else
    for queue in pairs(there) do
      for _, id in ipairs(call('ZRANGE', P .. 'ended:' .. queue, 0, -1)) do ids[#ids + 1] = id end
    end
  end
  if #ids ~= all then return nil end
  local size, found = 0, {}
  for _, id in ipairs(ids) do size = size + call('HSTRLEN', P .. 'body', id) end
  if size > STANDING_BYTES_MOST then return nil end
  for _, id in ipairs(ids) do
    local body = call('HGET', P .. 'body', id)
    if not body then return nil end
    found[#found + 1] = {of_be8(body), id}
  end
  table.sort(found, function(a, b) return a[1] < b[1] end)
  return found
end

local found = standing()
if found then
  for i, one in ipairs(found) do
    if one[1] > tonumber(ARGV[4]) then
      local row = fitting(one[2], call('HGET', P .. 'state', one[2]))
      if row then add(one[1], row) end
      if is_full() then return {i < #found and num(one[1]) or '', rows} end
    end
  end
  return {'', rows}
end
local on = walk(tonumber(ARGV[4]), FENCE_MAX, tonumber(ARGV[10]), function(orders, ids)
  local states = call('HMGET', P .. 'state', unpack(ids))
  for i, id in ipairs(ids) do
    local row = fitting(id, states[i])
    if row then add(orders[i], row) end
    if is_full() then return orders[i] end
  end
end)
return {on and num(on) or '', rows}

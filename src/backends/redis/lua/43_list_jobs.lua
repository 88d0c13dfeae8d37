-- needs: 00_core 10_jobs 15_order_words
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
local on = walk(tonumber(ARGV[4]), FENCE_MAX, tonumber(ARGV[10]), function(orders, ids)
  local states = call('HMGET', P .. 'state', unpack(ids))
  for i, id in ipairs(ids) do
    if state < 0 or state_in(states[i]) == state then
      local body = call('HGET', P .. 'body', id)
      local row = is_of_queue(body) and row_of(id, body, states[i])
      if row then
        rows[#rows + 1] = {num(orders[i]), row}
        bytes = bytes + #row[4]
      end
      bytes = bytes + #body
      if #rows >= most or bytes >= BYTES_MOST then return orders[i] end
    end
  end
end)
return {on and num(on) or '', rows}

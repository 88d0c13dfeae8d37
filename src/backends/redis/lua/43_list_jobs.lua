-- needs: 00_core 10_jobs 15_order_words
-- A part of a page of jobs. ARGV[4] after, [5] how many at most, [6] queue or empty, [7] state or -1, [8] tag or empty, [9] 1: with payload and result, [10] places
-- to look at. Answers where to go on, or nothing, and of each job its order and the job.
local most, queue, state, tag, whole, bytes = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), ARGV[8], ARGV[9] == '1', 0
local rows = {}
local function has_tag(tags)
  for _, one in ipairs(tags or {}) do
    if one == tag then return true end
  end
  return false
end
local on = walk(tonumber(ARGV[4]), FENCE_MAX, tonumber(ARGV[10]), function(orders, ids)
  local states = call('HMGET', P .. 'state', unpack(ids))
  for i, id in ipairs(ids) do
    if state < 0 or state_in(states[i]) == state then
      local body = call('HGET', P .. 'body', id)
      bytes = bytes + #body
      local r = made_from(id, body, states[i])
      if (queue == '' or r.queue == queue) and (tag == '' or has_tag(r.tags)) then
        if not whole and r.payload_at > 0 then r.body = body:sub(1, r.payload_at - 1) end
        local row = shown(r, whole)
        bytes = bytes + #row[4]
        rows[#rows + 1] = {num(orders[i]), row}
      end
      if #rows >= most or bytes >= BYTES_MOST then return orders[i] end
    end
  end
end)
return {on and num(on) or '', rows}

-- Jobs in the order of their enqueue, by the strings order:N. order_first is the lowest N that may be there.
local ORDERS_A_STRING, IDS_AT_ONCE, BYTES_MOST = 1024, 128, 4 * 1024 * 1024
local NO_ID = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

-- The state byte of a packed record: a list of more than fifteen values begins with three bytes, and a state is one of its own.
local function state_in(packed) return packed and packed:byte(4) or READY end

-- Whether a body is of this queue (empty: any), by the first bytes of its head: nothing is unpacked.
local function of_queue(queue)
  if queue == '' then return function() return true end end
  local wanted = '\148' .. pack(queue)
  return function(body) return body:sub(17, 16 + #wanted) == wanted end
end

-- Shows `visit` the jobs behind `after` and up to `up_to`, some at a time: lists of orders and of ids. It may answer the order behind which it has seen enough.
-- Looks at so many places at most, then answers the order behind which to go on; nil if there is no job behind.
local function walk(after, up_to, places, visit)
  local last = math.min(last_order(), up_to)
  local at = math.max(after + 1, tonumber(call('GET', P .. 'order_first') or 0) * ORDERS_A_STRING)
  while at <= last do
    local n = math.floor(at / ORDERS_A_STRING)
    local first, stop = n * ORDERS_A_STRING, math.min((n + 1) * ORDERS_A_STRING - 1, last)
    local text = call('GET', P .. 'order:' .. num(n))
    if not text then at, places = stop + 1, places - 1 end
    while at <= stop and places > 0 do
      local orders, ids = {}, {}
      while at <= stop and #ids < IDS_AT_ONCE do
        local id = text:sub((at - first) * 16 + 1, (at - first) * 16 + 16)
        if id == '' then  -- the string ends before
          at = stop
        elseif id ~= NO_ID then
          orders[#orders + 1], ids[#ids + 1] = at, id
        end
        at, places = at + 1, places - 1
      end
      local enough = #ids > 0 and visit(orders, ids)
      if enough then return enough end
    end
    if places <= 0 then return at - 1 end
  end
  return nil
end

-- The same from the newest down: shows the jobs before `before`, and answers the order before which to go on; nil if there is no job before.
local function walk_down(before, places, visit)
  local at = math.min(before - 1, last_order())
  local least = tonumber(call('GET', P .. 'order_first') or 0) * ORDERS_A_STRING
  while at >= least and at > 0 do
    local n = math.floor(at / ORDERS_A_STRING)
    local first = math.max(n * ORDERS_A_STRING, 1)
    local text = call('GET', P .. 'order:' .. num(n))
    if not text then at, places = first - 1, places - 1 end
    while at >= first and places > 0 do
      local orders, ids = {}, {}
      while at >= first and #ids < IDS_AT_ONCE do
        local place = at - n * ORDERS_A_STRING
        local id = text:sub(place * 16 + 1, place * 16 + 16)
        if id ~= '' and id ~= NO_ID then orders[#orders + 1], ids[#ids + 1] = at, id end
        at, places = at - 1, places - 1
      end
      local enough = #ids > 0 and visit(orders, ids)
      if enough then return enough end
    end
    if places <= 0 then return at + 1 end
  end
  return nil
end

-- needs: 00_core 10_jobs 15_order
-- Ready and waiting jobs of a queue, all stages, oldest first: what a purge will ask for. ARGV[4] after, [5] up to, [6] queue, [7] how many at most, [8] places to
-- look at. Answers where to go on, or nothing, their ids in one text, and their orders.
local is_of_queue, most, bytes = of_queue(ARGV[6]), tonumber(ARGV[7]), 0
local found, found_at = {}, {}
local on = walk(tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[8]), function(orders, ids)
  local states = call('HMGET', P .. 'state', unpack(ids))
  for i, id in ipairs(ids) do
    local state = state_in(states[i])
    if state == READY or state == WAITING then
      local body = call('HGET', P .. 'body', id)
      bytes = bytes + #body
      if is_of_queue(body) then found[#found + 1], found_at[#found_at + 1] = id, num(orders[i]) end
      if #found >= most or bytes >= BYTES_MOST then return orders[i] end
    end
  end
end)
return {on and num(on) or '', table.concat(found), found_at}

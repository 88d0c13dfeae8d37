-- needs: 00_core 10_jobs
-- ARGV: after how many bytes to stop, ids in one text. Answers the clock, how many of them were looked at, and of each that is there the job as shown() does, without payload and result, and what
-- is kept of it in `items`, or empty.
local bytes_most, ids, bytes, looked = tonumber(ARGV[4]), ARGV[5], 0, 0
local rows = {}
for at = 1, #ids, 16 do
  local id = ids:sub(at, at + 15)
  local r = load(id)
  looked = looked + 1
  if r then
    local item = call('HGET', P .. 'items', id) or ''
    bytes = bytes + #r.body + #item
    if r.payload_at > 0 then r.body = r.body:sub(1, r.payload_at - 1) end
    rows[#rows + 1] = {shown(r, false), item}
  end
  if bytes >= bytes_most then break end
end
return {num(wall_now), looked, rows}

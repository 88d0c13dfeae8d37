-- needs: 00_core 10_jobs
-- Progress and log. From ARGV[4] on, six for each note: id, fence, percent or -1, word on progress, bytes of log, where they begin. Answers of each that is refused
-- its number from 0, the newest fence and the reason.
--
--   log:ID      list of msgpack [delivery, at, bytes], oldest first. The record counts in log_chunks all that ever came, so their numbers are known
--   logbytes    hash ID -> bytes that are kept
local LOG_BYTES_MOST = 1048576
local jobs, changed, refused = {}, {}, {}
local function add(r, bytes)
  local key = P .. 'log:' .. r.id
  call('RPUSH', key, pack({r.deliveries, wall_now, bytes}))
  r.log_chunks = r.log_chunks + 1
  local kept = call('HINCRBY', P .. 'logbytes', r.id, #bytes)
  while kept > LOG_BYTES_MOST do
    local oldest = unpack_one(call('LPOP', key))
    local goes = math.min(#oldest[3], kept - LOG_BYTES_MOST)
    if goes < #oldest[3] then call('LPUSH', key, pack({oldest[1], oldest[2], oldest[3]:sub(goes + 1)})) end
    kept = call('HINCRBY', P .. 'logbytes', r.id, -goes)
    r.log_dropped = r.log_dropped + goes
  end
end

for i = 4, #ARGV, 6 do
  local id, fence, percent, log, log_at = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 4], tonumber(ARGV[i + 5])
  if jobs[id] == nil then jobs[id] = load(id) or false end
  local r = jobs[id]
  if not r or r.fence ~= fence then
    refused[#refused + 1] = {(i - 4) / 6, num(r and r.fence or 0), r and 'superseded' or 'not_found'}
  else
    if percent >= 0 then r.percent, r.note, changed[id] = percent, ARGV[i + 3], r end
    -- What is there already is not added twice; a gap before it is nobody's to fill.
    local added = log:sub(math.max(0, math.min(r.log_end - log_at, #log)) + 1)
    if added ~= '' then
      r.log_end, changed[id] = log_at + #log, r
      add(r, added)
    end
  end
end
for _, r in pairs(changed) do save(r) end
return refused

-- needs: 00_core 10_jobs 17_queue_words
-- Answers the newest order, and of each queue: name, seven settings, six depths, how many lie ahead, and the oldest run time that has come, or nothing.
local all = depths()
for _, queue in ipairs(call('HKEYS', P .. 'queues')) do all[queue] = all[queue] or {[0] = 0, 0, 0, 0, 0, 0} end
local rows = {}
for queue, depth in pairs(all) do
  local s = settings_of(queue)
  local row = {queue, num(s[1]), num(s[2]), num(s[3]), num(s[4]), num(s[5]), s[6], s[7]}
  local jobs = 0
  for state = READY, CANCELLED do
    row[#row + 1] = num(depth[state])
    jobs = jobs + depth[state]
  end
  local ahead, oldest = 0, nil
  local function look(key)
    local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if not first then return end
    if tonumber(first) <= wall_now then oldest = math.min(oldest or FENCE_MAX, tonumber(first)) end
    ahead = ahead + call('ZCOUNT', key, '(' .. num(wall_now), '+inf')
  end
  if depth[READY] > 0 then
    for _, stage in ipairs(stages_of(queue)) do
      local lane = queue .. '/' .. stage
      for _, priority in ipairs(call('ZRANGE', P .. 'priorities:' .. lane, 0, -1)) do look(P .. 'open:' .. lane .. ':' .. priority) end
      look(P .. 'alone:' .. lane)
      look(P .. 'blocked:' .. lane)
    end
  end
  row[#row + 1] = num(ahead)
  row[#row + 1] = oldest and num(oldest) or ''
  if jobs > 0 or call('HEXISTS', P .. 'queues', queue) == 1 then rows[#rows + 1] = row end
end
return {call('GET', P .. 'order') or '0', rows}

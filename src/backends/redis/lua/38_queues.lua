-- needs: 00_core 10_jobs 17_queue_settings
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
  if depth[READY] > 0 then
    for _, stage in ipairs(stages_of(queue)) do
      local ahead_there, _, _, oldest_there = ready_look(queue .. '/' .. stage)
      ahead = ahead + ahead_there
      if oldest_there then oldest = math.min(oldest or oldest_there, oldest_there) end
    end
  end
  row[#row + 1] = num(ahead)
  row[#row + 1] = oldest and num(oldest) or ''
  if jobs > 0 or call('HEXISTS', P .. 'queues', queue) == 1 then rows[#rows + 1] = row end
end
return {num(last_order()), rows}

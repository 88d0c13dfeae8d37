-- needs: 00_core 10_jobs 17_queue_settings
-- ARGV[4] queue, [5] actor, [6] reason, [7] what was asked for, in words, [8] to [11] limit, limit_per_key, keep_done, keep_dead, or empty: as it is. Answers 1 if
-- parked jobs are to be looked at: see unpark.
local queue, changed = ARGV[4], false
local s = queue_settings(queue)
for i = 1, 4 do
  local value = tonumber(ARGV[7 + i])
  if value and s[i] ~= value then s[i], changed = value, true end
end
if changed then
  save_settings(queue, s)
  note_act(ARGV[5], 'queue_set', ARGV[7], ARGV[6])
  tell('Q ' .. queue)
end
-- Jobs that were parked because their limit key was full may be claimable now.
if changed and call('EXISTS', P .. 'parked_keys:' .. queue) == 1 then call('HSET', P .. 'unparking', queue, '0') end
return call('HEXISTS', P .. 'unparking', queue)

-- needs: 00_core 10_jobs 17_queue_settings
-- ARGV[4] queue, [5] 1: paused, 0: goes on, [6] actor, [7] reason. The first pause stays.
local queue, wanted = ARGV[4], ARGV[5] == '1'
if is_paused(queue) == wanted then return 0 end
local s = queue_settings(queue)
if wanted then
  s[5], s[6], s[7] = wall_now, ARGV[6], ARGV[7]
else
  s[5], s[6], s[7] = -1, '', ''
  tell('Q ' .. queue)
end
save_settings(queue, s)
note_act(ARGV[6], wanted and 'queue_paused' or 'queue_resumed', queue, ARGV[7])
return 1

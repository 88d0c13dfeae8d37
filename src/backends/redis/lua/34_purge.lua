-- needs: 00_core 10_jobs 12_effects 13_acts
-- Cancels those of these jobs that are still idle and in the queue: ARGV[4] queue, [5] actor, [6] reason, [7] ids, oldest first. Answers how many.
goes_on_when_full()
local queue, idle = ARGV[4], {}
for _, id in ipairs(uuids_in(ARGV[7])) do
  local r = load(id)
  if r and r.queue == queue and (r.state == READY or r.state == WAITING) then
    if is_outdated_by_cancel(r) and not has_next_fence(r) then return refuse('refused', FENCES_USED_UP) end
    idle[#idle + 1] = id
  end
end
for _, id in ipairs(idle) do cancel_job(load(id)) end  -- anew: the one before it may have let it go on
if #idle > 0 then note_act(ARGV[5], 'queue_purged', string.format('%s: %d jobs', queue, #idle), ARGV[6]) end
return #idle

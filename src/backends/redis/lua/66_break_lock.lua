-- needs: 00_core 14_locks
-- ARGV: resource, only (or empty), request, actor, reason. Answers the fence that was ended and the one that was minted.
goes_on_when_full()
local resource, only, request = ARGV[4], ARGV[5], ARGV[6]
local lock = load_lock(resource)
local row = lock.row
if row and row[BREAK_REQUEST] == request then return {row[ENDED], row[CURRENT]} end
if not row or free_from(lock) <= lease_now then return refuse('not_found', 'lock ' .. resource .. ' is not held') end
if only ~= '' and only ~= num(row[FENCE]) then
  return refuse('refused', 'lock ' .. resource .. ' has fence ' .. num(row[FENCE]) .. ' now, not ' .. only)
end
local fence = math.max(row[FENCE] + 1, floor_of_store() + 1, wall_now)
if fence > FENCE_MAX then return refuse('refused', FENCES_USED_UP) end
for _, holder in ipairs(lock.holders) do
  if not holder.released then free(lock, holder) end
end
row[ENDED], row[CURRENT], row[BREAK_REQUEST] = row[FENCE], fence, request
row[FENCE], row[BAR], row[DELAY], row[FREED_AT] = fence, NEVER, 0, lease_now
save_row(lock)
note_act(ARGV[7], 'lock_broken', resource .. ' ' .. num(row[ENDED]), ARGV[8])
tell_lock(resource)
return {row[ENDED], row[CURRENT]}

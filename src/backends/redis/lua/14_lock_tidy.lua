-- Forgets locks that have been free for long, the longest first; those whom somebody waits for stay. The floor is raised to their fences (L2).
-- Answers how many went, and whether there are more.
--
-- A score in locks_by_age is no later than the moment since when the resource is free, and is brought up to it here, when it is old
-- enough to matter; of one that is held to now: it may be released at any moment. One that lies ahead is of a clock that was ahead, and is now.
local LOOKED_AT_MOST = 20000

local function forget_lock(lock)
  raise_floor_to(lock.row[FENCE])
  local fields = {'m'}
  for _, holder in ipairs(lock.holders) do fields[#fields + 1] = holder.field end
  for i = 1, #fields, 1000 do call('HDEL', lock_key(lock.resource), unpack(fields, i, math.min(i + 999, #fields))) end
  call('ZREM', P .. 'locks', lock.resource)
  call('ZREM', P .. 'locks_by_age', lock.resource)
  rows_read[lock.resource] = nil
end

local function tidy_locks(limit)
  forget_the_silent()
  local key, over = P .. 'locks_by_age', lease_now - FREE_LOCK_KEPT_FOR
  local removed, kept, looked_at = 0, 0, 0
  for _, resource in ipairs(call('ZRANGEBYSCORE', key, '(' .. num(lease_now), '+inf', 'LIMIT', 0, 1000)) do call('ZADD', key, num(lease_now), resource) end
  while true do
    local next_one = call('ZRANGEBYSCORE', key, '-inf', num(over), 'WITHSCORES', 'LIMIT', kept, 1)
    if #next_one == 0 then return removed, false end
    looked_at = looked_at + 1
    if looked_at > LOOKED_AT_MOST then return removed, true end
    local lock = load_lock(next_one[1])
    save_if_brought_back(lock)
    local from = free_from(lock)
    if not lock.row then
      call('ZREM', key, lock.resource)
      call('ZREM', P .. 'locks', lock.resource)
    elseif from > tonumber(next_one[2]) then
      call('ZADD', key, num(math.min(from, lease_now)), lock.resource)
    elseif is_waited_for(lock.resource) then
      kept = kept + 1
    elseif removed == limit then
      return removed, true
    else
      forget_lock(lock)
      removed = removed + 1
    end
  end
end

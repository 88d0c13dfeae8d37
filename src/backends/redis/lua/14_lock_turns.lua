-- Whose turn it is: from when on a request may have a resource (store/lock_store.hpp).
-- A request: names, owner, request, mode, slots, ttl, to_its_end, hold_at_least, delay, wait, pattern, place, member.

local function joins(lock, request)
  return request.mode == SHARED and lock.row and lock.row[MODE] == SHARED and is_held(lock)
end
local function resource_of(name, slot) return slot == 1 and name or name .. '#' .. slot end

-- How many wait before it, and how many of them count.
local function waiters_before(request, name)
  if not load_lock(name).waited then return 0, 0 end
  local key = P .. 'waiters:' .. name
  local ahead = call('ZRANK', key, request.member) or call('ZCARD', key)
  if request.mode == EXCLUSIVE or ahead == 0 then return ahead, ahead end
  for _, member in ipairs(call('ZRANGE', key, 0, ahead - 1)) do
    if member:byte() == 120 then return ahead, ahead end  -- 'x'
  end
  return ahead, 0
end

-- {lock = which to grant, or which is free first, may_have = from when on, free = since or from when on that one is, ahead = waiters before it,
-- passed = how many of these, from the first on, a grant passes by}
local function stand(request, name)
  local ahead, counted = waiters_before(request, name)
  local first = load_lock(name)
  if counted == 0 and joins(first, request) then return {lock = first, may_have = NEVER, free = NEVER, ahead = ahead} end
  if request.slots == 1 then
    local from = free_from(first)
    return {lock = first, may_have = from + counted * TURN, free = from, ahead = ahead, passed = counted}
  end
  local slots = {}
  for slot = 1, request.slots do
    local lock = load_lock(resource_of(name, slot))
    slots[slot] = {lock = lock, from = free_from(lock), slot = slot}
  end
  table.sort(slots, function(a, b) return a.from < b.from or (a.from == b.from and a.slot < b.slot) end)
  local may_have = math.huge
  for j, slot in ipairs(slots) do
    may_have = math.min(may_have, math.max(slot.from, slots[1].from + math.max(0, counted - j + 1) * TURN))
  end
  local chosen, passed = slots[1], counted + 1
  if may_have <= lease_now then
    for _, slot in ipairs(slots) do
      if slot.from <= lease_now then
        passed = passed - 1
        if slot.slot < chosen.slot then chosen = slot end
      end
    end
  end
  return {lock = chosen.lock, may_have = may_have, free = slots[1].from, ahead = ahead, passed = passed}
end

-- resource, reason, fence, owner, place
local function held_by(standing)
  local lock = standing.lock
  if not lock.row then return {lock.resource, 'turn', 0, '', ''} end
  if standing.free <= lease_now then return {lock.resource, 'turn', lock.row[FENCE], '', ''} end
  local holder = last_holder(lock, is_alive)
  if holder then return {lock.resource, 'held', lock.row[FENCE], holder.owner, holder.place} end
  return {lock.resource, lock.row[BAR] > lease_now and 'barred' or 'delayed', lock.row[FENCE], '', ''}
end

-- From now on a release of these names has to tell somebody.
local function take_place(request)
  local seen_until = num(lease_now + WAITER_KEPT_FOR)
  if call('ZADD', P .. 'waiters_seen', 'XX', 'CH', seen_until, request.member) == 0 and not call('ZSCORE', P .. 'waiters_seen', request.member) then
    for _, name in ipairs(request.names) do
      call('ZADD', P .. 'waiters:' .. name, call('INCR', P .. 'waiters_place'), request.member)
      local lock = load_lock(name)
      if not lock.waited then mark_waited(name, true) end
      local holder = lock.holders[1]
      if holder and holder.field and holder.field:match('^%d') then
        call('HDEL', lock_key(name), holder.field)
        holder.field = '=' .. holder.field
        call('HSET', lock_key(name), holder.field, end_and_ttl(holder.lease_end, holder.ttl))
      end
    end
    call('HSET', P .. 'waiter', request.member, pack({request.names, request.owner, request.place, wall_now}))
    call('ZADD', P .. 'waiters_seen', seen_until, request.member)
  end
end

-- At a grant: who was passed by, and has not asked since it was free, goes to the end of the queue.
local function pass_by(standing, name)
  if not standing.passed or standing.passed <= 0 then return end
  local key = P .. 'waiters:' .. name
  for _, member in ipairs(call('ZRANGE', key, 0, standing.passed - 1)) do
    local asked_at = tonumber(call('ZSCORE', P .. 'waiters_seen', member)) - WAITER_KEPT_FOR
    if asked_at < standing.free then call('ZADD', key, call('INCR', P .. 'waiters_place'), member) end
  end
end

-- needs: 14_lock_fast 00_core 14_locks 14_lock_turns
-- ARGV: as 14_lock_fast.lua has it, or how many names, the names, owner, request, mode, slots, ttl, to_its_end, hold_at_least, delay, wait, pattern, place. Flags are 0 or 1.
-- Answers the fence alone if it is a plain grant, whose release may be an HDEL; else {1, left, then resource, fence and previous owner for each name}, or {0, resource, reason, fence, owner, place, again_in, ahead}.
local count, request
if ARGV[4] == 'p' then
  local who = unpack_one(ARGV[9])
  count = 1
  request = {names = {ARGV[5]}, owner = ARGV[6], request = ARGV[7], mode = EXCLUSIVE, slots = 1, ttl = tonumber(ARGV[8]), to_its_end = false, hold_at_least = 0, delay = 0,
    wait = ARGV[10] == '1', pattern = who[1], place = who[4]}
else
  count, request = tonumber(ARGV[4]), {names = {}}
  for i = 1, count do request.names[i] = ARGV[4 + i] end
  local at = 4 + count
  request.owner, request.request, request.mode, request.slots = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  request.ttl, request.to_its_end, request.hold_at_least = tonumber(ARGV[at + 5]), ARGV[at + 6] == '1', tonumber(ARGV[at + 7])
  request.delay, request.wait, request.pattern, request.place = tonumber(ARGV[at + 8]), ARGV[at + 9] == '1', ARGV[at + 10], ARGV[at + 11]
end
request.member = member_of(request.mode, request.owner, request.request)

local read = call('MGET', STORE .. 'floor', withdrawn_key(request.owner, request.request))
if read[2] and tonumber(read[2]) > lease_now then return refuse('refused', 'this request was withdrawn; ask again with a new request') end

-- What a clock that was ahead left behind, and then a request that was granted before.
local found, left, granted, waited = 0, math.huge, {}, false
for _, name in ipairs(request.names) do
  waited = waited or load_lock(name).waited
  for slot = 1, request.slots do
    local lock = load_lock(resource_of(name, slot))
    save_if_brought_back(lock)
    for _, holder in ipairs(lock.holders) do
      if holder.owner == request.owner and holder.request == request.request then
        found = found + 1
        if is_alive(holder) then
          left = math.min(left, holder.lease_end - lease_now)
          granted[#granted + 1], granted[#granted + 2], granted[#granted + 3] = lock.resource, lock.row[FENCE], holder.previous
        end
      end
    end
  end
end
if found > 0 then
  if #granted == 3 * count then return {1, left, unpack(granted)} end
  return refuse('lost', 'the lease of ' .. request.names[1] .. ' that this request got has ended; ask again with a new request')
end

if waited then forget_the_silent() end
local standings, all_from, most_ahead, held = {}, NEVER, 0, nil
for i, name in ipairs(request.names) do
  local standing = stand(request, name)
  standings[i] = standing
  all_from, most_ahead = math.max(all_from, standing.may_have), math.max(most_ahead, standing.ahead)
  if not held and standing.may_have > lease_now then held = held_by(standing) end
end
if held then
  if request.wait then take_place(request) end
  return {0, held[1], held[2], held[3], held[4], held[5], math.max(all_from - lease_now, 1000), most_ahead}
end

-- All fences before anything is written: they may be used up.
local floor = tonumber(read[1] or 0)
for _, standing in ipairs(standings) do
  local lock = standing.lock
  standing.joins = joins(lock, request)
  if standing.joins then
    standing.fence = lock.row[FENCE]
  else
    standing.fence = math.max((lock.row and lock.row[FENCE] or 0) + 1, floor + 1, wall_now)
    if standing.fence > FENCE_MAX then return refuse('refused', FENCES_USED_UP) end
  end
end
if waited then
  for i, standing in ipairs(standings) do pass_by(standing, request.names[i]) end
  leave_queue(request.member)
end

local reply, plain = {1, request.ttl}, false
for _, standing in ipairs(standings) do
  local lock = standing.lock
  local key, row, previous = lock_key(lock.resource), lock.row, ''
  if standing.joins then
    row[PATTERN] = request.pattern
    save_row(lock)
  else
    local last = last_holder(lock, function(holder) return not holder.released end)
    if last then previous = last.owner end
    plain = ARGV[4] == 'p' and not is_waited_for(lock.resource)
    local bar = request.to_its_end and lease_now + request.ttl or request.hold_at_least > 0 and lease_now + request.hold_at_least or NEVER
    if not row then
      call('SADD', STORE .. 'spaces', P)
      call('ZADD', P .. 'locks', 0, lock.resource)
      call('ZADD', P .. 'locks_by_age', num(lease_now), lock.resource)
    end
    drop_holders(lock)
    -- A break that was answered is known for good, so that its repeat does not end what was granted after it. A plain release leaves no moment behind: then it counts as
    -- free since this grant.
    lock.row = {standing.fence, request.mode, request.to_its_end and 1 or 0, request.delay, bar, lease_now, request.pattern,
      row and row[BREAK_REQUEST] or '', row and row[ENDED] or 0, row and row[CURRENT] or 0, request.owner, request.request, request.place, previous, wall_now,
      request.to_its_end and request.ttl or request.hold_at_least}
    if request.mode == EXCLUSIVE then
      call('HSET', key, 'm', packed_row(lock.row), (plain and '' or '=') .. num(standing.fence) .. ' ' .. request.owner, end_and_ttl(lease_now + request.ttl, request.ttl))
    else
      save_row(lock)
    end
  end
  if request.mode == SHARED then
    for _, holder in ipairs(lock.holders) do
      if holder.known_until <= lease_now then call('HDEL', key, holder.field) end
    end
    save_sharer(lock, {owner = request.owner, request = request.request, place = request.place, previous = previous, granted_at = wall_now,
      lease_end = lease_now + request.ttl, released = false, known_until = lease_now + 2 * request.ttl, ttl = request.ttl})
  end
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = lock.resource, standing.fence, previous
end
if plain and reply[5] == '' then return num(reply[4]) end
return reply

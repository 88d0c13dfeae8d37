-- needs: 00_core 10_jobs
-- ARGV: owner, request, limit, ttl, whether it holds others (1), stage, queues in the order in which they are served.
-- Answers {ordered, alone_waiting, next_due or '', job...}, each job as shown(), and behind it whether it was taken over (1) and from whom.
-- Many that are blocked are put aside a few thousand at a time: {'again'} then, and the caller asks again.
local owner, request, limit, ttl = ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local holds_others, stage = ARGV[8] == '1', ARGV[9]
local PARKED_AT_ONCE = 2000
local claim_key = P .. 'claim:' .. #owner .. ':' .. owner .. request
local lanes = {}  -- those of paused queues too: they are due, but not granted
for i = 10, #ARGV do lanes[#lanes + 1] = {queue = ARGV[i], lane = ARGV[i] .. '/' .. stage} end

local function next_due()
  local first
  for _, asked in ipairs(lanes) do
    local _, next_at = ready_look(asked.lane)
    if next_at then first = math.min(first or math.huge, next_at - wall_now) end
    for _, which in ipairs(LEASES) do
      local skipped = 0
      local found = {}
      repeat  -- its own are passed over: there are no more of them than it holds
        found = call('ZRANGEBYSCORE', P .. which .. asked.lane, '(' .. num(lease_now), '+inf', 'WITHSCORES', 'LIMIT', skipped, 100)
        local foreign
        for i = 1, #found, 2 do
          if not foreign and found[i]:sub(25) ~= owner then foreign = tonumber(found[i + 1]) - lease_now end
        end
        if foreign then
          if not first or foreign < first then first = foreign end
          break
        end
        skipped = skipped + 100
      until #found < 200
    end
  end
  return first and num(first) or ''
end

local parked = 0
-- The first job of a place that is due and has room, by priority, run time and order; those of a full limit key are put aside. With `take`, each such job
-- is handed to it, until it answers false.
local function each_with_room(asked, place, most, take)
  local at = BY_PRIORITY[place]
  if queue_is_full(asked.queue) then return end
  for _, priority in ipairs(call('ZRANGE', P .. at[2] .. asked.lane, 0, -1)) do
    local key = P .. at[1] .. asked.lane .. ':' .. priority
    while true do
      local members = call('ZRANGEBYSCORE', key, '-inf', num(wall_now), 'LIMIT', 0, most())
      if #members == 0 then break end
      for _, member in ipairs(members) do
        local r = load(member:sub(9, 24))
        if key_is_full(r) then
          if parked == PARKED_AT_ONCE then return end
          parked = parked + 1
          lift(r)
          put(r, true)
        else
          if not take(r) or queue_is_full(asked.queue) then return end
        end
      end
    end
  end
end

-- The expired ones of the open lanes, in the order in which they are taken over.
local function expired(which, most)
  local found = {}
  for _, asked in ipairs(lanes) do
    if not is_paused(asked.queue) then
      local members = call('ZRANGEBYSCORE', P .. which .. asked.lane, '-inf', num(lease_now), 'WITHSCORES', 'LIMIT', 0, most)
      for i = 1, #members, 2 do found[#found + 1] = {tonumber(members[i + 1]), members[i]} end
    end
  end
  table.sort(found, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  return found
end

local function alone_could_start()
  if #expired('alone_leases:', 1) > 0 then return true end
  local can = false
  for _, asked in ipairs(lanes) do
    if not can and not is_paused(asked.queue) then
      each_with_room(asked, 'a', function() return 1 end, function() can = true return false end)
    end
  end
  return can
end

for _, asked in ipairs(lanes) do end_kept_slots(asked.queue) end

local answer = {0, 0, ''}
local function add(r, forced, previous_owner)
  local parts = shown(r, true)
  parts[6], parts[7] = forced and 1 or 0, previous_owner
  answer[#answer + 1] = parts
end

local before = call('GET', claim_key)
before = before and unpack_one(before)
if before and before[1] > lease_now then
  for _, granted in ipairs(before[2]) do
    local r = load(granted[1])
    if r and r.state == RUNNING and r.fence == granted[2] and r.owner == owner and not is_expired(r) then add(r, granted[3] == 1, granted[4]) end
  end
  if holds_others and alone_could_start() then answer[2] = 1 end
elseif call('HEXISTS', P .. 'orders', owner) == 1 then
  answer[1] = 1
  return answer
else
  local dying = expired('last_leases:', -1)
  for _, found in ipairs(dying) do
    if not has_fence_after(last_fence_of(load(found[2]:sub(9, 24)))) then return refuse('refused', FENCES_USED_UP) end
  end
  for _, found in ipairs(dying) do
    local r = load(found[2]:sub(9, 24))
    local fence = minted(r)
    lift(r)
    count_loss(r)
    end_attempt(r, END.lost)
    r.fence, r.owner = fence, ''
    put(r)
    open_next(r)
  end
  if holds_others and alone_could_start() then answer[2] = 1 end

  local granted, refused = {}, false
  local function take(r)
    local fence = minted(r)
    if not fence then
      refused = true
      return false
    end
    local forced, previous_owner = is_expired(r), ''
    lift(r)
    if forced then
      previous_owner = r.owner
      count_loss(r)
      end_attempt(r, END.lost)
    end
    grant(r, fence, owner, request, ttl)
    put(r)
    add(r, forced, previous_owner)
    granted[#granted + 1] = {r.id, fence, forced and 1 or 0, previous_owner}
    return #granted < limit
  end

  if not holds_others then
    local first = expired('alone_leases:', 1)[1]
    if first then take(load(first[2]:sub(9, 24))) end
    for _, asked in ipairs(lanes) do
      if #granted == 0 and not refused and not is_paused(asked.queue) then
        each_with_room(asked, 'a', function() return 1 end, function(r)
          take(r)
          return false
        end)
      end
    end
  end
  if #granted == 0 and not refused then
    for _, found in ipairs(expired('leases:', limit)) do
      if #granted < limit and not refused then take(load(found[2]:sub(9, 24))) end
    end
    for _, asked in ipairs(lanes) do
      if #granted < limit and not refused and not is_paused(asked.queue) then
        each_with_room(asked, 'o', function() return limit - #granted end, take)
      end
    end
  end
  -- Each fence is refused by itself alone, and only near the end of all of them, so this comes before anything was granted, or the job before had the last one.
  if refused and #granted == 0 then return refuse('refused', FENCES_USED_UP) end
  if #granted > 0 then
    call('SET', claim_key, pack({lease_now + ttl, granted}))
    set_to_expire(claim_key, ttl)
  elseif parked == PARKED_AT_ONCE then
    return {'again'}
  end
end
if #answer - 3 < limit then answer[3] = next_due() end
return answer

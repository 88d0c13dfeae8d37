-- needs: 00_core 18_claim_batch 10_jobs
-- ARGV: owner, request, limit, ttl, whether it holds others (1), stage, queues in the order in which they are served.
-- Answers {ordered, alone_waiting + twice how many were buried, next_due or '', jobs...}: either one job as shown(), and behind it whether it was taken over (1) and from whom; or a batch, of jobs that
-- were never claimed before: {'b', what is left of its leases, the fence of all of them, their ids in one text, the body of each}, the bodies only if there are few.
-- Many that are blocked are put aside a few thousand at a time: {'again', how many were buried} then, and the caller asks again.
local PUT_ASIDE_AT_ONCE = 2000
local lanes = {}  -- those of paused queues too: they are due, but not granted
for i = 10, #ARGV do lanes[#lanes + 1] = {queue = ARGV[i], lane = ARGV[i] .. '/' .. stage} end

local function next_due()
  local first
  for _, asked in ipairs(lanes) do
    local _, next_at = ready_look(asked.lane)
    if next_at then first = math.min(first or math.huge, next_at - wall_now) end
    for _, which in ipairs(LEASES) do
      local at, found = 0, nil
      repeat  -- its own are passed over: there are no more of them than it holds
        found = call('ZRANGEBYSCORE', P .. which .. asked.lane, '(' .. num(lease_now), '+inf', 'WITHSCORES', 'LIMIT', at, 100)
        local foreign
        for i = 1, #found, 2 do
          if not foreign and owner_in(found[i]) ~= owner then foreign = tonumber(found[i + 1]) - lease_now end
        end
        if foreign then
          first = math.min(first or math.huge, foreign)
          break
        end
        at = at + 100
      until #found < 200
    end
  end
  return first and num(first) or ''
end

local refused, put_aside = false, 0

local function add(r, forced, previous_owner)
  local parts = shown(r, true)
  parts[6], parts[7] = forced and 1 or 0, previous_owner
  answer[#answer + 1] = parts
end

-- Whether more are wanted.
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
  many = many + 1
  return many < limit
end

local function free_slots(queue)
  local most = settings_of(queue)[1]
  return most > 0 and most - slots_taken(queue) or math.huge
end

-- A due job of a zset by priority: put aside if its limit key is full, else handed on. False: enough.
local function meet(asked, member, hand_on)
  local r = load(member:sub(9, 24))
  if not key_is_full(r) then return hand_on(r) and not queue_is_full(asked.queue) end
  if put_aside >= PUT_ASIDE_AT_ONCE then return false end
  put_aside = put_aside + 1
  lift(r)
  put(r, true)
  return true
end

-- Those of priority 0: plain ones from their list, and between them those that have a run time of their own. False: enough.
local function take_plain(asked)
  local list, open, now = P .. 'plain:' .. asked.lane, P .. 'open:' .. asked.lane .. ':0', be8(wall_now)
  local all_due = last_plain_run_at() <= wall_now
  local gone = plain_gone(asked.lane)
  while true do
    local wanted = math.min(limit - many, free_slots(asked.queue), AT_ONCE)
    if wanted <= 0 or put_aside >= PUT_ASIDE_AT_ONCE then return false end
    local other = call('ZRANGEBYSCORE', open, '-inf', num(wall_now), 'WITHSCORES', 'LIMIT', 0, 1)
    local other_at = other[1] and be8(tonumber(other[2])) .. other[1]:sub(1, 8)
    local members = call('LRANGE', list, 0, wanted - 1)
    local ids, bodies, taken, stale = {}, nil, #members, 0
    if taken > 0 then
      for i = 1, taken do ids[i] = members[i]:sub(9) end
      if gone == 0 and not other_at and all_due then
        bodies = bodies_of(ids)
      else
        bodies = call('HMGET', P .. 'body', unpack(ids))
        local states = call('HMGET', P .. 'state', unpack(ids))
        local some, their_bodies = {}, {}
        local at = 0
        for i = 1, taken do
          local body, order = bodies[i], members[i]:sub(1, 8)
          if not body or states[i] or body:sub(1, 8) ~= order then
            stale = stale + 1
          else
            local created = body:sub(9, 16)
            if created > now or other_at and created .. order > other_at then break end
            some[#some + 1], their_bodies[#their_bodies + 1] = ids[i], body
          end
          at = i
        end
        ids, bodies, taken = some, their_bodies, at
      end
    end
    if #ids > 0 then
      if not has_fence_after(0) then
        refused = true
        return false
      end
      take_batch(asked.queue, ids, bodies)
    elseif taken == 0 and not other_at then
      return true
    elseif taken == 0 and not meet(asked, other[1], take) then
      return false
    end
    if taken > 0 then call('LTRIM', list, taken, -1) end
    if stale > 0 then
      gone, put_aside = gone - stale, put_aside + stale
      call('HINCRBY', P .. 'plain_gone', asked.lane, -stale)
    end
  end
end

-- Those of a place that are due and have room, by priority, run time and order, are handed on, until it says enough.
local function each_with_room(asked, place, most, hand_on)
  local at = BY_PRIORITY[place]
  if queue_is_full(asked.queue) then return end
  local priorities = call('ZRANGE', P .. at[2] .. asked.lane, 0, -1)
  if place == 'o' then
    local i = 1
    while priorities[i] and tonumber(priorities[i]) > 0 do i = i + 1 end
    if priorities[i] ~= '0' then table.insert(priorities, i, '0') end
  end
  for _, priority in ipairs(priorities) do
    if place == 'o' and priority == '0' then
      if not take_plain(asked) then return end
    else
      local key = P .. at[1] .. asked.lane .. ':' .. priority
      while true do
        local members = call('ZRANGEBYSCORE', key, '-inf', num(wall_now), 'LIMIT', 0, most())
        if #members == 0 then break end
        for _, member in ipairs(members) do
          if not meet(asked, member, hand_on) then return end
        end
      end
    end
  end
end

-- The expired ones of the open lanes, in the order in which they are taken over. Each has a record of its own then.
local function expired(which, most)
  local found = {}
  for _, asked in ipairs(lanes) do
    if not is_paused(asked.queue) then
      local members, has_batch
      repeat
        members, has_batch = call('ZRANGEBYSCORE', P .. which .. asked.lane, '-inf', num(lease_now), 'WITHSCORES', 'LIMIT', 0, most), false
        for i = 1, #members, 2 do
          if is_batch(members[i]) then
            has_batch = true
            for _, id in ipairs(ids_in(members[i])) do save(load(id)) end
            break  -- its jobs may be all that is needed: when a server stalled, every lease of a fleet has run out
          end
        end
      until not has_batch
      for i = 1, #members, 2 do found[#found + 1] = {tonumber(members[i + 1]), members[i]} end
    end
  end
  table.sort(found, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  return found
end

local function one() return 1 end
local function alone_could_start()
  if #expired('alone_leases:', 1) > 0 then return true end
  local can = false
  for _, asked in ipairs(lanes) do
    if not can and not is_paused(asked.queue) then
      each_with_room(asked, 'a', one, function()
        can = true
        return false
      end)
    end
  end
  return can
end

for _, asked in ipairs(lanes) do
  bring_leases_back(asked.queue)
  end_kept_slots(asked.queue)
end
local before = call('GET', claim_key)
before = before and unpack_one(before)
if before and before[1] > lease_now then
  for _, had in ipairs(before[2]) do
    local ids = had[1] == '' and had[3] or had[1]
    for at = 1, #ids, 16 do
      local r = load(ids:sub(at, at + 15))
      if r and r.state == RUNNING and r.fence == had[2] and r.owner == owner and not is_expired(r) then
        add(r, had[1] ~= '' and had[3] == 1, had[1] ~= '' and had[4] or '')
        many = many + 1
      end
    end
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
  answer[2] = 2 * #dying
  if holds_others and alone_could_start() then answer[2] = answer[2] + 1 end

  if not holds_others then
    local first = expired('alone_leases:', 1)[1]
    if first then take(load(first[2]:sub(9, 24))) end
    for _, asked in ipairs(lanes) do
      if many == 0 and not refused and not is_paused(asked.queue) then
        each_with_room(asked, 'a', one, function(r)
          take(r)
          return false
        end)
      end
    end
  end
  if many == 0 and not refused then
    for _, found in ipairs(expired('leases:', limit)) do
      if many < limit and not refused then take(load(found[2]:sub(9, 24))) end
    end
    for _, asked in ipairs(lanes) do
      if many < limit and not refused and not is_paused(asked.queue) then each_with_room(asked, 'o', function() return limit - many end, take) end
    end
  end
  -- Fences end with the very last number, which all jobs may have that had none so high; so if the first is not refused, none is that never had it.
  if refused and many == 0 then return refuse('refused', FENCES_USED_UP) end
  if many > 0 then
    remember_grants()
  elseif put_aside >= PUT_ASIDE_AT_ONCE then
    return {'again', #dying}
  end
end
if many < limit then answer[3] = next_due() end
return answer

-- Locks as rows, and their queues.
--
--   lock:RESOURCE   hash. m -> msgpack of ROW below, or of a plain row "p", its fence and the moment since when it is free, 16 digits each, msgpack [pattern, owner,
--                   request, place]. w -> 1 while somebody waits for this name.
--                   An exclusive holder: "FENCE OWNER" -> "END TTL" of its lease, "=FENCE OWNER" where a release has more to do than to delete this field;
--                   neither: it released. So a plain release is HDEL of "FENCE OWNER", which deletes nothing under another fence, owner or circumstance.
--                   Holders of a shared phase: "+OWNER" -> msgpack of SHARER
--   locks           zset of equal scores: every resource that has a row, so that they are listed in bytewise order
--   locks_by_age    zset resource by a moment before which it was not free: what tidy looks at first
--   waiters:NAME    zset by place -> x or s (its mode), owner, NUL, request
--   waiter          hash of the same members -> msgpack [names, owner, place for people, since]
--   waiters_seen    zset of the same members by the moment at which it will have been silent for too long
--   withdrawn:OWNER NUL REQUEST   string: until when that request is refused
local EXCLUSIVE, SHARED = 0, 1
local NEVER = -1000000000000000  -- since ever
local TURN, WAITER_KEPT_FOR, FREE_LOCK_KEPT_FOR = 1000000, 30000000, 1800000000

-- ROW: those from OWNER to GRANTED_AT are the exclusive holder of the phase.
local FENCE, MODE, TO_ITS_END, DELAY, BAR, FREED_AT, PATTERN, BREAK_REQUEST, ENDED, CURRENT, OWNER, REQUEST, PLACE, PREVIOUS, GRANTED_AT, HOLD = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
-- HOLD: the length of its bar. SHARER: request, place, previous owner, granted at, lease end, released (1), until when it is known to those who join, ttl.

local function lock_key(resource) return P .. 'lock:' .. resource end
local function name_of(resource) return resource:match('^[^#]*') end

-- A row is plain if nothing but these is to be said of it; its fence is the wall clock of its grant.
local function packed_row(row)
  local fence, freed_at = num(row[FENCE]), string.format('%016.0f', row[FREED_AT])
  if row[MODE] == EXCLUSIVE and row[TO_ITS_END] == 0 and row[DELAY] == 0 and row[BAR] == NEVER and row[BREAK_REQUEST] == '' and row[PREVIOUS] == '' and
      row[GRANTED_AT] == row[FENCE] and #fence == 16 and #freed_at == 16 then
    return 'p' .. fence .. freed_at .. pack({row[PATTERN], row[OWNER], row[REQUEST], row[PLACE]})
  end
  return pack(row)
end
local function row_in(m)
  if m:byte() ~= 112 then return unpack_one(m) end  -- 'p'
  local fence, who = tonumber(m:sub(2, 17)), unpack_one(m:sub(34))
  return {fence, EXCLUSIVE, 0, 0, NEVER, tonumber(m:sub(18, 33)), who[1], '', 0, 0, who[2], who[3], who[4], '', fence}
end

-- What lies further ahead than it is long was written while the server's clock was ahead: from now on it is as far ahead as that at most (L3, L6). ttl or HOLD nil: of an older version.
local function bring_lock_back(lock)
  local row = lock.row
  local function nearer(at, length)
    if not length or at <= lease_now + length then return at end
    lock.was_ahead = true
    return lease_now + length
  end
  row[BAR], row[FREED_AT] = nearer(row[BAR], row[HOLD]), nearer(row[FREED_AT], 0)
  for _, holder in ipairs(lock.holders) do
    local was = holder.lease_end
    holder.lease_end = nearer(was, holder.ttl)
    if holder.known_until and holder.lease_end < was then holder.known_until = math.min(holder.known_until, lease_now + 2 * holder.ttl) end
  end
end

-- {row = ROW or nil, waited = whether somebody waits for the name, holders = {{owner, request, place, previous, granted_at, lease_end, released, field}, ...}}
local function load_lock(resource)
  local lock = rows_read[resource]
  if lock then return lock end
  lock = {resource = resource, holders = {}}
  rows_read[resource] = lock
  local all = call('HGETALL', lock_key(resource))
  local field_of_end, lease_end, ttl
  for i = 1, #all, 2 do
    local field, value = all[i], all[i + 1]
    local first = field:byte()
    if field == 'm' then lock.row = row_in(value)
    elseif field == 'w' then lock.waited = true
    elseif first == 43 then  -- '+'
      local s = unpack_one(value)
      lock.holders[#lock.holders + 1] = {owner = field:sub(2), request = s[1], place = s[2], previous = s[3], granted_at = s[4], lease_end = s[5], released = s[6] == 1, known_until = s[7], ttl = s[8], field = field}
    else
      field_of_end, lease_end, ttl = field, value:match('^(%S+) ?(%S*)$')
      lease_end, ttl = tonumber(lease_end), tonumber(ttl)
    end
  end
  local row = lock.row
  if row and row[MODE] == EXCLUSIVE then
    lock.holders[1] = {owner = row[OWNER], request = row[REQUEST], place = row[PLACE], previous = row[PREVIOUS], granted_at = row[GRANTED_AT],
      lease_end = lease_end or NEVER, ttl = ttl, released = not field_of_end, field = field_of_end}
  end
  if row then bring_lock_back(lock) end
  return lock
end

local function is_alive(holder) return not holder.released and holder.lease_end > lease_now end
local function is_held(lock)
  for _, holder in ipairs(lock.holders) do
    if is_alive(holder) then return true end
  end
  return false
end
local function holder_by(lock, owner)
  for _, holder in ipairs(lock.holders) do
    if holder.owner == owner then return holder end
  end
end
-- Of those who pass, the one whose lease ends last, then the smallest owner.
local function last_holder(lock, passes)
  local last
  for _, holder in ipairs(lock.holders) do
    if passes(holder) and (not last or holder.lease_end > last.lease_end or (holder.lease_end == last.lease_end and holder.owner < last.owner)) then last = holder end
  end
  return last
end
local function free_from(lock)
  local row = lock.row
  if not row then return NEVER end
  local from = math.max(row[BAR], row[FREED_AT])
  for _, holder in ipairs(lock.holders) do
    if not holder.released then from = math.max(from, holder.lease_end + row[DELAY]) end
  end
  return from
end

local function save_row(lock) call('HSET', lock_key(lock.resource), 'm', packed_row(lock.row)) end
local function save_sharer(lock, h)
  call('HSET', lock_key(lock.resource), '+' .. h.owner, pack({h.request, h.place, h.previous, h.granted_at, h.lease_end, h.released and 1 or 0, h.known_until, h.ttl}))
end
local function end_and_ttl(lease_end, ttl) return ttl and num(lease_end) .. ' ' .. num(ttl) or num(lease_end) end
local function save_lease_end(lock, holder)
  if lock.row[MODE] == SHARED then save_sharer(lock, holder)
  else call('HSET', lock_key(lock.resource), holder.field, end_and_ttl(holder.lease_end, holder.ttl)) end
end
-- What load_lock has brought back stays so.
local function save_if_brought_back(lock)
  if not lock.was_ahead then return end
  lock.was_ahead = nil
  save_row(lock)
  for _, holder in ipairs(lock.holders) do
    if holder.field then save_lease_end(lock, holder) end
  end
end
-- Ends a holding. The caller saves the row.
local function free(lock, holder)
  holder.released = true
  lock.row[FREED_AT] = lease_now
  if lock.row[MODE] == SHARED then save_sharer(lock, holder)
  else call('HDEL', lock_key(lock.resource), holder.field) end
end
local function drop_holders(lock)
  for _, holder in ipairs(lock.holders) do
    if holder.field then call('HDEL', lock_key(lock.resource), holder.field) end
  end
  lock.holders = {}
end

-- Queues.
local function member_of(mode, owner, request) return (mode == EXCLUSIVE and 'x' or 's') .. owner .. '\0' .. request end
local function withdrawn_key(owner, request) return P .. 'withdrawn:' .. owner .. '\0' .. request end

local function mark_waited(name, waited)
  if rows_read[name] then rows_read[name].waited = waited end
  if waited then call('HSET', lock_key(name), 'w', '1') else call('HDEL', lock_key(name), 'w') end
end
-- Whether it had a place.
local function leave_queue(member)
  local there = call('HGET', P .. 'waiter', member)
  if not there then return false end
  for _, name in ipairs(unpack_one(there)[1]) do
    call('ZREM', P .. 'waiters:' .. name, member)
    if call('EXISTS', P .. 'waiters:' .. name) == 0 then mark_waited(name, false) end
  end
  call('HDEL', P .. 'waiter', member)
  call('ZREM', P .. 'waiters_seen', member)
  return true
end
-- Those who were silent for too long have left. What follows in a script may rely on it. Who seems to have asked at a moment that lies ahead came while the server's clock was
-- ahead, and has asked now.
local function forget_the_silent()
  local heard = num(lease_now + WAITER_KEPT_FOR)
  for _, member in ipairs(call('ZRANGEBYSCORE', P .. 'waiters_seen', '(' .. heard, '+inf')) do call('ZADD', P .. 'waiters_seen', heard, member) end
  for _, member in ipairs(call('ZRANGEBYSCORE', P .. 'waiters_seen', '-inf', num(lease_now))) do leave_queue(member) end
end

local function is_waited_for(resource)
  return load_lock(name_of(resource)).waited
end
local function tell_lock(resource)
  tell('l ' .. name_of(resource))
end
-- Who waits loses its place, and hears of it.
local function dismiss(member)
  local there = call('HGET', P .. 'waiter', member)
  if not there then return end
  leave_queue(member)
  for _, name in ipairs(unpack_one(there)[1]) do tell('l ' .. name) end
end

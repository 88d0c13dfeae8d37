-- after: 09_batches
-- A job as a record, and every index that it stands in. All verbs do the same: load, lift (out of the indexes), change,
-- put (into them, and saved). So an index is always what the record says, and nothing can leak (J4, J7).
--
--   body          hash id -> be8(order) be8(created_at) head payload; never changes. head is msgpack
--                 [queue, stage, priority, {what is not the default}], made by the client as `head payload`
--   state         hash id -> msgpack of FIELDS below, and of its stage if it was moved to another one. lease_end is [lease_end, ttl] while a lease or a kept slot counts. None: ready, never claimed, its run time is created_at. Byte 4 is its
--                 state, always
--   items         hash id -> see 87_change_items.lua
--   result        hash id -> bytes
--   attempts      hash id -> msgpack list of the ended attempts before the last one
--   order:N       string, 16 bytes an id: those with order N*1024 to N*1024+1023, zeros where there is none; last: see 00_core
--   depth         hash "QUEUE STATE" -> how many, but those in plain:LANE
--   lanes, stages:QUEUE    sets: "QUEUE/STAGE", "STAGE"
--   open:LANE:PRIORITY     zset run_at -> be8(order) id: ready, and nothing but its time, its queue or its limit key holds it back; priorities:LANE
--   alone:LANE:PRIORITY    the same for those that must run alone (J5); alone_priorities:LANE
--   blocked:LANE           the same for those that their group, their limit key or their own revoked delivery holds back, all priorities
--   parked:QUEUE KEY       zset by words: of the blocked ones those of a full limit key, best first in each stage; parked_keys:QUEUE: set;
--                          parked_at: hash QUEUE -> the wall clock when one was parked last: all of them were due then
--   unparking_early        hash QUEUE -> where to go on there, after the clock was set back
--   unparking              hash QUEUE -> where to go on in parked_keys:QUEUE, after a change of the limit per key
--   leases:LANE            zset lease end -> be8(order) id owner: running, and may be lost with nothing but that;
--   alone_leases:LANE      the same for those that must run alone once this delivery is lost; last_leases:LANE: for those that are dead then
--   read_at                hash QUEUE -> the largest reading of the lease clock at which a lease of it was granted or renewed
--   kept:QUEUE             zset lease end -> id owner: a delivery that was revoked or held keeps its slot until then
--   keyslots:QUEUE KEY     set of ids that have a slot under a limit key
--   group:QUEUE NAME       zset group_order -> id: the unfinished jobs of a group; group_slot hash "QUEUE NAME" -> id; group_fence hash -> the last one
--   waiting                set of ids; older versions knew none of it: it counts only where it has as many as `depth`
--   done:QUEUE, ended:QUEUE  zset finished_at -> id: done ones; dead and cancelled ones
-- Plain jobs (priority 0, no group, no limit key) that are due as they come and were never claimed have no record, and stand in
--   plain:LANE             list of be8(order) id, in the order of enqueue, which is that of their run times; last: see 00_core
--   plain_gone             hash LANE -> how many in its list are that no more: they have a record, were removed, or came anew with another order
-- A claim that takes them out of it makes a batch of them. They have a record of their own as soon as something else touches them than a renewal of all, or done:
--   state                  'cR' 0 RUNNING be8(NUMBER): the same text for all
--   batches                hash NUMBER -> msgpack [fence, owner, request, began_at, NUMBER, queue, stage, ttl]; batch_runs: hash NUMBER -> how many are in it
--   batch:NUMBER           string, 16 bytes an id: all of them, also those that are in it no more
--   leases:LANE            has be8(0) be8(NUMBER) owner for all of them; batch_number: the last one
-- and those that are done at their first delivery
--   state                  'cD' 0 DONE msgpack [fence, owner, began_at, finished_at, exit_status] result; a result that is not short is where all are
--   done:QUEUE             has 'f' be8(NUMBER) for many that were done at once; finished:NUMBER: string, 16 bytes an id: all of them
-- In these keys a blank parts what names cannot hold from what follows; limit keys, groups and unique keys come last.
local LOSSES_BEFORE_ALONE, LOSSES_MAX, ATTEMPTS_KEPT = 2, 5, 50

-- What changes, in the order in which it is packed; the defaults of a job that was never touched. An optional number that is not there is -1.
local FIELDS = {'state', 'run_at', 'fence', 'owner', 'lease_end', 'request', 'deliveries', 'failures', 'losses', 'losses_in_row', 'laters',
  'last_outcome', 'exit_status', 'finished_at', 'error', 'group_order', 'place',
  'began_at', 'ended_at', 'end_kind', 'end_exit', 'end_error', 'fence_of_attempt', 'owner_of_attempt',  -- the last attempt; began_at -1: none. end_kind as AttemptEnd
  'revoked_fence', 'revoked_owner', 'revoked_end',  -- revoked_fence 0: none
  'last_act', 'percent', 'note', 'log_chunks', 'log_dropped', 'log_end', 'held_effects'}
local DEFAULTS = {state = READY, fence = 0, owner = '', lease_end = 0, ttl = 0, request = '', deliveries = 0, failures = 0, losses = 0, losses_in_row = 0, laters = 0,
  last_outcome = -1, exit_status = -1, finished_at = -1, error = '', place = 'o',
  began_at = -1, ended_at = -1, end_kind = 0, end_exit = -1, end_error = '', fence_of_attempt = 0, owner_of_attempt = '',
  revoked_fence = 0, revoked_owner = '', revoked_end = 0, last_act = '', percent = -1, note = '', log_chunks = 0, log_dropped = 0, log_end = 0, held_effects = 0}
local LEASE_END = 5  -- in FIELDS
local WITH_DEFAULTS = {__index = DEFAULTS}
local ATTEMPTS_MAX = 10

-- Where running jobs stand, by what the loss of the delivery at hand would make of them.
local LEASES = {'leases:', 'alone_leases:', 'last_leases:'}
local function leases_of(r)
  if r.losses_in_row + 1 < LOSSES_BEFORE_ALONE then return 'leases:' end
  return r.losses_in_row + 1 < LOSSES_MAX and 'alone_leases:' or 'last_leases:'
end

local function lane_of(r) return r.queue .. '/' .. r.stage end
local function is_finished(r) return r.state >= DONE end

local function is_plain(r) return r.priority == 0 and r.group == '' and r.limit_key == '' end
local function ready_member(r) return be8(r.order) .. r.id end
local function lease_member(r) return be8(r.order) .. r.id .. r.owner end
local function ids_in(member)
  if not is_batch(member) then return {member:sub(9, 24)} end
  local number, found = of_be8(member, 9), {}
  local all = call('GET', P .. 'batch:' .. num(number))
  for from = 1, #all, 16000 do
    local ids = {}
    for at = from, math.min(from + 15999, #all), 16 do ids[#ids + 1] = all:sub(at, at + 15) end
    for i, state in ipairs(call('HMGET', P .. 'state', unpack(ids))) do
      if state and is_common(state) and state:byte(4) == RUNNING and common_in(state)[5] == number then found[#found + 1] = ids[i] end
    end
  end
  return found
end

-- An end that lies further ahead than its lease is long was written while the server's clock was ahead: it is as far ahead as that at most (L3). ttl 0: of an older version.
local function lease_in(packed)
  if type(packed) == 'table' then return packed[1], packed[2] end
  return packed, 0
end
local function brought_back(lease_end, ttl) return ttl > 0 and math.min(lease_end, lease_now + ttl) or lease_end end
local function bring_back(r)
  local was = r.lease_end
  r.lease_end, r.revoked_end = brought_back(was, r.ttl), brought_back(r.revoked_end, r.ttl)
  r.was_ahead = r.state == RUNNING and r.lease_end < was
  return r
end
-- The record of a job, or nil. `r.payload` is not there: payload_of(body) cuts it out of the body.
local function made_from(id, body, state)
  local after, head = cmsgpack.unpack_one(body, 16)
  local more = head[4] or {}
  local r = {id = id, order = of_be8(body), created_at = of_be8(body, 9), queue = head[1], stage = head[2], first_stage = head[2], priority = head[3],
    key = more.key or '', key_for = more.key_for or 0, group = more.group or '', limit_key = more.limit_key or '', attempts_max = more.attempts_max or ATTEMPTS_MAX,
    tags = more.tags, body = body, payload_at = after + 1}
  if state and not is_common(state) then
    local values = unpack_one(state)
    for i = 1, #FIELDS do r[FIELDS[i]] = values[i] end
    r.lease_end, r.ttl = lease_in(r.lease_end)
    r.moved_to = values[#FIELDS + 1]
    r.stage = r.moved_to or r.stage
    return bring_back(r)
  end
  setmetatable(r, WITH_DEFAULTS)
  r.run_at, r.group_order = r.created_at, r.order
  if not state then
    if is_plain(r) then r.place = 'l' end
    return r
  end
  local c = common_in(state)
  r.state, r.fence, r.owner = state:byte(4), c[1], c[2]
  r.deliveries, r.fence_of_attempt, r.owner_of_attempt = 1, c[1], c[2]
  if r.state == RUNNING then
    r.request, r.began_at, r.batch, r.ttl = c[3], c[4], c[5], c[8] or 0
    r.lease_end = tonumber(call('ZSCORE', P .. 'leases:' .. lane_of(r), batch_member(r.batch, r.owner)))
    bring_back(r)
  else
    r.began_at, r.last_outcome, r.finished_at, r.exit_status = c[3], 0, c[4], c[5]
    r.ended_at, r.end_kind, r.end_exit, r.short_result = c[4], 1, c[5], c.result
  end
  return r
end
local function load(id)
  local body = call('HGET', P .. 'body', id)
  if not body then return nil end
  return made_from(id, body, call('HGET', P .. 'state', id))
end
local function payload_of(r) return r.payload_at <= 0 and '' or r.body:sub(r.payload_at) end

-- The zsets of a place by priority, and which priorities there are.
local BY_PRIORITY = {o = {'open:', 'priorities:'}, a = {'alone:', 'alone_priorities:'}}
local function stand_by_priority(r)
  local at, lane = BY_PRIORITY[r.place], lane_of(r)
  call('ZADD', P .. at[1] .. lane .. ':' .. r.priority, num(r.run_at), ready_member(r))
  call('ZADD', P .. at[2] .. lane, -r.priority, r.priority)
end
local function stand_by_lease(r)
  note_reading(r.queue)
  call('ZADD', P .. leases_of(r) .. lane_of(r), num(r.lease_end), lease_member(r))
end

-- Out of what it has in common with others.
local function leave_list(r)
  local list = P .. 'plain:' .. lane_of(r)
  if call('LINDEX', list, 0) == ready_member(r) then call('LPOP', list) else call('HINCRBY', P .. 'plain_gone', lane_of(r), 1) end
end
local function leave_batch(r)
  end_in_batch(r.batch, r.owner, lane_of(r), 1)
  r.batch = nil
end

local function packed_state(r)
  local values = {}
  for i = 1, #FIELDS do values[i] = r[FIELDS[i]] end
  if (r.ttl or 0) > 0 and (r.state == RUNNING or r.revoked_fence ~= 0) then values[LEASE_END] = {r.lease_end, r.ttl} end
  values[#FIELDS + 1] = r.moved_to
  return pack(values)
end

local function save(r)
  if r.batch then
    leave_batch(r)
    stand_by_lease(r)
  elseif r.state == READY and r.place == 'l' then
    leave_list(r)
    r.place = 'o'
    call('HINCRBY', P .. 'depth', r.queue .. ' ' .. READY, 1)
    stand_by_priority(r)
  elseif r.short_result then
    call('HSET', P .. 'result', r.id, r.short_result)
    r.short_result = nil
  elseif r.was_ahead and r.state == RUNNING then
    stand_by_lease(r)
  end
  call('HSET', P .. 'state', r.id, packed_state(r))
end

local function is_expired(r) return r.state == RUNNING and r.lease_end <= lease_now end
local function is_due(r) return r.state == READY and r.run_at <= wall_now end
local function keeps_slot(r) return r.revoked_fence ~= 0 and r.revoked_end > lease_now end
local function must_run_alone(r) return r.losses_in_row + (is_expired(r) and 1 or 0) >= LOSSES_BEFORE_ALONE end
local function has_slot(r) return r.state == RUNNING or keeps_slot(r) end
local function count(r, by) call('HINCRBY', P .. 'depth', r.queue .. ' ' .. r.state, by) end
-- Best first: larger priorities, sooner run times, older jobs; those that must run alone apart, since a claim takes them before all others, or not at all.
local function parked_member(r) return r.stage .. '\0' .. (must_run_alone(r) and 'a' or 'o') .. be8(1000 - r.priority) .. be8(r.run_at) .. be8(r.order) .. r.id end

-- Where a ready job stands: o open, a alone, b blocked, p parked (blocked by its full limit key; only a claim parks).
local function group_lets(r)
  if r.group == '' then return true end
  local name = r.queue .. ' ' .. r.group
  if call('HEXISTS', P .. 'group_slot', name) == 1 then return false end
  return call('ZRANGE', P .. 'group:' .. name, 0, 0)[1] == r.id
end

local function lift(r)
  if r.state ~= READY or r.place ~= 'l' then count(r, -1) end
  local lane = lane_of(r)
  if r.state == READY then
    local at = BY_PRIORITY[r.place]
    if at then
      local key = P .. at[1] .. lane .. ':' .. r.priority
      call('ZREM', key, ready_member(r))
      if call('EXISTS', key) == 0 then call('ZREM', P .. at[2] .. lane, r.priority) end
    elseif r.place == 'l' then
      leave_list(r)
    else
      call('ZREM', P .. 'blocked:' .. lane, ready_member(r))
      if r.place == 'p' then
        local key = P .. 'parked:' .. r.queue .. ' ' .. r.limit_key
        call('ZREM', key, parked_member(r))
        if call('EXISTS', key) == 0 then call('SREM', P .. 'parked_keys:' .. r.queue, r.limit_key) end
      end
    end
  elseif r.state == RUNNING then
    if r.batch then leave_batch(r) else call('ZREM', P .. leases_of(r) .. lane, lease_member(r)) end
  elseif r.state == WAITING then
    call('SREM', P .. 'waiting', r.id)
  elseif is_finished(r) then
    call('ZREM', P .. (r.state == DONE and 'done:' or 'ended:') .. r.queue, r.id)
  end
  if r.revoked_fence ~= 0 then call('ZREM', P .. 'kept:' .. r.queue, r.id .. r.revoked_owner) end
  if r.limit_key ~= '' then call('SREM', P .. 'keyslots:' .. r.queue .. ' ' .. r.limit_key, r.id) end
  if r.group ~= '' then
    local name = r.queue .. ' ' .. r.group
    call('ZREM', P .. 'group:' .. name, r.id)
    if call('HGET', P .. 'group_slot', name) == r.id then call('HDEL', P .. 'group_slot', name) end
  end
end

-- `parked`: its limit key is full. `is_new`: there is no record of it yet, and none is made as long as it would say nothing.
local function put(r, parked, is_new)
  count(r, 1)
  local lane = lane_of(r)
  if r.revoked_fence ~= 0 and r.revoked_end <= lease_now then r.revoked_fence, r.revoked_owner, r.revoked_end = 0, '', 0 end
  if r.group ~= '' then
    local name = r.queue .. ' ' .. r.group
    if not is_finished(r) then call('ZADD', P .. 'group:' .. name, num(r.group_order), r.id) end
    if has_slot(r) then call('HSET', P .. 'group_slot', name, r.id) end
  end
  if r.limit_key ~= '' and has_slot(r) then call('SADD', P .. 'keyslots:' .. r.queue .. ' ' .. r.limit_key, r.id) end
  if r.revoked_fence ~= 0 then call('ZADD', P .. 'kept:' .. r.queue, num(r.revoked_end), r.id .. r.revoked_owner) end
  if r.state == READY then
    if keeps_slot(r) or not group_lets(r) then r.place = 'b'
    elseif parked then r.place = 'p'
    elseif must_run_alone(r) then r.place = 'a'
    else r.place = 'o' end
    if BY_PRIORITY[r.place] then
      stand_by_priority(r)
    else
      call('ZADD', P .. 'blocked:' .. lane, num(r.run_at), ready_member(r))
      if r.place == 'p' then
        call('ZADD', P .. 'parked:' .. r.queue .. ' ' .. r.limit_key, 0, parked_member(r))
        call('SADD', P .. 'parked_keys:' .. r.queue, r.limit_key)
        call('HSET', P .. 'parked_at', r.queue, num(wall_now))
      end
    end
  elseif r.state == RUNNING then
    stand_by_lease(r)
  elseif r.state == WAITING then
    call('SADD', P .. 'waiting', r.id)
  elseif is_finished(r) then
    call('ZADD', P .. (r.state == DONE and 'done:' or 'ended:') .. r.queue, num(r.finished_at), r.id)
  end
  if not (is_new and r.place == 'o' and r.run_at == r.created_at and not is_plain(r)) then save(r) end
end

-- How many slots of a queue are taken: by those that run, and kept ones.
local function stages_of(queue) return call('SMEMBERS', P .. 'stages:' .. queue) end
local function slots_taken(queue) return call('ZCARD', P .. 'kept:' .. queue) + tonumber(call('HGET', P .. 'depth', queue .. ' ' .. RUNNING) or 0) end
local function queue_is_full(queue)
  local most = settings_of(queue)[1]
  return most > 0 and slots_taken(queue) >= most
end
-- The ids of all that run in a queue, in no order.
local function running_ids(queue)
  local ids = {}
  for _, stage in ipairs(stages_of(queue)) do
    for _, which in ipairs(LEASES) do
      for _, member in ipairs(call('ZRANGE', P .. which .. queue .. '/' .. stage, 0, -1)) do
        for _, id in ipairs(ids_in(member)) do ids[#ids + 1] = id end
      end
    end
  end
  return ids
end
local function key_slots_taken(queue, limit_key) return call('SCARD', P .. 'keyslots:' .. queue .. ' ' .. limit_key) end
local function key_is_full(r)
  local most = settings_of(r.queue)[2]
  return most > 0 and r.limit_key ~= '' and key_slots_taken(r.queue, r.limit_key) >= most
end

-- The first of the list of plain jobs that is one still: its body. Those before it go.
local function first_plain(lane)
  for _ = 1, 5000 do  -- nobody has so many cancelled one by one, and a script must end
    local first = call('LINDEX', P .. 'plain:' .. lane, 0)
    if not first then return nil end
    local body = call('HEXISTS', P .. 'state', first:sub(9)) == 0 and call('HGET', P .. 'body', first:sub(9))
    if body and body:sub(1, 8) == first:sub(1, 8) then return body end
    call('LPOP', P .. 'plain:' .. lane)
    call('HINCRBY', P .. 'plain_gone', lane, -1)
  end
end
local function plain_gone(lane) return tonumber(call('HGET', P .. 'plain_gone', lane) or 0) end
local function plain_in(lane) return call('LLEN', P .. 'plain:' .. lane) - plain_gone(lane) end
local function last_plain_run_at()
  local _, run_at = read_last()
  return run_at
end
-- Shows `visit` the run time of each plain job. Only for a clock that was set back, and not too many: otherwise all of them are due.
local PLAIN_WALKED = 5000
local function each_plain(lane, visit)
  for at = 0, call('LLEN', P .. 'plain:' .. lane), 1000 do
    for _, member in ipairs(call('LRANGE', P .. 'plain:' .. lane, at, at + 999)) do
      local body = call('HEXISTS', P .. 'state', member:sub(9)) == 0 and call('HGET', P .. 'body', member:sub(9))
      if body and body:sub(1, 8) == member:sub(1, 8) then visit(of_be8(body, 9)) end
    end
  end
end

-- The same for a long list: how many of its members have come, and the run time of the first that has not (or nil). They stand in the order of their run times; those that left the list and are
-- still in it count, so that this is a little more than there are.
local function plain_border(lane)
  local low, high, next_at = 0, call('LLEN', P .. 'plain:' .. lane), nil
  while low < high do
    local middle = math.floor((low + high) / 2)
    local member = call('LINDEX', P .. 'plain:' .. lane, middle)
    local body = member and call('HGET', P .. 'body', member:sub(9))
    if body and of_be8(body, 9) > wall_now then
      high, next_at = middle, of_be8(body, 9)
    else
      low = middle + 1
    end
  end
  return low, next_at
end

-- Of the ready jobs of a lane: how many lie ahead, the first moment at which one of them comes (or nil), how many have come, since when the first (or nil), and how
-- many of those that have come are blocked.
local function ready_look(lane)
  local ahead, next_at, due, oldest = 0, nil, 0, nil
  local now = num(wall_now)
  local function look(key)
    local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if not first then return end
    first = tonumber(first)
    local come = 0
    if first <= wall_now then
      oldest = math.min(oldest or first, first)
      come = call('ZCOUNT', key, '-inf', now)
      due = due + come
      first = tonumber(call('ZRANGEBYSCORE', key, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
    end
    ahead = ahead + call('ZCARD', key) - come
    if first then next_at = math.min(next_at or first, first) end
  end
  for _, at in pairs(BY_PRIORITY) do
    for _, priority in ipairs(call('ZRANGE', P .. at[2] .. lane, 0, -1)) do look(P .. at[1] .. lane .. ':' .. priority) end
  end
  local first = first_plain(lane)
  if first and last_plain_run_at() <= wall_now then
    local at = of_be8(first, 9)
    oldest, due = math.min(oldest or at, at), due + plain_in(lane)
  elseif first and call('LLEN', P .. 'plain:' .. lane) > PLAIN_WALKED then
    local come, at = plain_border(lane)
    if come > 0 then oldest, due = math.min(oldest or of_be8(first, 9), of_be8(first, 9)), due + come end
    if at then next_at, ahead = math.min(next_at or at, at), ahead + call('LLEN', P .. 'plain:' .. lane) - come end
  elseif first then
    each_plain(lane, function(at)
      if at <= wall_now then oldest, due = math.min(oldest or at, at), due + 1
      else next_at, ahead = math.min(next_at or at, at), ahead + 1 end
    end)
  end
  local free = due
  look(P .. 'blocked:' .. lane)
  return ahead, next_at, due, oldest, due - free
end

local function place_anew(id)
  local r = load(id)
  lift(r)
  put(r)
  return r
end
local UNPARKED_AT_ONCE = 1000
-- Parked jobs for which there is room now: the best of each stage, and the best of those that must run alone. At most `most` of each; answers how many.
local function unpark(queue, limit_key, most)
  local limit = settings_of(queue)[2]
  if limit > 0 then most = math.min(most, limit - key_slots_taken(queue, limit_key)) end
  local key = P .. 'parked:' .. queue .. ' ' .. limit_key
  if most <= 0 or call('EXISTS', key) == 0 then return 0 end
  local opened = 0
  for _, stage in ipairs(stages_of(queue)) do
    for kind, behind in pairs({a = 'b', o = 'p'}) do
      local best = call('ZRANGEBYLEX', key, '[' .. stage .. '\0' .. kind, '(' .. stage .. '\0' .. behind, 'LIMIT', 0, most)
      for _, member in ipairs(best) do place_anew(member:sub(-16)) end
      opened = opened + #best
    end
  end
  return opened
end
-- After a change of the limit per key: a bounded number of those for which there is room now. Who changed it calls this until nothing is left to do; claims do, too, so
-- that nothing waits for a caller that is gone (J8).
local function unpark_some(queue)
  local cursor = call('HGET', P .. 'unparking', queue)
  if not cursor then return end
  local left = UNPARKED_AT_ONCE
  local page = call('SSCAN', P .. 'parked_keys:' .. queue, cursor, 'COUNT', 100)
  for _, limit_key in ipairs(page[2]) do left = left - unpark(queue, limit_key, left) end
  if left <= 0 then return end  -- the same keys again: those that have no parked job any more are gone
  if page[1] == '0' then call('HDEL', P .. 'unparking', queue) else call('HSET', P .. 'unparking', queue, page[1]) end
end
-- When the clock was set back: those that are not due any more must not stand before others that are. A bounded number at a time, as above.
local function unpark_early(queue)
  local cursor = call('HGET', P .. 'unparking_early', queue)
  if not cursor then return end
  local left = UNPARKED_AT_ONCE
  local page = call('SSCAN', P .. 'parked_keys:' .. queue, cursor, 'COUNT', 100)
  for _, limit_key in ipairs(page[2]) do
    local key, from = P .. 'parked:' .. queue .. ' ' .. limit_key, '-'
    while left > 0 do
      local first = call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, 1)[1]
      if not first then break end
      local stage_and_priority = first:sub(1, -33)  -- run time, order and id follow
      from = '(' .. stage_and_priority .. string.rep('\255', 33)
      local early = call('ZRANGEBYLEX', key, '(' .. stage_and_priority .. be8(wall_now) .. string.rep('\255', 25), from, 'LIMIT', 0, left)
      for _, member in ipairs(early) do place_anew(member:sub(-16)) end
      left = left - #early
    end
  end
  if left <= 0 then return end
  if page[1] == '0' then call('HDEL', P .. 'unparking_early', queue) else call('HSET', P .. 'unparking_early', queue, page[1]) end
end
-- After a job has been put: those who may run now that it does not, or comes later.
local function open_next(r)
  if r.group ~= '' then
    local head = call('ZRANGE', P .. 'group:' .. r.queue .. ' ' .. r.group, 0, 0)[1]
    if head and head ~= r.id then
      local next_one = load(head)
      if next_one.state == READY and next_one.place ~= 'o' then
        lift(next_one)
        put(next_one)
      end
    end
  end
  if r.limit_key ~= '' then unpark(r.queue, r.limit_key, UNPARKED_AT_ONCE) end
end
-- Somebody may have waited for its slot.
local function tell_of_free_slot(r)
  local settings = settings_of(r.queue)
  if r.group ~= '' or settings[1] > 0 or settings[2] > 0 then tell('Q ' .. r.queue) end
end

-- After the server's clock was ahead and came back: leases and kept slots of the queue that end later than they are long end after their own length now (L3). By the index of their ends, the
-- last first; many are left to the next claims.
local BROUGHT_BACK_AT_ONCE, LOOKED_AT_ONCE = 2000, 20000
local function bring_leases_back(queue)
  if read_at(queue) <= lease_now then return end
  local most, looks = BROUGHT_BACK_AT_ONCE, LOOKED_AT_ONCE
  -- `ttl_of` answers the length of a member's lease; `move` gives it its new end.
  local function walk_back(key, ttl_of, move)
    local passed = 0
    while most > 0 and looks > 0 do
      local found = call('ZREVRANGEBYSCORE', key, '+inf', '(' .. num(lease_now), 'WITHSCORES', 'LIMIT', passed, 100)
      if #found == 0 then return end
      for i = 1, #found, 2 do
        local ttl, r = ttl_of(found[i])
        if ttl > 0 and tonumber(found[i + 1]) > lease_now + ttl then
          move(key, found[i], lease_now + ttl, r)
          most = most - 1
        else
          passed = passed + 1
        end
        looks = looks - 1
      end
    end
  end
  for _, stage in ipairs(stages_of(queue)) do
    for _, which in ipairs(LEASES) do
      walk_back(P .. which .. queue .. '/' .. stage, function(member)
        if is_batch(member) then return unpack_one(call('HGET', P .. 'batches', num(of_be8(member, 9))))[8] or 0 end
        local r = load(member:sub(9, 24))
        return r.ttl, r
      end, function(key, member, lease_end, r)
        if r then
          r.lease_end = lease_end
          save(r)
        end
        call('ZADD', key, num(lease_end), member)
      end)
    end
  end
  walk_back(P .. 'kept:' .. queue, function(member)
    local r = load(member:sub(1, 16))
    return r.ttl, r
  end, function(key, member, lease_end, r)
    r.revoked_end = lease_end
    save(r)
    call('ZADD', key, num(lease_end), member)
  end)
  if most > 0 and looks > 0 then call('HSET', P .. 'read_at', queue, num(lease_now)) end
end

-- What time alone has changed: slots of revoked deliveries whose lease would have ended by now. What follows in a script may rely on it.
local function end_kept_slots(queue)
  local parked_at = call('HGET', P .. 'parked_at', queue)
  if parked_at and wall_now < tonumber(parked_at) then
    call('HSET', P .. 'unparking_early', queue, '0')
    call('HSET', P .. 'parked_at', queue, num(wall_now))
  end
  if parked_at then
    unpark_early(queue)
    unpark_some(queue)
  end
  for _, member in ipairs(call('ZRANGEBYSCORE', P .. 'kept:' .. queue, '-inf', num(lease_now))) do
    local r = load(member:sub(1, 16))
    lift(r)
    put(r)  -- forgets it
    open_next(r)
  end
end

local function last_fence_of(r)
  if r.group == '' then return r.fence end
  return math.max(r.fence, tonumber(call('HGET', P .. 'group_fence', r.queue .. ' ' .. r.group) or 0))
end
-- The next fence of a job, and of its group; nil when they are used up.
local function minted(r)
  local name = r.queue .. ' ' .. r.group
  local fence = fence_after(last_fence_of(r))
  if fence and r.group ~= '' then call('HSET', P .. 'group_fence', name, num(fence)) end
  return fence
end

-- Attempts: AttemptEnd in its order in model/job.hpp.
local END = {running = 0, done = 1, failed = 2, dead = 3, later = 4, given_back = 5, lost = 6, cancelled = 7, retried = 8, held = 9}
local function attempt_of(r)
  return {r.deliveries, r.fence_of_attempt, r.owner_of_attempt, r.began_at, r.ended_at, r.end_kind, r.end_exit, r.end_error}
end
-- Before `deliveries` is raised.
local function keep_last_attempt(r)
  if r.began_at < 0 then return end
  local before = call('HGET', P .. 'attempts', r.id)
  local list = before and unpack_one(before) or {}
  list[#list + 1] = attempt_of(r)
  while #list > ATTEMPTS_KEPT - 1 do table.remove(list, 1) end
  call('HSET', P .. 'attempts', r.id, pack(list))
end
local function end_attempt(r, kind, exit_status, err)
  r.ended_at, r.end_kind, r.end_exit = wall_now, kind, exit_status or -1
  r.end_error = (kind == END.failed or kind == END.dead) and err or ''
end

-- A lost delivery, see lost_delivery in model/job.hpp. The attempt is ended by the caller.
local function count_loss(r)
  r.losses, r.losses_in_row = r.losses + 1, r.losses_in_row + 1
  if r.losses_in_row >= LOSSES_MAX then
    r.state, r.finished_at = DEAD, wall_now
    r.error = string.format('lost %d deliveries in a row: its workers died or lost the store', r.losses_in_row)
  end
end

-- Grants a job that was lifted, under a fence that was minted for it; the caller puts it.
local function grant(r, fence, owner, request, ttl)
  keep_last_attempt(r)
  r.state, r.fence, r.owner, r.request, r.lease_end, r.ttl = RUNNING, fence, owner, request, lease_now + ttl, ttl
  r.deliveries = r.deliveries + 1
  r.began_at, r.ended_at, r.end_kind, r.end_exit, r.end_error, r.log_end = wall_now, -1, END.running, -1, '', 0
  r.fence_of_attempt, r.owner_of_attempt = fence, owner
end

-- OutcomeKind in its order in model/job.hpp: done 0, failed 1, dead 2, later 3, given_back 4. The job runs; it is lifted, changed and put.
local function settle_delivery(r, kind, result, err, retry_in, exit_status)
  lift(r)
  r.last_outcome, r.exit_status = kind, exit_status
  if kind ~= 4 then r.losses_in_row = 0 end
  if kind == 0 then
    r.state, r.finished_at = DONE, wall_now
    if result ~= '' then call('HSET', P .. 'result', r.id, result) end
  elseif kind == 1 or kind == 2 then
    r.error, r.failures = err, r.failures + 1
    if kind == 2 or r.failures >= r.attempts_max then r.state, r.finished_at = DEAD, wall_now
    else r.state, r.run_at = READY, wall_now + retry_in end
  elseif kind == 3 then
    r.state, r.run_at, r.laters = READY, wall_now + retry_in, r.laters + 1
  else
    r.state = READY
  end
  end_attempt(r, kind + 1, exit_status, err)
  put(r)
  open_next(r)
  if r.state == READY then tell('q ' .. r.queue .. ' ' .. r.stage) end
  tell_of_free_slot(r)
end

-- Who has a unique key at this moment: its record, or nil. `keys` is a hash "QUEUE KEY" -> id of the one that took it last.
local function key_holder(queue, key)
  local id = call('HGET', P .. 'keys', queue .. ' ' .. key)
  local r = id and load(id)
  if not r then return nil end
  if not is_finished(r) or r.finished_at + r.key_for > wall_now then return r end
  return nil
end

-- As C++ reads a job: its id, body, state (or empty), result and what is left of its lease (or nothing).
local function shown(r, with_result)
  return {r.id, r.body, packed_state(r), with_result and (r.short_result or call('HGET', P .. 'result', r.id)) or '', r.state == RUNNING and num(r.lease_end - lease_now) or ''}
end

-- part after: 09_batches
-- The first part of claim: the usual case, in which there are as many plain jobs in the first queue as were asked for, and nothing else to be looked at. ARGV: see 22_claim.lua.
local owner, request, limit, ttl = ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local holds_others, stage = ARGV[8] == '1', ARGV[9]
local AT_ONCE = 1000
local claim_key = P .. 'claim:' .. #owner .. ':' .. owner .. request
local answer = {0, 0, ''}
local granted, many = {}, 0

-- Grants plain jobs that were never claimed; the caller takes them out of their list. Bodies of many are left to the client, which reads them by HMGET: what passes through Lua
-- is hashed there, every byte of it.
local FEW = 16
local function take_batch(queue, ids, bodies)
  local lane = queue .. '/' .. stage
  local fence = fence_after(0)
  local number = call('INCR', P .. 'batch_number')
  local state, all = 'cR\0' .. string.char(RUNNING) .. be8(number), table.concat(ids)
  local states, parts = {}, {'b', num(ttl), num(fence), all}
  for i, id in ipairs(ids) do states[2 * i - 1], states[2 * i] = id, state end
  if bodies then
    for i, body in ipairs(bodies) do parts[i + 4] = body end
  end
  call('HSET', P .. 'state', unpack(states))
  call('HSET', P .. 'batches', num(number), pack({fence, owner, request, wall_now, number, queue, stage, ttl}))
  call('SET', P .. 'batch:' .. num(number), all)
  call('HSET', P .. 'batch_runs', num(number), #ids)
  call('ZADD', P .. 'leases:' .. lane, num(lease_now + ttl), batch_member(number, owner))
  note_reading(queue)
  call('HINCRBY', P .. 'depth', queue .. ' ' .. RUNNING, #ids)
  answer[#answer + 1] = parts
  granted[#granted + 1] = {'', fence, all}
  many = many + #ids
end
local function bodies_of(ids) return #ids <= FEW and call('HMGET', P .. 'body', unpack(ids)) or nil end
local function remember_grants()
  call('SET', claim_key, pack({lease_now + ttl, granted}))
  set_to_expire(claim_key, ttl)
end

-- False: there is more to it.
local function takes_the_short_way()
  local queue = ARGV[10]
  local lane = queue .. '/' .. stage
  if limit > AT_ONCE or call('EXISTS', claim_key, P .. 'orders', P .. 'kept:' .. queue, P .. 'alone_leases:' .. lane, P .. 'last_leases:' .. lane, P .. 'alone_priorities:' .. lane,
      P .. 'priorities:' .. lane, P .. 'parked_keys:' .. queue) > 0 then return false end
  for i = 11, #ARGV do  -- of other queues only what goes before
    local other = ARGV[i] .. '/' .. stage
    if call('EXISTS', P .. 'kept:' .. ARGV[i], P .. 'leases:' .. other, P .. 'alone_leases:' .. other, P .. 'last_leases:' .. other, P .. 'alone_priorities:' .. other,
        P .. 'parked_keys:' .. ARGV[i]) > 0 then return false end
  end
  if #call('ZRANGEBYSCORE', P .. 'leases:' .. lane, '-inf', num(lease_now), 'LIMIT', 0, 1) > 0 then return false end
  local settings = settings_of(queue)
  if settings[1] > 0 or settings[5] >= 0 or tonumber(call('HGET', P .. 'plain_gone', lane) or 0) > 0 then return false end
  local _, last_run_at = read_last()
  if last_run_at > wall_now or read_at(queue) > lease_now or not has_fence_after(0) then return false end
  local list = P .. 'plain:' .. lane
  local ids = call('LRANGE', list, 0, limit - 1)
  if #ids < limit then return false end
  for i = 1, limit do ids[i] = ids[i]:sub(9) end
  take_batch(queue, ids, bodies_of(ids))
  call('LTRIM', list, limit, -1)
  remember_grants()
  return true
end
if takes_the_short_way() then return answer end


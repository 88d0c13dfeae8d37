-- The common acquire, before anything else is made ready: one exclusive lock that is known, was released, and nobody waits for. What is not so plain goes on below.
-- ARGV: p, name, owner, request, ttl, msgpack [pattern, owner, request, place], wait. Answers the fence alone.
if ARGV[4] == 'p' then
  local call, P, A = redis.call, ARGV[1], ARGV
  local key = P .. 'lock:' .. A[5]
  local there = call('HGETALL', key)
  local row = there[2]
  -- A plain row and nothing beside it (see 14_locks.lua), of another request than this one.
  if #there == 2 and row:byte() == 112 and not row:find(A[9], 34, true) then
    local read = call('MGET', A[2] .. 'floor', P .. 'withdrawn:' .. A[6] .. '\0' .. A[7])
    if not read[2] then
      local lease_now, wall_now
      if A[3] == '' then
        local t = call('TIME')
        wall_now = t[1] * 1000000 + t[2]
        lease_now = wall_now
      else
        local l, w = A[3]:match('^(%S+) (%S+)$')
        lease_now, wall_now = tonumber(l), tonumber(w)
      end
      -- The clock alone makes the fence.
      if wall_now > tonumber(row:sub(2, 17)) and wall_now > tonumber(read[1] or 0) and wall_now < 9007199254740991 then
        local fence = string.format('%.0f', wall_now)
        call('HSET', key, 'm', 'p' .. fence .. (A[3] == '' and fence or string.format('%016.0f', lease_now)) .. A[9], fence .. ' ' .. A[6], lease_now + A[8])
        return fence
      end
    end
  end
end

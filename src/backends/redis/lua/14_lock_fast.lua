-- part after:
-- Acquires of one exclusive lock, before anything else is made ready: its row is plain (see 14_locks.lua), it is free or held, and whoever waits for it is heard of. What is
-- not so plain goes on below. Each is what the rest of the script would do, in few words.
-- ARGV: p, name, owner, request, ttl, msgpack [pattern, owner, request, place], wait.
-- Answers the fence alone if its release may be an HDEL, else as 60_acquire.lua does.
if ARGV[4] == 'p' then
  local call, P, A = redis.call, ARGV[1], ARGV
  local key = P .. 'lock:' .. A[5]
  local there = call('HGETALL', key)
  local row, waited, lease_end, ttl, field
  for i = 1, #there, 2 do
    local name = there[i]
    if name == 'm' then row = there[i + 1]
    elseif name == 'w' then waited = true
    else field, lease_end, ttl = name, there[i + 1]:match('^(%S+) ?(%S*)$') end
  end
  lease_end, ttl = tonumber(lease_end), tonumber(ttl)
  -- Of another request than this one; a row that has a lease has one.
  if row and row:byte() == 112 and not row:find(A[9], 34, true) then
    local read = call('MGET', A[2] .. 'floor', P .. 'withdrawn:' .. A[6] .. '\0' .. A[7])
    local lease_now, wall_now
    if A[3] == '' then
      local t = call('TIME')
      wall_now = t[1] * 1000000 + t[2]
      lease_now = wall_now
    else
      local l, w = A[3]:match('^(%S+) (%S+)$')
      lease_now, wall_now = tonumber(l), tonumber(w)
    end
    local fence = row:sub(2, 17)
    -- Some of those who wait may have been silent for too long; an expired lease has an owner to be named; one that ends later than it is long was granted by a clock that was
    -- ahead; the clock alone makes the fence.
    local heard = not waited or #call('ZRANGEBYSCORE', P .. 'waiters_seen', '-inf', string.format('%.0f', lease_now), 'LIMIT', 0, 1) == 0
    if not read[2] and heard and not (field and (lease_end <= lease_now or ttl and lease_end - ttl > lease_now)) and wall_now > tonumber(fence) and wall_now > tonumber(read[1] or 0) and wall_now < 9007199254740991 then
      local member = 'x' .. A[6] .. '\0' .. A[7]
      local place = waited and call('ZRANK', P .. 'waiters:' .. A[5], member)
      local ahead = place or (waited and call('ZCARD', P .. 'waiters:' .. A[5])) or 0
      if not field and ahead == 0 then
        local minted = string.format('%.0f', wall_now)
        if place then
          call('ZREM', P .. 'waiters:' .. A[5], member)
          call('HDEL', P .. 'waiter', member)
          call('ZREM', P .. 'waiters_seen', member)
          waited = call('EXISTS', P .. 'waiters:' .. A[5]) == 1
          if not waited then call('HDEL', key, 'w') end
        end
        call('HSET', key, 'm', 'p' .. minted .. (A[3] == '' and minted or string.format('%016.0f', lease_now)) .. A[9],
          (waited and '=' or '') .. minted .. ' ' .. A[6], string.format('%.0f %s', lease_now + A[8], A[8]))
        if waited then return {1, A[8], A[5], minted, ''} end
        return minted
      end
      local from = field and lease_end or math.min(tonumber(row:sub(18, 33)), lease_now)
      local again_in = from + ahead * 1000000 - lease_now
      if again_in > 0 then
        if A[10] == '1' then
          local seen_until = string.format('%.0f', lease_now + 30000000)
          if not place then
            call('ZADD', P .. 'waiters:' .. A[5], call('INCR', P .. 'waiters_place'), member)
            call('HSET', P .. 'waiter', member, cmsgpack.pack({{A[5]}, A[6], cmsgpack.unpack(A[9])[4], wall_now}))
            if not waited then
              call('HSET', key, 'w', '1')
              if field and field:byte() ~= 61 then  -- '='
                call('HDEL', key, field)
                call('HSET', key, '=' .. field, string.format(ttl and '%.0f %.0f' or '%.0f', lease_end, ttl))
              end
            end
          end
          call('ZADD', P .. 'waiters_seen', seen_until, member)
        end
        local who = field and cmsgpack.unpack(row:sub(34))
        return {0, A[5], field and 'held' or 'turn', fence, field and who[2] or '', field and who[4] or '', math.max(again_in, 1000), ahead}
      end
    end
  end
end

-- needs: 00_core 10_jobs
-- ARGV: stage, queues. Answers {running, claimable, ahead, blocked, next_due or ''}.
local COUNTED_MOST = 100000
local running, claimable, ahead, blocked, first = 0, 0, 0, 0, nil
local now = num(wall_now)
for i = 5, #ARGV do
  local queue, lane = ARGV[i], ARGV[i] .. '/' .. ARGV[4]
  end_kept_slots(queue)
  local paused = is_paused(queue)
  for _, which in ipairs(LEASES) do
    local run_out = call('ZCOUNT', P .. which .. lane, '-inf', num(lease_now))
    if call('ZCARD', P .. which .. lane) > run_out then running = 1 end
    if paused then blocked = blocked + run_out elseif run_out > 0 then claimable = 1 end
  end
  local has_room = not paused and not queue_is_full(queue)
  local function look(key)
    local due = call('ZCOUNT', key, '-inf', now)
    ahead = ahead + call('ZCARD', key) - due
    local next_one = call('ZRANGEBYSCORE', key, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    if next_one[2] then first = math.min(first or math.huge, tonumber(next_one[2]) - wall_now) end
    return due
  end
  for _, at in pairs(BY_PRIORITY) do
    for _, priority in ipairs(call('ZRANGE', P .. at[2] .. lane, 0, -1)) do
      local key = P .. at[1] .. lane .. ':' .. priority
      if has_room and settings_of(queue)[2] > 0 then  -- those of a full limit key go aside first
        for _, member in ipairs(call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, 10000)) do
          local r = load(member:sub(9, 24))
          if key_is_full(r) then
            lift(r)
            put(r, true)
          end
        end
      end
      local due = look(key)
      if has_room then claimable = due > 0 and 1 or claimable else blocked = blocked + due end
    end
  end
  blocked = blocked + look(P .. 'blocked:' .. lane)
  if has_room then  -- parked ones of which the first could start by now
    for _, limit_key in ipairs(call('SMEMBERS', P .. 'parked_keys:' .. queue)) do
      local most = settings_of(queue)[2]
      if most == 0 or key_slots_taken(queue, limit_key) < most then
        local free = call('ZLEXCOUNT', P .. 'parked:' .. queue .. ' ' .. limit_key, '[' .. ARGV[4] .. '\0', '(' .. ARGV[4] .. '\1')
        blocked = blocked - free
        if free > 0 then claimable = 1 end
      end
    end
  end
end
return {running, claimable, math.min(ahead, COUNTED_MOST), math.min(blocked, COUNTED_MOST), first and num(first) or ''}

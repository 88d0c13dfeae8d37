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
    local run_out = call('ZRANGEBYSCORE', P .. which .. lane, '-inf', num(lease_now), 'LIMIT', 0, paused and COUNTED_MOST or 1)
    if call('ZCOUNT', P .. which .. lane, '(' .. num(lease_now), '+inf') > 0 then running = 1 end
    if not paused and #run_out > 0 then claimable = 1 end
    for _, member in ipairs(paused and run_out or {}) do blocked = blocked + #ids_in(member) end
  end
  local has_room = not paused and not queue_is_full(queue)
  if has_room and settings_of(queue)[2] > 0 then  -- those of a full limit key go aside first
    for _, at in pairs(BY_PRIORITY) do
      for _, priority in ipairs(call('ZRANGE', P .. at[2] .. lane, 0, -1)) do
        for _, member in ipairs(call('ZRANGEBYSCORE', P .. at[1] .. lane .. ':' .. priority, '-inf', now, 'LIMIT', 0, 10000)) do
          local r = load(member:sub(9, 24))
          if key_is_full(r) then
            lift(r)
            put(r, true)
          end
        end
      end
    end
  end
  local ahead_here, next_at, due, _, due_and_blocked = ready_look(lane)
  ahead = ahead + ahead_here
  if next_at then first = math.min(first or math.huge, next_at - wall_now) end
  if not has_room then
    blocked = blocked + due
  else
    blocked = blocked + due_and_blocked
    if due > due_and_blocked then claimable = 1 end
  end
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

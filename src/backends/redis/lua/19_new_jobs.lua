-- How jobs that are not there yet get their records and places: what an enqueue and the ticks of schedules share.

-- As it was sent. `when`: '' now, '+N' in so long, '=N' at that moment.
local function new_job(id, head_and_payload, when)
  local r = made_from(id, '0000000000000000' .. head_and_payload, nil)
  r.when = when
  return r
end

-- Adds them in this order. The first command is one that a full server refuses: then nothing was done.
local function add_jobs(fresh, aliases_come)
  local order, last_run_at, has_aliases = read_last()
  local created, at = be8(wall_now), 1
  while at <= #fresh do
    -- So many as have a place in the same string of ids.
    local block, first, ids, bodies = math.floor((order + 1) / 1024), order + 1, {}, {}
    while at <= #fresh and order + 1 < (block + 1) * 1024 do
      local r = fresh[at]
      order, at = order + 1, at + 1
      r.order, r.group_order, r.created_at, r.run_at = order, order, wall_now, wall_now
      if r.when ~= '' then
        local n = tonumber(r.when:sub(2))
        r.run_at = math.max(wall_now, r.when:sub(1, 1) == '+' and wall_now + n or n)
      end
      ids[#ids + 1] = r.id
      bodies[#bodies + 1] = r.id
      bodies[#bodies + 1] = be8(order) .. created .. r.body:sub(17)
    end
    call('HSET', P .. 'body', unpack(bodies))
    call('SETRANGE', P .. 'order:' .. num(block), first % 1024 * 16, table.concat(ids))
  end

  local lanes, plain = {}, {}
  for _, r in ipairs(fresh) do
    local lane = lane_of(r)
    if not plain[lane] then
      plain[lane], lanes[#lanes + 1] = {}, lane
      call('SADD', P .. 'lanes', lane)
      call('SADD', P .. 'stages:' .. r.queue, r.stage)
    end
    if r.key ~= '' then call('HSET', P .. 'keys', r.queue .. ' ' .. r.key, r.id) end
    if r.group ~= '' then call('HINCRBY', P .. 'group_jobs', r.queue .. ' ' .. r.group, 1) end
    if is_plain(r) and r.run_at == wall_now and wall_now >= last_run_at then
      table.insert(plain[lane], ready_member(r))
      last_run_at = wall_now
    else
      put(r, is_due(r) and key_is_full(r), true)
    end
    tell('q ' .. r.queue .. ' ' .. r.stage)
  end
  for _, lane in ipairs(lanes) do
    for from = 1, #plain[lane], 1000 do call('RPUSH', P .. 'plain:' .. lane, unpack(plain[lane], from, math.min(from + 999, #plain[lane]))) end
  end
  write_last(order, last_run_at, has_aliases or aliases_come)
end

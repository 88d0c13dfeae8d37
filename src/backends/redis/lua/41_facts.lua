-- needs: 00_core 10_jobs 12_effects
-- ARGV[4] id. Answers nothing if there is no such job; else the job; in how long it is due, or empty; when, by whom and why its queue was paused; its group's
-- head, or empty, and 1 if that was revoked; the limits that are reached, each with those who reached it in one text; who has its unique key, or empty; how long
-- its slot is kept, or empty; 1 if it must run alone; the names of the effects that it waits for. It changes nothing.
local HOLDERS_SHOWN = 10
local r = load(ARGV[4])
if not r then return false end
local s = settings_of(r.queue)

local function oldest(holders)
  table.sort(holders, function(a, b) return a.order < b.order end)
  local ids = {}
  for i = 1, math.min(#holders, HOLDERS_SHOWN) do ids[i] = holders[i].id end
  return table.concat(ids)
end
local head, head_revoked = '', 0
local limit, limit_holders, per_key, key_holders = 0, '', 0, ''
if r.state == READY or r.state == WAITING then
  if r.group ~= '' then
    local name = r.queue .. ' ' .. r.group
    local id = call('HGET', P .. 'group_slot', name)
    local first = id and load(id)
    if not first or not has_slot(first) then first = load(call('ZRANGE', P .. 'group:' .. name, 0, 0)[1]) end
    if first.id ~= r.id then head, head_revoked = first.id, keeps_slot(first) and 1 or 0 end
  end
  if s[1] > 0 then
    local ids, holders = running_ids(r.queue), {}
    for _, member in ipairs(call('ZRANGEBYSCORE', P .. 'kept:' .. r.queue, '(' .. num(lease_now), '+inf')) do ids[#ids + 1] = member:sub(1, 16) end
    if #ids >= s[1] then
      for i, id in ipairs(ids) do holders[i] = {id = id, order = of_be8(call('HGET', P .. 'body', id))} end
      limit, limit_holders = s[1], oldest(holders)
    end
  end
  if s[2] > 0 and r.limit_key ~= '' then
    local holders = {}
    for _, id in ipairs(call('SMEMBERS', P .. 'keyslots:' .. r.queue .. ' ' .. r.limit_key)) do
      local holder = load(id)
      if has_slot(holder) then holders[#holders + 1] = holder end
    end
    if #holders >= s[2] then per_key, key_holders = s[2], oldest(holders) end
  end
end

local waits_for = {}
if r.state == WAITING and r.held_effects > 0 then
  for _, e in ipairs(effects_of(r.id)) do
    if e.held == 1 then waits_for[#waits_for + 1] = e.name end
  end
end
local has_key = is_finished(r) and r.key ~= '' and key_holder(r.queue, r.key)
local due_in = r.state == READY and r.run_at > wall_now and num(r.run_at - wall_now) or ''
return {shown(r, true), due_in, {num(s[5]), s[6], s[7]}, head, head_revoked, num(limit), limit_holders, num(per_key), key_holders, has_key and has_key.id or '',
  keeps_slot(r) and num(r.revoked_end - lease_now) or '', not is_finished(r) and must_run_alone(r) and 1 or 0, waits_for}

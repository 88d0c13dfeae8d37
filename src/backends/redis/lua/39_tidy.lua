-- needs: 00_core 10_jobs 12_effects 15_order 17_queue_settings 19_forget_jobs
-- Removes finished jobs whose retention is over, up to ARGV[4] of them, and what nobody can ask for any more. Deleting never lowers a fence: the floor is
-- raised in the same step (L2). Answers how many went, and 1 if there may be more.
--
--   look_again   zset wall time -> id: finished jobs that had their unique key, or a slot, when their retention was over. They are not in done: and ended:
--                until then, so that they hold up no other. Those with an effect in doubt are in none of the three: who ends the last doubt brings them back
goes_on_when_full()
local limit = tonumber(ARGV[4])
local ALIAS_KEPT_FOR, BATCH_REMEMBERED_FOR, LOOKS_LEAST, LISTS_IN_FULL = 90000000000, 2592000000000, 32, 8
local more = false

local function list_of(r) return P .. (r.state == DONE and 'done:' or 'ended:') .. r.queue end
local again = call('ZRANGEBYSCORE', P .. 'look_again', '-inf', num(wall_now), 'LIMIT', 0, 10 * limit)
for _, id in ipairs(again) do
  call('ZREM', P .. 'look_again', id)
  local r = load(id)
  if r and is_finished(r) then call('ZADD', list_of(r), num(r.finished_at), id) end
end
more = #again == 10 * limit

-- The oldest of each list; with very many lists of each only some.
local lists, old, all_depths = {}, {}, depths()
for queue, depth in pairs(all_depths) do
  local s = settings_of(queue)
  if depth[DONE] > 0 then lists[#lists + 1] = {P .. 'done:' .. queue, wall_now - s[3]} end
  if depth[DEAD] + depth[CANCELLED] > 0 then lists[#lists + 1] = {P .. 'ended:' .. queue, wall_now - s[4]} end
end
-- The oldest ids of a list with their times, and whether there may be more.
local function oldest_in(list, up_to, most)
  local function look() return call('ZRANGEBYSCORE', list, '-inf', num(up_to), 'WITHSCORES', 'LIMIT', 0, most) end
  local found, parted = look(), 0
  for i = 1, #found, 2 do
    if parted < most and #found[i] == 9 then parted = parted + part_finished(list, found[i], found[i + 1]) end
  end
  if parted > 0 then found = look() end
  local ids, there_is_more = {}, #found == 2 * most
  for i = 1, #found, 2 do
    if #found[i] == 16 then ids[#ids + 1] = {at = tonumber(found[i + 1]), id = found[i], list = list} else there_is_more = true end
  end
  return ids, there_is_more
end
local of_each = math.max(LOOKS_LEAST, math.min(limit + 1, math.ceil(LISTS_IN_FULL * (limit + 1) / math.max(1, #lists))))
for _, list in ipairs(lists) do
  local oldest, there_is_more = oldest_in(list[1], list[2], of_each)
  for _, one in ipairs(oldest) do old[#old + 1] = one end
  more = more or there_is_more
end
table.sort(old, function(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return a.id < b.id
end)

local any_intents = call('EXISTS', P .. 'intents_of') == 1
local over = {}
local function look_at(one)
  local state, body = call('HGET', P .. 'state', one.id), call('HGET', P .. 'body', one.id)
  local r = state and body and made_from(one.id, body, state)
  if not r or not is_finished(r) then  -- nobody leaves such a one here, and none may stop all others
    call('ZREM', one.list, one.id)
    return
  end
  r.list, r.is_common = one.list, is_common(state)
  local ask_again = nil
  if keeps_slot(r) then ask_again = wall_now + r.revoked_end - lease_now end
  if r.key ~= '' and r.finished_at + r.key_for > wall_now and call('HGET', P .. 'keys', r.queue .. ' ' .. r.key) == r.id then
    ask_again = math.max(ask_again or 0, r.finished_at + r.key_for)
  end
  if ask_again then
    call('ZREM', one.list, r.id)
    call('ZADD', P .. 'look_again', num(ask_again), r.id)
  elseif any_intents and has_intents(r.id) then
    call('ZREM', one.list, r.id)
  else
    over[#over + 1] = r
  end
end
for _, one in ipairs(old) do
  if #over == limit then
    more = true
    break
  end
  look_at(one)
end

forget_jobs(over)

local aliases = call('ZRANGEBYSCORE', P .. 'alias_ages', '-inf', num(wall_now - ALIAS_KEPT_FOR), 'LIMIT', 0, 1000)
each_some(aliases, function(...)
  call('HDEL', P .. 'aliases', ...)
  call('ZREM', P .. 'alias_ages', ...)
end)
more = more or #aliases == 1000
if #aliases > 0 and call('EXISTS', P .. 'aliases') == 0 then
  local order, run_at = read_last()
  write_last(order, run_at, false)
end
call('ZREMRANGEBYSCORE', P .. 'batch_names', '-inf', num(wall_now - BATCH_REMEMBERED_FOR))
return {#over, more and 1 or 0}

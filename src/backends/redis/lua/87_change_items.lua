-- needs: 00_core 10_jobs 12_effects 13_acts
-- What is known of an item, and where its job is, in one step (P2).
--   items   hash id -> msgpack [revision, the request that changed it last, record]; nobody reads the record here. It goes with its job
-- ARGV: owner, request, actor, reason; then ten for each change: id, "REVISION FENCE ONLY" (a dash: none), record, act, what it is about, its own reason or empty,
-- "STATE DELAY FRESH" of its place or empty, and of that place stage, result and error. Answers id, reason, newest fence and revision of each that was refused.
local owner, request, actor, reason_of_all = ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local function change_at(i)
  local revision, fence, only = ARGV[i + 1]:match('^(%S+) (%S+) (%S+)$')
  local c = {id = ARGV[i], revision = tonumber(revision), fence = tonumber(fence), only = tonumber(only), record = ARGV[i + 2], act = ARGV[i + 3], about = ARGV[i + 4], reason = ARGV[i + 5],
    has_place = ARGV[i + 6] ~= '', stage = ARGV[i + 7], result = ARGV[i + 8], error = ARGV[i + 9]}
  if c.has_place then
    local state, delay, fresh = ARGV[i + 6]:match('^(%S+) (%S+) (%S+)$')
    c.state, c.delay, c.fresh = tonumber(state), tonumber(delay), fresh == '1'
  end
  return c
end

-- Why it is not made, or nothing.
local function refusal_of(r, c, revision)
  if c.fence then
    if r.fence ~= c.fence then return 'superseded' end
    if r.owner ~= owner then return 'other_owner' end
    if is_finished(r) then return 'finished' end
    if r.state ~= RUNNING then return 'settled' end
  else
    if is_finished(r) then return 'finished' end
    if c.only and c.only ~= r.state then return 'state' end
    if c.has_place and r.state == WAITING and r.held_effects > 0 then return 'effect_in_doubt' end
  end
  return revision ~= c.revision and 'changed' or nil
end

-- Its delivery ends as by settle, or by an act of a person, or there is none.
local function end_delivery(r, c)
  if c.fence then
    local failed = c.error ~= ''
    r.last_outcome, r.exit_status, r.losses_in_row = failed and 1 or 0, -1, 0
    if failed then r.failures, r.error = r.failures + 1, c.error
    elseif c.state == DONE and c.result ~= '' then call('HSET', P .. 'result', r.id, c.result) end
    end_attempt(r, failed and END.failed or END.done, -1, c.error)
  elseif r.state == RUNNING then
    revoke(r, END.cancelled)
  end
end

local function place(r, c)
  lift(r)
  end_delivery(r, c)
  if r.stage ~= c.stage then
    r.stage, r.moved_to = c.stage, c.stage
    call('SADD', P .. 'lanes', lane_of(r))
    call('SADD', P .. 'stages:' .. r.queue, r.stage)
  end
  r.state = c.state
  if c.state == DEAD and c.error ~= '' then r.error = c.error end
  if c.fresh then r.failures, r.losses_in_row, r.laters = 0, 0, 0 end
  if is_finished(r) then r.finished_at = wall_now
  else r.run_at = wall_now + (r.state == READY and c.delay or 0) end
  put(r)
  open_next(r)
  if r.state == READY then tell('q ' .. r.queue .. ' ' .. r.stage) end
  tell_of_free_slot(r)
end

local made, rows, refused = {}, {}, {}
for i = 8, #ARGV, 10 do
  local c = change_at(i)
  local r = load(c.id)
  local packed = r and call('HGET', P .. 'items', c.id)
  local item = packed and unpack_one(packed) or {0, ''}
  if not r then
    refused[#refused + 1] = {c.id, 'not_found', '0', '0'}
  elseif item[2] ~= request then
    local reason = refusal_of(r, c, item[1])
    if reason then
      refused[#refused + 1] = {c.id, reason, num(r.fence), num(item[1])}
    else
      if c.has_place and not c.fence and r.state == RUNNING and not has_next_fence(r) then return refuse('refused', FENCES_USED_UP) end
      c.job, made[#made + 1] = r, c
      rows[#rows + 1], rows[#rows + 2] = c.id, pack({item[1] + 1, request, c.record})
    end
  end
end
if #made == 0 then return refused end

-- The first: a full server refuses it, and all the rest with it.
for from = 1, #rows, 2000 do call('HSET', P .. 'items', unpack(rows, from, math.min(from + 1999, #rows))) end
for i, c in ipairs(made) do
  -- One that was moved before may have changed it: it was the head of its group.
  if c.has_place then place(i == 1 and c.job or load(c.id), c) end
  note_act(actor, c.act, uuid_text(c.id) .. (c.about ~= '' and ' ' .. c.about or ''), c.reason ~= '' and c.reason or reason_of_all)
end
return refused

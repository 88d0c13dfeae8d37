-- The ledger: what of a job's side effects has happened (E1, E2).
--
--   effects:ID            hash name -> msgpack of EFFECT below; ID are its sixteen bytes
--   effect_results:ID     hash name -> bytes, of those that have a result
--   effects, intents      zset number -> ID NAME (nothing between): all of them in the order in which they were first begun; those that are intents
--   intents_of            hash ID -> how many of its effects are intents
--   effect_number         the last number given
-- The record of a job counts in held_effects those that it waits for.
local EFFECT = {'number', 'state', 'held', 'policy', 'digest', 'fence', 'call', 'actor', 'doubts', 'began_at', 'ended_at', 'exit_status', 'resolved_by'}
local NONE, INTENT, HAPPENED = 0, 1, 2  -- EffectState in model/effect.hpp
local HOLD, REPEAT, PROBE = 0, 1, 2  -- InDoubt
local EFFECTS_OF_A_JOB_MOST = 10000

local function effect_from(id, name, packed)
  local values = unpack_one(packed)
  local e = {id = id, name = name}
  for i = 1, #EFFECT do e[EFFECT[i]] = values[i] end
  return e
end
local function load_effect(id, name)
  local packed = call('HGET', P .. 'effects:' .. id, name)
  return packed and effect_from(id, name, packed)
end
local function save_effect(e)
  local values = {}
  for i = 1, #EFFECT do values[i] = e[EFFECT[i]] end
  call('HSET', P .. 'effects:' .. e.id, e.name, pack(values))
end
-- By name.
local function effects_of(id)
  local all, there = {}, call('HGETALL', P .. 'effects:' .. id)
  for i = 1, #there, 2 do all[#all + 1] = effect_from(id, there[i], there[i + 1]) end
  table.sort(all, function(a, b) return a.name < b.name end)
  return all
end

-- Its state, and the indexes that follow it. The caller saves.
local function turn_effect(e, state)
  if (e.state == INTENT) ~= (state == INTENT) then
    local member = e.id .. e.name
    if state == INTENT then
      call('ZADD', P .. 'intents', num(e.number), member)
      call('HINCRBY', P .. 'intents_of', e.id, 1)
    else
      call('ZREM', P .. 'intents', member)
      if call('HINCRBY', P .. 'intents_of', e.id, -1) <= 0 then call('HDEL', P .. 'intents_of', e.id) end
    end
  end
  e.state = state
end
local function set_effect_result(e, result)
  if result == '' then call('HDEL', P .. 'effect_results:' .. e.id, e.name) else call('HSET', P .. 'effect_results:' .. e.id, e.name, result) end
end
local function effect_result(e) return call('HGET', P .. 'effect_results:' .. e.id, e.name) or '' end

-- An intent, and nothing holds its job under its fence by a live lease.
local function is_in_doubt(r, e)
  if e.state ~= INTENT then return false end
  return not (r.state == RUNNING and r.fence == e.fence and not is_expired(r))
end
local function has_intents(id) return call('HEXISTS', P .. 'intents_of', id) == 1 end

-- The caller puts the job.
local function wait_for_none(r)
  if r.held_effects == 0 then return end
  for _, e in ipairs(effects_of(r.id)) do
    if e.held == 1 then
      e.held = 0
      save_effect(e)
    end
  end
  r.held_effects = 0
end

-- A running job waits: its delivery ends at no cost and keeps its slot, under no new fence.
local function hold(r, e)
  lift(r)
  e.held = 1
  save_effect(e)
  r.held_effects = r.held_effects + 1
  r.revoked_fence, r.revoked_owner, r.revoked_end = r.fence, r.owner, r.lease_end
  r.state, r.losses_in_row, r.last_outcome, r.exit_status = WAITING, 0, -1, -1
  end_attempt(r, END.held)
  put(r)
  open_next(r)
  tell('o')
  tell_of_free_slot(r)
end

-- It is known what became of an effect: a job that waits for it, and nothing else, is ready again in its old place. One that waits for a gate stays.
local function end_effect(r, e, state)
  turn_effect(e, state)
  e.ended_at = wall_now
  local was_held = e.held == 1
  e.held = 0
  save_effect(e)
  if was_held then r.held_effects = r.held_effects - 1 end
  if was_held and r.state == WAITING and r.held_effects == 0 then
    lift(r)
    r.state = READY
    put(r)
    open_next(r)
    tell('q ' .. r.queue .. ' ' .. r.stage)
    tell_of_free_slot(r)
  elseif was_held then
    save(r)
  end
  -- Its retention passed it over while it was in doubt: see tidy.
  if is_finished(r) and not has_intents(r.id) then call('ZADD', P .. (r.state == DONE and 'done:' or 'ended:') .. r.queue, num(r.finished_at), r.id) end
end

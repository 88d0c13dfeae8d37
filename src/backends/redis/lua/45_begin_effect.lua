-- needs: 00_core 10_jobs 12_effects
-- ARGV[4] job, [5] fence, [6] name, [7] digest, [8] call, [9] actor, [10] policy, [11] the call that is gone, [12] the job's id in words. Answers the verdict (EffectVerdict in
-- store/effect_ledger.hpp), and then: of a done one its result and exit status; of a busy one its call and actor; of a lost one the reason and the newest fence.
local ACT, AGAIN, ASK, IS_DONE, BUSY, HELD, LOST = 0, 1, 2, 3, 4, 5, 6
local id, fence, name, digest, this_call, actor, policy, dead_call, words = ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[10]), ARGV[11], ARGV[12]
local r = load(id)
local reason = nil
if not r then reason = 'not_found'
elseif r.fence ~= fence then reason = 'superseded'
elseif is_finished(r) then reason = 'finished'
elseif r.state ~= RUNNING then reason = 'settled'
elseif is_expired(r) then reason = 'expired' end
local e = r and load_effect(id, name)
if reason then
  if r and r.fence == fence and r.state == WAITING and e and e.held == 1 then return {HELD} end
  return {LOST, reason, num(r and r.fence or 0)}
end

local function begin()
  turn_effect(e, INTENT)
  e.policy, e.digest, e.fence, e.call, e.actor = policy, digest, fence, this_call, actor
  e.began_at, e.ended_at, e.exit_status, e.resolved_by = wall_now, -1, -1, ''
  set_effect_result(e, '')
  save_effect(e)
end
local in_its_way = policy == PROBE and ASK or AGAIN

if not e then
  if call('HLEN', P .. 'effects:' .. id) >= EFFECTS_OF_A_JOB_MOST then return refuse('refused', 'job ' .. words .. ' has 10000 effects already') end
  e = {id = id, name = name, number = call('INCR', P .. 'effect_number'), state = NONE, held = 0, doubts = 0}
  call('ZADD', P .. 'effects', num(e.number), id .. name)
  begin()
  return {ACT}
end
if e.state == NONE then
  if e.call == this_call then return refuse('refused', 'this call of effect ' .. name .. ' of job ' .. words .. ' ended without effect; begin again with a new call') end
  e.doubts = 0
  begin()
  return {ACT}
end
if e.digest ~= digest then
  return refuse('conflict', 'effect ' .. name .. ' of job ' .. words .. ' was ' .. (e.state == HAPPENED and 'done' or 'begun') ..
    ' for another command or request; give this one another name')
end
if e.state == HAPPENED then return {IS_DONE, effect_result(e), num(e.exit_status)} end
local under_this_fence = e.fence == fence
if under_this_fence and e.call == this_call then return {e.doubts == 0 and ACT or in_its_way} end
if under_this_fence and e.call ~= dead_call then return {BUSY, e.call, e.actor} end
if policy == HOLD then
  hold(r, e)
  return {HELD}
end
e.doubts = e.doubts + 1
begin()
return {in_its_way}

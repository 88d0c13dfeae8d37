-- needs: 00_core 10_jobs 12_effects
-- ARGV[4] job, [5] name, [6] call or empty, [7] 1: it happened, [8] result, [9] actor, [10] reason, [11] the job's id in words.
local id, name, this_call, result, words = ARGV[4], ARGV[5], ARGV[6], ARGV[8], ARGV[11]
local wanted = ARGV[7] == '1' and HAPPENED or NONE
local STATES = {[NONE] = 'none', [INTENT] = 'intent', [HAPPENED] = 'done'}
local r = load(id)
if not r then return refuse('not_found', 'there is no job ' .. words) end
local e = load_effect(id, name)
local effect = 'effect ' .. name .. ' of job ' .. words
if not e then return refuse('not_found', 'there is no ' .. effect) end
if e.state == wanted then return 0 end
if e.state ~= INTENT then return refuse('refused', effect .. ' is not in doubt: it is ' .. STATES[e.state]) end
if this_call ~= '' and this_call ~= e.call then return refuse('refused', effect .. ' was begun again by another call; look again') end
if not is_in_doubt(r, e) then return refuse('refused', effect .. ' is not in doubt: its holder is still working on it; cancel the job first, or wait') end
if keeps_slot(r) and r.revoked_fence == e.fence then
  return refuse('refused', effect .. ': its holder may still be running; wait until its worker has stopped or its lease has ended')
end
e.resolved_by = ARGV[9]
set_effect_result(e, result)
end_effect(r, e, wanted)
note_act(ARGV[9], 'effect_resolved', words .. ' ' .. name .. ' ' .. STATES[wanted], ARGV[10])
return 1

-- needs: 00_core 10_jobs 12_effects
-- ARGV[4] job, [5] fence, [6] name, [7] call, [8] its end (EffectEnd: done 0, none 1, held 2), [9] result, [10] exit status or -1, [11] the job's id in words.
-- Answers nothing if it is accepted, else the reason and the newest fence.
goes_on_when_full()
local id, fence, name, this_call, ends, result, exit_status = ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7], tonumber(ARGV[8]), ARGV[9], tonumber(ARGV[10])
local IS_DONE, IS_HELD = 0, 2
local r = load(id)
if not r then return {'not_found', '0'} end
if r.fence ~= fence then return {'superseded', num(r.fence)} end
local e = load_effect(id, name)
local other_call = {'other_call', num(r.fence)}
if not e or e.call ~= this_call or e.fence ~= fence then return other_call end
local known_better = e.state == NONE and e.resolved_by ~= '' and ends == IS_DONE
if e.state ~= INTENT and not known_better then
  local same = (e.state == HAPPENED) == (ends == IS_DONE) and ends ~= IS_HELD
  return same and e.resolved_by == '' and {} or other_call
end
if ends == IS_HELD then
  if r.state == RUNNING then
    hold(r, e)
  elseif r.state == WAITING and r.held_effects > 0 and e.held == 0 then
    e.held, r.held_effects = 1, r.held_effects + 1
    save_effect(e)
    save(r)
  end
  return {}
end
if ends == IS_DONE then
  set_effect_result(e, result)
  e.exit_status, e.resolved_by = exit_status, ''
end
end_effect(r, e, ends == IS_DONE and HAPPENED or NONE)
if known_better then note_act('worker', 'effect_resolved', ARGV[11] .. ' ' .. name .. ' done', 'its own call reported so') end
return {}

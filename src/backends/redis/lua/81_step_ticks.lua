-- needs: 00_core 10_jobs 16_schedule_rows 19_new_jobs 19_steps
-- ARGV: request, owner, place, then the steps. Answers the clock, and of each step why it was refused, its duplicates, and revision, resolved_to and fired_to as they are now; or, with
-- nothing changed, {'known', the id of a job that is there already}.
local request, owner, place = ARGV[4], ARGV[5], ARGV[6]
local steps, names = {}, {}
for i = 7, #ARGV do
  local step = unpack_one(ARGV[i])
  steps[#steps + 1], names[#names + 1] = step, step[1]
end
local packed = call('HMGET', P .. 'schedule', unpack(names))

local answers, jobs, all_moved = {}, {}, {}
for i, step in ipairs(steps) do
  local s = packed[i] and schedule_in(step[1], packed[i])
  local refused = ''
  if not s or s.step_request ~= request then
    refused = refusal_of(s, step)
    if refused == '' then all_moved[#all_moved + 1] = stepped(s, step, request, owner, place, jobs) end
  end
  if refused == 'not_found' then answers[i] = {refused, {}, 0, 0, 0}
  else answers[i] = {refused, refused == '' and s.step_duplicates or {}, s.revision, s.resolved_to, s.fired_to} end
end

local known = first_known(jobs)
if known then return {'known', known} end
if #all_moved > 0 then
  local rows = {}
  for _, moved in ipairs(all_moved) do rows[#rows + 1], rows[#rows + 2] = moved.schedule.name, packed_schedule(moved.schedule) end
  in_parts(rows, function(...) call('HSET', P .. 'schedule', ...) end)  -- the first: a full server refuses it, and all the rest with it
  if #jobs > 0 then add_jobs(jobs, false) end
  write_ticks(all_moved)
end
return {num(wall_now), answers}

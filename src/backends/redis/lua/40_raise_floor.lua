-- needs: 00_core
-- ARGV[4] floor, [5] how far it may lie ahead of the clock, [6] a fence that was granted once, or empty if nobody has looked for one, [7] actor, [8] reason. Answers the floor that stands, or nothing: somebody has to look
-- for the largest fence (see largest_fence), as only one that is as large lets a floor lie so far ahead. What was granted stays granted, so that an answer to that does not age.
local wanted, standing = tonumber(ARGV[4]), floor_of_store()
if wanted <= standing then return num(standing) end
local most = math.max(standing, tonumber(ARGV[6]) or 0, wall_now + tonumber(ARGV[5]))
if wanted > most then
  if ARGV[6] == '' then return false end
  return refuse('refused', 'a floor of ' .. num(wanted) .. " is more than a day ahead of the store's clock; at most " .. num(most))
end
raise_floor_to(wanted)
note_act(ARGV[7], 'floor_raised', num(wanted), ARGV[8])
return num(wanted)

-- needs: 00_core 14_lock_fences
-- ARGV[4] floor, [5] how far it may lie ahead of the clock, [6] actor, [7] reason. Answers the floor that stands.
local wanted, standing = tonumber(ARGV[4]), floor_of_store()
local last = standing
for _, space in ipairs(call('SMEMBERS', STORE .. 'spaces')) do last = math.max(last, largest_fence_in(space)) end
local most = math.max(last, wall_now + tonumber(ARGV[5]))
if wanted > most then
  return refuse('refused', 'a floor of ' .. num(wanted) .. " is more than a day ahead of the store's clock; at most " .. num(most))
end
if wanted <= standing then return num(standing) end
raise_floor_to(wanted)
note_act(ARGV[6], 'floor_raised', num(wanted), ARGV[7])
return num(wanted)

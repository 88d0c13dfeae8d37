-- needs: 00_core 10_jobs
-- ARGV: owner, then id and fence of each.
goes_on_when_full()
for i = 5, #ARGV, 2 do
  local r = load(ARGV[i])
  if r and r.revoked_fence ~= 0 and r.revoked_owner == ARGV[4] and num(r.revoked_fence) == ARGV[i + 1] then
    lift(r)
    r.revoked_fence, r.revoked_owner, r.revoked_end = 0, '', 0
    put(r)
    open_next(r)
    tell_of_free_slot(r)
    if r.state == READY then tell('q ' .. r.queue .. ' ' .. r.stage) end
  end
end
return {}

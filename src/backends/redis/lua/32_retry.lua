-- needs: 00_core 10_jobs 12_effects 13_acts
return act_on_each(function(r, request)
  if r.state == DONE then return 'finished' end
  if r.state == WAITING and r.held_effects > 0 then return 'effect_in_doubt' end
  if r.state == WAITING or is_due(r) then
    r.last_act = request
    save(r)
    return
  end
  if is_finished(r) and r.key ~= '' then
    local holder = key_holder(r.queue, r.key)
    if holder and holder.id ~= r.id then return 'key_taken', holder.id end
    call('HSET', P .. 'keys', r.queue .. ' ' .. r.key, r.id)
  end
  lift(r)
  if is_finished(r) then
    r.group_order = next_order()  -- the last place in its group
    r.finished_at, r.failures, r.losses_in_row = -1, 0, 0
  elseif r.state == RUNNING then
    revoke(r, END.retried)
  end
  r.state, r.run_at, r.last_act = READY, wall_now, request
  put(r)
  open_next(r)
  tell('q ' .. r.queue .. ' ' .. r.stage)
  note_act(ARGV[6], 'job_retried', uuid_text(r.id), ARGV[7])
end)

-- needs: 00_core 10_jobs 12_effects 13_acts
goes_on_when_full()
return act_on_each(function(r, request)
  if is_finished(r) and r.state ~= CANCELLED then return 'finished' end
  local as_asked = r.state == CANCELLED
  r.last_act = request
  if as_asked then
    save(r)
    return
  end
  cancel_job(r)
  note_act(ARGV[6], 'job_cancelled', uuid_text(r.id), ARGV[7])
end)

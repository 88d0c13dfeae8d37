-- needs: 00_core 18_settle_batches 10_jobs
-- ARGV: owner, then, of those that follow one another with the same words, "FENCE KIND RETRY_IN EXIT_STATUS TEXTS" (-1: no exit status), their ids in one text, and the result of each if
-- it is done, else its error; if all have the same one, that alone, and TEXTS is 1. Answers {id, its fence, reason} of each that was refused.
local refused = {}
for _, one in ipairs(left) do
  local id, words, text = one[1], one[2], one[3]
  local r = load(id)
  local reason
  if not r then reason = 'not_found'
  elseif r.fence ~= words.fence then reason = 'superseded'
  elseif r.owner ~= owner then reason = 'other_owner'
  elseif r.state == RUNNING then
    settle_delivery(r, words.kind, words.kind == 0 and text or '', words.kind ~= 0 and text or '', words.retry_in, words.exit_status)
  elseif r.last_outcome ~= words.kind then reason = is_finished(r) and 'finished' or 'settled' end
  if reason then refused[#refused + 1] = {id, r and num(r.fence) or '0', reason} end
end
return refused

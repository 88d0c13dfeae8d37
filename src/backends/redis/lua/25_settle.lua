-- needs: 00_core 18_settle_batches 10_jobs
-- ARGV: owner, then of each its id, "FENCE KIND RETRY_IN EXIT_STATUS" (-1: none), and its result if it is done, else its error. Answers {id, its fence, reason} of each
-- that was refused.
local refused = {}
for _, at in ipairs(left) do
  local id, words, text = ARGV[at], words_in(ARGV[at + 1]), ARGV[at + 2]
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

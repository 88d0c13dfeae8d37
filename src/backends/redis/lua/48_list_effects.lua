-- needs: 00_core 10_jobs 12_effects
-- A part of a page of effects. ARGV[4] after, [5] how many at most, [6] job or empty, [7] 1: only those in doubt, [8] 1: with results. Answers where to go on, or
-- nothing, and of each effect its number, job, name, msgpack of EFFECT, 1 if it is in doubt, and its result.
local after, most, only_job, only_doubts, with_result = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7] == '1', ARGV[8] == '1'
local LOOKS_MOST, BYTES_MOST = 1001, 4 * 1024 * 1024
local jobs, rows, bytes = {}, {}, 0
-- Whether there is no room for another one.
local function show(e)
  local r = jobs[e.id] or load(e.id)
  jobs[e.id] = r
  local doubt = is_in_doubt(r, e)
  if only_doubts and not doubt then return false end
  local result = with_result and effect_result(e) or ''
  bytes = bytes + #result
  rows[#rows + 1] = {num(e.number), e.id, e.name, call('HGET', P .. 'effects:' .. e.id, e.name), doubt and 1 or 0, result}
  return #rows >= most or bytes >= BYTES_MOST
end

if only_job ~= '' then
  local all = effects_of(only_job)
  table.sort(all, function(a, b) return a.number < b.number end)
  for _, e in ipairs(all) do
    if e.number > after and show(e) then return {num(e.number), rows} end
  end
  return {'', rows}
end
local members = call('ZRANGEBYSCORE', P .. (only_doubts and 'intents' or 'effects'), '(' .. num(after), '+inf', 'LIMIT', 0, LOOKS_MOST)
local on = nil
for _, member in ipairs(members) do
  local e = load_effect(member:sub(1, 16), member:sub(17))
  on = e.number
  if show(e) then return {num(on), rows} end
end
return {#members == LOOKS_MOST and num(on) or '', rows}

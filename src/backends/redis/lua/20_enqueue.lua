-- needs: 00_core 10_jobs 19_new_jobs
-- ARGV: for each job its id, `head payload`, when it runs ('': now, '+N': in so long, '=N': at that moment), and the id of the job whose payload the
-- caller has found to be the same value as this one's ('': none). First everything is looked at, then everything is added: all or none.
-- Answers {'ok', existing, id...}, or {'conflict', number of the job, why, holder, its state}, or, for payloads that only the caller can compare,
-- {'same', number of the job, why, holder, its state, its payload, ...}.
local fresh, fresh_keys, aliases, ids, doubts, existing = {}, {}, {}, {}, {'same'}, 0

-- Whether the payload of `holder` is that of `r`: true, or nothing if only the caller can tell.
local function is_same(r, holder, verified, number, why)
  if verified == holder.id or payload_of(holder) == payload_of(r) then return true end
  for _, part in ipairs({number, why, holder.id, holder.state, payload_of(holder)}) do doubts[#doubts + 1] = part end
end
-- The caller decides first about what came before: it may be the first conflict.
local function conflict(number, why, holder)
  if #doubts > 1 then return doubts end
  return {'conflict', number, why, holder.id, holder.state}
end

local number = 0
for at = 4, #ARGV, 4 do
  number = number + 1
  local r = new_job(ARGV[at], ARGV[at + 1], ARGV[at + 2])
  local verified = ARGV[at + 3]
  local there = load(r.id)
  local alias = not there and call('HGET', P .. 'aliases', r.id)
  local answer = r.id
  if there then
    if there.queue ~= r.queue or there.first_stage ~= r.stage or payload_of(there) ~= payload_of(r) then return conflict(number, 'id', there) end
    existing = existing + 1
  elseif alias then
    local holder = load(alias:sub(1, 16))
    if holder and holder.queue ~= r.queue then return conflict(number, 'alias', holder) end
    if holder then is_same(r, holder, verified, number, 'alias') end
    answer, existing = alias:sub(1, 16), existing + 1
  else
    local name = r.queue .. ' ' .. r.key
    local holder = r.key ~= '' and (key_holder(r.queue, r.key) or fresh_keys[name])
    if holder then
      is_same(r, holder, verified, number, 'key')
      aliases[#aliases + 1] = {r.id, holder.id}
      answer, existing = holder.id, existing + 1
    else
      if r.key ~= '' then fresh_keys[name] = r end
      fresh[#fresh + 1] = r
    end
  end
  ids[number] = answer
end
if #doubts > 1 then return doubts end

add_jobs(fresh, #aliases > 0)
for _, alias in ipairs(aliases) do
  call('HSET', P .. 'aliases', alias[1], alias[2] .. be8(wall_now))
  call('ZADD', P .. 'alias_ages', num(wall_now), alias[1])
end
local answer = {'ok', existing}
for i = 1, #ids do answer[i + 2] = ids[i] end
return answer

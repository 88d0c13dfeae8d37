-- What people's acts on jobs share. An act that ends a delivery, or cancels a job that waits after one, mints a new fence at once, so that its holder is refused
-- from then on, and leaves the slot taken until that holder has stopped.

local function uuid_text(id)
  return string.format('%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x', id:byte(1, 16))
end
local function uuids_in(text)
  local ids = {}
  for i = 1, #text, 16 do ids[#ids + 1] = text:sub(i, i + 15) end
  return ids
end

-- Whether there is a next fence for it. Of a group only one job runs or waits, so no fence of one job depends on that of another.
local function has_next_fence(r) return math.max(last_fence_of(r), floor_of_store(), wall_now - 1) < FENCE_MAX end

-- It waits, and the handler of its last delivery may still speak.
local function is_outdated_by_cancel(r) return r.state == WAITING and r.fence > 0 end

-- The job was lifted.
local function revoke(r, kind)
  r.revoked_fence, r.revoked_owner, r.revoked_end = r.fence, r.owner, r.lease_end
  r.fence = minted(r)
  r.owner = ''
  end_attempt(r, kind)
  tell('o')
end

-- An unfinished job.
local function cancel_job(r)
  lift(r)
  if r.state == RUNNING then
    revoke(r, END.cancelled)
  elseif is_outdated_by_cancel(r) then
    r.fence = minted(r)
    r.owner = ''
  end
  wait_for_none(r)
  r.state, r.finished_at = CANCELLED, wall_now
  put(r)
  open_next(r)
  tell_of_free_slot(r)
end

-- What cancel and retry share: ARGV[4] request, [5] the only state or -1, [6] actor, [7] reason, [8] ids. `act` looks at one that is no repeat, and answers
-- why it is refused, and the holder of its key. Answers the refusals.
local function act_on_each(act)
  local request, only, ids = ARGV[4], tonumber(ARGV[5]), uuids_in(ARGV[8])
  local jobs, refused = {}, {}
  for i, id in ipairs(ids) do
    local r = load(id)
    jobs[i] = r or false
    local meant = r and r.last_act ~= request and (only < 0 or only == r.state)
    if meant and (r.state == RUNNING or is_outdated_by_cancel(r)) and not has_next_fence(r) then return refuse('refused', FENCES_USED_UP) end
  end
  for i, id in ipairs(ids) do
    local r = jobs[i]
    if not r then
      refused[#refused + 1] = {id, 'not_found', ''}
    elseif r.last_act ~= request then
      -- One that was acted on before may have changed it: the head of its group was cancelled, say.
      r = load(id)
      if only >= 0 and only ~= r.state then
        refused[#refused + 1] = {id, 'state', ''}
      else
        local reason, holder = act(r, request)
        if reason then refused[#refused + 1] = {id, reason, holder or ''} end
      end
    end
  end
  return refused
end

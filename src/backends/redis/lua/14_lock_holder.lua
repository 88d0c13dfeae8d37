-- What a holder says of its lock: whether it is heard.

-- The lock and its holder, or the lock and why not.
local function meant(resource, owner, fence)
  local lock = load_lock(resource)
  local row = lock.row
  if not row then return lock, nil, 'not_found' end
  if num(row[FENCE]) ~= fence then return lock, nil, 'superseded' end
  local holder = holder_by(lock, owner)
  if not holder then return lock, nil, 'other_owner' end
  if row[TO_ITS_END] == 1 then return lock, nil, 'to_its_end' end
  return lock, holder
end
local function add_refusal(refused, number, lock, reason)
  refused[#refused + 1], refused[#refused + 2], refused[#refused + 3] = number, lock.row and lock.row[FENCE] or 0, reason
end

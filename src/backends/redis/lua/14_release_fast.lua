-- part after:
-- The release of one lock with a plain row, before anything else is made ready; see 14_lock_fast.lua. What is not so plain goes on below.
-- ARGV: resource, owner, fence.
if #ARGV == 6 then
  local call, P, A = redis.call, ARGV[1], ARGV
  local key, field = P .. 'lock:' .. A[4], A[6] .. ' ' .. A[5]
  local read = call('HMGET', key, 'm', 'w', field, '=' .. field)
  local row = read[1]
  if row and row:byte() == 112 and (read[3] or read[4]) and not A[4]:find('#', 1, true) then
    local freed_at
    if A[3] == '' then
      local t = call('TIME')
      freed_at = string.format('%016.0f', t[1] * 1000000 + t[2])
    else
      freed_at = string.format('%016.0f', tonumber(A[3]:match('^%S+')))
    end
    if #freed_at == 16 then
      call('HDEL', key, field, '=' .. field)
      call('HSET', key, 'm', row:sub(1, 17) .. freed_at .. row:sub(34))
      if read[2] then call('PUBLISH', P .. 'wake', 'l ' .. A[4]) end
      return {}
    end
  end
end

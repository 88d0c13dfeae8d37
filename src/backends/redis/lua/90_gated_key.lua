-- needs:
-- A write gate in front of one key. KEYS: the key, its memory, and the hash of a lock on this server, or the memory again.
-- ARGV: fence, set or remove, value, milliseconds until it expires (0: never).
-- Answers accepted, stale or behind, then the largest fence that was let through, then the lock's newest or 0.
local function fence_in(text)
  if not text then return 0 end
  local fence = string.match(text, '^[1-9]%d*$') and #text <= 16 and tonumber(text)
  return fence
end
local fence, remembered = tonumber(ARGV[1]), fence_in(redis.call('GET', KEYS[2]))
if not remembered then return redis.error_reply('FLINVALID ' .. KEYS[2] .. ' is not the record of a gate') end
local newest = 0
if KEYS[3] ~= KEYS[2] then
  local row = redis.call('HGET', KEYS[3], 'm')
  -- A plain row is "p" and 16 digits of its fence, see 14_locks.lua.
  newest = row and (row:byte() == 112 and tonumber(row:sub(2, 17)) or cmsgpack.unpack(row)[1]) or 0
end
local function answer(verdict, last) return {verdict, string.format('%.0f', last), string.format('%.0f', newest)} end
if fence < newest then return answer('stale', remembered) end
if fence < remembered then return answer(fence == newest and 'behind' or 'stale', remembered) end
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'string' then return redis.error_reply('FLINVALID ' .. KEYS[1] .. ' is a ' .. kind .. ', and a gate writes strings') end
redis.call('SET', KEYS[2], ARGV[1])
if ARGV[2] == 'remove' then redis.call('DEL', KEYS[1])
elseif ARGV[4] == '0' then redis.call('SET', KEYS[1], ARGV[3])
else redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4]) end
return answer('accepted', fence)

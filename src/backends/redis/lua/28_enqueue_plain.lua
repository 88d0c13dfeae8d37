-- needs:
-- Plain jobs of one lane, none of which is there: what producers send most, so it begins with nothing but what it needs. ARGV: as in 00_core, then queue, stage, and of
-- each its id and `head payload`. Answers 'ok', or, with nothing changed, 'else': then the other script must look. What it writes is told in 10_jobs.lua.
local P, call, pack8 = ARGV[1], redis.call, struct.pack
local jobs, now = (#ARGV - 5) / 2, nil
if ARGV[3] == '' then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
else
  now = tonumber(ARGV[3]:match(' (%S+)$'))
end
local last_text = call('GET', P .. 'last')
local order, run_at, tail = 0, 0, ''
if last_text then
  order, run_at = struct.unpack('>I8I8', last_text)
  tail = last_text:sub(17)  -- there may be aliases
end
if run_at > now then return 'else' end

local created, lane = pack8('>I8', now), ARGV[4] .. '/' .. ARGV[5]
local length
if jobs == 1 then
  local id = ARGV[6]
  order = order + 1
  local number = pack8('>I8', order)
  if tail ~= '' and call('HEXISTS', P .. 'aliases', id) == 1 then return 'else' end
  if call('HSETNX', P .. 'body', id, number .. created .. ARGV[7]) == 0 then return 'else' end
  call('SETRANGE', P .. 'order:' .. math.floor(order / 1024), order % 1024 * 16, id)
  length = call('RPUSH', P .. 'plain:' .. lane, number .. id)
else
  for from = 6, #ARGV, 2000 do
    local ids = {}
    for at = from, math.min(from + 1998, #ARGV), 2 do ids[#ids + 1] = ARGV[at] end
    for _, key in ipairs(tail ~= '' and {'body', 'aliases'} or {'body'}) do
      local there = call('HMGET', P .. key, unpack(ids))
      for i = 1, #ids do
        if there[i] then return 'else' end
      end
    end
  end
  local at, last = 6, order + jobs
  while order < last do
    -- So many as have a place in the same string of ids.
    local block = math.floor((order + 1) / 1024)
    local first, stop = order + 1, math.min(last, block * 1024 + 1023)
    local ids, bodies, members = {}, {}, {}
    for n = 1, stop - order do
      local id, number = ARGV[at], pack8('>I8', order + n)
      ids[n], members[n] = id, number .. id
      bodies[2 * n - 1], bodies[2 * n] = id, number .. created .. ARGV[at + 1]
      at = at + 2
    end
    order = stop
    call('HSET', P .. 'body', unpack(bodies))
    call('SETRANGE', P .. 'order:' .. block, first % 1024 * 16, table.concat(ids))
    length = call('RPUSH', P .. 'plain:' .. lane, unpack(members))
  end
end
call('SET', P .. 'last', pack8('>I8I8', order, now) .. tail)
-- Who waits has found the list empty. With more in it, whoever was told of the first has not asked yet.
if length == jobs then
  call('SADD', P .. 'lanes', lane)
  call('SADD', P .. 'stages:' .. ARGV[4], ARGV[5])
  call('PUBLISH', P .. 'wake', 'q ' .. ARGV[4] .. ' ' .. ARGV[5])
end
return 'ok'

-- needs: 00_core
-- Plain jobs of one lane, none of which is there: what producers send most. ARGV: queue, stage, then id and `head payload` of each. Answers 'ok', or, with nothing changed,
-- 'else': then the other script must look. What it writes is told in 10_jobs.lua.
local queue, lane = ARGV[4], ARGV[4] .. '/' .. ARGV[5]
local jobs = (#ARGV - 5) / 2
if tonumber(call('GET', P .. 'wall') or 0) > wall_now then return 'else' end
local has_aliases = call('EXISTS', P .. 'aliases') == 1
if jobs == 1 then
  if call('HEXISTS', P .. 'body', ARGV[6]) == 1 or has_aliases and call('HEXISTS', P .. 'aliases', ARGV[6]) == 1 then return 'else' end
else
  for from = 6, #ARGV, 2000 do
    local ids = {}
    for at = from, math.min(from + 1998, #ARGV), 2 do ids[#ids + 1] = ARGV[at] end
    for _, key in ipairs(has_aliases and {'body', 'aliases'} or {'body'}) do
      local there = call('HMGET', P .. key, unpack(ids))
      for i = 1, #ids do
        if there[i] then return 'else' end
      end
    end
  end
end

local last = call('INCRBY', P .. 'order', jobs)
local order, at, created = last - jobs + 1, 6, be8(wall_now)
local first_in_list
while order <= last do
  -- So many as have a place in the same string of ids, and in one call.
  local block = math.floor(order / 1024)
  local stop = math.min(last, block * 1024 + 1023)
  local ids, bodies, members = {}, {}, {}
  local first = order
  while order <= stop do
    local id, number = ARGV[at], be8(order)
    local n = order - first + 1
    ids[n], members[n] = id, number .. id
    bodies[2 * n - 1], bodies[2 * n] = id, number .. created .. ARGV[at + 1]
    order, at = order + 1, at + 2
  end
  call('HSET', P .. 'body', unpack(bodies))
  call('SETRANGE', P .. 'order:' .. block, first % 1024 * 16, table.concat(ids))
  call('HINCRBY', P .. 'orders_in', block, #ids)
  local length = call('RPUSH', P .. 'plain:' .. lane, unpack(members))
  first_in_list = first_in_list or length == #members
end
if first_in_list then
  call('SADD', P .. 'lanes', lane)
  call('SADD', P .. 'stages:' .. queue, ARGV[5])
end
call('SET', P .. 'wall', num(wall_now))
call('HINCRBY', P .. 'depth', queue .. ' 0', jobs)
tell('q ' .. queue .. ' ' .. ARGV[5])
return 'ok'

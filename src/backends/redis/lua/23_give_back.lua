-- needs: 00_core 10_jobs
-- ARGV: owner, request, ttl. Looks at all leases of the owner, wherever they are: it is called when an answer was lost, which is seldom.
goes_on_when_full()
local owner, request, ttl = ARGV[4], ARGV[5], tonumber(ARGV[6])
local mine = {}
for _, lane in ipairs(call('SMEMBERS', P .. 'lanes')) do
  for _, which in ipairs(LEASES) do
    for _, member in ipairs(call('ZRANGE', P .. which .. lane, 0, -1)) do
      if owner_in(member) == owner then
        for _, id in ipairs(ids_in(member)) do mine[#mine + 1] = id end
      end
    end
  end
end
for _, id in ipairs(mine) do
  local r = load(id)
  if r.request == request then settle_delivery(r, 4, '', '', 0, -1) end
end

local claim_key = P .. 'claim:' .. #owner .. ':' .. owner .. request
local before = call('GET', claim_key)
local ends = math.max(before and unpack_one(before)[1] or 0, lease_now + ttl)
call('SET', claim_key, pack({ends, {}}))
set_to_expire(claim_key, ends - lease_now)
return 1

-- needs: 00_core
-- Ids in the order of enqueue, zeros between them: ARGV[4] from which order:N, [5] how many strings at most. Answers where to go on, or nothing, and the ids.
local n, most = math.max(tonumber(ARGV[4]), tonumber(call('GET', P .. 'order_first') or 0)), tonumber(ARGV[5])
local last, texts = math.floor(last_order() / 1024), {}
local stop = math.min(last, n + 1000)
while n <= stop and #texts < most do
  texts[#texts + 1] = call('GET', P .. 'order:' .. num(n)) or nil
  n = n + 1
end
return {n <= last and num(n) or '', table.concat(texts)}

-- needs: 00_core
-- Ids in the order of enqueue, zeros between them: ARGV[4] from which order:N, [5] how many strings at most, [6] 1 to go up, -1 to go down, where an empty [4]
-- is the last one. Answers where to go on, or nothing, and the ids.
local first, last = tonumber(call('GET', P .. 'order_first') or 0), math.floor(last_order() / 1024)
local most, step, texts = tonumber(ARGV[5]), tonumber(ARGV[6]), {}
local n = tonumber(ARGV[4]) or last
n = step > 0 and math.max(n, first) or math.min(n, last)
local stop = step > 0 and math.min(last, n + 1000) or math.max(first, n - 1000)
while (stop - n) * step >= 0 and #texts < most do
  texts[#texts + 1] = call('GET', P .. 'order:' .. num(n)) or nil
  n = n + step
end
return {n >= first and n <= last and num(n) or '', table.concat(texts)}

-- needs: 00_core 16_schedule_rows
-- ARGV: where to go on, '0' at first, how many about. Answers where to go on, '0' if there are no more.
goes_on_when_full()
local page = call('HSCAN', P .. 'schedule', ARGV[4], 'COUNT', ARGV[5])
for i = 1, #page[2], 2 do
  local name = page[2][i]
  call('HDEL', P .. 'schedule', name)
  call('HDEL', P .. 'schedule_specs', name)
  for _, index in ipairs({'schedules', 'schedules_at', 'schedules_removed', 'schedule_versions', 'tick_ages'}) do call('ZREM', P .. index, name) end
  call('SREM', P .. 'ticks_many', name)
  call('UNLINK', ticks_key(name))
end
return page[1]

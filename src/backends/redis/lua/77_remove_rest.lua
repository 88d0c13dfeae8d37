-- needs: 00_core
-- What is not counted by the thousand: settings, workers, pipelines; and what knows how far jobs, locks and schedules have come, if there are none.
goes_on_when_full()
for _, queue in ipairs(call('HKEYS', P .. 'queues')) do  -- jobs that came meanwhile, and were parked by a limit that goes
  if call('EXISTS', P .. 'parked_keys:' .. queue) == 1 then call('HSET', P .. 'unparking', queue, '0') end
  tell('Q ' .. queue)
end
for _, key in ipairs({'queues', 'workers', 'workers_seen', 'orders', 'pipelines', 'pipelines_gone', 'batch_names'}) do call('UNLINK', P .. key) end
if call('EXISTS', P .. 'schedule') == 0 then call('UNLINK', P .. 'schedules_last') end
tell('o')  -- who follows schedules and pipelines
if call('EXISTS', P .. 'body') == 0 then
  local largest = tonumber(call('GET', P .. 'fence') or 0)
  if largest > 0 then raise_floor_to(largest) end
  for _, key in ipairs({'fence', 'last', 'order_first', 'batch_number', 'effect_number', 'aliases', 'alias_ages'}) do call('UNLINK', P .. key) end
  if call('EXISTS', P .. 'locks') == 0 then call('SREM', STORE .. 'spaces', P) end
end
return {}

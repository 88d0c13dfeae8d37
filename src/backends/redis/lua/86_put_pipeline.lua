-- needs: 00_core
-- Pipelines:
--   pipelines        hash NAME -> msgpack [revision, changed_at, spec]; nobody reads the spec here
--   pipelines_gone   hash NAME -> the same of those that were removed, whose revisions go on if they come again; their spec is empty
-- ARGV: name, spec (empty: it is removed), the revision that the decision rests on, actor, reason. Answers revision and changed_at as they are now; its spec is the one that was sent.
local PIPELINES_MOST = 1000
local name, spec, revision = ARGV[4], ARGV[5], tonumber(ARGV[6])
local packed = call('HGET', P .. 'pipelines', name) or call('HGET', P .. 'pipelines_gone', name)
local row = packed and unpack_one(packed) or {0, 0, ''}
local is_there = row[3] ~= ''
if row[3] == spec then return {num(row[1]), num(row[2])} end
if is_there and revision ~= row[1] then
  return refuse('conflict', 'pipeline ' .. name .. ' has revision ' .. num(row[1]) .. ' now, not ' .. num(revision) .. ': look at it again')
end
if not is_there and revision ~= 0 then return refuse('conflict', 'there is no pipeline ' .. name .. ' any more: look again') end
if not is_there and call('HLEN', P .. 'pipelines') >= PIPELINES_MOST then
  return refuse('refused', 'namespace ' .. P:match('{(.*)}:$') .. ' has ' .. PIPELINES_MOST .. ' pipelines, the most there can be; remove one first')
end
row = {row[1] + 1, wall_now, spec}
if spec == '' then
  call('HDEL', P .. 'pipelines', name)  -- the first: a full server lets it in, and all the rest with it
  call('HSET', P .. 'pipelines_gone', name, pack(row))
else
  call('HSET', P .. 'pipelines', name, pack(row))  -- a full server refuses it
  call('HDEL', P .. 'pipelines_gone', name)
end
note_act(ARGV[7], spec == '' and 'pipeline_removed' or 'pipeline_applied', name, ARGV[8])
tell('o')
return {num(row[1]), num(row[2])}

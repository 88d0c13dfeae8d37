-- What several verbs share. Locks are taken in this order, so that no two calls wait for each other: rows of schedule by name, the turn of a home (advisory), rows of job by id,
-- rows of claim by id, rows of grp by id, unique_key, all else. Whoever acts on several jobs locks all their rows first, ordered by id.

-- Names to numbers. The first three make what is missing.
create function ns_of(name_ text) returns int language plpgsql as $$
declare found_id int;
begin
  select id into found_id from namespace where name = name_;
  if found_id is null then
    insert into namespace (name) values (name_) on conflict do nothing;
    select id into found_id from namespace where name = name_;
  end if;
  return found_id;
end $$;

-- Whoever takes the turns of all homes waits for those that are being made, and none is made meanwhile.
create function home_of(ns int, name_ text) returns int language plpgsql as $$
declare found_id int;
begin
  select id into found_id from home where ns_id = ns and name = name_;
  if found_id is null then
    perform pg_advisory_xact_lock_shared(1179535171, 0);
    insert into home (ns_id, name) values (ns, name_) on conflict do nothing;
    select id into found_id from home where ns_id = ns and name = name_;
  end if;
  return found_id;
end $$;

create function queue_of(ns int, name_ text, stage_ text) returns int language plpgsql as $$
declare found_id int;
begin
  select id into found_id from queue where ns_id = ns and name = name_ and stage = stage_;
  if found_id is null then
    -- Who waits for a queue that is not there yet left no mark in it: its first job wakes them.
    insert into queue (ns_id, home_id, name, stage, hungry_at) values (ns, home_of(ns, name_), name_, stage_, (clock()).wall) on conflict do nothing;
    select id into found_id from queue where ns_id = ns and name = name_ and stage = stage_;
  end if;
  return found_id;
end $$;

-- Whoever was not seen for an hour is seen now, and its row is locked until the end: tidy, which looks for holders long gone, passes it over.
create function owner_of(ns int, name_ text) returns bigint language plpgsql as $$
declare
  wall bigint := (clock()).wall;
  found_id bigint;
  seen bigint;
begin
  loop
    select id, seen_at into found_id, seen from owner where ns_id = ns and name = name_;
    if found_id is null then
      insert into owner (ns_id, name, seen_at) values (ns, name_, wall) on conflict do nothing;
      continue;
    end if;
    if seen > wall - 3600000000 then return found_id; end if;
    update owner set seen_at = wall where id = found_id;
    if found then return found_id; end if;  -- else tidy has just forgotten it
  end loop;
end $$;

create function owner_name(owner_id_ bigint) returns text language plpgsql stable as $$
begin
  return coalesce((select name from owner where id = owner_id_), '');
end $$;

-- The turns of a home: claims of a plain one take it together, claims of a special one and changes of its settings one by one. And the settings, which
-- an enqueue with a limit key holds still while it looks at them.
create function take_turn(home_ int, alone boolean) returns void language plpgsql as $$
begin
  if alone then perform pg_advisory_xact_lock(1179535169, home_); else perform pg_advisory_xact_lock_shared(1179535169, home_); end if;
end $$;
create function has_old_snapshot() returns boolean language plpgsql stable as $$
begin
  return current_setting('transaction_isolation') not in ('read committed', 'read uncommitted');
end $$;
create function hold_settings(home_ int, alone boolean) returns void language plpgsql as $$
begin
  if alone then perform pg_advisory_xact_lock(1179535170, home_); else perform pg_advisory_xact_lock_shared(1179535170, home_); end if;
  if alone then
    insert into home_change as h (home_id, n) values (home_, 1) on conflict (home_id) do update set n = h.n + 1;
  elsif has_old_snapshot() then
    -- The application's own transaction: settings that were changed since its snapshot would be read as they were. Both statements fail then (40001).
    insert into home_change (home_id, n) values (home_, 0) on conflict do nothing;
    perform 1 from home_change where home_id = home_ for share;
  end if;
end $$;

-- Depths change by so many.
create function count_moved(queue_ int, ready_ bigint, running_ bigint, waiting_ bigint, done_ bigint, dead_ bigint, cancelled_ bigint) returns void language plpgsql as $$
begin
  insert into depth values (queue_, ready_, running_, waiting_, done_, dead_, cancelled_);
end $$;

-- Tells those who sleep that jobs of this queue may be claimable. Only if somebody came back short lately: a notification makes commits wait for each other. An old snapshot
-- does not know, and tells.
create function wake(queue_ int) returns void language plpgsql as $$
declare
  one record;
begin
  select n.name as ns, q.name, q.stage, q.hungry_at into one from queue q join namespace n on n.id = q.ns_id where q.id = queue_;
  if one.hungry_at > (clock()).wall - 30000000 or has_old_snapshot() then perform pg_notify('fenceline', concat_ws(' ', current_schema(), one.ns, one.name, one.stage)); end if;
end $$;
create function wake_stages(home_ int) returns void language plpgsql as $$
begin
  perform wake(id) from queue where home_id = home_;
end $$;
-- And that there may be orders for some worker of the namespace: a name of a queue is never missing otherwise.
create function wake_workers(ns int) returns void language plpgsql as $$
begin
  perform pg_notify('fenceline', concat_ws(' ', current_schema(), name)) from namespace where id = ns;
end $$;

-- The next claim of the home shall look at the group, the limit key or the job (any may be null), from `at_` on of that clock (0 lease, 1 wall); 0: now.
create function look_later(home_ int, group_ bigint, limit_ bigint, id_ uuid, clock_ smallint, at_ bigint) returns void language plpgsql as $$
begin
  insert into todo (home_id, clock, at, group_id, limit_id, id) values (home_, clock_, at_, group_, limit_, id_);
  update home set special = true where id = home_ and not special;
end $$;
create function look_at(home_ int, group_ bigint, limit_ bigint, id_ uuid) returns void language plpgsql as $$
begin
  -- Without a limit nobody chooses; when one is set, every key is looked at.
  if limit_ is not null and (select per_key_most from home where id = home_) = 0 then limit_ := null; end if;
  if group_ is null and limit_ is null and id_ is null then return; end if;
  perform look_later(home_, group_, limit_, id_, 0::smallint, 0);
end $$;

-- The jobs that run under a row of claim, in the order of its reply.
create function jobs_of(k claim) returns setof job language plpgsql stable as $$
begin
  return query
    select * from job j
    where j.queue_id = k.queue_id and j.blocked = 0 and j.rank = k.rank and (j.run_at, j.seq) >= (k.lo_run_at, k.lo_seq) and (j.run_at, j.seq) <= (k.hi_run_at, k.hi_seq)
      and j.claim_id = k.id and j.lease_end is not null
    order by j.run_at, j.seq;
end $$;

-- So many jobs have left each of these claims (one element a job, nulls do not count).
create function leave_claims(claims bigint[]) returns void language plpgsql as $$
begin
  if claims[1] = all (claims) then  -- as most are
    update claim set live = live - cardinality(claims) where id = claims[1];
    return;
  end if;
  perform 1 from claim where id = any (claims) order by id for update;
  update claim c set live = live - left_.n from (select x, count(*)::int as n from unnest(claims) as x group by x) as left_ where c.id = left_.x;
end $$;

-- The delivery at hand of a running job ended so. Keeps the last 50 of a job, the next one included.
create function end_attempt(j job, ending_ smallint, exit_status_ smallint, error_ bytea, wall bigint) returns void language plpgsql as $$
begin
  insert into attempt (ns_id, id, delivery, fence, started_at, ended_at, ending, exit_status, owner_id, error)
  values (j.ns_id, j.id, j.deliveries, j.fence, j.started_at, wall, ending_, exit_status_, j.owner_id, error_);
  if j.deliveries > 50 then delete from attempt where id = j.id and ns_id = j.ns_id and delivery <= j.deliveries - 50; end if;
end $$;

-- Nobody commits under this fence of a job any more. Waits for a commit under it that is under way, and for nothing else (80_guard.sql).
create function supersede(ns int, id_ uuid, fence_ bigint) returns void language plpgsql as $$
begin
  if fence_ > 0 then insert into superseded (ns_id, resource, fence) values (ns, id_::text, fence_) on conflict do nothing; end if;
end $$;

-- A new fence for a job, above all that it and its group had; it ends the one before. The group remembers it.
create function mint(j job, wall bigint) returns bigint language plpgsql as $$
declare
  floor_ bigint;
  group_fence bigint := 0;
  minted bigint;
begin
  select value into floor_ from floor;
  if j.group_id is not null then select fence into group_fence from grp where id = j.group_id for no key update; end if;
  minted := next_fence(greatest(j.fence, group_fence), floor_, wall);
  perform supersede(j.ns_id, j.id, j.fence);
  if j.group_id is not null then update grp set fence = minted where id = j.group_id; end if;
  return minted;
end $$;

-- An unfinished job becomes finished: its row moves. `j` carries what shall stand in done (fence, owner_id, counters, error, exit_status, last_outcome, acted);
-- started_ is null if its last delivery stands in attempt. Neither depth nor claim is told: the caller knows from which state it came.
create function finish(j job, state_ smallint, result_ bytea, started_ bigint, wall bigint) returns void language plpgsql as $$
begin
  delete from job where id = j.id and ns_id = j.ns_id;
  insert into done (seq, id, ns_id, queue_id, run_at, rank, state, finished_at, fence, deliveries, started_at, owner_id, failures, losses, losses_in_row, laters,
                    last_outcome, exit_status, percent, attempts_max, created_at, group_id, limit_id, place, word, acted, error, extras, result, payload)
  values (j.seq, j.id, j.ns_id, j.queue_id, j.run_at, j.rank, state_, wall, j.fence, j.deliveries, started_, j.owner_id, j.failures, j.losses, j.losses_in_row, j.laters,
          j.last_outcome, j.exit_status, j.percent, j.attempts_max, j.created_at, j.group_id, j.limit_id, j.place, j.word, j.acted, j.error, j.extras, result_, j.payload);
  if j.extras ? 'key' then
    update unique_key k set until = wall + coalesce((j.extras ->> 'key_for')::bigint, 0)
    from queue q where q.id = j.queue_id and k.home_id = q.home_id and k.name = j.extras ->> 'key' and k.id = j.id;
  end if;
end $$;

-- A slot of this job became free, or is about to: the next claim looks at its group and limit key, and those who sleep are told.
create function free_slot(j job) returns void language plpgsql as $$
declare
  home_ home;
begin
  select h.* into home_ from home h join queue q on q.home_id = h.id where q.id = j.queue_id;
  perform look_at(home_.id, j.group_id, j.limit_id, null);
  if j.group_id is not null or home_.running_most > 0 or home_.per_key_most > 0 then perform wake_stages(home_.id); end if;
end $$;

-- Two JSON texts that are the same value. What jsonb does not take (an escaped NUL, a number past its range) equals only its own spelling.
create function same_json(a text, b text) returns boolean language plpgsql immutable as $$
begin
  if a = b then return true; end if;
  return a::jsonb = b::jsonb;
exception when others then
  return false;
end $$;

create function note_act(ns_name text, actor_ text, act_ text, subject_ text, reason_ text, wall bigint) returns void language plpgsql as $$
begin
  insert into trail (ns, at, actor, act, subject, reason) values (ns_name, wall, actor_, act_, subject_, reason_);
end $$;

-- A job as people see it; bytes in hexadecimal. Names of members are those of Job in the model; see read_job in C++.
create function shown_job(j job, lease bigint, with_payload boolean) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'id', j.id, 'seq', j.seq, 'queue', q.name, 'stage', q.stage,
    'state', case when j.lease_end is not null then 1 when j.blocked & 1 = 1 then 2 else 0 end,
    'priority', -j.rank, 'attempts_max', j.attempts_max, 'created_at', j.created_at, 'run_at', j.run_at, 'fence', j.fence, 'owner', o.name,
    'lease_left', case when j.lease_end is not null then least(j.lease_end - lease, j.ttl) end, 'deliveries', j.deliveries, 'failures', j.failures, 'losses', j.losses, 'losses_in_row', j.losses_in_row,
    'laters', j.laters, 'last_outcome', j.last_outcome, 'exit_status', j.exit_status, 'percent', j.percent, 'word', j.word,
    'error', encode(j.error, 'hex'), 'extras', j.extras, 'payload', case when with_payload then j.payload end))
  from queue q left join owner o on o.id = j.owner_id where q.id = j.queue_id;
$$;
create function shown_done(d done, with_payload boolean) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'id', d.id, 'seq', d.seq, 'queue', q.name, 'stage', q.stage, 'state', d.state,
    'priority', -d.rank, 'attempts_max', d.attempts_max, 'created_at', d.created_at, 'run_at', d.run_at, 'finished_at', d.finished_at, 'fence', d.fence,
    'owner', o.name, 'deliveries', d.deliveries, 'failures', d.failures, 'losses', d.losses, 'losses_in_row', d.losses_in_row,
    'laters', d.laters, 'last_outcome', d.last_outcome, 'exit_status', d.exit_status, 'percent', d.percent, 'word', d.word,
    'error', encode(d.error, 'hex'), 'extras', d.extras, 'payload', case when with_payload then d.payload end,
    'result', case when with_payload then encode(d.result, 'hex') end))
  from queue q left join owner o on o.id = d.owner_id where q.id = d.queue_id;
$$;

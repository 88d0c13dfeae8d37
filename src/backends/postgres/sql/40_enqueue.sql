-- How jobs come in. Jobs without a key, a group or a limit key go in by one statement for the whole batch; else all of it one by one.

-- The row of an id that is there already, wherever it stands.
create function known_job(ns int, id_ uuid, out queue_id int, out payload text, out state smallint) language plpgsql as $$
begin
  select j.queue_id, j.payload, case when j.lease_end is not null then 1 when j.blocked & 1 = 1 then 2 else 0 end
  into queue_id, payload, state from job j where j.id = id_ and j.ns_id = ns;
  if queue_id is null then
    select d.queue_id, d.payload, d.state into queue_id, payload, state from done d where d.id = id_ and d.ns_id = ns;
  end if;
end $$;

-- The id of a job that was there before: itself, or the job that it stands for; null if it is not known. Refuses another job under the same id.
create function answered_before(ns int, id_ uuid, queue_ int, payload_ text) returns uuid language plpgsql as $$
declare
  there record;
  holder_ uuid;
begin
  select * into there from known_job(ns, id_);
  if there.queue_id is not null then
    -- An item may have gone on to another stage since.
    if coalesce((select i.came_in from item i where i.id = id_ and i.ns_id = ns), there.queue_id) <> queue_ or there.payload <> payload_ then
      perform fail_conflict(format('job %s already exists with another queue, stage or payload', id_));
    end if;
    return id_;
  end if;
  select holder into holder_ from alias where ns_id = ns and id = id_;
  if holder_ is null then return null; end if;
  select * into there from known_job(ns, holder_);
  if there.queue_id is not null
     and ((select home_id from queue where id = there.queue_id) <> (select home_id from queue where id = queue_) or not same_json(there.payload, payload_)) then
    perform fail_conflict(format('job %s is an alias of job %s, which has another queue or payload', id_, holder_));
  end if;
  return holder_;
end $$;

-- Takes the unique key for a new job; or answers who has it, if that is the same by its payload. The row of the key is locked until the end: two
-- who want one key take turns.
create function take_key(ns int, home_ int, id_ uuid, payload_ text, extras_ jsonb, queue_name text, wall bigint) returns uuid language plpgsql as $$
declare
  taken unique_key;
  there record;
  key_ text := extras_ ->> 'key';
begin
  insert into unique_key (home_id, name, id, until) values (home_, key_, id_, null) on conflict do nothing;
  if found then return null; end if;
  select * into taken from unique_key where home_id = home_ and name = key_ for update;
  -- An earlier try of the same may have taken the key, and finished, while we waited for its row (J1).
  if (known_job(ns, id_)).queue_id is not null then return id_; end if;
  if taken.id is not null and taken.id <> id_ and (taken.until is null or taken.until > wall) then
    -- A statement of its own, after the lock: who had the key may have finished while we waited for it.
    select * into there from known_job(ns, taken.id);
    if there.queue_id is not null then
      if not same_json(there.payload, payload_) then
        perform fail_conflict(format('key ''%s'' of queue %s is taken by job %s (%s) with another payload', key_, queue_name, taken.id,
                                     (array['ready', 'running', 'waiting', 'done', 'dead', 'cancelled'])[there.state + 1]));
      end if;
      insert into alias (ns_id, id, holder, at) values (ns, id_, taken.id, wall) on conflict do nothing;
      return taken.id;
    end if;
  end if;
  if taken.id is null then
    insert into unique_key (home_id, name, id, until) values (home_, key_, id_, null)
    on conflict (home_id, name) do update set id = excluded.id, until = null;
  else
    update unique_key set id = id_, until = null where home_id = home_ and name = key_;
  end if;
  return null;
end $$;

create function group_of(home_ int, name_ text) returns bigint language plpgsql as $$
declare found_id bigint;
begin
  loop
    -- The lock keeps tidy from forgetting the group before its new job is there. It hinders neither claims nor settles.
    select id into found_id from grp where home_id = home_ and name = name_ for key share;
    if found_id is not null then return found_id; end if;
    insert into grp (home_id, name) values (home_, name_) on conflict do nothing;
  end loop;
end $$;

create function limit_key_of(home_ int, name_ text) returns bigint language plpgsql as $$
declare found_id bigint;
begin
  loop
    select id into found_id from limit_key where home_id = home_ and name = name_ for key share;
    if found_id is not null then return found_id; end if;
    insert into limit_key (home_id, name) values (home_, name_) on conflict do nothing;
  end loop;
end $$;

-- One job that is not plain, or may be there already. Answers its id, or that of the job that stands for it.
create function enqueue_one(ns int, queue_ int, id_ uuid, payload_ text, rank_ smallint, run_at_ bigint, attempts_ int, extras_ jsonb, wall bigint) returns uuid
language plpgsql as $$
declare
  place_ queue;
  per_key int;
  answered uuid;
  group_ bigint;
  limit_ bigint;
  seq_ bigint;
  blocked_ smallint := 0;
begin
  answered := answered_before(ns, id_, queue_, payload_);
  if answered is not null then return answered; end if;
  select * into place_ from queue where id = queue_;
  if extras_ ? 'key' then
    answered := take_key(ns, place_.home_id, id_, payload_, extras_, place_.name, wall);
    if answered = id_ then return answered_before(ns, id_, queue_, payload_); end if;
    if answered is not null then return answered; end if;
  end if;
  if extras_ ? 'group' then
    group_ := group_of(place_.home_id, extras_ ->> 'group');
    blocked_ := blocked_ | 2;
  end if;
  if extras_ ? 'limit_key' then
    limit_ := limit_key_of(place_.home_id, extras_ ->> 'limit_key');
    perform hold_settings(place_.home_id, false);
    select per_key_most into per_key from home where id = place_.home_id;
    if per_key > 0 then blocked_ := blocked_ | 4; end if;
  end if;
  seq_ := nextval('job_seq');
  insert into job (seq, id, ns_id, queue_id, run_at, rank, blocked, attempts_max, created_at, group_id, limit_id, place, extras, payload)
  values (seq_, id_, ns, queue_, run_at_, rank_, blocked_, attempts_, wall, group_, limit_, case when group_ is not null then seq_ end, extras_, payload_)
  on conflict do nothing;
  if not found then return answered_before(ns, id_, queue_, payload_); end if;
  -- Between the look above and the insert, an earlier try may have come, been claimed and finished (J1).
  if exists (select 1 from done where id = id_ and ns_id = ns) then
    delete from job where id = id_ and ns_id = ns;
    return answered_before(ns, id_, queue_, payload_);
  end if;
  if extras_ ? 'tags' then
    insert into tag (ns_id, name, seq, id) select ns, t, seq_, id_ from jsonb_array_elements_text(extras_ -> 'tags') as t;
  end if;
  perform count_moved(queue_, 1, 0, 0, 0, 0, 0);
  return null;
end $$;

-- What the next claim looks at because of these jobs: a row for each group, and for each limit key and run time.
create function look_at_new(ns int, ids uuid[]) returns void language plpgsql as $$
declare
  homes int[];
begin
  with new as (
    select distinct q.home_id, case when j.group_id is not null then j.group_id end as group_id, case when j.blocked & 4 = 4 then j.limit_id end as limit_id,
                    case when j.blocked & 4 = 4 then j.run_at end as run_at
    from job j join queue q on q.id = j.queue_id where j.id = any (ids) and j.ns_id = ns and (j.group_id is not null or j.blocked & 4 = 4)),
  groups as (insert into todo (home_id, clock, at, group_id) select distinct n.home_id, 0, 0, n.group_id from new n where n.group_id is not null),
  keys as (insert into todo (home_id, clock, at, limit_id) select distinct n.home_id, 1, n.run_at, n.limit_id from new n where n.limit_id is not null)
  select array_agg(distinct n.home_id) into homes from new n;
  update home set special = true where id = any (homes) and not special;
end $$;

create function enqueue_jobs(ns text, queues text[], stages text[], q int[], ids uuid[], payloads text[], ranks smallint[], delays bigint[], ats bigint[], attempts int[],
                             extras jsonb[], out existing bigint, out answered uuid[])
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  ns_id_ int := ns_of(ns);
  queue_ids int[];
  wall bigint := (clock()).wall;
  wanted bigint := coalesce(array_length(ids, 1), 0);
  bare boolean := extras is null or cardinality(array_remove(extras, null)) = 0;
  plain boolean := bare;
  are_new boolean;
  one uuid;
  i int;
begin
  existing := 0;
  if wanted = 0 then return; end if;
  for i in 1 .. array_length(queues, 1) loop
    queue_ids[i] := queue_of(ns_id_, queues[i], stages[i]);
  end loop;
  if not bare then plain := not exists (select 1 from unnest(extras) as x where x ?| '{key,group,limit_key}'); end if;
  if plain then
    -- Asking for each row whether its id is there (on conflict) would cost a third of the insert: one that is undoes them all, and each is looked at below.
    begin
      insert into job (seq, id, ns_id, queue_id, run_at, rank, attempts_max, created_at, extras, payload)
      select nextval('job_seq'), u.id, ns_id_, queue_ids[u.q], greatest(wall, coalesce(u.at, wall + u.delay)), u.rank, u.attempts, wall, u.extras, u.payload
      from unnest(q, ids, payloads, ranks, delays, ats, attempts, extras) as u (q, id, payload, rank, delay, at, attempts, extras);
      are_new := true;
    exception when unique_violation then
      are_new := false;
    end;
    if are_new then
      -- In statements of their own, after the insert: an earlier try of the same may have come and finished meanwhile (J1), and ids may stand for others. Ids ascend
      -- with time, so most batches lie behind all that is done.
      if (coalesce((select u.id from unnest(ids) as u (id) order by u.id limit 1) > (select d.id from done d order by d.id desc limit 1), true)
          or not exists (select 1 from done d where d.id = any (ids) and d.ns_id = ns_id_))
         and (not exists (select 1 from alias a where a.ns_id = ns_id_) or not exists (select 1 from alias a where a.ns_id = ns_id_ and a.id = any (ids))) then
        insert into depth (queue_id, ready) select queue_ids[u], count(*) from unnest(q) as u group by u;
        if not bare then
          insert into tag (ns_id, name, seq, id)
          select ns_id_, t, j.seq, j.id from job j, jsonb_array_elements_text(j.extras -> 'tags') as t where j.id = any (ids) and j.ns_id = ns_id_ and j.extras ? 'tags';
        end if;
        for i in 1 .. array_length(queue_ids, 1) loop perform wake(queue_ids[i]); end loop;
        return;
      end if;
      delete from job where id = any (ids) and ns_id = ns_id_;
    end if;
  end if;
  answered := ids;
  for i in 1 .. wanted loop
    one := enqueue_one(ns_id_, queue_ids[q[i]], ids[i], payloads[i], ranks[i], greatest(wall, coalesce(ats[i], wall + delays[i])), attempts[i], extras[i], wall);
    if one is not null then
      answered[i] := one;
      existing := existing + 1;
    end if;
  end loop;
  perform look_at_new(ns_id_, ids);
  for i in 1 .. array_length(queue_ids, 1) loop perform wake(queue_ids[i]); end loop;
end $$;

-- One plain job, as most that come alone are: the same with fewer statements, and no transaction inside the transaction.
create function enqueue_plain(ns text, queue text, stage text, id uuid, payload text, rank smallint, delay bigint, at bigint, attempts int, out existing bigint, out answered uuid[])
language plpgsql set search_path from current set enable_seqscan = off as $$
#variable_conflict use_column
declare
  wall bigint := (clock()).wall;
  ns_id_ int;
  queue_id_ int;
  hungry_at_ bigint;
  is_new boolean;
begin
  select q.ns_id, q.id into ns_id_, queue_id_ from namespace n join queue q on q.ns_id = n.id
  where n.name = enqueue_plain.ns and q.name = enqueue_plain.queue and q.stage = enqueue_plain.stage;
  if found then
    with fresh as (
      insert into job (seq, id, ns_id, queue_id, run_at, rank, attempts_max, created_at, payload)
      values (nextval('job_seq'), enqueue_plain.id, ns_id_, queue_id_, greatest(wall, coalesce(enqueue_plain.at, wall + enqueue_plain.delay)), enqueue_plain.rank, enqueue_plain.attempts, wall,
              enqueue_plain.payload)
      on conflict do nothing returning queue_id)
    insert into depth (queue_id, ready) select f.queue_id, 1 from fresh f;
    if found then
      -- As for many, in a statement of its own after the insert.
      select q.hungry_at,
             (coalesce(enqueue_plain.id > (select d.id from done d order by d.id desc limit 1), true)
              or not exists (select 1 from done d where d.id = enqueue_plain.id and d.ns_id = ns_id_))
             and not exists (select 1 from alias a where a.ns_id = ns_id_ and a.id = enqueue_plain.id)
      into hungry_at_, is_new from queue q where q.id = queue_id_;
      if is_new then
        if hungry_at_ > wall - 30000000 or has_old_snapshot() then perform wake(queue_id_); end if;
        existing := 0;
        return;
      end if;
      delete from job j where j.id = enqueue_plain.id and j.ns_id = ns_id_;
      perform count_moved(queue_id_, -1, 0, 0, 0, 0, 0);
    end if;
  end if;
  select e.existing, e.answered into existing, answered
  from enqueue_jobs(enqueue_plain.ns, array[enqueue_plain.queue], array[enqueue_plain.stage], '{1}', array[enqueue_plain.id], array[enqueue_plain.payload], array[enqueue_plain.rank],
                    array[enqueue_plain.delay], array[enqueue_plain.at], array[enqueue_plain.attempts], null) as e;
end $$;

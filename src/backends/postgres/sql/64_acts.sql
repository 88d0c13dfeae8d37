-- What people do to jobs: cancel, retry, purge. An act that ends a delivery, or cancels a job that waits after one, mints a new fence at once, so that its holder is refused from
-- then on, and leaves the slot taken until that holder has stopped. Fences end in the order of ids, whatever the order of the call: a commit under several takes their keys so
-- (80_guard.sql). Acts open nothing: they leave a todo for the next claim.

-- Locks these jobs wherever they stand, in the order of all locks. deep: also what ending a delivery and minting a fence need. The settings of their queues stand
-- still from here on.
create function lock_jobs(ns_ int, ids uuid[], deep boolean) returns void language plpgsql as $$
declare
  home_ int;
  locked bigint;
begin
  if deep then
    for home_ in
      select distinct q.home_id
      from (select j.queue_id from job j where j.id = any (ids) and j.ns_id = ns_ union select d.queue_id from done d where d.id = any (ids) and d.ns_id = ns_) as u
      join queue q on q.id = u.queue_id order by q.home_id
    loop
      perform hold_settings(home_, false);
    end loop;
  end if;
  loop
    perform 1 from job j where j.id = any (ids) and j.ns_id = ns_ order by j.id for update;
    get diagnostics locked = row_count;
    perform 1 from done d where d.id = any (ids) and d.ns_id = ns_ order by d.id for update;
    -- One may have moved back between the two statements.
    exit when (select count(*) from job j where j.id = any (ids) and j.ns_id = ns_) = locked;
  end loop;
  if not deep then return; end if;
  perform 1 from claim c where c.id = any (array(select j.claim_id from job j where j.id = any (ids) and j.ns_id = ns_ and j.lease_end is not null)) order by c.id for update;
  perform 1 from grp g
  where g.id = any (array(select j.group_id from job j where j.id = any (ids) and j.ns_id = ns_ and j.group_id is not null and (j.lease_end is not null or j.blocked & 1 = 1)))
  order by g.id for no key update;
end $$;

-- Why a job that becomes ready cannot be claimed yet, until a claim has looked: its group, its limit key, its losses, its own slot.
create function ready_bits(j job, home_ home, has_slot boolean) returns smallint language sql immutable as $$
  select (case when j.group_id is not null then 2 else 0 end + case when j.limit_id is not null and home_.per_key_most > 0 then 4 else 0 end
        + case when coalesce(j.losses_in_row, 0) >= 2 then 8 else 0 end + case when has_slot then 16 else 0 end)::smallint;
$$;

-- The next claim looks at a job that has just become ready: at once, and when the slot of its revoked delivery is over, and when its time has come, which may be
-- later than one thinks if the clock is set back.
create function look_at_ready(j job, home_ home, slot_end bigint) returns void language plpgsql as $$
declare
  limit_ bigint := case when home_.per_key_most > 0 then j.limit_id end;
begin
  perform look_at(home_.id, j.group_id, null, null);
  if slot_end is not null then perform look_later(home_.id, j.group_id, limit_, j.id, 0::smallint, slot_end); end if;
  if limit_ is not null then perform look_later(home_.id, null, limit_, null, 1::smallint, j.run_at); end if;
end $$;

-- The delivery of a running job ends, but its worker has not stopped: it keeps its slot. The caller changes the job.
create function keep_slot(j job, home_ home, ending_ smallint, wall bigint) returns void language plpgsql as $$
declare
  limit_ bigint := case when home_.per_key_most > 0 then j.limit_id end;
begin
  insert into slot (ns_id, id, seq, home_id, queue_id, group_id, limit_id, fence, lease_end, ttl, owner_id)
  values (j.ns_id, j.id, j.seq, home_.id, j.queue_id, j.group_id, j.limit_id, j.fence, j.lease_end, j.ttl, j.owner_id)
  on conflict (ns_id, id) do update set queue_id = excluded.queue_id, fence = excluded.fence, lease_end = excluded.lease_end, ttl = excluded.ttl, owner_id = excluded.owner_id;
  perform end_attempt(j, ending_, null, null, wall);
  perform leave_claims(array[j.claim_id]);
  if j.group_id is not null or limit_ is not null then perform look_later(home_.id, j.group_id, limit_, null, 0::smallint, j.lease_end); end if;
  perform wake_workers(j.ns_id);
end $$;

create function home_of_queue(queue_ int) returns home language plpgsql stable as $$
declare
  home_ home;
begin
  select h.* into home_ from queue q join home h on h.id = q.home_id where q.id = queue_;
  return home_;
end $$;

-- A job that runs or waits, whose row is locked, becomes cancelled, under a new fence: its handler may still speak. One that was never granted has none.
create function cancel_held(j job, wall bigint) returns void language plpgsql as $$
declare
  was int := state_of(j);
begin
  if was = 1 then perform keep_slot(j, home_of_queue(j.queue_id), 7::smallint, wall); end if;
  if j.fence > 0 then j.fence := mint(j, wall); end if;
  j.owner_id := null;
  update effect set held = false where id = j.id and ns_id = j.ns_id and held;
  perform finish(j, 5::smallint, null, null, wall);
  perform count_moved(j.queue_id, 0, case when was = 1 then -1 else 0 end, case when was = 2 then -1 else 0 end, 0, 0, 1);
  perform free_slot(j);
end $$;

-- Ready jobs, whose rows are locked, become cancelled, all by one statement. try_: request of the act, null if there is none to remember.
create function cancel_ready(ns_ int, ids uuid[], try_ text, wall bigint) returns void language plpgsql as $$
declare
  home_ int;
begin
  if coalesce(cardinality(ids), 0) = 0 then return; end if;
  for home_ in
    with gone as (delete from job j where j.id = any (ids) and j.ns_id = ns_ returning j.*),
    moved as (
      insert into done (seq, id, ns_id, queue_id, run_at, rank, state, finished_at, fence, deliveries, owner_id, failures, losses, losses_in_row, laters, last_outcome,
                        exit_status, percent, attempts_max, created_at, group_id, limit_id, place, word, acted, error, extras, payload)
      select g.seq, g.id, g.ns_id, g.queue_id, g.run_at, g.rank, 5, wall, g.fence, g.deliveries, g.owner_id, g.failures, g.losses, g.losses_in_row, g.laters, g.last_outcome,
             g.exit_status, g.percent, g.attempts_max, g.created_at, g.group_id, g.limit_id, g.place, g.word, coalesce(try_, g.acted), g.error, g.extras, g.payload
      from gone g order by g.seq),
    freed as (
      update unique_key k set until = wall + coalesce((g.extras ->> 'key_for')::bigint, 0)
      from gone g join queue q on q.id = g.queue_id
      where g.extras ? 'key' and k.home_id = q.home_id and k.name = g.extras ->> 'key' and k.id = g.id),
    counted as (insert into depth (queue_id, ready, cancelled) select g.queue_id, -count(*), count(*) from gone g group by g.queue_id),
    looks as (
      select distinct h.id, h.running_most, h.per_key_most, g.group_id, case when h.per_key_most > 0 then g.limit_id end as limit_id
      from gone g join queue q on q.id = g.queue_id join home h on h.id = q.home_id),
    noted as (insert into todo (home_id, clock, at, group_id, limit_id) select l.id, 0, 0, l.group_id, l.limit_id from looks l where l.group_id is not null or l.limit_id is not null)
    select distinct l.id from looks l where l.group_id is not null or l.running_most > 0 or l.per_key_most > 0 order by l.id
  loop
    perform wake_stages(home_);
  end loop;
end $$;

-- One entry in the trail for each job, in this order.
create function note_acts(ns_name text, act jsonb, verb text, ids uuid[], wall bigint) returns void language plpgsql as $$
begin
  insert into trail (ns, at, actor, act, subject, reason)
  select ns_name, wall, note_acts.act ->> 'actor', verb, u.id::text, note_acts.act ->> 'reason' from unnest(ids) with ordinality as u (id, at) order by u.at;
end $$;

-- A running job becomes ready again as soon as its slot is free.
create function take_back(j job, request_ text, wall bigint) returns void language plpgsql as $$
declare
  home_ home := home_of_queue(j.queue_id);
  slot_end bigint := j.lease_end;
begin
  perform keep_slot(j, home_, 8::smallint, wall);
  j.fence := mint(j, wall);
  j.run_at := wall;
  update job set fence = j.fence, owner_id = null, lease_end = null, started_at = null, claim_id = null, run_at = wall, acted = request_, blocked = ready_bits(j, home_, true)
  where id = j.id and ns_id = j.ns_id;
  perform count_moved(j.queue_id, 1, -1, 0, 0, 0, 0);
  perform look_at_ready(j, home_, slot_end);
end $$;

-- Dead and cancelled jobs, whose rows are locked, become ready, all by one statement: with no failures, no losses in a row, and in this order the last places of their
-- groups. Their keys are their own by now. A last delivery that finished its job becomes history like the others.
create function bring_back(ns_ int, ids uuid[], try_ text, lease bigint, wall bigint) returns void language plpgsql as $$
declare
  queue_ int;
begin
  if cardinality(ids) = 0 then return; end if;
  for queue_ in
    with gone as (delete from done d where d.id = any (ids) and d.ns_id = ns_ returning d.*),
    placed as (
      select o.*, nextval('job_seq') as new_place
      from (
        select g.*, h.id as home_, case when h.per_key_most > 0 then g.limit_id end as kept_back, s.lease_end as slot_end
        from gone g join unnest(ids) with ordinality as u (wanted, at) on u.wanted = g.id join queue q on q.id = g.queue_id join home h on h.id = q.home_id
        left join slot s on s.ns_id = ns_ and s.id = g.id and s.lease_end > lease
        order by u.at) as o),
    history as (
      insert into attempt (ns_id, id, delivery, fence, started_at, ended_at, ending, exit_status, owner_id, error)
      select ns_, g.id, g.deliveries, g.fence, g.started_at, g.finished_at, g.last_outcome + 1, g.exit_status, g.owner_id, case when g.last_outcome in (1, 2) then g.error end
      from gone g where g.started_at is not null),
    forgotten as (delete from attempt a using gone g where g.started_at is not null and g.deliveries > 50 and a.id = g.id and a.ns_id = ns_ and a.delivery <= g.deliveries - 50),
    back as (
      insert into job (seq, id, ns_id, queue_id, run_at, rank, blocked, fence, deliveries, owner_id, losses, laters, last_outcome, exit_status, percent, attempts_max, created_at,
                       group_id, limit_id, place, word, acted, error, extras, payload)
      select p.seq, p.id, ns_, p.queue_id, wall, p.rank,
             case when p.group_id is not null then 2 else 0 end + case when p.kept_back is not null then 4 else 0 end + case when p.slot_end is not null then 16 else 0 end,
             p.fence, p.deliveries, p.owner_id, p.losses, p.laters, p.last_outcome, p.exit_status, p.percent, p.attempts_max, p.created_at,
             p.group_id, p.limit_id, case when p.group_id is not null then p.new_place end, p.word, try_, p.error, p.extras, p.payload
      from placed p),
    counted as (
      insert into depth (queue_id, ready, dead, cancelled)
      select g.queue_id, count(*), -count(*) filter (where g.state = 4), -count(*) filter (where g.state = 5) from gone g group by g.queue_id),
    looks as (
      select distinct p.home_, 0 as clock, 0::bigint as at, p.group_id, null::bigint as limit_id, null::uuid as id from placed p where p.group_id is not null
      union all
      select distinct p.home_, 1, wall, null::bigint, p.kept_back, null::uuid from placed p where p.kept_back is not null
      union all
      select p.home_, 0, p.slot_end, p.group_id, p.kept_back, p.id from placed p where p.slot_end is not null),
    noted as (insert into todo (home_id, clock, at, group_id, limit_id, id) select l.home_, l.clock, l.at, l.group_id, l.limit_id, l.id from looks l),
    told as (update home set special = true where id in (select l.home_ from looks l) and not special)
    select distinct g.queue_id from gone g order by g.queue_id
  loop
    perform wake(queue_);
  end loop;
end $$;

-- Takes its unique key for a finished job that comes back; answers another job that has it.
create function retake_key(d done, wall bigint) returns uuid language plpgsql as $$
declare
  home_ int := (home_of_queue(d.queue_id)).id;
  key_ text := d.extras ->> 'key';
  holder uuid;
begin
  if key_ is null then return null; end if;
  insert into unique_key (home_id, name, id, until) values (home_, key_, d.id, null) on conflict do nothing;
  if found then return null; end if;
  perform 1 from unique_key k where k.home_id = home_ and k.name = key_ for update;
  holder := holder_of_key(home_, key_, wall);
  if holder <> d.id then return holder; end if;
  insert into unique_key (home_id, name, id, until) values (home_, key_, d.id, null) on conflict (home_id, name) do update set id = excluded.id, until = null;
  return null;
end $$;

-- A fence must be left for each job that runs, or waits after a delivery, also if the act turns out to need none.
create function check_fence_left(j job, wall bigint) returns void language plpgsql as $$
begin
  if state_of(j) = 0 or j.fence = 0 then return; end if;
  perform next_fence(greatest(j.fence, (select g.fence from grp g where g.id = j.group_id)), (select value from floor), wall);
end $$;

create function refused_act(id_ uuid, reason text, holder uuid) returns jsonb language sql immutable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', id_, 'reason', reason, 'holder', holder));
$$;

-- {"ids", "request", "only", "act"}: {"refused": [{"id", "reason", "holder"}]}.
create function cancel_jobs(ns text, request jsonb) returns jsonb
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  ns_ int := find_ns(ns);
  ids uuid[] := array(select x::uuid from jsonb_array_elements_text(request -> 'ids') as x);
  try_ text := request ->> 'request';
  only_ int := (request ->> 'only')::int;
  wall bigint;
  id_ uuid;
  j job;
  d done;
  ready uuid[] := '{}';
  held uuid[] := '{}';
  cancelled uuid[] := '{}';
  refused jsonb := '[]';
begin
  perform lock_jobs(ns_, ids, true);
  wall := (clock()).wall;
  foreach id_ in array ids loop
    select * into j from job where id = id_ and ns_id = ns_;
    if found then
      if j.acted = try_ then continue; end if;
      if only_ <> state_of(j) then
        refused := refused || refused_act(id_, 'state', null);
        continue;
      end if;
      cancelled := cancelled || id_;
      if state_of(j) = 0 then ready := ready || id_; else held := held || id_; end if;
      continue;
    end if;
    select * into d from done where id = id_ and ns_id = ns_;
    if not found then
      refused := refused || refused_act(id_, 'not_found', null);
    elsif d.acted = try_ then
      continue;
    elsif only_ <> d.state then
      refused := refused || refused_act(id_, 'state', null);
    elsif d.state <> 5 then
      refused := refused || refused_act(id_, 'finished', null);
    else
      update done set acted = try_ where id = id_ and ns_id = ns_;
    end if;
  end loop;
  for j in select x.* from job x where x.id = any (held) and x.ns_id = ns_ order by x.id loop
    j.acted := try_;
    perform cancel_held(j, wall);
  end loop;
  perform cancel_ready(ns_, ready, try_, wall);
  perform note_acts(ns, request -> 'act', 'job_cancelled', cancelled, wall);
  return jsonb_build_object('refused', refused);
end $$;

create function retry_jobs(ns text, request jsonb) returns jsonb
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  ns_ int := find_ns(ns);
  ids uuid[] := array(select x::uuid from jsonb_array_elements_text(request -> 'ids') as x);
  try_ text := request ->> 'request';
  only_ int := (request ->> 'only')::int;
  now record;
  id_ uuid;
  j job;
  d done;
  holder uuid;
  taken uuid[] := '{}';
  back uuid[] := '{}';
  retried uuid[] := '{}';
  refused jsonb := '[]';
  changed boolean;
begin
  perform lock_jobs(ns_, ids, true);
  select * into now from clock();
  foreach id_ in array ids loop
    changed := false;
    select * into j from job where id = id_ and ns_id = ns_;
    if found then
      if j.acted = try_ then continue; end if;
      if only_ <> state_of(j) then
        refused := refused || refused_act(id_, 'state', null);
        continue;
      end if;
      perform check_fence_left(j, now.wall);
      if state_of(j) = 2 and exists (select 1 from effect e where e.id = id_ and e.ns_id = ns_ and e.held) then
        refused := refused || refused_act(id_, 'effect_in_doubt', null);
      elsif state_of(j) = 2 or (state_of(j) = 0 and j.run_at <= now.wall) then
        update job set acted = try_ where id = id_ and ns_id = ns_;
      elsif state_of(j) = 1 then
        taken := taken || id_;
        changed := true;
      else
        update job set acted = try_, run_at = now.wall where id = id_ and ns_id = ns_;
        if j.blocked & 4 = 4 then perform look_later((home_of_queue(j.queue_id)).id, null, j.limit_id, null, 1::smallint, now.wall); end if;
        changed := true;
      end if;
    else
      select * into d from done where id = id_ and ns_id = ns_;
      if not found then
        refused := refused || refused_act(id_, 'not_found', null);
      elsif d.acted = try_ then
        continue;
      elsif only_ <> d.state then
        refused := refused || refused_act(id_, 'state', null);
      elsif d.state = 3 then
        refused := refused || refused_act(id_, 'finished', null);
      else
        holder := retake_key(d, now.wall);
        if holder is not null then
          refused := refused || refused_act(id_, 'key_taken', holder);
        else
          back := back || id_;
          retried := retried || id_;
        end if;
      end if;
    end if;
    if changed then
      perform wake(j.queue_id);
      retried := retried || id_;
    end if;
  end loop;
  for j in select x.* from job x where x.id = any (taken) and x.ns_id = ns_ order by x.id loop
    perform take_back(j, try_, now.wall);
  end loop;
  perform bring_back(ns_, back, try_, now.lease, now.wall);
  perform note_acts(ns, request -> 'act', 'job_retried', retried, now.wall);
  return jsonb_build_object('refused', refused);
end $$;

-- {"queue", "after", "up_to", "limit", "act"}: {"cancelled", "more", "next"}. Those that a worker takes while this looks stay.
create function purge_queue(ns text, request jsonb) returns jsonb
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  ns_ int := find_ns(ns);
  queues int[] := array(select q.id from queue q where q.ns_id = find_ns(ns) and q.name = request ->> 'queue');
  after_ bigint := coalesce((request ->> 'after')::bigint, 0);
  most bigint := coalesce((request ->> 'limit')::bigint, 1000);
  wall bigint;
  ids uuid[];
  ready uuid[];
  j job;
  cancelled bigint;
  next_ bigint;
  more boolean;
begin
  if cardinality(queues) = 0 then return jsonb_build_object('cancelled', 0, 'more', false, 'next', after_); end if;
  ids := array(select u.id from first_jobs(ns_, after_, (request ->> 'up_to')::bigint, queues, array[0, 2], most + 1) as u order by u.seq);
  more := cardinality(ids) > most;
  ids := ids[1:most];
  perform lock_jobs(ns_, ids, true);
  wall := (clock()).wall;
  select count(*), coalesce(max(x.seq), after_), array_agg(x.id) filter (where state_of(x) = 0) into cancelled, next_, ready
  from job x where x.id = any (ids) and x.ns_id = ns_ and x.lease_end is null;
  for j in select x.* from job x where x.id = any (ids) and x.ns_id = ns_ and state_of(x) = 2 order by x.id loop
    perform cancel_held(j, wall);
  end loop;
  perform cancel_ready(ns_, ready, null, wall);
  if cancelled > 0 then
    perform note_act(ns, request -> 'act' ->> 'actor', 'queue_purged', format('%s: %s jobs', request ->> 'queue', cancelled), request -> 'act' ->> 'reason', wall);
  end if;
  return jsonb_build_object('cancelled', cancelled, 'more', more, 'next', next_);
end $$;

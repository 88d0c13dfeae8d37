-- Pipelines and their items: a job moves to another stage in one step with its record.

-- {"name", "spec", "revision", "act"}: {"revision", "changed_at"} of the row as it is now. No spec: it is removed.
create function put_pipeline(ns text, request jsonb) returns jsonb language plpgsql set search_path from current set jit = off as $$
declare
  pipelines_most constant int := 1000;
  ns_ int := ns_of(ns);
  name_ text := request ->> 'name';
  spec_ bytea := decode(request ->> 'spec', 'hex');
  removes boolean := spec_ = '';
  wall bigint;
  p pipeline;
begin
  -- One at a time in a namespace: what is read from here on stands.
  perform pg_advisory_xact_lock(1179535172, ns_);
  select * into p from pipeline x where x.ns_id = ns_ and x.name = name_;
  if not found then p := (ns_, name_, 0, 0, true, '')::pipeline; end if;
  if p.spec <> spec_ then
    if (request ->> 'revision')::bigint <> (case when p.removed then 0 else p.revision end) then
      perform fail_conflict(case when p.removed then format('there is no pipeline %s any more: look again', name_)
                                 else format('pipeline %s has revision %s now, not %s: look at it again', name_, p.revision, request ->> 'revision') end);
    end if;
    if p.removed and (select count(*) from pipeline x where x.ns_id = ns_ and not x.removed) >= pipelines_most then
      perform fail_refused(format('namespace %s has %s pipelines, the most there can be; remove one first', ns, pipelines_most));
    end if;
    -- Whoever settles a job of this queue in a transaction of its own has looked for a pipeline: it ends first, or sees this one (84_inside.sql).
    perform hold_settings(home_of(ns_, name_), true);
    wall := (clock()).wall;
    insert into pipeline as x (ns_id, name, revision, changed_at, removed, spec) values (ns_, name_, 1, wall, removes, spec_)
    on conflict (ns_id, name) do update set revision = x.revision + 1, changed_at = excluded.changed_at, removed = excluded.removed, spec = excluded.spec
    returning * into p;
    perform note_act(ns, request -> 'act' ->> 'actor', case when removes then 'pipeline_removed' else 'pipeline_applied' end, name_, request -> 'act' ->> 'reason', wall);
    perform wake_workers(ns_);
  end if;
  return jsonb_build_object('revision', p.revision, 'changed_at', p.changed_at);
end $$;

create function list_pipelines(ns text) returns table (name text, spec bytea, revision bigint, changed_at bigint) language sql stable set search_path from current set jit = off as $$
  select p.name, p.spec, p.revision, p.changed_at from pipeline p where p.ns_id = find_ns(ns) and not p.removed order by p.name;
$$;

-- First a row with the moment alone; then one for each job that is there, in the order of the ids.
create function list_items(ns text, ids uuid[]) returns table (now bigint, job jsonb, revision bigint, record bytea)
language plpgsql stable set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  ns_ int := find_ns(ns);
  at record;
begin
  select * into at from clock();
  return query select at.wall, null::jsonb, null::bigint, null::bytea;
  return query
    select null::bigint, s.job, i.revision, i.record
    from unnest(ids) with ordinality as u (id, n) cross join lateral shown(ns_, u.id, at.lease, false) as s (job) left join item i on i.id = u.id and i.ns_id = ns_
    where s.job is not null order by u.n;
end $$;

-- Puts an unfinished job, whose row is locked, where a change wants it; answers its queue there, and its home if those who sleep in any stage of it are to be told. A holder's delivery ends as by settle, a
-- person ends it as cancel does. Neither depths nor, of a holder's, the claim are told: the caller knows them of all that it moves.
create function place_job(j job, stage_ text, state_ smallint, delay_ bigint, fresh_ boolean, by_holder boolean, result_ bytea, error_ bytea, lease bigint, wall bigint, out target int, out crowded int)
language plpgsql as $$
declare
  home_ home := home_of_queue(j.queue_id);
  slot_end bigint;
begin
  select q.id into target from queue q where q.ns_id = j.ns_id and q.name = home_.name and q.stage = stage_;
  if target is null then target := queue_of(j.ns_id, home_.name, stage_); end if;
  if error_ is not null and (by_holder or state_ = 4) then j.error := error_; end if;
  if by_holder then
    j.last_outcome := case when error_ is null then 0 else 1 end;
    j.exit_status := null;
    j.losses_in_row := null;
    if error_ is not null then j.failures := coalesce(j.failures, 0) + 1; end if;
    if state_ < 3 then perform end_attempt(j, (j.last_outcome + 1)::smallint, null, error_, wall); end if;
  elsif j.lease_end is not null then
    perform keep_slot(j, home_, 7::smallint, wall);
    j.fence := mint(j, wall);
    j.owner_id := null;
  end if;
  if fresh_ then
    j.failures := null;
    j.losses_in_row := null;
    j.laters := null;
  end if;
  j.queue_id := target;
  if state_ >= 3 then
    perform finish(j, state_, case when state_ = 3 and by_holder and error_ is null then result_ end, case when by_holder then j.started_at end, wall);
  else
    if state_ = 0 then select s.lease_end into slot_end from slot s where s.ns_id = j.ns_id and s.id = j.id and s.lease_end > lease; end if;
    j.run_at := wall + case when state_ = 0 then delay_ else 0 end;
    update job set queue_id = target, run_at = j.run_at, blocked = ready_bits(j, home_, slot_end is not null) | case when state_ = 2 then 1 else 0 end, fence = j.fence, owner_id = j.owner_id,
                   lease_end = null, started_at = null, claim_id = null, failures = j.failures, losses_in_row = j.losses_in_row, laters = j.laters, last_outcome = j.last_outcome,
                   exit_status = j.exit_status, error = j.error
    where id = j.id and ns_id = j.ns_id;
    if state_ = 0 then perform look_at_ready(j, home_, slot_end); end if;
  end if;
  -- As free_slot: whoever was behind it, at either stage, may have its turn.
  if j.group_id is not null or j.limit_id is not null then perform look_at(home_.id, j.group_id, j.limit_id, null); end if;
  if j.group_id is not null or home_.running_most > 0 or home_.per_key_most > 0 then crowded := home_.id; end if;
end $$;

-- Why a change is not made, in the order of store/pipeline_store.hpp; null: it is. Of a job that is there, unfinished (j) or not (its fence and owner).
create function why_not_changed(j job, fence_ bigint, owner_ bigint, sent bigint, sender bigint, only_ smallint, moves boolean, seen bigint, stands bigint) returns text language plpgsql as $$
begin
  return case
    when sent is not null then case
      when fence_ <> sent then 'superseded'
      when sender is null or owner_ is distinct from sender then 'other_owner'
      when j.id is null then 'finished'
      when j.lease_end is null then 'settled'
      when stands <> seen then 'changed' end
    when j.id is null then 'finished'
    when only_ <> state_of(j) then 'state'
    when moves and state_of(j) = 2 and exists (select 1 from effect e where e.id = j.id and e.ns_id = j.ns_id and e.held) then 'effect_in_doubt'
    when stands <> seen then 'changed' end;
end $$;

-- A row for each that was refused, in the order of the call. states and what follows it up to errors: null where the job stays as it is.
create function change_items(ns text, owner text, request text, actor text, reason text, ids uuid[], revisions bigint[], records bytea[], fences bigint[], if_states smallint[], states smallint[], stages text[],
                             delays bigint[], fresh smallint[], results bytea[], errors bytea[], acts text[], abouts text[], reasons text[])
returns table (id uuid, why text, current bigint, revision bigint)
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  ns_ int := find_ns(change_items.ns);
  owner_ bigint := (select o.id from owner o where o.ns_id = ns_ and o.name = change_items.owner);
  now record;
  one record;
  j job;
  fence_ bigint;
  holder bigint;
  known item;
  stands bigint;
  why_ text;
  placed record;
  claims bigint[] := '{}';
  homes int[] := '{}';
  woken int[] := '{}';
  -- Of each move: from where, which state, to where, which state.
  from_queues int[] := '{}';
  from_states smallint[] := '{}';
  to_queues int[] := '{}';
  to_states smallint[] := '{}';
  -- Of each change and of each refusal, its place in the call; the rest.
  changed_at int[] := '{}';
  refused_at int[] := '{}';
  refused_ids uuid[] := '{}';
  refused_why text[] := '{}';
  refused_fences bigint[] := '{}';
  refused_revisions bigint[] := '{}';
begin
  -- Stages that are not there yet come before all locks, as an enqueue has it: whoever makes one at the same moment waits with nothing in hand.
  perform queue_of(ns_, m.name, m.stage) from (
    select distinct q.name, u.stage from unnest(change_items.ids, change_items.states, change_items.stages) as u (id, state, stage)
    join job x on x.id = u.id and x.ns_id = ns_ join queue q on q.id = x.queue_id
    where u.state is not null and not exists (select 1 from queue t where t.ns_id = ns_ and t.name = q.name and t.stage = u.stage) order by 1, 2) as m;
  -- The rows first, and all that is read after them: of several who decided upon one record, one is first.
  perform lock_jobs(ns_, change_items.ids, true);
  select * into now from clock();
  -- In the order of ids: fences that end leave their keys in the order in which a commit under several takes them (80_guard.sql).
  for one in
    select u.* from unnest(change_items.ids, change_items.revisions, change_items.records, change_items.fences, change_items.if_states, change_items.states, change_items.stages, change_items.delays,
                           change_items.fresh, change_items.results, change_items.errors)
      with ordinality as u (id, revision, record, fence, if_state, state, stage, delay, fresh, result, error, n)
    order by u.id
  loop
    stands := 0;
    select * into j from job x where x.id = one.id and x.ns_id = ns_;
    fence_ := j.fence;
    holder := j.owner_id;
    if j.id is null then select d.fence, d.owner_id into fence_, holder from done d where d.id = one.id and d.ns_id = ns_; end if;
    if fence_ is null then
      fence_ := 0;
      why_ := 'not_found';
    else
      select * into known from item i where i.id = one.id and i.ns_id = ns_;
      if known.changed_by = change_items.request then continue; end if;
      stands := coalesce(known.revision, 0);
      why_ := why_not_changed(j, fence_, holder, one.fence, owner_, one.if_state, one.state is not null, one.revision, stands);
    end if;
    if why_ is not null then
      refused_at := refused_at || one.n::int;
      refused_ids := refused_ids || one.id;
      refused_why := refused_why || why_;
      refused_fences := refused_fences || fence_;
      refused_revisions := refused_revisions || stands;
      continue;
    end if;
    if stands = 0 then
      insert into item (id, ns_id, came_in, revision, changed_by, record) values (one.id, ns_, j.queue_id, 1, change_items.request, one.record);
    else
      update item set revision = stands + 1, changed_by = change_items.request, record = one.record where id = one.id and ns_id = ns_;
    end if;
    changed_at := changed_at || one.n::int;
    continue when one.state is null;
    select * into placed from place_job(j, one.stage, one.state, one.delay, one.fresh = 1, one.fence is not null, one.result, one.error, now.lease, now.wall);
    if one.fence is not null then claims := claims || j.claim_id; end if;
    if placed.crowded is not null then homes := homes || placed.crowded; end if;
    if one.state = 0 then woken := woken || placed.target; end if;
    from_queues := from_queues || j.queue_id;
    from_states := from_states || state_of(j);
    to_queues := to_queues || placed.target;
    to_states := to_states || one.state;
  end loop;

  if cardinality(claims) > 0 then perform leave_claims(claims); end if;
  if cardinality(to_queues) > 0 then
    insert into depth (queue_id, ready, running, waiting, done, dead, cancelled)
    select m.queue, sum(m.n * (m.state = 0)::int), sum(m.n * (m.state = 1)::int), sum(m.n * (m.state = 2)::int), sum(m.n * (m.state = 3)::int), sum(m.n * (m.state = 4)::int), sum(m.n * (m.state = 5)::int)
    from (select t.queue, t.state, 1 as n from unnest(to_queues, to_states) as t (queue, state) union all select f.queue, f.state, -1 from unnest(from_queues, from_states) as f (queue, state)) as m
    group by m.queue;
    perform wake(q) from (select distinct u as q from unnest(woken) as u) as w;
    perform wake_stages(h) from (select distinct u as h from unnest(homes) as u) as w;
  end if;
  insert into trail (ns, at, actor, act, subject, reason)
  select change_items.ns, now.wall, change_items.actor, u.act, concat_ws(' ', u.id, nullif(u.about, '')), coalesce(nullif(u.reason, ''), change_items.reason)
  from unnest(change_items.ids, change_items.acts, change_items.abouts, change_items.reasons) with ordinality as u (id, act, about, reason, n)
  where u.n = any (changed_at) order by u.n;
  return query select u.id, u.why, u.fence, u.revision from unnest(refused_at, refused_ids, refused_why, refused_fences, refused_revisions) as u (n, id, why, fence, revision) order by u.n;
end $$;

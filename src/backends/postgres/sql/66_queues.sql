-- Queues as people set them, and what is forgotten when its time is over. Deleting never lowers a fence: the floor is raised in the same step (L2).

create function raise_floor_to(fence_ bigint) returns void language sql as $$ update floor set value = fence_ where value < fence_; $$;

-- The limit per key of a queue changed: jobs with a limit key are shut in or let out, and the next claim looks at every key. All turns and settings are the caller's.
create function limit_keys_changed(home_ int, before int, after_ int, wall bigint) returns void language plpgsql as $$
declare
  keys bigint[] := array(select k.id from limit_key k where k.home_id = home_);
begin
  if cardinality(keys) = 0 then return; end if;
  -- A smaller limit shuts all in too: those who were let out may be too many for it, and looking at every key may take several claims.
  if before = 0 or (after_ > 0 and after_ < before) then
    perform 1 from job j where j.limit_id = any (keys) and j.lease_end is null order by j.id for update;
    update job set blocked = blocked | 4 where limit_id = any (keys) and lease_end is null and blocked & 4 = 0;
    insert into todo (home_id, clock, at, limit_id) select distinct home_, 1, j.run_at, j.limit_id from job j where j.limit_id = any (keys) and j.run_at > wall;
  elsif after_ = 0 then
    perform 1 from job j where j.limit_id = any (keys) and j.blocked & 4 = 4 order by j.id for update;
    update job set blocked = blocked & ~4 where limit_id = any (keys) and blocked & 4 = 4;
  end if;
  if after_ > 0 then insert into todo (home_id, clock, at, limit_id) select home_, 0, 0, k from unnest(keys) as k; end if;
end $$;

-- {"queue", "change": {"limit", "limit_per_key", "keep_done", "keep_dead"}, "act"}. What is absent stays as it is.
create function set_queue(ns text, request jsonb) returns void language plpgsql set search_path from current set jit = off as $$
declare
  ns_ int := ns_of(ns);
  home_ int := home_of(ns_, request ->> 'queue');
  change jsonb := jsonb_strip_nulls(request -> 'change');
  before home;
  after_ home;
  wall bigint;
begin
  perform take_turn(home_, true);
  perform hold_settings(home_, true);
  wall := (clock()).wall;
  select * into before from home where id = home_;
  after_ := before;
  after_.running_most := coalesce((change ->> 'limit')::int, before.running_most);
  after_.per_key_most := coalesce((change ->> 'limit_per_key')::int, before.per_key_most);
  after_.keep_done := coalesce((change ->> 'keep_done')::bigint, before.keep_done);
  after_.keep_dead := coalesce((change ->> 'keep_dead')::bigint, before.keep_dead);
  if shown_settings(after_) = shown_settings(before) then return; end if;
  -- The jobs first: who holds one of them may be waiting to write that the home is special.
  if after_.per_key_most <> before.per_key_most then perform limit_keys_changed(home_, before.per_key_most, after_.per_key_most, wall); end if;
  update home set running_most = after_.running_most, per_key_most = after_.per_key_most, keep_done = after_.keep_done, keep_dead = after_.keep_dead,
                  special = special or after_.running_most > 0 or after_.per_key_most > 0, looked_at = greatest(looked_at, wall)
  where id = home_;
  perform wake_stages(home_);
  perform note_act(ns, request -> 'act' ->> 'actor', 'queue_set',
    (request ->> 'queue') || coalesce(' limit=' || (change ->> 'limit'), '') || coalesce(' limit_per_key=' || (change ->> 'limit_per_key'), '')
      || coalesce(' keep_done=' || format_duration((change ->> 'keep_done')::bigint), '') || coalesce(' keep_dead=' || format_duration((change ->> 'keep_dead')::bigint), ''),
    request -> 'act' ->> 'reason', wall);
end $$;

-- {"queue", "paused", "act"}. Claims under way end first: none grants anything after this has returned.
create function pause_queue(ns text, request jsonb) returns void language plpgsql set search_path from current set jit = off as $$
declare
  ns_ int := ns_of(ns);
  home_ int := home_of(ns_, request ->> 'queue');
  paused boolean := coalesce((request ->> 'paused')::boolean, true);
  before home;
  wall bigint;
begin
  perform take_turn(home_, true);
  wall := (clock()).wall;
  select * into before from home where id = home_;
  if (before.paused_at is not null) = paused then return; end if;
  if paused then
    update home set paused_at = wall, paused_by = request -> 'act' ->> 'actor', pause_reason = request -> 'act' ->> 'reason' where id = home_;
  else
    update home set paused_at = null, paused_by = null, pause_reason = null where id = home_;
    perform wake_stages(home_);
  end if;
  perform note_act(ns, request -> 'act' ->> 'actor', case when paused then 'queue_paused' else 'queue_resumed' end, request ->> 'queue', request -> 'act' ->> 'reason', wall);
end $$;

-- Adds up the small changes of depths, a row for a queue. What another transaction is adding up is left to it.
create function fold_depths() returns void language plpgsql as $$
begin
  if (select count(*) from depth) < 2 * (select count(*) from queue) + 100 then return; end if;
  with gone as (
    delete from depth where ctid = any (array(select d.ctid from depth d limit 500000 for update skip locked)) returning *)
  insert into depth
  select g.queue_id, sum(g.ready), sum(g.running), sum(g.waiting), sum(g.done), sum(g.dead), sum(g.cancelled) from gone g group by g.queue_id
  having not (sum(g.ready) = 0 and sum(g.running) = 0 and sum(g.waiting) = 0 and sum(g.done) = 0 and sum(g.dead) = 0 and sum(g.cancelled) = 0);
end $$;

-- Groups and limit keys of which no job is left, of these. Who enqueues one holds its row, and that is then passed over.
create function forget_names(groups bigint[], limits bigint[]) returns void language plpgsql as $$
declare
  ids bigint[];
begin
  -- Locked by one statement and asked by the next: a job that was enqueued in between is seen.
  ids := array(select g.id from grp g where g.id = any (groups) order by g.id for update skip locked);
  ids := array(
    select i from unnest(ids) as i
    where not exists (select 1 from job j where j.group_id = i) and not exists (select 1 from done d where d.group_id = i));
  perform raise_floor_to((select max(g.fence) from grp g where g.id = any (ids)));
  delete from grp where id = any (ids);
  ids := array(select k.id from limit_key k where k.id = any (limits) order by k.id for update skip locked);
  delete from limit_key k
  where k.id = any (ids) and not exists (select 1 from job j where j.limit_id = k.id) and not exists (select 1 from done d where d.limit_id = k.id);
end $$;

-- Removes keys of ended fences that no transaction can still need. One that was let in under such a fence had its own number, or its snapshot, before the fence was ended:
-- so a key is marked with a number that is given out after it was seen, and goes when no transaction that runs, and no snapshot that is held, is older than its mark. A transaction
-- that is paused for days keeps the keys that came after it. Must come first in its transaction: a number that it already had could be older than the key.
create function forget_superseded() returns void language plpgsql as $$
declare
  seen tid[];
  mark bigint;
  oldest bigint;
begin
  if pg_current_xact_id_if_assigned() is not null or not exists (select 1 from superseded) then return; end if;
  seen := array(select s.ctid from superseded s where s.marked is null limit 100000);
  mark := pg_current_xact_id()::text::bigint;
  update superseded set marked = mark where ctid = any (array(select s.ctid from superseded s where s.ctid = any (seen) and s.marked is null for update skip locked));
  perform pg_stat_clear_snapshot();
  select least(pg_snapshot_xmin(pg_current_snapshot())::text::bigint, mark - max(age(a.backend_xmin))) into oldest from pg_stat_activity a where a.backend_xmin is not null;
  delete from superseded where ctid = any (array(select s.ctid from superseded s where s.marked < oldest limit 100000 for update skip locked));
end $$;

-- What is still asked of a job that is gone. Not its payload: ten thousand of those may not fit.
create type gone_job as (seq bigint, id uuid, queue_id int, state smallint, fence bigint, group_id bigint, limit_id bigint, extras jsonb);

-- All that belongs to jobs that are gone.
create function forget_jobs_things(ns_ int, gone gone_job[]) returns void language plpgsql as $$
declare
  ids uuid[] := array(select g.id from unnest(gone) as g);
begin
  delete from attempt where id = any (ids) and ns_id = ns_;
  delete from effect where id = any (ids) and ns_id = ns_;
  delete from log_chunk where id = any (ids) and ns_id = ns_;
  delete from log_state where id = any (ids) and ns_id = ns_;
  delete from slot where id = any (ids) and ns_id = ns_;
  delete from item where id = any (ids) and ns_id = ns_;
  delete from tag t using unnest(gone) as g, jsonb_array_elements_text(g.extras -> 'tags') as n where t.ns_id = ns_ and t.name = n and t.seq = g.seq;
  delete from unique_key k using unnest(gone) as g, queue q where g.extras ? 'key' and q.id = g.queue_id and k.home_id = q.home_id and k.name = g.extras ->> 'key' and k.id = g.id;
end $$;

-- Holders of any namespace that hold nothing and were seen by nobody for longer than anything finished is kept. Whoever claims under such a name at this moment has its row, or
-- makes a new one. The last thousand stay: an item may wait for months, and its history names them. Of more than that, what outlives its retention (a doubt, a key, an item) may name a holder that is not
-- known any more.
create function forget_owners(wall bigint, most int) returns void language plpgsql as $$
declare
  kept_most constant int := 1000;
  kept bigint := greatest(2592000000000, (select max(greatest(h.keep_done, h.keep_dead)) from home h)) + 86400000000;
  last bigint := (select o.seen_at from owner o order by o.seen_at desc offset kept_most limit 1);
begin
  delete from owner where id = any (array(
    select o.id from owner o
    where o.seen_at <= least(wall - kept, last) and last is not null and not exists (select 1 from claim k where k.owner_id = o.id) and not exists (select 1 from slot s where s.owner_id = o.id)
      and not exists (select 1 from worker w where w.ns_id = o.ns_id and w.owner = o.name)
    order by o.seen_at limit most for update skip locked));
end $$;

-- {"limit"}: {"removed", "more"}. Finished jobs whose retention is over go, oldest first, with all that belongs to them; one that still has its unique key, a slot or an
-- effect in doubt stays. Of many more than asked for, the oldest are looked for among so many only: to sort them all would cost more than it is worth.
create function tidy(ns text, request jsonb) returns jsonb
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  most int := coalesce((request ->> 'limit')::int, 1000);
  alias_kept constant bigint := 90000000000;
  batch_kept constant bigint := 2592000000000;
  ns_ int := find_ns(ns);
  now record;
  ids uuid[];
  gone gone_job[];
  shortest bigint;
  more boolean;
  locks record;
  schedules record;
begin
  if ns_ is null then return jsonb_build_object('removed', 0, 'more', false); end if;
  perform forget_superseded();
  select * into now from clock();
  select min(least(coalesce(h.keep_done, 604800000000), coalesce(h.keep_dead, 2592000000000))) into shortest from home h where h.ns_id = ns_;
  ids := array(
    select u.id from (
      select d.id, d.finished_at, d.seq from done d join queue q on q.id = d.queue_id join home h on h.id = q.home_id
      where d.ns_id = ns_ and d.finished_at <= now.wall - shortest
        and d.finished_at <= now.wall - case when d.state = 3 then coalesce(h.keep_done, 604800000000) else coalesce(h.keep_dead, 2592000000000) end
        and not (d.extras ? 'key' and exists (select 1 from unique_key k where k.home_id = h.id and k.name = d.extras ->> 'key' and k.id = d.id and (k.until is null or k.until > now.wall)))
        and not exists (select 1 from slot s where s.ns_id = ns_ and s.id = d.id and s.lease_end > now.lease)
        and not exists (select 1 from effect e where e.id = d.id and e.ns_id = ns_ and e.state = 1)
      limit greatest(4 * most, 5000)) as u
    order by u.finished_at, u.seq limit most + 1);
  more := cardinality(ids) > most;
  ids := array(select d.id from done d where d.id = any (ids[1:most]) and d.ns_id = ns_ order by d.id for update skip locked);
  -- Asked again under the lock: it may have been brought back and have finished anew.
  with out_ as (
    delete from done d where d.id = any (ids) and d.ns_id = ns_ and d.finished_at <= now.wall - shortest
      and not exists (select 1 from effect e where e.id = d.id and e.ns_id = ns_ and e.state = 1)
    returning d.seq, d.id, d.queue_id, d.state, d.fence, d.group_id, d.limit_id, d.extras)
  select coalesce(array_agg((o.seq, o.id, o.queue_id, o.state, o.fence, o.group_id, o.limit_id, o.extras)::gone_job), '{}') into gone from out_ o;
  if cardinality(gone) > 0 then
    perform raise_floor_to((select max(g.fence) from unnest(gone) as g));
    insert into superseded (ns_id, resource, fence) select ns_, g.id::text, g.fence from unnest(gone) as g where g.fence > 0 on conflict do nothing;
    insert into depth (queue_id, done, dead, cancelled)
    select g.queue_id, -count(*) filter (where g.state = 3), -count(*) filter (where g.state = 4), -count(*) filter (where g.state = 5) from unnest(gone) as g group by g.queue_id;
    perform forget_jobs_things(ns_, gone);
    perform forget_names(array(select distinct g.group_id from unnest(gone) as g where g.group_id is not null), array(select distinct g.limit_id from unnest(gone) as g where g.limit_id is not null));
  end if;
  delete from alias where ns_id = ns_ and at <= now.wall - alias_kept;
  delete from batch_name where ns_id = ns_ and first_seen <= now.wall - batch_kept;
  delete from slot where ns_id = ns_ and lease_end <= now.lease;
  delete from claim where id = any (array(select c.id from claim c where c.live = 0 and c.until <= now.lease limit 10000 for update skip locked));
  perform fold_depths();
  perform forget_owners(now.wall, most);
  select * into locks from tidy_locks(ns_, most, now.lease);
  -- Last: from here on whoever moves one of these accounts waits for us, and we for nobody.
  select * into schedules from tidy_schedules(ns_, most, now.wall);
  return jsonb_build_object('removed', cardinality(gone) + locks.removed + schedules.removed, 'more', more or locks.more or schedules.more);
end $$;

-- All homes' turns, so that no claim is under way; and no home is made until the end, in which one could begin.
create function take_all_turns(ns_ int) returns void language plpgsql as $$
declare
  home_ int;
begin
  perform pg_advisory_xact_lock(1179535171, 0);
  for home_ in select h.id from home h where ns_ is null or h.ns_id = ns_ order by h.id loop
    perform take_turn(home_, true);
  end loop;
end $$;

-- {"floor", "act"}: the floor that stands. Claims under way end first, so that none that ends later grants less.
create function raise_floor(ns text, request jsonb) returns bigint language plpgsql set search_path from current set jit = off as $$
declare
  ahead_most constant bigint := 86400000000;
  wanted bigint := (request ->> 'floor')::bigint;
  stands bigint;
  most bigint;
  wall bigint;
begin
  perform take_all_turns(null);
  lock table lock in exclusive mode;  -- and grants of locks
  wall := (clock()).wall;
  select value into stands from floor for update;
  most := greatest(stands, wall + ahead_most);
  if wanted > most then
    most := greatest(most, (select max(j.fence) from job j), (select max(d.fence) from done d), (select max(g.fence) from grp g), (select max(l.fence) from lock l));
    if wanted > most then
      perform fail_refused(format('a floor of %s is more than a day ahead of the store''s clock; at most %s', wanted, most));
    end if;
  end if;
  if wanted <= stands then return stands; end if;
  update floor set value = wanted;
  perform note_act(ns, request -> 'act' ->> 'actor', 'floor_raised', wanted::text, request -> 'act' ->> 'reason', wall);
  return wanted;
end $$;

-- {"act"}. Removes all that a namespace holds, except its trail. Its name, its queues' names and its holders' names keep their numbers: an enqueue under way may have read them.
create function remove_namespace(ns text, request jsonb) returns void language plpgsql set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  homes int[];
  schedules bigint[];
  highest bigint;
  n bigint;
  again boolean;
begin
  if ns_ is not null then
    -- First of all: whoever fires ticks has these while it waits for what we take next.
    schedules := array(select s.id from schedule s where s.ns_id = ns_ order by s.name for update);
    perform take_all_turns(ns_);
    homes := array(select h.id from home h where h.ns_id = ns_ order by h.id);
    perform hold_settings(h, true) from unnest(homes) as h;
    -- A job that is finished, or brought back, between the two statements is met by the next round.
    loop
      perform 1 from job j where j.ns_id = ns_ order by j.id for update;
      with out_ as (delete from job j where j.ns_id = ns_ returning j.id, j.queue_id, j.fence, state_of(j) as state),
      ended as (insert into superseded (ns_id, resource, fence) select ns_, o.id::text, o.fence from out_ o where o.fence > 0 on conflict do nothing),
      counted as (
        insert into depth (queue_id, ready, running, waiting)
        select o.queue_id, -count(*) filter (where o.state = 0), -count(*) filter (where o.state = 1), -count(*) filter (where o.state = 2) from out_ o group by o.queue_id)
      select max(o.fence), count(*) into highest, n from out_ o;
      again := n > 0;
      perform raise_floor_to(highest);
      with out_ as (delete from done d where d.ns_id = ns_ returning d.id, d.queue_id, d.fence, d.state),
      ended as (insert into superseded (ns_id, resource, fence) select ns_, o.id::text, o.fence from out_ o where o.fence > 0 on conflict do nothing),
      counted as (
        insert into depth (queue_id, done, dead, cancelled)
        select o.queue_id, -count(*) filter (where o.state = 3), -count(*) filter (where o.state = 4), -count(*) filter (where o.state = 5) from out_ o group by o.queue_id)
      select max(o.fence), count(*) into highest, n from out_ o;
      perform raise_floor_to(highest);
      exit when not again and n = 0;
    end loop;
    -- An enqueue under way makes a queue whose turn we have not: what belongs to its jobs stays.
    delete from claim k where k.ns_id = ns_ and not exists (select 1 from jobs_of(k));
    delete from slot s where s.ns_id = ns_ and s.home_id = any (homes);
    perform forget_names(array(select g.id from grp g where g.home_id = any (homes)), array(select k.id from limit_key k where k.home_id = any (homes)));
    delete from todo t where t.home_id = any (homes) and not exists (select 1 from grp g where g.id = t.group_id) and not exists (select 1 from limit_key k where k.id = t.limit_id);
    -- Locked by one statement and deleted by the next: whoever took a key while we waited for its row is seen.
    perform 1 from unique_key where home_id = any (homes) order by home_id, name for update;
    delete from unique_key where home_id = any (homes) and not exists (select 1 from job j where j.id = unique_key.id and j.ns_id = ns_);
    delete from alias where ns_id = ns_;
    delete from batch_name where ns_id = ns_;
    delete from tag t where t.ns_id = ns_ and not exists (select 1 from job j where j.id = t.id and j.ns_id = ns_);
    delete from attempt a where a.ns_id = ns_ and not exists (select 1 from job j where j.id = a.id and j.ns_id = ns_);
    delete from effect e where e.ns_id = ns_ and not exists (select 1 from job j where j.id = e.id and j.ns_id = ns_);
    delete from log_chunk l where l.ns_id = ns_ and not exists (select 1 from job j where j.id = l.id and j.ns_id = ns_);
    delete from log_state l where l.ns_id = ns_ and not exists (select 1 from job j where j.id = l.id and j.ns_id = ns_);
    delete from item i where i.ns_id = ns_ and not exists (select 1 from job j where j.id = i.id and j.ns_id = ns_);
    delete from pipeline where ns_id = ns_;
    delete from worker where ns_id = ns_;
    perform remove_locks(ns_);
    perform remove_schedules(ns_, schedules);
    update home set running_most = 0, per_key_most = 0, keep_done = null, keep_dead = null, paused_at = null, paused_by = null, pause_reason = null where ns_id = ns_;
  end if;
  perform note_act(ns, request -> 'act' ->> 'actor', 'namespace_removed', ns, request -> 'act' ->> 'reason', (clock()).wall);
end $$;

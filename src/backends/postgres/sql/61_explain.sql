-- Why jobs are where they are: queues with their depths, what lies before a draining worker, all that `job explain` speaks of. The bits of job.blocked may be behind,
-- since only a claim works off `todo`: what these looks say comes from the jobs and slots themselves.

-- The pairs (blocked, rank) that have jobs in a queue, one seek each. What runs stands under blocked = 0.
create function lanes_of(queue_ int) returns table (blocked smallint, rank smallint) language plpgsql stable as $$
declare
  b smallint;
  r smallint;
begin
  select j.blocked, j.rank into b, r from job j where j.queue_id = queue_ order by j.blocked, j.rank limit 1;
  while r is not null loop
    blocked := b;
    rank := r;
    return next;
    select j.blocked, j.rank into b, r from job j where j.queue_id = queue_ and (j.blocked, j.rank) > (lanes_of.blocked, lanes_of.rank) order by j.blocked, j.rank limit 1;
  end loop;
end $$;

-- Of the ready jobs of a queue: how many have their time ahead, and how many are due, each counted up to so many; the first of either.
create function ready_counts(queue_ int, wall bigint, most bigint, due_most bigint, out ahead bigint, out first_ahead bigint, out due bigint, out first_due bigint) language plpgsql stable as $$
declare
  lane record;
  n bigint;
  at_ bigint;
begin
  ahead := 0;
  due := 0;
  for lane in select l.blocked, l.rank from lanes_of(queue_) l where l.blocked & 1 = 0 loop
    select j.run_at into at_ from job j
    where j.queue_id = queue_ and j.blocked = lane.blocked and j.rank = lane.rank and j.run_at > wall and j.lease_end is null order by j.run_at, j.seq limit 1;
    if found then
      first_ahead := least(first_ahead, at_);
      if ahead < most then
        select count(*) into n from (
          select 1 from job j where j.queue_id = queue_ and j.blocked = lane.blocked and j.rank = lane.rank and j.run_at > wall and j.lease_end is null limit most) as u;
        ahead := least(ahead + n, most);
      end if;
    end if;
    select j.run_at into at_ from job j
    where j.queue_id = queue_ and j.blocked = lane.blocked and j.rank = lane.rank and j.run_at <= wall and j.lease_end is null order by j.run_at, j.seq limit 1;
    if found then
      first_due := least(first_due, at_);
      if due < due_most then
        select count(*) into n from (
          select 1 from job j where j.queue_id = queue_ and j.blocked = lane.blocked and j.rank = lane.rank and j.run_at <= wall and j.lease_end is null limit due_most) as u;
        due := least(due + n, due_most);
      end if;
    end if;
  end loop;
end $$;

-- Slots that are taken, by what runs and by what was revoked: of a home, and of a limit key.
create function taken_in(home_ int, lease bigint) returns bigint language sql stable as $$
  select (select coalesce(sum(c.live), 0) from queue q join claim c on c.queue_id = q.id and c.live > 0 where q.home_id = home_)::bigint
       + (select count(*) from slot s where s.home_id = home_ and s.lease_end > lease);
$$;
create function taken_of_key(home_ int, limit_ bigint, lease bigint) returns bigint language sql stable as $$
  select (select count(*) from queue q join job j on j.limit_id = limit_ and j.queue_id = q.id and j.blocked = 0 where q.home_id = home_ and j.lease_end is not null)
       + (select count(*) from slot s where s.home_id = home_ and s.limit_id = limit_ and s.lease_end > lease);
$$;
-- Who has the slot of a group; null: nobody.
create function holder_of_group(ns_ int, home_ int, group_ bigint, lease bigint) returns uuid language sql stable as $$
  select coalesce(
    (select j.id from grp g join job j on j.id = g.open_id and j.ns_id = ns_ where g.id = group_ and j.lease_end is not null),
    (select s.id from slot s where s.home_id = home_ and s.group_id = group_ and s.lease_end > lease order by s.lease_end desc limit 1));
$$;

-- Of the due jobs of a special queue: whether one of them could be claimed now, and how many could not. So many are looked at; past them, only the bits are.
create function due_in_special(ns_ int, home_ home, queue_ int, lease bigint, wall bigint, out claimable boolean, out held bigint) language plpgsql stable as $$
declare
  looked_at_most constant bigint := 200000;
  full_ boolean := home_.running_most > 0 and taken_in(home_.id, lease) >= home_.running_most;
  n bigint;
begin
  with due as materialized (
    select u.* from lanes_of(queue_) l
    cross join lateral (
      select j.id, j.group_id, j.limit_id from job j
      where j.queue_id = queue_ and j.blocked = l.blocked and j.rank = l.rank and j.run_at <= wall and j.lease_end is null limit looked_at_most) as u
    where l.blocked & 1 = 0 limit looked_at_most),
  taken as materialized (select s.id from slot s where s.home_id = home_.id and s.lease_end > lease),
  heads as materialized (
    select g.group_id, (select j.id from job j where j.group_id = g.group_id order by j.place limit 1) as id
    from (select distinct d.group_id from due d where d.group_id is not null) as g
    where holder_of_group(ns_, home_.id, g.group_id, lease) is null),
  full_keys as materialized (
    select k.limit_id from (select distinct d.limit_id from due d where d.limit_id is not null) as k
    where home_.per_key_most > 0 and taken_of_key(home_.id, k.limit_id, lease) >= home_.per_key_most),
  judged as (
    select not full_ and d.id not in (select t.id from taken t) and (d.group_id is null or d.id in (select h.id from heads h))
           and (d.limit_id is null or d.limit_id not in (select f.limit_id from full_keys f)) as free
    from due d)
  select coalesce(bool_or(j.free), false), count(*) filter (where not j.free), count(*) into claimable, held, n from judged j;
  if n >= looked_at_most and not claimable and not full_ then
    claimable := exists (select 1 from job j where j.queue_id = queue_ and j.blocked in (0, 8) and j.run_at <= wall and j.lease_end is null);
  end if;
end $$;

-- {"queues", "stage"}: {"running", "claimable", "ahead", "blocked", "next_due"}.
create function backlog(ns text, request jsonb) returns jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  counted_most constant bigint := 100000;
  ns_ int := find_ns(ns);
  now record;
  one record;
  home_ home;
  ready record;
  special record;
  alive boolean;
  run_out bigint;
  running_ boolean := false;
  claimable_ boolean := false;
  ahead_ bigint := 0;
  blocked_ bigint := 0;
  first bigint;
begin
  select * into now from clock();
  for one in
    select q.id, q.home_id from queue q
    where q.ns_id = ns_ and q.name = any (array(select jsonb_array_elements_text(request -> 'queues'))) and q.stage = coalesce(request ->> 'stage', '')
  loop
    select * into home_ from home where id = one.home_id;
    select coalesce(bool_or(j.lease_end > now.lease), false), count(*) filter (where j.lease_end <= now.lease) into alive, run_out from running_jobs(ns_, array[one.id]) j;
    running_ := running_ or alive;
    select * into ready from ready_counts(one.id, now.wall, counted_most, case when home_.paused_at is not null then counted_most else 1 end);
    ahead_ := least(ahead_ + ready.ahead, counted_most);
    first := least(first, ready.first_ahead - now.wall);
    if home_.paused_at is not null then
      blocked_ := least(blocked_ + run_out + ready.due, counted_most);
    elsif not home_.special then
      claimable_ := claimable_ or run_out > 0 or ready.due > 0;
    else
      select * into special from due_in_special(ns_, home_, one.id, now.lease, now.wall);
      claimable_ := claimable_ or run_out > 0 or special.claimable;
      blocked_ := least(blocked_ + special.held, counted_most);
    end if;
  end loop;
  return jsonb_strip_nulls(jsonb_build_object('running', running_, 'claimable', claimable_, 'ahead', ahead_, 'blocked', blocked_, 'next_due', first));
end $$;

create function shown_pause(h home) returns jsonb language sql immutable as $$
  select case when h.paused_at is not null then jsonb_build_object('at', h.paused_at, 'by', h.paused_by, 'reason', h.pause_reason) end;
$$;
-- The settings with what stands for the defaults: seven days, thirty days.
create function shown_settings(h home) returns jsonb language sql immutable as $$
  select jsonb_build_object('limit', h.running_most, 'limit_per_key', h.per_key_most, 'keep_done', coalesce(h.keep_done, 604800000000), 'keep_dead', coalesce(h.keep_dead, 2592000000000));
$$;

-- An array by name of all that have a job, a setting other than the default, or a pause.
create function list_queues(ns text, request jsonb) returns jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  counted_most constant bigint := 10000;
  ns_ int := find_ns(ns);
  wall bigint := (clock()).wall;
  newest bigint := newest_seq();
  rows jsonb := '[]';
  one record;
  ready record;
begin
  for one in
    select h as home_, x.depth, x.queues
    from home h
    left join (
      select q.home_id, array_agg(q.id) as queues,
             array[coalesce(sum(d.ready), 0), coalesce(sum(d.running), 0), coalesce(sum(d.waiting), 0), coalesce(sum(d.done), 0), coalesce(sum(d.dead), 0), coalesce(sum(d.cancelled), 0)]
               as depth
      from queue q
      left join (select queue_id, sum(d.ready) as ready, sum(d.running) as running, sum(d.waiting) as waiting, sum(d.done) as done, sum(d.dead) as dead, sum(d.cancelled) as cancelled
                 from depth d group by queue_id) as d on d.queue_id = q.id
      where q.ns_id = ns_ group by q.home_id) as x on x.home_id = h.id
    where h.ns_id = ns_ order by h.name collate "C"
  loop
    if not coalesce(0 < any (one.depth), false) and (one.home_).paused_at is null and shown_settings(one.home_) = '{"limit": 0, "limit_per_key": 0, "keep_done": 604800000000, "keep_dead": 2592000000000}'
    then continue; end if;
    select least(coalesce(sum(c.ahead), 0), counted_most) as ahead, min(c.first_due) as first_due into ready from unnest(one.queues) as q (id) cross join lateral ready_counts(q.id, wall, counted_most, 0) as c;
    rows := rows || jsonb_strip_nulls(jsonb_build_object(
      'queue', (one.home_).name, 'settings', shown_settings(one.home_), 'paused', shown_pause(one.home_), 'depth', to_jsonb(coalesce(one.depth, '{0,0,0,0,0,0}')),
      'ahead', ready.ahead, 'oldest_ready_at', ready.first_due, 'newest', newest));
  end loop;
  return rows;
end $$;

-- Who has a unique key at this moment.
create function holder_of_key(home_ int, key_ text, wall bigint) returns uuid language sql stable as $$
  select k.id from unique_key k where k.home_id = home_ and k.name = key_ and (k.until is null or k.until > wall);
$$;

-- {"id"}: members as in JobFacts, what is not so is absent; null if there is no such job.
create function job_facts(ns text, request jsonb) returns jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  shown_most constant int := 10;
  ns_ int := find_ns(ns);
  id_ uuid := (request ->> 'id')::uuid;
  now record;
  j job;
  d done;
  home_ home;
  queue_ queue;
  state_ int;
  facts jsonb;
  first uuid;
begin
  select * into now from clock();
  select * into j from job where id = id_ and ns_id = ns_;
  if found then
    state_ := state_of(j);
    facts := jsonb_build_object('job', shown_job(j, now.lease, true));
  else
    select * into d from done where id = id_ and ns_id = ns_;
    if not found then return null; end if;
    state_ := d.state;
    facts := jsonb_build_object('job', shown_done(d, true));
  end if;
  select * into queue_ from queue where id = coalesce(j.queue_id, d.queue_id);
  select * into home_ from home where id = queue_.home_id;
  facts := facts || jsonb_build_object('paused', shown_pause(home_));
  if state_ = 0 and j.run_at > now.wall then facts := facts || jsonb_build_object('due_in', j.run_at - now.wall); end if;

  if state_ in (0, 2) then
    if j.group_id is not null then
      first := coalesce(holder_of_group(ns_, home_.id, j.group_id, now.lease), (select x.id from job x where x.group_id = j.group_id order by x.place limit 1));
      if first <> id_ then
        facts := facts || jsonb_build_object('group_head', first,
          'group_head_revoked', exists (select 1 from slot s where s.ns_id = ns_ and s.id = first and s.lease_end > now.lease));
      end if;
    end if;
    if home_.running_most > 0 and taken_in(home_.id, now.lease) >= home_.running_most then
      facts := facts || jsonb_build_object('limit', home_.running_most, 'limit_holders', (
        select jsonb_agg(u.id order by u.seq) from (
          select x.id, x.seq from running_jobs(ns_, array(select q.id from queue q where q.home_id = home_.id)) x
          union all
          select s.id, s.seq from slot s where s.home_id = home_.id and s.lease_end > now.lease
          order by seq limit shown_most) as u));
    end if;
    if j.limit_id is not null and home_.per_key_most > 0 and taken_of_key(home_.id, j.limit_id, now.lease) >= home_.per_key_most then
      facts := facts || jsonb_build_object('limit_per_key', home_.per_key_most, 'limit_key_holders', (
        select jsonb_agg(u.id order by u.seq) from (
          select x.id, x.seq from queue q join job x on x.limit_id = j.limit_id and x.queue_id = q.id and x.blocked = 0 where q.home_id = home_.id and x.lease_end is not null
          union all
          select s.id, s.seq from slot s where s.home_id = home_.id and s.limit_id = j.limit_id and s.lease_end > now.lease
          order by seq limit shown_most) as u));
    end if;
  end if;
  if state_ = 2 then
    facts := facts || jsonb_build_object('effects_in_doubt', coalesce((
      select jsonb_agg(e.name order by e.name collate "C") from effect e where e.id = id_ and e.ns_id = ns_ and e.held), '[]'));
  end if;
  if state_ >= 3 then
    facts := facts || jsonb_build_object('key_holder', holder_of_key(home_.id, d.extras ->> 'key', now.wall));
  else
    facts := facts || jsonb_build_object('must_run_alone', coalesce(j.losses_in_row, 0) + case when j.lease_end <= now.lease then 1 else 0 end >= 2);
  end if;
  facts := facts || jsonb_build_object('slot_left', (select least(s.lease_end - now.lease, s.ttl) from slot s where s.ns_id = ns_ and s.id = id_ and s.lease_end > now.lease));
  with serving as materialized (
    select w.owner, w.started_at, w.told from worker w
    where w.ns_id = ns_ and coalesce(w.report ->> 'stage', '') = queue_.stage and w.report -> 'queues' ? queue_.name and now.wall - w.seen_at <= (w.report ->> 'ttl')::bigint)
  select facts || jsonb_build_object(
    'workers', (select count(*) from serving s where s.told = 0),
    'quiet_workers', coalesce((
      select jsonb_agg(u.owner order by u.started_at, u.owner collate "C")
      from (select s.* from serving s where s.told = 1 order by s.started_at, s.owner collate "C" limit shown_most) as u), '[]'))
  into facts;
  return jsonb_strip_nulls(facts);
end $$;

-- What the claims of a special home look at before they grant, one claim at a time: which member of a group is open, which jobs of a limit key are let
-- out, whose revoked delivery is over. Nobody else opens anything, so that no two decide at once (J7).
--
-- Rows of jobs are taken only if nobody holds them: whoever does may wait for a row that this call has. What was skipped is looked at again by the next claim.

-- The ranks that have jobs under (queue, blocked), one seek each.
create function ranks_of(queue_ int, blocked_ smallint) returns setof smallint language plpgsql as $$
declare
  at smallint;
begin
  select rank into at from job where queue_id = queue_ and blocked = blocked_ order by rank limit 1;
  while at is not null loop
    return next at;
    select rank into at from job where queue_id = queue_ and blocked = blocked_ and rank > at order by rank limit 1;
    if not found then return; end if;
  end loop;
end $$;
create function limit_ranks_of(limit_ bigint, queue_ int, blocked_ smallint) returns setof smallint language plpgsql as $$
declare
  at smallint;
begin
  select rank into at from job where limit_id = limit_ and queue_id = queue_ and blocked = blocked_ order by rank limit 1;
  while at is not null loop
    return next at;
    select rank into at from job where limit_id = limit_ and queue_id = queue_ and blocked = blocked_ and rank > at order by rank limit 1;
    if not found then return; end if;
  end loop;
end $$;

-- Sets or clears bits of jobs that do not run; answers how many it could.
create function mark_jobs(ns int, ids uuid[], set_bits int, clear_bits int) returns int language plpgsql as $$
declare
  n int;
begin
  update job set blocked = ((blocked | set_bits) & ~clear_bits)::smallint
  where ctid = any (array(select ctid from job where id = any (ids) and ns_id = ns and lease_end is null for update skip locked));
  get diagnostics n = row_count;
  return n;
end $$;

-- Of a group, its first unfinished job is open while nobody has the group's slot. Answers the limit keys of which one must choose anew.
create function open_head(ns int, home_ int, group_ bigint, lease bigint) returns bigint[] language plpgsql as $$
declare
  head job;
  opened job;
  open_ uuid;
  slot_end bigint;
  keys bigint[];
begin
  select open_id into open_ from grp where id = group_;
  if not found then return keys; end if;
  select * into head from job where group_id = group_ order by place limit 1;
  if open_ is not null then select * into opened from job where id = open_ and ns_id = ns; end if;
  select max(lease_end) into slot_end from slot where home_id = home_ and group_id = group_ and lease_end > lease;
  if slot_end is not null then
    perform look_later(home_, group_, null, null, 0::smallint, slot_end);
    return keys;
  end if;
  if head.id is null or opened.lease_end is not null then return keys; end if;
  if opened.id is not null and opened.id <> head.id and opened.blocked & 2 = 0 then
    if mark_jobs(ns, array[opened.id], 2, 0) = 0 then
      perform look_later(home_, group_, null, null, 0::smallint, 0);
      return keys;
    end if;
    keys := keys || opened.limit_id;
  end if;
  if head.blocked & 2 = 2 then
    if mark_jobs(ns, array[head.id], 0, 2) = 0 then
      perform look_later(home_, group_, null, null, 0::smallint, 0);
      return keys;
    end if;
    keys := keys || head.limit_id;
  end if;
  if open_ is distinct from head.id then update grp set open_id = head.id where id = group_; end if;
  return keys;
end $$;

-- Of a limit key with n free slots the n best due jobs of each stage are let out, and of those that must run alone as many.
create function choose_of_key(ns int, home_ int, limit_ bigint, per_key int, lease bigint, wall bigint) returns void language plpgsql as $$
declare
  room bigint;
  stage_ int;
  lane int;
  chosen uuid[];
  shut uuid[];
  let uuid[];
  due bigint;
begin
  select per_key - (select count(*) from queue q join job j on j.queue_id = q.id and j.limit_id = limit_ and j.blocked = 0 where q.home_id = home_ and j.lease_end is not null)
                 - (select count(*) from slot where home_id = home_ and limit_id = limit_ and lease_end > lease)
  into room;
  room := greatest(room, 0);
  for stage_ in select id from queue where home_id = home_ loop
    foreach lane in array array[0, 8] loop
      chosen := array(
        select c.id from (
          select j.id, j.rank, j.run_at, j.seq
          from unnest(array[lane, lane | 4]) as b cross join lateral limit_ranks_of(limit_, stage_, b::smallint) as r
          cross join lateral (
            select id, rank, run_at, seq from job
            where limit_id = limit_ and queue_id = stage_ and blocked = b and rank = r and run_at <= wall and lease_end is null
            order by run_at, seq limit room) as j) as c
        order by c.rank, c.run_at, c.seq limit room);
      shut := array(select id from job where limit_id = limit_ and queue_id = stage_ and blocked = lane and lease_end is null and id <> all (chosen));
      let := array(select id from job where id = any (chosen) and ns_id = ns and blocked = lane | 4);
      if mark_jobs(ns, shut, 4, 0) < cardinality(shut) or mark_jobs(ns, let, 0, 4) < cardinality(let) then
        perform look_later(home_, null, limit_, null, 0::smallint, 0);
      end if;
      -- Who is not due yet is looked at when it is. The row that an enqueue left for that may be gone: clocks are set back.
      select min(j.run_at) into due from unnest(array[lane, lane | 4]) as b cross join lateral limit_ranks_of(limit_, stage_, b::smallint) as r
      cross join lateral (
        select run_at from job where limit_id = limit_ and queue_id = stage_ and blocked = b and rank = r and run_at > wall and lease_end is null
        order by run_at, seq limit 1) as j;
      if due is not null and not exists (select 1 from todo t where t.home_id = home_ and t.clock = 1 and t.at = due and t.limit_id = limit_) then
        perform look_later(home_, null, limit_, null, 1::smallint, due);
      end if;
    end loop;
  end loop;
end $$;

-- Kept slots that end later than they are long: the server's clock was ahead and came back. They end after their own length now, and the home is looked at then.
create function bring_slots_back(home_ int) returns void language plpgsql as $$
declare
  lease bigint := (clock()).lease;
  s slot;
begin
  for s in select * from slot x where x.home_id = home_ and x.lease_end - x.ttl > lease order by x.lease_end - x.ttl limit 1000 for update skip locked loop
    lease := (clock()).lease;  -- once the row is locked: only a clock that was set back shows less than the slot says
    continue when s.lease_end - s.ttl <= lease;
    update slot x set lease_end = lease + s.ttl where x.ns_id = s.ns_id and x.id = s.id;
    perform look_later(home_, s.group_id, s.limit_id, s.id, 0::smallint, lease + s.ttl);
  end loop;
end $$;

create function work_off(ns int, home_ int, lease bigint, wall bigint) returns void language plpgsql as $$
declare
  looked bigint;
  per_key int;
  groups bigint[];
  keys bigint[];
  jobs uuid[];
  one bigint;
  job_ uuid;
  slot_end bigint;
begin
  select looked_at, per_key_most into looked, per_key from home where id = home_;
  if per_key > 0 then
    -- The wall clock was set back: what was due may not be any more, and its time comes anew (see choose_of_key).
    if wall < looked then
      insert into todo (home_id, clock, at, limit_id) select home_, 0, 0, k.id from limit_key k where k.home_id = home_ and exists (select 1 from job where limit_id = k.id);
    end if;
    if wall <> looked then update home set looked_at = wall where id = home_; end if;
  end if;
  if exists (select 1 from slot s where s.home_id = home_ and s.lease_end - s.ttl > lease) then perform bring_slots_back(home_); end if;
  -- A claim has its time: so many rows are looked at, and so many different groups, keys and jobs of theirs. The rest is the next one's.
  with due as (
    (select home_id, clock, at, n, group_id, limit_id, id from todo where home_id = home_ and clock = 0 and at <= lease order by at, n limit 10000)
    union all
    (select home_id, clock, at, n, group_id, limit_id, id from todo where home_id = home_ and clock = 1 and at <= wall order by at, n limit 10000)),
  picked as (select group_id, limit_id, id from due group by group_id, limit_id, id order by min(at), min(n) limit 200),
  gone as (
    delete from todo t using due d, picked p
    where t.home_id = d.home_id and t.clock = d.clock and t.at = d.at and t.n = d.n
      and d.group_id is not distinct from p.group_id and d.limit_id is not distinct from p.limit_id and d.id is not distinct from p.id
    returning t.group_id, t.limit_id, t.id)
  select array_agg(distinct group_id) filter (where group_id is not null), array_agg(distinct limit_id) filter (where limit_id is not null),
         array_agg(distinct id) filter (where id is not null)
  into groups, keys, jobs from gone;

  foreach job_ in array coalesce(jobs, '{}') loop
    select max(lease_end) into slot_end from slot where ns_id = ns and id = job_ and lease_end > lease;
    if slot_end is not null then
      perform look_later(home_, null, null, job_, 0::smallint, slot_end);
    else
      if exists (select 1 from job where id = job_ and ns_id = ns and blocked & 16 = 16) and mark_jobs(ns, array[job_], 0, 16) = 0 then
        perform look_later(home_, null, null, job_, 0::smallint, 0);
      end if;
      -- Its limit key may let it out now.
      keys := keys || (select limit_id from job where id = job_ and ns_id = ns and limit_id is not null);
      groups := groups || (select group_id from job where id = job_ and ns_id = ns and group_id is not null);
    end if;
  end loop;
  -- The smallest first: two calls that wait for rows of groups do so in one order.
  for one in select distinct g from unnest(groups) as g where g is not null order by g loop
    keys := keys || open_head(ns, home_, one, lease);
  end loop;
  if per_key > 0 then
    for one in select distinct k from unnest(keys) as k where k is not null order by k loop
      -- A slot of the key that is kept by a revoked delivery ends by itself.
      select min(lease_end) into slot_end from slot where home_id = home_ and limit_id = one and lease_end > lease;
      if slot_end is not null then perform look_later(home_, null, one, null, 0::smallint, slot_end); end if;
      perform choose_of_key(ns, home_, one, per_key, lease, wall);
    end loop;
  else
    -- There is no limit any more. Whoever was settled while it was lifted may still wait for its key.
    for one in select distinct k from unnest(keys) as k where k is not null order by k loop
      jobs := array(select j.id from job j join queue q on q.id = j.queue_id where q.home_id = home_ and j.limit_id = one and j.blocked & 4 = 4);
      if mark_jobs(ns, jobs, 0, 4) < cardinality(jobs) then perform look_later(home_, null, one, null, 0::smallint, 0); end if;
    end loop;
  end if;
end $$;

-- Schedules and their ticks as people and schedulers ask for them, and what is forgotten of them.

-- {"names" or "changed_after" or "after", "unfinished", "limit"}: first {"version", "now"}, then a row each, one more than asked for if there are more.
create function list_schedules(ns text, request jsonb) returns setof jsonb
language plpgsql stable set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  ns_ int := find_ns(ns);
  with_unfinished boolean := coalesce((request ->> 'unfinished')::boolean, false);
  after_ text := request ->> 'after';
  since bigint := (request ->> 'changed_after')::bigint;
  most int := (request ->> 'limit')::int + 1;
begin
  return next jsonb_build_object('version', coalesce((select c.version from schedule_count c where c.ns_id = ns_), 0), 'now', (clock()).wall);
  if request ? 'names' then
    return query
      select shown_schedule(s, with_unfinished) from schedule s
      where s.ns_id = ns_ and s.name = any (array(select n from jsonb_array_elements_text(request -> 'names') as n)) and not s.removed order by s.name;
  elsif since is not null then
    return query select shown_schedule(s, with_unfinished) from schedule s where s.ns_id = ns_ and s.version > since order by s.version limit most;
  else
    return query select shown_schedule(s, with_unfinished) from schedule s where s.ns_id = ns_ and s.name > coalesce(after_, '') and not s.removed order by s.name limit most;
  end if;
end $$;

-- {"schedule", "fired_only", "after", "before", "limit"}: an array of rows, the largest first, one more than asked for if there are more.
create function list_ticks(ns text, request jsonb) returns jsonb
language plpgsql stable set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  schedule_ bigint := (select s.id from schedule s where s.ns_id = find_ns(ns) and s.name = request ->> 'schedule');
  after_ bigint := coalesce((request ->> 'after')::bigint, -9223372036854775808);
  before bigint := coalesce((request ->> 'before')::bigint, 9223372036854775807);
  with_skipped boolean := not coalesce((request ->> 'fired_only')::boolean, false);
  most int := (request ->> 'limit')::int + 1;
begin
  return coalesce((
    select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('tick', u.tick, 'last', u.last, 'count', u.count, 'reason', u.reason, 'job', u.job, 'at', u.at, 'owner', u.owner, 'place', u.place)) order by u.tick desc)
    from (
      select v.* from (
        (select t.tick, null::bigint as last, null::bigint as count, null::text as reason, t.job, t.at, t.owner, t.place
         from tick t where t.schedule_id = schedule_ and t.tick > after_ and t.tick < before order by t.tick desc limit most)
        union all
        (select k.first, k.last, k.count, k.reason, null, k.at, k.owner, k.place
         from skipped k where with_skipped and k.schedule_id = schedule_ and k.first > after_ and k.first < before order by k.first desc limit most)) as v
      order by v.tick desc limit most) as u), '[]');
end $$;

-- These rows of ticks go, of schedules whose rows the caller has, ranges only as they were seen; answers how many. Of fired ones the largest instant stays as the schedule's bar (S1).
create function forget_ticks(schedules bigint[], instants bigint[], lasts bigint[]) returns bigint language plpgsql as $$
declare
  n bigint;
begin
  with fired as (
    delete from tick t using unnest(schedules, instants, lasts) as u (id, tick, last) where u.last is null and t.schedule_id = u.id and t.tick = u.tick returning t.schedule_id, t.tick),
  ranges as (
    delete from skipped k using unnest(schedules, instants, lasts) as u (id, tick, last) where k.schedule_id = u.id and k.first = u.tick and k.last = u.last returning k.schedule_id, null::bigint),
  gone as (select * from fired union all select * from ranges),
  changed as (
    update schedule s set ticks_kept = s.ticks_kept - g.n, bar = greatest(s.bar, g.top)
    from (select x.schedule_id, count(*) as n, max(x.tick) as top from gone x group by x.schedule_id) as g where s.id = g.schedule_id)
  select count(*) into n from gone;
  return n;
end $$;

-- Forgets ticks whose time is over, and of each schedule all but its largest ones, the smallest first; then what is left of schedules that were removed long ago: the largest of their bars stays as the
-- namespace's. Up to so many of each; answers how many, and whether there are more. A schedule that somebody steps or changes at this moment is left for the next time. Fired ticks after the account of one that is not
-- removed stay: a bar there would end ticks that are open.
create function tidy_schedules(ns_ int, most int, wall bigint, out removed bigint, out more boolean) language plpgsql as $$
declare
  kept_for constant bigint := 604800000000;
  kept_most constant bigint := 10000;
  removed_kept_for constant bigint := 2592000000000;
  over record;
  ours bigint[];
  gone bigint[];
begin
  -- Of equal instants all are read, so that names decide.
  select array_agg(x.id) as ids, array_agg(x.tick) as ticks, array_agg(x.last) as lasts into over
  from (
    select s.id, u.tick, u.last
    from (
      (select t.schedule_id, t.tick, null::bigint as last from tick t
       where t.ns_id = ns_ and t.tick <= wall - kept_for and t.tick <= (select case when a.removed then t.tick else a.resolved_to end from schedule a where a.id = t.schedule_id) order by t.tick fetch first (most + 1) rows with ties)
      union
      (select k.schedule_id, k.first, k.last from skipped k where k.ns_id = ns_ and k.first <= wall - kept_for and k.last <= wall - kept_for order by k.first fetch first (most + 1) rows with ties)
      union
      select f.id, b.tick, b.last from schedule f,
        lateral (
          select v.* from (
            (select t.tick, null::bigint as last from tick t
             where t.schedule_id = f.id and t.tick <= case when f.removed then 9223372036854775807 else f.resolved_to end order by t.tick limit least(f.ticks_kept - kept_most, most + 1))
            union all
            (select k.first, k.last from skipped k where k.schedule_id = f.id order by k.first limit least(f.ticks_kept - kept_most, most + 1))) as v
          order by v.tick limit least(f.ticks_kept - kept_most, most + 1)) as b
      where f.ns_id = ns_ and f.ticks_kept > kept_most) as u
    join schedule s on s.id = u.schedule_id order by u.tick, s.name limit most + 1) as x;
  removed := 0;
  more := coalesce(cardinality(over.ids) > most, false);
  if over.ids is not null then
    ours := array(select s.id from schedule s where s.id = any (over.ids[1:most]) order by s.name for update skip locked);
    -- An account may have been moved back before its row was ours.
    removed := (
      select forget_ticks(array_agg(u.id), array_agg(u.tick), array_agg(u.last))
      from unnest(over.ids[1:most], over.ticks[1:most], over.lasts[1:most]) as u (id, tick, last) join schedule s on s.id = u.id
      where s.id = any (ours) and (s.removed or u.last is not null or u.tick <= s.resolved_to));
  end if;
  gone := array(
    select s.id from schedule s
    where s.ns_id = ns_ and s.removed and s.ticks_kept = 0 and s.bar <= wall - removed_kept_for and s.changed_at <= wall - removed_kept_for order by s.name limit most + 1 for update skip locked);
  more := more or cardinality(gone) > most;
  removed := removed + least(cardinality(gone), most);
  if cardinality(gone) > 0 then
    insert into schedule_count as c (ns_id, bar) values (ns_, (select max(s.bar) from schedule s where s.id = any (gone[1:most])))
    on conflict (ns_id) do update set bar = greatest(c.bar, excluded.bar);
    delete from schedule s where s.id = any (gone[1:most]);
  end if;
end $$;

-- All of a namespace. The rows of its schedules are the caller's.
create function remove_schedules(ns_ int, schedules bigint[]) returns void language plpgsql as $$
begin
  delete from tick t where t.ns_id = ns_ and t.schedule_id = any (schedules);
  delete from skipped k where k.ns_id = ns_ and k.schedule_id = any (schedules);
  delete from schedule s where s.id = any (schedules);
  -- One that was added meanwhile stays, and goes on counting.
  delete from schedule_count c where c.ns_id = ns_ and not exists (select 1 from schedule s where s.ns_id = ns_);
  perform wake_workers(ns_);
end $$;

-- For `doctor`. One whose account or bar lies ahead of the clock, as after a clock that was wrong, fires nothing until then.
create function schedules_finding() returns jsonb language plpgsql stable set search_path from current as $$
declare
  all_ bigint;
  ahead bigint;
  top bigint;
begin
  select count(*), count(*) filter (where greatest(s.resolved_to, s.bar) > now.wall), max(greatest(s.resolved_to, s.bar)) into all_, ahead, top from schedule s, clock() as now where not s.removed;
  return jsonb_build_object('name', 'schedules', 'status', case when ahead = 0 then 0 else 1 end,
    'detail', case when ahead = 0 then all_::text
              else format('%s of %s are accounted for beyond the store''s clock, up to %s', ahead, all_, to_char(to_timestamp(top / 1000000) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) end,
    'remedy', case when ahead = 0 then '' else 'fenceline schedule list' end);
end $$;

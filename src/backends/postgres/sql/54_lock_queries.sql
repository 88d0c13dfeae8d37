-- The inventory of locks, and what is forgotten of them.

create function shown_lock(l lock, lease bigint) returns jsonb language plpgsql stable as $$
declare
  shown constant int := 10;
  holders jsonb;
  holders_count bigint;
  waiters jsonb;
  waiters_count bigint := 0;
begin
  -- As the next acquire will find it.
  if lock_is_ahead(l, lease) then
    l.lease_end := least(l.lease_end, lease + l.ttl);
    l.bar := least(l.bar, lease + l.hold);
    l.freed_at := least(l.freed_at, lease);
    l.free_at := case when l.mode = 0 then lock_free_at(l)
                      else greatest(l.bar, l.freed_at, (select max(least(s.lease_end, lease + s.ttl)) from lock_sharer s where s.ns_id = l.ns_id and s.resource = l.resource and not s.released)) end;
  end if;
  if l.mode = 0 then
    holders_count := case when l.released then 0 else 1 end;
    if not l.released then
      holders := jsonb_build_array(jsonb_build_object('owner', l.owner, 'place', l.place, 'granted_at', l.granted_at, 'left', l.lease_end - lease));
    end if;
  else
    select count(*), jsonb_agg(jsonb_build_object('owner', s.owner, 'place', s.place, 'granted_at', s.granted_at, 'left', least(s.lease_end - lease, s.ttl)) order by s.n) filter (where s.n <= shown)
    into holders_count, holders
    from (select x.*, row_number() over (order by x.granted_at, x.owner) as n from lock_sharer x where x.ns_id = l.ns_id and x.resource = l.resource and not x.released) as s;
  end if;
  if l.waiting then
    select count(*), jsonb_agg(jsonb_build_object('owner', w.owner, 'place', w.place, 'since', w.since, 'mode', w.mode) order by w.turn) filter (where w.turn <= shown) into waiters_count, waiters
    from (select x.*, row_number() over (order by x.n) as turn from lock_waiter x where x.ns_id = l.ns_id and x.name = l.resource and x.seen_until > lease) as w;
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'resource', l.resource, 'fence', l.fence, 'mode', l.mode, 'pattern', l.pattern, 'holders', holders, 'holders_count', holders_count, 'waiters', waiters, 'waiters_count', waiters_count,
    'free_in', case when lock_free(l, lease) > lease then lock_free(l, lease) - lease end,
    'seen_at_gate', (select g.fence from gate_memory g where g.ns_id = l.ns_id and g.resource = coalesce(l.guarded_as, l.resource) and g.raised_at > 0)));
end $$;

-- {"prefix", "held", "after", "limit"}: a row each, one more than asked for if there are more.
create function list_locks(ns text, request jsonb) returns setof jsonb language plpgsql set search_path from current set jit = off as $$
#variable_conflict use_variable
declare
  ns_ int := find_ns(ns);
  lease bigint := (clock()).lease;
  prefix text := coalesce(request ->> 'prefix', '');
begin
  -- No character of a name comes after '~'.
  return query
    select shown_lock(l, lease) from lock l
    where l.ns_id = ns_ and l.resource > coalesce(request ->> 'after', '') and l.resource >= prefix and l.resource < prefix || '~' and l.fence > 0
      and (not coalesce((request ->> 'held')::boolean, false) or lock_free(l, lease) > lease)
    order by l.resource limit (request ->> 'limit')::int + 1;
end $$;

create function show_lock(ns text, request jsonb) returns jsonb language plpgsql set search_path from current set jit = off as $$
#variable_conflict use_variable
declare
  lease bigint := (clock()).lease;
begin
  return (select shown_lock(l, lease) from lock l where l.ns_id = find_ns(ns) and l.resource = request ->> 'resource' and l.fence > 0);
end $$;

-- These rows go: no fence of theirs counts any more, and the floor is raised (L2). What a gate let in is remembered as what it was before: of the newest;
-- and so is a lock that was taken from somebody, by a break or because the lease ran out: whoever lost it may still come. raised_at 0: no gate let it in.
create function forget_locks(ns_ int, resources text[]) returns void language plpgsql as $$
begin
  with gone as (delete from lock l where l.ns_id = ns_ and l.resource = any (resources) and l.fence > 0 returning l.resource, coalesce(l.guarded_as, l.resource) as name, l.fence,
                l.unclean),
  ended as (insert into superseded (ns_id, resource, fence) select ns_, g.name, g.fence from gone g on conflict do nothing),
  remembered as (update gate_memory m set fence = g.fence, raised_at = 0 from gone g where m.ns_id = ns_ and m.resource = g.name and m.fence < g.fence),
  taken_away as (insert into gate_memory (ns_id, resource, fence, raised_at) select ns_, g.name, g.fence, 0 from gone g where g.unclean on conflict do nothing),
  sharers as (delete from lock_sharer s using gone g where s.ns_id = ns_ and s.resource = g.resource)
  update floor f set value = top.fence from (select max(g.fence) as fence from gone g) as top where f.value < top.fence;
  delete from lock l where l.ns_id = ns_ and l.resource = any (resources) and l.fence = 0;
end $$;

-- The next locks to look at, the soonest first. In the order of the key: of a table that was never analysed the server believes that it is small, and would read and sort all of it.
create function looks_due(ns_ int, lease bigint, most int) returns lock_look[] language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  return array(select k from lock_look k where k.ns_id = ns_ and k.at <= lease order by k.ns_id, k.at, k.resource limit most for update skip locked);
end $$;

-- Forgets up to so many locks that have been free for half an hour and that nobody waits for, the longest free first; answers how many, and whether there may be more. A look stands at or before the
-- moment at which its lock could go: one that stands there exactly is the next to go, any other is moved to where it belongs and looked at no sooner. So a call handles about as many rows as it
-- removes, however many locks there are: by generic plans, which go by the key whatever the server believes of tables that were never analysed.
create function tidy_locks(ns_ int, most int, lease bigint, out removed bigint, out more boolean) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  kept constant bigint := 1800000000;
  room int := most;
  looks lock_look[];
  ours text[];
  others text[];
  gone text[];
  moved text[];
  moved_to bigint[];
begin
  removed := 0;
  delete from lock_withdrawn w where w.ns_id = ns_ and w.until <= lease;
  -- A look further ahead than any can be was set while the clock was ahead.
  with far as (
    delete from lock_look k using (select x.at, x.resource from lock_look x where x.ns_id = ns_ and x.at > lease + kept order by x.at desc limit most for update skip locked) as u
    where k.ns_id = ns_ and k.at = u.at and k.resource = u.resource returning k.resource)
  insert into lock_look (ns_id, at, resource) select ns_, lease + kept, f.resource from far f on conflict do nothing;
  for step in 1 .. 8 loop
    looks := looks_due(ns_, lease, room);
    exit when cardinality(looks) = 0;
    -- Locked by one statement and read by the next: what was granted, released or waited for in between is seen.
    ours := array(select l.resource from lock l where l.ns_id = ns_ and l.resource = any (array(select u.resource from unnest(looks) as u)) order by l.resource for update skip locked);
    perform bring_locks_back(ns_, ours, (clock()).lease);
    perform lock_queue_changed(ns_, array(select u from unnest(ours) as u where strpos(u, '#') = 0), lease);
    others := array(select u.resource from unnest(looks) as u except select o from unnest(ours) as o);
    -- What somebody has at this moment, or waits for, is looked at again the next time.
    select array_agg(x.resource) filter (where x.at = x.due_at), array_agg(x.resource) filter (where x.at <> x.due_at), array_agg(x.due_at) filter (where x.at <> x.due_at)
    into gone, moved, moved_to
    from (
      select u.at, u.resource, case when u.resource = any (others) or waited.yes then lease + 1 when l.free_at > lease then lease + kept else l.free_at + kept end as due_at
      from unnest(looks) as u join lock l on l.ns_id = ns_ and l.resource = u.resource,
        lateral (select exists (select 1 from lock_waiter w where w.ns_id = ns_ and w.name = lock_name(l.resource) and w.seen_until > lease) as yes) as waited) as x;
    delete from lock_look k using unnest(looks) as u where k.ns_id = ns_ and k.at = u.at and k.resource = u.resource;
    insert into lock_look (ns_id, at, resource) select ns_, m.at, m.resource from unnest(moved_to, moved) as m (at, resource) on conflict do nothing;
    continue when gone is null;
    removed := removed + (select count(*) from lock l where l.ns_id = ns_ and l.resource = any (gone) and l.fence > 0);
    perform forget_locks(ns_, gone);
    room := room - cardinality(gone);
    exit when room = 0;
  end loop;
  -- Of the next ones, whether one could go; of very many, that there may be one.
  select count(*) = 1000 or coalesce(bool_or(next.goes), false) into more
  from (
    select l.free_at + kept <= lease and not exists (select 1 from lock_waiter w where w.ns_id = ns_ and w.name = lock_name(l.resource) and w.seen_until > lease) as goes
    from unnest(looks_due(ns_, lease, 1000)) as k join lock l on l.ns_id = ns_ and l.resource = k.resource) as next;
end $$;

-- All of a namespace. A name that is granted for the first time at this moment stays. Who has one, or waits for one, is told.
create function remove_locks(ns_ int) returns void language plpgsql as $$
declare
  all_ text[];
  lease bigint := (clock()).lease;
begin
  all_ := array(select l.resource from lock l where l.ns_id = ns_ order by l.resource for update);
  perform wake_lock((select n.name from namespace n where n.id = ns_), u.name)
  from (select distinct lock_name(l.resource) as name from lock l where l.ns_id = ns_ and l.resource = any (all_) and (l.waiting or lock_free(l, lease) > lease)) as u;
  delete from lock_waiter w where w.ns_id = ns_ and w.name = any (all_);
  delete from lock_withdrawn w where w.ns_id = ns_;
  perform forget_locks(ns_, all_);
  delete from lock_look k where k.ns_id = ns_ and not exists (select 1 from lock l where l.ns_id = ns_ and l.resource = k.resource);
end $$;

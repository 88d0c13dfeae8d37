-- The inventory of locks, and what is forgotten of them.

create function shown_lock(l lock, lease bigint) returns jsonb language plpgsql stable as $$
declare
  shown constant int := 10;
  holders jsonb;
  holders_count bigint;
  waiters jsonb;
  waiters_count bigint := 0;
begin
  if l.mode = 0 then
    holders_count := case when l.released then 0 else 1 end;
    if not l.released then
      holders := jsonb_build_array(jsonb_build_object('owner', l.owner, 'place', l.place, 'granted_at', l.granted_at, 'left', l.lease_end - lease));
    end if;
  else
    select count(*), jsonb_agg(jsonb_build_object('owner', s.owner, 'place', s.place, 'granted_at', s.granted_at, 'left', s.lease_end - lease) order by s.n) filter (where s.n <= shown)
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

-- Forgets up to so many locks that have been free for half an hour and that nobody waits for, the longest free first; answers how many, and whether there may be more. Those whose time has not
-- come are put off, so that each is looked at twice an hour at most.
create function tidy_locks(ns_ int, most int, lease bigint, out removed bigint, out more boolean) language plpgsql as $$
declare
  kept constant bigint := 1800000000;
  a_step constant int := greatest(4 * most, 5000);
  looks lock_look[];
  due text[];
begin
  removed := 0;
  more := false;
  delete from lock_withdrawn w where w.ns_id = ns_ and w.until <= lease;
  for step in 1 .. 4 loop
    looks := array(select k from lock_look k where k.ns_id = ns_ and k.at <= lease order by k.ns_id, k.at, k.resource limit a_step for update skip locked);
    exit when cardinality(looks) = 0;
    -- Locked by one statement and read by the next: what was granted, released or waited for in between is seen.
    due := array(select l.resource from lock l where l.ns_id = ns_ and l.resource = any (array(select u.resource from unnest(looks) as u)) order by l.resource for update skip locked);
    perform lock_queue_changed(ns_, array(select u from unnest(due) as u where strpos(u, '#') = 0), lease);
    delete from lock_look k using unnest(looks) as u where k.ns_id = ns_ and k.at = u.at and k.resource = u.resource;
    -- When each could go at the soonest; what somebody has at this moment, or waits for, is looked at again the next time.
    insert into lock_look (ns_id, at, resource)
    select ns_, case when l.resource <> all (due) or waited.yes then lease + 1 when l.free_at > lease then lease + kept else l.free_at + kept end, l.resource
    from unnest(looks) as u join lock l on l.ns_id = ns_ and l.resource = u.resource,
      lateral (select exists (select 1 from lock_waiter w where w.ns_id = ns_ and w.name = lock_name(l.resource) and w.seen_until > lease) as yes) as waited
    on conflict do nothing;
    due := array(
      select l.resource from lock_look k join lock l on l.ns_id = ns_ and l.resource = k.resource
      where k.ns_id = ns_ and k.at <= lease and k.resource = any (due) order by l.free_at, l.resource);
    more := cardinality(due) > most or cardinality(looks) = a_step;
    continue when cardinality(due) = 0;
    due := due[1:most];
    select count(*) into removed from lock l where l.ns_id = ns_ and l.resource = any (due) and l.fence > 0;
    perform forget_locks(ns_, due);
    delete from lock_look k where k.ns_id = ns_ and k.at <= lease and k.resource = any (due);
    exit;
  end loop;
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

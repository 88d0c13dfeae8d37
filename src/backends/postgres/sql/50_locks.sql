-- How locks are granted. A free lock of one holder that nobody waits for is granted by one statement; all else takes the rows of its names, in the order of their bytes, and looks.
--
-- Order of locks: rows of lock by resource, all else. The row of a name stands for its queue and its slots too: who releases a slot has it first.
--
-- Fences. Each grant ends the fence before it, and whoever carries that one in a transaction of the application must not commit any more. It leaves a key in `superseded` (80_guard.sql) only if
-- such a transaction may be under way: who is let in under a fence of a lock holds the lock's advisory key, shared, until its end; who grants tries to have it alone, until its own end.
-- See decision 13.

-- The advisory key of a resource, of those who write under its fence.
create function lock_key(ns_ int, resource_ text) returns bigint language sql immutable as $$ select hashtextextended(resource_, ns_); $$;

create function leave_lock_key(ns_ int, name_ text, fence_ bigint) returns boolean language plpgsql set search_path from current as $$
begin
  -- The key of fence 0 may be there from another first grant, of a lock that was forgotten since: it is as new then, and a commit that has it is waited for.
  insert into superseded (ns_id, resource, fence) values (ns_, name_, fence_) on conflict (ns_id, resource, fence) do update set marked = null;
  return true;
end $$;

-- Nobody commits under this fence of a lock any more.
create function end_lock_fence(l lock) returns void language plpgsql as $$
declare
  name_ text := coalesce(l.guarded_as, l.resource);
begin
  -- A first grant ends what was let in while nothing was known of the lock: its key is that of fence 0.
  if l.fence = 0 or not pg_try_advisory_xact_lock(lock_key(l.ns_id, name_)) then
    perform leave_lock_key(l.ns_id, name_, l.fence);
  end if;
end $$;

-- Tells those who wait for a lock that it may be had, and its holder that it was broken.
create function wake_lock(ns_name text, name_ text) returns boolean language plpgsql set search_path from current as $$
begin
  perform pg_notify('fenceline', concat_ws(' ', current_schema(), ns_name, name_));
  return true;
end $$;

create function lock_name(resource_ text) returns text language sql immutable as $$ select split_part(resource_, '#', 1); $$;
create function lock_slot(name_ text, slot int) returns text language sql immutable as $$ select case when slot = 1 then name_ else name_ || '#' || slot end; $$;

-- The row of a resource, made if it is missing, and locked.
create function lock_row(ns_ int, resource_ text, lease bigint) returns lock language plpgsql as $$
declare
  found_ lock;
begin
  loop
    select * into found_ from lock where ns_id = ns_ and resource = resource_ for update;
    if found then return found_; end if;
    insert into lock (ns_id, resource, guarded_as) values (ns_, resource_, nullif(plain_resource(resource_), resource_)) on conflict do nothing;
    continue when not found;
    insert into lock_look (ns_id, at, resource) values (ns_, lease + 1800000000, resource_) on conflict do nothing;
    -- Only now, with the row: a withdrawal that this had to wait for is seen, and one that comes later finds the row.
    update lock l set withdrawn = w.until from (select max(x.until) as until from lock_withdrawn x where x.ns_id = ns_ and x.name = resource_) as w
    where l.ns_id = ns_ and l.resource = resource_ and w.until is not null;
  end loop;
end $$;

-- From when on a resource is free, by its row and its sharers.
create function lock_free_at(l lock) returns bigint language plpgsql as $$
begin
  if l.mode = 0 then return greatest(l.bar, l.freed_at, case when not l.released then l.lease_end + l.delay end); end if;
  return greatest(l.bar, l.freed_at, (select max(s.lease_end) from lock_sharer s where s.ns_id = l.ns_id and s.resource = l.resource and not s.released));
end $$;

-- The same as it is seen now. What was released is free, although the clock may have been set back behind the moment of the release.
create function lock_free(l lock, lease bigint) returns bigint language sql immutable as $$
  select case when l.mode = 0 and l.released then greatest(l.bar, least(l.freed_at, lease)) else l.free_at end;
$$;

-- Whether an end of it lies further ahead than it is long: the server's clock was ahead and came back. Or it was released at a moment that lies ahead.
create function lock_is_ahead(l lock, lease bigint) returns boolean language sql immutable as $$
  select coalesce(l.mode = 0 and not l.released and l.lease_end > lease + l.ttl, false) or coalesce(l.mode = 1 and l.read_at > lease, false) or coalesce(l.bar > lease + l.hold, false) or l.freed_at > lease;
$$;

-- Leases and bars of such a lock end after their own length from now on (L3, L6), and a release that lies ahead was now. Its row, and those of its slots, are the caller's.
create function bring_locks_back(ns_ int, resources text[], lease bigint) returns void language plpgsql as $$
declare
  ahead text[] := array(select l.resource from lock l where l.ns_id = ns_ and l.resource = any (resources) and lock_is_ahead(l, lease));
begin
  if cardinality(ahead) = 0 then return; end if;
  update lock_sharer s set lease_end = lease + s.ttl, known_until = least(s.known_until, lease + 2 * s.ttl) where s.ns_id = ns_ and s.resource = any (ahead) and s.lease_end > lease + s.ttl;
  update lock l set lease_end = case when l.lease_end > lease + l.ttl then lease + l.ttl else l.lease_end end, bar = case when l.bar > lease + l.hold then lease + l.hold else l.bar end,
                    freed_at = least(l.freed_at, lease), read_at = least(l.read_at, lease)
  where l.ns_id = ns_ and l.resource = any (ahead);
  update lock l set free_at = lock_free_at(l) where l.ns_id = ns_ and l.resource = any (ahead);
end $$;

create function lock_is_held(l lock, lease bigint) returns boolean language plpgsql as $$
begin
  if l.mode = 0 then return not l.released and l.lease_end > lease; end if;
  return exists (select 1 from lock_sharer s where s.ns_id = l.ns_id and s.resource = l.resource and not s.released and s.lease_end > lease);
end $$;

-- By the rule of turns, for one of its names, whose row is locked.
create function lock_stand(ns_ int, name_ text, mode_ smallint, slots_ int, owner_ text, request_ text, lease bigint) returns lock_standing language plpgsql as $$
declare
  turn constant bigint := 1000000;
  first lock;
  own bigint;
  exclusive_ahead boolean := false;
  counted bigint;
  s lock_standing;
begin
  s.ahead := 0;
  s.passed := 0;
  s.joins := false;
  select * into first from lock where ns_id = ns_ and resource = name_;
  if first.waiting then
    select w.n into own from lock_waiter w where w.ns_id = ns_ and w.name = name_ and w.owner = owner_ and w.request = request_ and w.seen_until > lease;
    select count(*), coalesce(bool_or(w.mode = 0), false) into s.ahead, exclusive_ahead
    from lock_waiter w where w.ns_id = ns_ and w.name = name_ and w.seen_until > lease and (own is null or w.n < own);
  end if;
  counted := case when mode_ = 0 or exclusive_ahead then s.ahead else 0 end;
  if mode_ = 1 and counted = 0 and first.mode = 1 and lock_is_held(first, lease) then
    s.joins := true;
    s.resource := name_;
    s.free := lease;
    s.may_have := lease;
    return s;
  end if;
  if slots_ = 1 then
    s.resource := name_;
    s.free := lock_free(first, lease);
    s.may_have := s.free + counted * turn;
    s.passed := counted;
    return s;
  end if;
  with slot as (
    select i, coalesce(case when l.resource is not null then lock_free(l, lease) end, -4611686018427387904) as free from generate_series(1, slots_) as i
    left join lock l on l.ns_id = ns_ and l.resource = lock_slot(name_, i)),
  ranked as (select i, free, row_number() over (order by free, i) as j, first_value(free) over (order by free, i) as f1, first_value(i) over (order by free, i) as soonest from slot)
  select lock_slot(name_, coalesce(case when min(greatest(free, f1 + greatest(0, counted - j + 1) * turn)) <= lease then min(i) filter (where free <= lease) end, min(soonest))), min(f1),
         min(greatest(free, f1 + greatest(0, counted - j + 1) * turn)), counted + 1 - count(*) filter (where free <= lease)
  into s.resource, s.free, s.may_have, s.passed from ranked;
  return s;
end $$;

-- Why it was not granted.
create function lock_held(ns_ int, s lock_standing, lease bigint) returns lock_answer language plpgsql as $$
declare
  a lock_answer;
  l lock;
begin
  a.resource := s.resource;
  a.reason := 'turn';
  a.fence := 0;
  select * into l from lock where ns_id = ns_ and resource = s.resource;
  if not found then return a; end if;
  a.fence := l.fence;
  if s.free <= lease then return a; end if;
  a.reason := case when lock_is_held(l, lease) then 'held' when l.bar > lease then 'barred' else 'delayed' end;
  if a.reason = 'held' and l.mode = 0 then
    a.owner := l.owner;
    a.place := l.place;
  elsif a.reason = 'held' then
    select x.owner, x.place into a.owner, a.place from lock_sharer x
    where x.ns_id = ns_ and x.resource = s.resource and not x.released and x.lease_end > lease order by x.lease_end desc, x.owner limit 1;
  end if;
  return a;
end $$;

-- What a request that was granted before still has: a row for each of its grants that is alive; or it raises, if one has ended. Nothing: it was not granted.
create function lock_granted_before(ns_ int, names text[], owner_ text, request_ text, slots_ int, lease bigint) returns setof lock_answer language plpgsql as $$
declare
  one record;
  n int := 0;
  answers lock_answer[] := '{}';
  least_left bigint;
begin
  for one in
    select l.resource, l.fence, l.previous, l.lease_end, l.released from lock l
    where l.ns_id = ns_ and l.resource = any (array(select lock_slot(u, i) from unnest(names) as u, generate_series(1, slots_) as i)) and l.mode = 0 and l.owner = owner_ and l.request = request_
    union all
    select l.resource, l.fence, x.previous, x.lease_end, x.released from lock l join lock_sharer x on x.ns_id = ns_ and x.resource = l.resource
    where l.ns_id = ns_ and l.resource = any (names) and l.mode = 1 and x.owner = owner_ and x.request = request_
    order by 1
  loop
    n := n + 1;
    continue when one.released or one.lease_end <= lease;
    least_left := least(least_left, one.lease_end - lease);
    answers := answers || (one.resource, one.fence, one.previous, null, null, null, null, null, 0)::lock_answer;
  end loop;
  if n = 0 then return; end if;
  if cardinality(answers) < cardinality(names) then
    perform fail_stale(format('the lease of %s that this request got has ended; ask again with a new request', names[1]), 'reason=lost');
  end if;
  return query select u.resource, u.fence, u.owner, u.place, u.reason, least_left, u.waited, u.again_us, u.ahead from unnest(answers) as u;
end $$;

-- One is granted: of the first so many before it, each that has not asked since it was free goes to the end of the queue.
create function pass_by(ns_ int, name_ text, passed bigint, free bigint, lease bigint) returns void language plpgsql as $$
declare
  silent bigint;
begin
  if passed <= 0 then return; end if;
  for silent in
    select f.n from (select w.n, w.seen_until from lock_waiter w where w.ns_id = ns_ and w.name = name_ and w.seen_until > lease order by w.n limit passed) as f
    where f.seen_until - 30000000 < free order by f.n
  loop
    update lock_waiter w set n = nextval('lock_place') where w.ns_id = ns_ and w.name = name_ and w.n = silent;
  end loop;
end $$;

-- Its queue after somebody came or left.
create function lock_queue_changed(ns_ int, names text[], lease bigint) returns void language plpgsql as $$
begin
  delete from lock_waiter w where w.ns_id = ns_ and w.name = any (names) and w.seen_until <= lease;
  update lock l set waiting = not l.waiting
  where l.ns_id = ns_ and l.resource = any (names) and l.waiting <> exists (select 1 from lock_waiter w where w.ns_id = ns_ and w.name = l.resource);
end $$;

-- Rows that keep a place for nobody. What is to be looked at later need not be there then.
create function drop_lock_places(ns_ int, names text[]) returns void language plpgsql as $$
begin
  delete from lock l where l.ns_id = ns_ and l.resource = any (names) and l.fence = 0 and not l.waiting;
end $$;

-- Grants one resource, whose name's row is locked. The floor is read after that: what was deleted before has raised it. Nothing: it was not free any more.
create function grant_lock(ns_ int, s lock_standing, owner_ text, request_ text, mode_ smallint, ttl bigint, to_its_end_ boolean, hold bigint, delay_ bigint, pattern_ text, place_ text,
                           lease bigint, wall bigint) returns lock_answer language plpgsql as $$
#variable_conflict use_column
declare
  never constant bigint := -4611686018427387904;
  l lock := lock_row(ns_, s.resource, lease);
  floor_ bigint;
  previous_ text;
  bar_ bigint := case when to_its_end_ then lease + grant_lock.ttl when grant_lock.hold > 0 then lease + grant_lock.hold else never end;
  a lock_answer;
begin
  a.resource := s.resource;
  a.left_us := grant_lock.ttl;
  a.ahead := 0;
  if s.joins then
    with over as (delete from lock_sharer x where x.ns_id = ns_ and x.resource = s.resource and x.known_until <= lease returning x.released)
    update lock x set unclean = true where x.ns_id = ns_ and x.resource = s.resource and not x.unclean and exists (select 1 from over o where not o.released);
    insert into lock_sharer (ns_id, resource, owner, request, place, granted_at, lease_end, ttl, known_until)
    values (ns_, s.resource, owner_, request_, place_, wall, lease + grant_lock.ttl, grant_lock.ttl, lease + 2 * grant_lock.ttl)
    on conflict (ns_id, resource, owner) do update
      set request = excluded.request, place = excluded.place, previous = null, granted_at = excluded.granted_at, lease_end = excluded.lease_end, ttl = excluded.ttl,
          known_until = excluded.known_until, released = false
    where lock_sharer.released or lock_sharer.lease_end <= lease;
    -- Two rows of one name cannot be: the release of one would end the other's lease.
    if not found then perform fail_refused(format('%s already shares lock %s under another request; every holder needs its own name', owner_, s.resource)); end if;
    update lock set free_at = greatest(free_at, lease + grant_lock.ttl), read_at = greatest(read_at, lease), pattern = pattern_ where ns_id = ns_ and resource = s.resource;
    a.fence := l.fence;
    return a;
  end if;
  if lock_free(l, lease) > lease then return null; end if;
  select value into floor_ from floor;
  a.fence := next_fence(l.fence, floor_, wall);
  perform end_lock_fence(l);
  if l.mode = 0 then
    if not l.released then previous_ := l.owner; end if;
  else
    select x.owner into previous_ from lock_sharer x where x.ns_id = ns_ and x.resource = s.resource and not x.released order by x.lease_end desc, x.owner limit 1;
    delete from lock_sharer x where x.ns_id = ns_ and x.resource = s.resource;
  end if;
  a.owner := previous_;
  update lock set fence = a.fence, ended = l.fence, mode = mode_, released = mode_ = 1, to_its_end = to_its_end_, lease_end = lease + grant_lock.ttl, ttl = grant_lock.ttl, bar = bar_, freed_at = never, delay = delay_,
                  hold = case when to_its_end_ then grant_lock.ttl else grant_lock.hold end, read_at = lease, free_at = greatest(lease + grant_lock.ttl + delay_, bar_), granted_at = wall, owner = case when mode_ = 0 then owner_ end, request = case when mode_ = 0 then request_ end,
                  place = case when mode_ = 0 then place_ end, pattern = pattern_, previous = previous_,
                  unclean = l.unclean or previous_ is not null
  where ns_id = ns_ and resource = s.resource;
  if mode_ = 1 then
    insert into lock_sharer (ns_id, resource, owner, request, place, previous, granted_at, lease_end, ttl, known_until)
    values (ns_, s.resource, owner_, request_, place_, previous_, wall, lease + grant_lock.ttl, grant_lock.ttl, lease + 2 * grant_lock.ttl);
  end if;
  return a;
end $$;

-- All cases. The plain one is granted by a statement of the store's own, which comes here if that found nothing to grant (postgres_locks.cpp).
create function acquire_locks(ns text, names text[], owner text, request text, mode smallint, slots int, ttl bigint, to_its_end boolean, hold bigint, delay bigint, wait boolean, pattern text, place text)
returns setof lock_answer language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  ns_ int := ns_of(ns);
  now record;
  name_ text;
  s lock_standing;
  all_ lock_standing[];
  a lock_answer;
  held lock_answer;
  granted lock_answer[];
  from_ bigint;
  ahead_ bigint;
begin
  select * into now from clock();
  foreach name_ in array names loop perform lock_row(ns_, name_, now.lease); end loop;
  select * into now from clock();
  perform bring_locks_back(ns_, case when slots = 1 then names else array(select lock_slot(u, i) from unnest(names) as u, generate_series(1, slots) as i) end, now.lease);
  -- Who waits is known for thirty seconds: one that is seen for longer was queued while the clock was ahead.
  update lock_waiter w set seen_until = now.lease + 30000000 where w.ns_id = ns_ and w.name = any (names) and w.seen_until > now.lease + 30000000;
  if exists (select 1 from lock_withdrawn w where w.ns_id = ns_ and w.name = any (names) and w.owner = owner and w.request = request and w.until > now.lease) then
    perform fail_refused('this request was withdrawn; ask again with a new request');
  end if;
  return query select g.resource, g.fence, g.owner, g.place, g.reason, g.left_us, now.waited, g.again_us, g.ahead from lock_granted_before(ns_, names, owner, request, slots, now.lease) as g;
  if found then return; end if;

  <<look>>
  loop
    all_ := '{}';
    held := null;
    from_ := -4611686018427387904;
    ahead_ := 0;
    foreach name_ in array names loop
      s := lock_stand(ns_, name_, mode, slots, owner, request, now.lease);
      all_ := all_ || s;
      from_ := greatest(from_, s.may_have);
      ahead_ := greatest(ahead_, s.ahead);
      if s.may_have > now.lease and held.reason is null then held := lock_held(ns_, s, now.lease); end if;
    end loop;
    exit when held.reason is not null;
    granted := '{}';
    foreach s in array all_ loop
      a := grant_lock(ns_, s, owner, request, mode, ttl, to_its_end, hold, delay, pattern, place, now.lease, now.wall);
      continue look when a.resource is null;  -- a slot that was renewed at this moment: it is one name, so nothing was granted yet
      a.waited := now.waited;
      granted := granted || a;
      perform pass_by(ns_, lock_name(s.resource), s.passed, s.free, now.lease);
    end loop;
    delete from lock_waiter w where w.ns_id = ns_ and w.name = any (names) and w.owner = owner and w.request = request;
    perform lock_queue_changed(ns_, names, now.lease);
    return query select * from unnest(granted);
    return;
  end loop;

  -- Nothing of this is worth waiting for the disk: who waits asks again.
  perform set_config('synchronous_commit', 'off', true);
  if wait then
    update lock_waiter w set seen_until = now.lease + 30000000
    where w.ns_id = ns_ and w.name = any (names) and w.owner = owner and w.request = request and w.seen_until > now.lease;
    if not found then
      insert into lock_waiter (ns_id, name, n, owner, request, mode, seen_until, since, place)
      select ns_, u, p.n, owner, request, mode, now.lease + 30000000, now.wall, place from nextval('lock_place') as p (n), unnest(names) as u;
    end if;
  end if;
  perform lock_queue_changed(ns_, names, now.lease);
  perform drop_lock_places(ns_, names);
  held.waited := now.waited;
  held.again_us := greatest(from_ - now.lease, 1000);
  held.ahead := ahead_;
  return next held;
end $$;

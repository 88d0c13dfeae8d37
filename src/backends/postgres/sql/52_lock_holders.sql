-- What holders and operators say of locks that were granted: renew, release, withdraw, break.

-- Rows of these resources and of their names, locked in their order.
create function take_lock_rows(ns_ int, resources text[]) returns void language plpgsql as $$
begin
  perform 1 from lock l where l.ns_id = ns_ and l.resource = any (resources || array(select lock_name(u) from unnest(resources) as u where u like '%#%')) order by l.resource for update;
end $$;

-- Why a word of a holder is not accepted; null: it is.
create function lock_word_refused(l lock, owner_ text, fence_ bigint) returns text language plpgsql as $$
begin
  if coalesce(l.fence, 0) = 0 then return 'not_found'; end if;
  if l.fence <> fence_ then return 'superseded'; end if;
  if l.mode = 0 and l.owner is distinct from owner_ then return 'other_owner'; end if;
  if l.mode = 1 and not exists (select 1 from lock_sharer s where s.ns_id = l.ns_id and s.resource = l.resource and s.owner = owner_) then return 'other_owner'; end if;
  return case when l.to_its_end then 'to_its_end' end;
end $$;

-- The first row has no resource: what is left for all that were renewed (in `fence`), and what the call waited (in `current`). Others are refusals.
create function renew_locks(ns text, resources text[], owners text[], fences bigint[], ttl bigint) returns setof lock_refusal language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  ns_ int := find_ns(ns);
  now record;
  l lock;
  s lock_sharer;
  reason_ text;
  i int;
begin
  perform take_lock_rows(ns_, resources);
  select * into now from clock();
  return next (null, null, ttl, now.waited, null)::lock_refusal;
  for i in 1 .. coalesce(array_length(resources, 1), 0) loop
    select * into l from lock x where x.ns_id = ns_ and x.resource = resources[i];
    reason_ := lock_word_refused(l, owners[i], fences[i]);
    if reason_ is null and l.mode = 0 then
      reason_ := case when l.released then 'released' when l.lease_end <= now.lease then 'expired' end;
      if reason_ is null then
        update lock x set lease_end = now.lease + renew_locks.ttl, ttl = renew_locks.ttl, free_at = greatest(now.lease + renew_locks.ttl + x.delay, x.bar, x.freed_at) where x.ns_id = ns_ and x.resource = resources[i];
      end if;
    elsif reason_ is null then
      select * into s from lock_sharer x where x.ns_id = ns_ and x.resource = resources[i] and x.owner = owners[i];
      reason_ := case when s.released then 'released' when s.lease_end <= now.lease then 'expired' end;
      if reason_ is null then
        update lock_sharer x set lease_end = now.lease + renew_locks.ttl, ttl = renew_locks.ttl, known_until = now.lease + 2 * renew_locks.ttl where x.ns_id = ns_ and x.resource = resources[i] and x.owner = owners[i];
        update lock x set free_at = lock_free_at(x), read_at = greatest(x.read_at, now.lease) where x.ns_id = ns_ and x.resource = resources[i];
      end if;
    end if;
    if reason_ is not null then return next (resources[i], owners[i], fences[i], coalesce(l.fence, 0), reason_)::lock_refusal; end if;
  end loop;
end $$;

-- Ends the lease of one holder, whose row is locked; its fence still counts. Answers whether that changed something.
create function free_lock(l lock, owner_ text, lease bigint) returns boolean language plpgsql as $$
begin
  if l.mode = 0 then
    if l.released then return false; end if;
  else
    update lock_sharer s set released = true where s.ns_id = l.ns_id and s.resource = l.resource and s.owner = owner_ and not s.released;
    if not found then return false; end if;
  end if;
  update lock x set released = true, freed_at = lease where x.ns_id = l.ns_id and x.resource = l.resource;
  update lock x set free_at = lock_free_at(x) where x.ns_id = l.ns_id and x.resource = l.resource;
  return true;
end $$;

-- Its commit does not wait for the disk: a release that a crash takes back is a lease that runs out. Whatever is granted after it is on disk no sooner than it is.
create function release_locks(ns text, resources text[], owners text[], fences bigint[]) returns setof lock_refusal language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  ns_ int := find_ns(ns);
  lease bigint;
  l lock;
  reason_ text;
  i int;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform take_lock_rows(ns_, resources);
  lease := (clock()).lease;
  for i in 1 .. coalesce(array_length(resources, 1), 0) loop
    select * into l from lock x where x.ns_id = ns_ and x.resource = resources[i];
    reason_ := lock_word_refused(l, owners[i], fences[i]);
    if reason_ is not null then
      return next (resources[i], owners[i], fences[i], coalesce(l.fence, 0), reason_)::lock_refusal;
    elsif free_lock(l, owners[i], lease) then
      if (select x.waiting from lock x where x.ns_id = ns_ and x.resource = lock_name(resources[i])) then perform wake_lock(ns, lock_name(resources[i])); end if;
    end if;
  end loop;
end $$;

-- Takes an acquire back. It may be under way: then it has the rows of its names, or finds there that it may have been withdrawn.
create function withdraw_locks(ns text, names text[], slots int, owner text, request text, ttl bigint) returns void language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  ns_ int := ns_of(ns);
  now record;
  name_ text;
  left_ text[];
  l lock;
begin
  select * into now from clock();
  foreach name_ in array names loop perform lock_row(ns_, name_, now.lease); end loop;
  select * into now from clock();
  insert into lock_withdrawn (ns_id, name, owner, request, until) select ns_, u, owner, request, now.lease + ttl from unnest(names) as u
  on conflict on constraint lock_withdrawn_pkey do update set until = excluded.until;
  update lock x set withdrawn = greatest(x.withdrawn, now.lease + ttl) where x.ns_id = ns_ and x.resource = any (names);
  with gone as (
    delete from lock_waiter w where w.ns_id = ns_ and w.name = any (names) and w.owner = owner and w.request = request returning w.name)
  select coalesce(array_agg(g.name), '{}') into left_ from gone g;
  for l in
    select x.* from lock x
    where x.ns_id = ns_ and x.resource = any (array(select lock_slot(u, i) from unnest(names) as u, generate_series(1, slots) as i)) and not x.to_its_end and
      case when x.mode = 0 then x.owner = owner and x.request = request
           else exists (select 1 from lock_sharer s where s.ns_id = ns_ and s.resource = x.resource and s.owner = owner and s.request = request) end
    order by x.resource for update
  loop
    if free_lock(l, owner, now.lease) then left_ := left_ || lock_name(l.resource); end if;
  end loop;
  perform lock_queue_changed(ns_, names, now.lease);
  perform drop_lock_places(ns_, names);
  perform wake_lock(ns, u.name) from (select distinct n as name from unnest(left_) as n) as u join lock x on x.ns_id = ns_ and x.resource = u.name and x.waiting;
end $$;

-- {"resource", "only", "request", "act"}: {"ended", "current"}.
create function break_lock(ns text, request jsonb) returns jsonb language plpgsql set search_path from current set jit = off as $$
#variable_conflict use_variable
declare
  ns_ int := find_ns(ns);
  resource_ text := request ->> 'resource';
  only_ bigint := (request ->> 'only')::bigint;
  now record;
  l lock;
  floor_ bigint;
  fence_ bigint;
begin
  perform take_lock_rows(ns_, array[resource_]);
  select * into now from clock();
  select * into l from lock x where x.ns_id = ns_ and x.resource = resource_;
  if l.break_request = request ->> 'request' then return jsonb_build_object('ended', l.break_ended, 'current', l.break_fence); end if;
  if coalesce(l.fence, 0) = 0 or lock_free(l, now.lease) <= now.lease then perform fail_not_found(format('lock %s is not held', resource_)); end if;
  if only_ <> l.fence then perform fail_refused(format('lock %s has fence %s now, not %s', resource_, l.fence, only_)); end if;
  select value into floor_ from floor;
  fence_ := next_fence(l.fence, floor_, now.wall);
  perform end_lock_fence(l);
  update lock_sharer s set released = true where s.ns_id = ns_ and s.resource = resource_;
  update lock x set fence = fence_, ended = l.fence, released = true, bar = -4611686018427387904, delay = 0, freed_at = now.lease, free_at = now.lease,
                    break_request = request ->> 'request', break_ended = l.fence, break_fence = fence_, unclean = true
  where x.ns_id = ns_ and x.resource = resource_;
  perform note_act(ns, request -> 'act' ->> 'actor', 'lock_broken', format('%s %s', resource_, l.fence), request -> 'act' ->> 'reason', now.wall);
  perform wake_lock(ns, lock_name(resource_));
  return jsonb_build_object('ended', l.fence, 'current', fence_);
end $$;

-- Who works here, and what operators want of them.

-- The members of WorkerReport. Also forgets those of the namespace that were not seen for a day; not the one that reports: it is here, whatever the clock says.
create function report_worker(ns text, request jsonb) returns void language plpgsql set search_path from current set jit = off as $$
declare
  forgotten_after constant bigint := 86400000000;
  ns_ int := ns_of(ns);
  owner_ text := request ->> 'owner';
  wall bigint := (clock()).wall;
begin
  insert into worker (ns_id, owner, started_at, seen_at, report) values (ns_, owner_, wall, wall, request)
  on conflict (ns_id, owner) do update set seen_at = excluded.seen_at, report = excluded.report;
  -- Not if a claim of its own has the row: that one sees it too, and may wait for somebody who waits for us.
  update owner set seen_at = wall
  where id = (select o.id from owner o where o.ns_id = ns_ and o.name = owner_ and o.seen_at <= wall - 3600000000 for update skip locked);
  delete from worker w
  where w.ns_id = ns_ and w.owner = any (array(select x.owner from worker x where x.ns_id = ns_ and x.seen_at <= wall - forgotten_after and x.owner <> owner_ for update skip locked));
end $$;

-- {"owner"}.
create function remove_worker(ns text, request jsonb) returns void language plpgsql set search_path from current set jit = off as $$
begin
  delete from worker w where w.ns_id = find_ns(ns) and w.owner = request ->> 'owner';
end $$;

-- {"owner", "order", "act"}. order as WorkerOrder: 0 work, 1 quiet, 2 stop. Claims under way end first: it is in force for every claim from then on.
create function order_worker(ns text, request jsonb) returns void language plpgsql set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  owner_ text := request ->> 'owner';
  wanted smallint := (request ->> 'order')::smallint;
  told_ smallint;
begin
  if ns_ is not null then perform take_all_turns(ns_); end if;
  select w.told into told_ from worker w where w.ns_id = ns_ and w.owner = owner_ for update;
  if not found then perform fail_not_found(format('no worker %s is registered; `fenceline workers list` shows them', owner_)); end if;
  if told_ = wanted then return; end if;
  if told_ = 2 then perform fail_refused(format('worker %s was told to stop; start another one', owner_)); end if;
  update worker set told = wanted where ns_id = ns_ and owner = owner_;
  perform wake_workers(ns_);
  perform note_act(ns, request -> 'act' ->> 'actor', 'worker_' || (array['work', 'quiet', 'stop'])[wanted + 1], owner_, request -> 'act' ->> 'reason', (clock()).wall);
end $$;

-- {"owner"}: {"order", "revoked": [{"id", "fence"}], "held": [{"id", "fence"}]}. held: those of them that a doubt ended, and no operator since: their job has no other fence.
create function worker_orders(ns text, request jsonb) returns jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  owner_ text := request ->> 'owner';
  lease bigint := (clock()).lease;
begin
  return (
    with kept as materialized (
      select s.id, jsonb_build_object('id', s.id, 'fence', s.fence) as holding,
             exists (select 1 from job j where j.id = s.id and j.ns_id = ns_ and j.fence = s.fence)
               or exists (select 1 from done d where d.id = s.id and d.ns_id = ns_ and d.fence = s.fence) as held
      from owner o join slot s on s.owner_id = o.id where o.ns_id = ns_ and o.name = owner_ and s.lease_end > lease)
    select jsonb_build_object(
      'order', coalesce((select w.told from worker w where w.ns_id = ns_ and w.owner = owner_), 0),
      'revoked', coalesce((select jsonb_agg(k.holding order by k.id) from kept k), '[]'),
      'held', coalesce((select jsonb_agg(k.holding order by k.id) from kept k where k.held), '[]')));
end $$;

-- {"owner", "jobs": [{"id", "fence"}]}. The slots of these revoked deliveries are free.
create function worker_stopped(ns text, request jsonb) returns void
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  ns_ int := find_ns(ns);
  owner_ bigint := (select o.id from owner o where o.ns_id = find_ns(ns) and o.name = request ->> 'owner');
  s slot;
  home_ home;
begin
  -- Who makes one of these jobs ready meanwhile would miss that its slot is free.
  perform lock_jobs(ns_, array(select (h ->> 'id')::uuid from jsonb_array_elements(request -> 'jobs') as h), false);
  for s in
    select x.* from slot x join jsonb_array_elements(request -> 'jobs') as h on x.id = (h ->> 'id')::uuid and x.fence = (h ->> 'fence')::bigint
    where x.ns_id = ns_ and x.owner_id = owner_ order by x.id for update of x
  loop
    delete from slot where ns_id = ns_ and id = s.id and fence = s.fence;
    if not found then continue; end if;
    select * into home_ from home where id = s.home_id;
    perform look_at(s.home_id, s.group_id, s.limit_id, (select j.id from job j where j.id = s.id and j.ns_id = ns_ and j.blocked & 16 = 16));
    if s.group_id is not null or home_.running_most > 0 or home_.per_key_most > 0 then perform wake_stages(s.home_id); end if;
    -- At the stage where it is now.
    perform wake(j.queue_id) from job j where j.id = s.id and j.ns_id = ns_ and state_of(j) = 0;
  end loop;
end $$;

-- An array by start, then owner: {"report", "order", "started_at", "seen_at", "unseen"}. unseen: how long ago that was.
create function list_workers(ns text, request jsonb) returns jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  wall_ bigint := (clock()).wall;
begin
  return coalesce((
    select jsonb_agg(jsonb_build_object('report', w.report, 'order', w.told, 'started_at', w.started_at, 'seen_at', w.seen_at, 'unseen', wall_ - w.seen_at) order by w.started_at, w.owner collate "C")
    from worker w where w.ns_id = find_ns(ns)), '[]');
end $$;

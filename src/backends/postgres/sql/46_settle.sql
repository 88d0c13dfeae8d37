-- What a holder does with its deliveries: renew them, end them with an outcome.

-- Why the holder of (id, fence) is refused, in the order of store/job_store.hpp; null: it is the newest holder, and the job runs or was settled so already.
-- kind: the outcome that it sends, or -1 for a renewal.
create function why_not(ns int, owner_ bigint, id_ uuid, sent_ bigint, kind smallint, lease bigint, out current bigint, out reason text) language plpgsql as $$
declare
  j job;
  d done;
begin
  current := 0;
  select * into j from job where id = id_ and ns_id = ns;
  if j.id is null then
    select * into d from done where id = id_ and ns_id = ns;
    if d.id is null then
      reason := 'not_found';
      return;
    end if;
    current := d.fence;
    reason := case when d.fence <> sent_ then 'superseded' when owner_ is null or d.owner_id is distinct from owner_ then 'other_owner' when d.last_outcome = kind then null else 'finished' end;
    return;
  end if;
  current := j.fence;
  reason := case
    when j.fence <> sent_ then 'superseded'
    when owner_ is null or j.owner_id is distinct from owner_ then 'other_owner'
    when j.lease_end is null then case when j.last_outcome = kind then null else 'settled' end
    when kind = -1 and j.lease_end <= lease then 'expired' end;
end $$;

create function extend_jobs(ns text, owner text, ids uuid[], fences bigint[], ttl bigint) returns table (id uuid, sent bigint, current bigint, reason text)
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  ns_ int := ns_of(extend_jobs.ns);
  owner_ bigint := (select o.id from owner o where o.ns_id = ns_ and o.name = extend_jobs.owner);
  now record;
  renewed uuid[];
  one record;
  why record;
begin
  -- The rows first, and the clock after them: a lease that ran out while we waited for a row is not renewed (L4).
  perform 1 from unnest(extend_jobs.ids) as s (id) join job j on j.id = s.id and j.ns_id = ns_ order by j.id for update of j;
  select * into now from clock();
  with sent as (select * from unnest(extend_jobs.ids, extend_jobs.fences) as s (id, fence)),
  updated as (
    update job j set lease_end = now.lease + extend_jobs.ttl, ttl = extend_jobs.ttl from sent s
    where j.id = s.id and j.ns_id = ns_ and j.fence = s.fence and j.owner_id = owner_ and j.lease_end > now.lease
    returning j.id, j.claim_id),
  bounds as (
    -- No lease under the claim ends before: if all that run were renewed, this is when; else some may end sooner, these too if the ttl is shorter now.
    update claim c set bound = case when c.live = u.n then now.lease + extend_jobs.ttl else least(c.bound, now.lease + extend_jobs.ttl) end,
                       read_at = case when c.live = u.n then now.lease else greatest(c.read_at, now.lease) end
    from (select claim_id, count(*) as n from updated group by claim_id) as u where c.id = u.claim_id)
  select array_agg(u.id) into renewed from updated u;
  return query select null::uuid, extend_jobs.ttl, now.waited, null::text;
  if coalesce(cardinality(renewed), 0) = cardinality(extend_jobs.ids) then return; end if;
  for one in select s.id, s.fence from unnest(extend_jobs.ids, extend_jobs.fences) as s (id, fence) where renewed is null or s.id <> all (renewed) loop
    select * into why from why_not(ns_, owner_, one.id, one.fence, (-1)::smallint, now.lease);
    return query select one.id, one.fence, why.current, why.reason;
  end loop;
end $$;

-- Ends the delivery of a running job, whose row is locked.
create function settle_one(j job, kind smallint, result_ bytea, error_ bytea, retry_in bigint, exit_ smallint, lease bigint, wall bigint) returns void
language plpgsql as $$
declare
  home_ home;
  ends boolean;
  claim_ bigint := j.claim_id;
  bits int := 0;
begin
  select h.* into home_ from home h join queue q on q.home_id = h.id where q.id = j.queue_id;
  if kind in (1, 2) then
    j.error := error_;
    j.failures := coalesce(j.failures, 0) + 1;
  elsif kind = 3 then
    j.laters := coalesce(j.laters, 0) + 1;
  end if;
  j.last_outcome := kind;
  j.exit_status := exit_;
  -- A delivery that came to an end of its own ends a row of losses; one given back says nothing about the job.
  if kind <> 4 then j.losses_in_row := null; end if;
  ends := kind in (0, 2) or (kind = 1 and j.failures >= j.attempts_max);
  if ends then
    perform finish(j, case when kind = 0 then 3 else 4 end::smallint, case when kind = 0 then result_ end, j.started_at, wall);
    perform count_moved(j.queue_id, 0, -1, 0, case when kind = 0 then 1 else 0 end, case when kind = 0 then 0 else 1 end, 0);
  else
    perform end_attempt(j, case kind when 1 then 2 when 3 then 4 else 5 end::smallint, exit_, case when kind = 1 then error_ end, wall);
    if kind <> 4 then j.run_at := wall + retry_in; end if;
    if coalesce(j.losses_in_row, 0) >= 2 then bits := bits | 8; end if;
    if j.limit_id is not null and home_.per_key_most > 0 then
      bits := bits | 4;
      perform look_later(home_.id, null, j.limit_id, null, 1::smallint, j.run_at);
    end if;
    update job set lease_end = null, claim_id = null, blocked = bits::smallint, run_at = j.run_at, failures = j.failures, laters = j.laters, losses_in_row = j.losses_in_row,
                   last_outcome = j.last_outcome, exit_status = j.exit_status, error = j.error
    where id = j.id and ns_id = j.ns_id;
    perform count_moved(j.queue_id, 1, -1, 0, 0, 0, 0);
    perform wake(j.queue_id);
  end if;
  perform leave_claims(array[claim_]);
  perform look_at(home_.id, j.group_id, j.limit_id, null);
  if j.group_id is not null or home_.running_most > 0 or home_.per_key_most > 0 then perform wake_stages(home_.id); end if;
end $$;

create function settle_jobs(ns text, owner text, ids uuid[], fences bigint[], kinds smallint[], results bytea[], errors bytea[], retry_in bigint[], exit_status smallint[])
returns table (id uuid, sent bigint, current bigint, reason text)
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  ns_ int := ns_of(settle_jobs.ns);
  owner_ bigint := (select o.id from owner o where o.ns_id = ns_ and o.name = settle_jobs.owner);
  now record;
  settled uuid[];
  claims bigint[];
  queues int[];
  one_queue int;
  other_queue int;
  have_extras boolean;
  are_limited boolean;
  homes int[];
  h int;
  one record;
  why record;
  j job;
begin
  -- All rows before any claim, in the order of ids, as the caller sends them. Where all are done that is what deleting them does.
  if 0 <> any (settle_jobs.kinds) then
    -- The settings that decide what becomes of a job with a limit key are held still.
    perform hold_settings(u.home_id, false) from (
      select distinct q.home_id from unnest(settle_jobs.ids, settle_jobs.kinds) as s (id, kind) join job j on j.id = s.id and j.ns_id = ns_ join queue q on q.id = j.queue_id
      where s.kind <> 0 and j.limit_id is not null order by q.home_id) as u;
    perform 1 from unnest(settle_jobs.ids) as s (id) join job j on j.id = s.id and j.ns_id = ns_ order by j.id for update of j;
  end if;
  select * into now from clock();
  -- Done jobs, as most are, move by one statement; then their claims and depths are told, and their keys, groups and limit keys are free.
  with sent as (
    select * from unnest(settle_jobs.ids, settle_jobs.fences, settle_jobs.kinds, settle_jobs.results, settle_jobs.exit_status) as s (id, fence, kind, result, exit_status) where s.kind = 0),
  gone as (
    delete from job j using sent s
    where j.id = s.id and j.ns_id = ns_ and j.fence = s.fence and j.owner_id = owner_ and j.lease_end is not null
    returning j.*, s.result as result_, s.exit_status as exit_status_),
  kept as (
    insert into done (seq, id, ns_id, queue_id, run_at, rank, state, finished_at, fence, deliveries, started_at, owner_id, failures, losses, laters,
                      last_outcome, exit_status, percent, attempts_max, created_at, group_id, limit_id, place, word, acted, error, extras, result, payload)
    select g.seq, g.id, g.ns_id, g.queue_id, g.run_at, g.rank, 3, now.wall, g.fence, g.deliveries, g.started_at, g.owner_id, g.failures, g.losses, g.laters,
           0, g.exit_status_, g.percent, g.attempts_max, g.created_at, g.group_id, g.limit_id, g.place, g.word, g.acted, g.error, g.extras, g.result_, g.payload
    from gone g)
  select array_agg(g.id), array_agg(g.claim_id), array_agg(g.queue_id), min(g.queue_id), max(g.queue_id), bool_or(g.extras is not null),
         bool_or(g.group_id is not null or g.limit_id is not null)
  into settled, claims, queues, one_queue, other_queue, have_extras, are_limited from gone g;
  if settled is not null then
    perform leave_claims(claims);
    if one_queue = other_queue then insert into depth (queue_id, running, done) values (one_queue, -cardinality(settled), cardinality(settled));
    else insert into depth (queue_id, running, done) select u, -count(*), count(*) from unnest(queues) as u group by u;
    end if;
    if have_extras then
      update unique_key k set until = now.wall + coalesce((d.extras ->> 'key_for')::bigint, 0)
      from done d join queue q on q.id = d.queue_id
      where d.id = any (settled) and d.ns_id = ns_ and d.extras ? 'key' and k.home_id = q.home_id and k.name = d.extras ->> 'key' and k.id = d.id;
    end if;
    if are_limited then
      insert into todo (home_id, clock, at, group_id, limit_id)
      select distinct q.home_id, 0, 0, d.group_id, case when h.per_key_most > 0 then d.limit_id end
      from done d join queue q on q.id = d.queue_id join home h on h.id = q.home_id
      where d.id = any (settled) and d.ns_id = ns_ and (d.group_id is not null or (d.limit_id is not null and h.per_key_most > 0));
    end if;
    select array_agg(distinct q.home_id) into homes from queue q join home h on h.id = q.home_id
    where q.id between one_queue and other_queue and q.id = any (queues) and h.special;
  end if;
  foreach h in array coalesce(homes, '{}') loop perform wake_stages(h); end loop;
  if coalesce(cardinality(settled), 0) = cardinality(settle_jobs.ids) then return; end if;

  -- Other outcomes, one by one.
  for one in
    select s.* from unnest(settle_jobs.ids, settle_jobs.fences, settle_jobs.kinds, settle_jobs.results, settle_jobs.errors, settle_jobs.retry_in, settle_jobs.exit_status)
      as s (id, fence, kind, result, error, retry_in, exit_status)
    where settled is null or s.id <> all (settled)
  loop
    if one.kind <> 0 then
      select * into j from job x where x.id = one.id and x.ns_id = ns_ and x.fence = one.fence and x.owner_id = owner_ and x.lease_end is not null;
      if found then
        perform settle_one(j, one.kind, one.result, one.error, one.retry_in, one.exit_status, now.lease, now.wall);
        continue;
      end if;
    end if;
    select * into why from why_not(ns_, owner_, one.id, one.fence, one.kind, now.lease);
    if why.reason is not null then return query select one.id, one.fence, why.current, why.reason; end if;
  end loop;
end $$;

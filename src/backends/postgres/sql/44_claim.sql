-- How jobs are granted. A plain queue whose front is known (cursors) is served by one statement that reads nothing but the jobs it grants: what is dead at the front
-- of the index, because nobody may vacuum it yet, is never read. All else (leases that ran out, jobs that must run alone, groups, limits) is looked at
-- when the caller asks for a rescan, when too few were found, and always in a special home.

create type granted_job as (
  q int, seq bigint, id uuid, rank smallint, attempts_max int, created_at bigint, run_at bigint, fence bigint, deliveries bigint, left_us bigint, failures bigint,
  losses bigint, losses_in_row bigint, laters bigint, last_outcome smallint, exit_status smallint, percent smallint, word text, error bytea, extras jsonb,
  forced_from text, payload text);

-- What a claim carries from step to step. queue_ids: of the queues that are there and not paused, in the order in which they are served; q_of: their places in
-- the request.
create type claiming as (
  ns int, owner_id bigint, request text, n int, ttl bigint, lease bigint, wall bigint, queue_ids int[], q_of int[], home_ids int[], granted int);

-- Jobs whose lease ran out and that lost so many deliveries in a row before, in the order in which they are granted. Their rows are locked; what somebody else has
-- is passed over. Claims are met by the bound of their leases, and only so many as can matter: those up to the last lease end among the first that hold enough jobs.
create function run_out(c claiming, losses_least bigint, losses_most_ bigint, n_ int) returns setof job language plpgsql as $$
declare
  one claim;
  live_ bigint := 0;
  worst bigint;
  ids_ uuid[];
begin
  for one in select * from claim where queue_id = any (c.queue_ids) and live > 0 and bound <= c.lease and losses_most >= losses_least order by bound, id loop
    select live_ + count(*), greatest(worst, max(j.lease_end)) into live_, worst
    from jobs_of(one) as j where j.lease_end <= c.lease and coalesce(j.losses_in_row, 0) between losses_least and losses_most_;
    exit when live_ >= n_;
  end loop;
  if live_ = 0 then return; end if;
  ids_ := array(
    select j.id from claim k cross join lateral jobs_of(k) as j
    where k.queue_id = any (c.queue_ids) and k.live > 0 and k.bound <= worst and k.losses_most >= losses_least and j.lease_end <= c.lease
      and coalesce(j.losses_in_row, 0) between losses_least and losses_most_);
  return query
    select * from job j where j.id = any (ids_) and j.ns_id = c.ns and j.lease_end <= c.lease order by j.lease_end, j.seq limit n_ for update skip locked;
end $$;

-- A claim whose leases were renewed in part keeps the old bound; when that is over the true one is found. Some of them at a time.
create function tighten_bounds(c claiming) returns void language plpgsql as $$
declare
  one claim;
  first bigint;
begin
  for one in select * from claim where queue_id = any (c.queue_ids) and live > 0 and bound <= c.lease order by bound, id limit 100 for update skip locked loop
    select min(lease_end) into first from jobs_of(one);
    if first > c.lease then update claim set bound = first where id = one.id; end if;
  end loop;
end $$;

-- Leases that end later than they are long: the server's clock was ahead and came back. They end after their own length now (L3). Rows that somebody has at this moment are being renewed or
-- settled; if they stay, the next claim meets them. Some at a time.
create function bring_leases_back(c claiming) returns void language plpgsql as $$
declare
  lease bigint := (clock()).lease;
  one claim;
  ids_ uuid[];
  first bigint;
begin
  for one in select * from claim where queue_id = any (c.queue_ids) and live > 0 and read_at > lease order by read_at limit 1000 loop
    ids_ := array(select j.id from job j where j.id = any (array(select x.id from jobs_of(one) as x)) and j.ns_id = one.ns_id and j.claim_id = one.id order by j.id for update skip locked);
    perform 1 from claim k where k.id = one.id for update skip locked;
    continue when not found;
    -- Read again once the rows are locked: a renewal that committed while we waited is not a clock that was set back.
    lease := (clock()).lease;
    continue when (select k.read_at from claim k where k.id = one.id) <= lease;
    update job set lease_end = lease + ttl where id = any (ids_) and ns_id = one.ns_id and claim_id = one.id and lease_end > lease + ttl;
    select min(j.lease_end) into first from jobs_of(one) as j;
    update claim k set bound = least(k.bound, coalesce(first, k.bound)), read_at = case when k.live > cardinality(ids_) then k.read_at else lease end where k.id = one.id;
  end loop;
end $$;

-- The fifth delivery in a row that is lost ends in the dead letters. How many jobs did.
create function bury(c claiming) returns bigint language plpgsql as $$
declare
  j job;
  buried bigint := 0;
begin
  if not exists (select 1 from claim where queue_id = any (c.queue_ids) and live > 0 and bound <= c.lease and losses_most >= 4) then return 0; end if;
  for j in select * from run_out(c, 4, 9223372036854775807, 10000) loop
    perform end_attempt(j, 6::smallint, null, null, c.wall);
    perform leave_claims(array[j.claim_id]);
    j.fence := mint(j, c.wall);
    j.owner_id := null;
    j.losses := coalesce(j.losses, 0) + 1;
    j.losses_in_row := coalesce(j.losses_in_row, 0) + 1;
    j.error := convert_to(format('lost %s deliveries in a row: its workers died or lost the store', j.losses_in_row), 'UTF8');
    perform finish(j, 4::smallint, null, null, c.wall);
    perform count_moved(j.queue_id, 0, -1, 0, 0, 1, 0);
    perform look_at((select home_id from queue where id = j.queue_id), j.group_id, j.limit_id, null);
    buried := buried + 1;
  end loop;
  return buried;
end $$;

-- How many more may run in a home; null: as many as workers take.
create function room_in(home_ int, lease bigint) returns bigint language sql as $$
  select case when running_most > 0 then greatest(0,
    running_most - (select coalesce(sum(c.live), 0) from queue q join claim c on c.queue_id = q.id and c.live > 0 where q.home_id = home_)
                 - (select count(*) from slot where home_id = home_ and lease_end > lease)) end
  from home where id = home_;
$$;

-- Due jobs of one queue and lane that nobody has, best first: each rank is one seek. Their rows are locked.
create function due_jobs(queue_ int, lane smallint, wall bigint, n_ bigint) returns setof job language plpgsql as $$
declare
  r smallint;
  got bigint := 0;
  more bigint;
begin
  for r in select * from ranks_of(queue_, lane) loop
    return query
      select * from job where queue_id = queue_ and blocked = lane and rank = r and run_at <= wall and lease_end is null
      order by run_at, seq limit n_ - got for update skip locked;
    get diagnostics more = row_count;
    got := got + more;
    if got >= n_ then return; end if;
  end loop;
end $$;

-- The first job that must run alone and could start now; its row is locked.
create function first_alone(c claiming) returns job language plpgsql as $$
declare
  j job;
  i int;
begin
  select * into j from run_out(c, 1, 3, 1);
  if j.id is not null then return j; end if;
  for i in 1 .. coalesce(array_length(c.queue_ids, 1), 0) loop
    if exists (select 1 from job where queue_id = c.queue_ids[i] and blocked = 8) and coalesce(room_in(c.home_ids[i], c.lease), 1) > 0 then
      select * into j from due_jobs(c.queue_ids[i], 8::smallint, c.wall, 1);
      if j.id is not null then return j; end if;
    end if;
  end loop;
  return null;
end $$;

-- Grants one job of the careful way, whose row is locked; returns its row as it is now.
create function grant_one(c claiming, j job, claim_ bigint) returns job language plpgsql as $$
declare
  forced boolean := j.lease_end is not null;
  fence_ bigint;
  granted job;
begin
  if forced then
    perform end_attempt(j, 6::smallint, null, null, c.wall);
    perform leave_claims(array[j.claim_id]);
  end if;
  fence_ := mint(j, c.wall);
  update job set fence = fence_, lease_end = c.lease + c.ttl, ttl = c.ttl, started_at = c.wall, claim_id = claim_, owner_id = c.owner_id, deliveries = deliveries + 1, blocked = 0,
                 losses = case when forced then coalesce(losses, 0) + 1 else losses end,
                 losses_in_row = case when forced then coalesce(losses_in_row, 0) + 1 else losses_in_row end
  where id = j.id and ns_id = j.ns_id returning * into granted;
  return granted;
end $$;

create function as_granted(j job, q_ int, left_ bigint, forced_from_ text) returns granted_job language sql immutable as $$
  select (q_, j.seq, j.id, j.rank, j.attempts_max, j.created_at, j.run_at, j.fence, j.deliveries, left_, j.failures, j.losses, j.losses_in_row, j.laters, j.last_outcome,
          j.exit_status, j.percent, j.word, j.error, j.extras, forced_from_, j.payload)::granted_job;
$$;

-- Grants these jobs one by one, in this order, all of one queue, and keeps each as a claim of its own: they stand anywhere. Their rows are locked.
create function grant_jobs(c claiming, queue_ int, q_ int, jobs job[]) returns setof granted_job language plpgsql as $$
declare
  claim_ bigint;
  j job;
  granted job;
  forced text;
  from_ready int := 0;
begin
  foreach j in array jobs loop
    claim_ := nextval('claim_seq');
    granted := grant_one(c, j, claim_);
    forced := case when j.lease_end is not null then owner_name(j.owner_id) end;
    if forced is null then from_ready := from_ready + 1; end if;
    insert into claim (id, ns_id, owner_id, request, queue_id, until, bound, live, losses_most, place, rank, lo_run_at, lo_seq, hi_run_at, hi_seq, forced_from, read_at)
    values (claim_, c.ns, c.owner_id, c.request, queue_, c.lease + c.ttl, c.lease + c.ttl, 1, coalesce(granted.losses_in_row, 0), c.granted, j.rank, j.run_at, j.seq,
            j.run_at, j.seq, forced, c.lease);
    c.granted := c.granted + 1;
    return next as_granted(granted, q_, c.ttl, forced);
  end loop;
  if from_ready > 0 then perform count_moved(queue_, -from_ready, from_ready, 0, 0, 0, 0); end if;
  -- One slot less for these limit keys, in every stage: who is let out is chosen anew before anybody else's turn.
  perform choose_of_key(c.ns, h.id, k, h.per_key_most, c.lease, c.wall)
  from (select distinct x.limit_id as k from unnest(jobs) as x where x.limit_id is not null order by 1) as keys, home h
  where h.id = (select home_id from queue where id = queue_) and h.per_key_most > 0;
end $$;

-- Due jobs of a queue and rank that nobody has, behind the cursor, best first: where their rows are, locked, and what a row of claim says of them.
create type stretch as (places tid[], come_again boolean, losses_most bigint, lo_run_at bigint, lo_seq bigint, hi_run_at bigint, hi_seq bigint);
create function due_stretch(queue_ int, rank_ smallint, after_run_at bigint, after_seq bigint, wall bigint, n_ int) returns stretch language plpgsql as $$
declare
  found_ stretch;
begin
  select array_agg(x.ctid), max(x.deliveries) > 0, coalesce(max(x.losses_in_row), 0), min(x.run_at), min(x.seq), max(x.run_at), max(x.seq) into found_
  from (
    select j.ctid, j.deliveries, j.losses_in_row, j.run_at, j.seq from job j
    where j.queue_id = queue_ and j.blocked = 0 and j.rank = rank_ and (j.run_at, j.seq) > (after_run_at, after_seq) and j.run_at <= wall and j.lease_end is null
    order by j.run_at, j.seq limit n_ for update skip locked) as x;
  return found_;
end $$;

-- In how long something may become claimable: run times of ready jobs and lease ends of others that lie ahead.
create function next_due(ns int, queues int[], owner_ bigint, lease bigint, wall bigint) returns bigint language plpgsql as $$
declare
  first bigint;
  one bigint;
  q int;
  at record;
  c claim;
begin
  foreach q in array queues loop
    select blocked, rank into at from job where queue_id = q order by blocked, rank limit 1;
    while found loop
      if at.blocked & 1 = 0 then
        select run_at - wall into one from job
        where queue_id = q and blocked = at.blocked and rank = at.rank and run_at > wall and lease_end is null order by run_at, seq limit 1;
        if found then first := least(first, one); end if;
      end if;
      select blocked, rank into at from job where queue_id = q and (blocked, rank) > (at.blocked, at.rank) order by blocked, rank limit 1;
    end loop;
  end loop;
  for c in select * from claim where queue_id = any (queues) and live > 0 and owner_id <> owner_ order by bound loop
    exit when first is not null and c.bound - lease >= first;
    select min(j.lease_end) - lease into one from jobs_of(c) as j where j.lease_end > lease;
    first := least(first, one);
  end loop;
  return first;
end $$;

-- What a repeated request was granted and still has.
create function still_held(c claiming, queues text[]) returns setof granted_job language plpgsql as $$
declare
  k claim;
  j job;
begin
  for k in select * from claim where owner_id = c.owner_id and request = c.request order by place, id loop
    for j in select * from jobs_of(k) as x where x.lease_end > c.lease loop
      return next as_granted(j, array_position(queues, (select name from queue where id = j.queue_id)), least(j.lease_end - c.lease, j.ttl), k.forced_from);
    end loop;
  end loop;
end $$;

-- Two calls with the same request of the same owner take turns: the second one is a repeat.
create function take_request(owner_ bigint, request_ text) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended(request_, owner_));
$$;

create function claim_jobs(ns text, queues text[], stage text, owner text, request text, n int, ttl bigint, holds_others boolean, rescan boolean,
                           cursor_q int[], cursor_rank smallint[], cursor_run_at bigint[], cursor_seq bigint[])
returns setof granted_job
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  c claiming;
  now record;
  one record;
  all_queues int[] := '{}';
  specials boolean[] := '{}';
  any_special boolean := false;
  shared_turns int[] := '{}';
  own_turns int[] := '{}';
  changed boolean := false;
  flags bigint := 0;
  due bigint;
  got int;
  room bigint;
  alone job;
  j job;
  jobs job[];
  due_ stretch;
  places tid[];
  claim_ bigint;
  owner_ bigint;
  floor_ bigint;
  lowest bigint;
  ends bigint;
  wall bigint;
  q_ int;
  at_queue int;
  i int;
begin
  c.ns := ns_of(claim_jobs.ns);
  c.owner_id := owner_of(c.ns, claim_jobs.owner);
  c.request := claim_jobs.request;
  c.n := claim_jobs.n;
  c.ttl := claim_jobs.ttl;
  c.granted := 0;
  perform take_request(c.owner_id, claim_jobs.request);

  -- Turns in the order of homes, so that no two wait for each other.
  for one in
    select distinct h.id, h.special from unnest(claim_jobs.queues) as u (name) join home h on h.ns_id = c.ns and h.name = u.name order by h.id
  loop
    perform take_turn(one.id, one.special);
    if one.special then own_turns := own_turns || one.id; else shared_turns := shared_turns || one.id; end if;
  end loop;
  select * into now from clock();
  c.lease := now.lease;
  c.wall := now.wall;

  if exists (select 1 from claim k where k.owner_id = c.owner_id and k.request = c.request and k.until > c.lease) then
    for one in select q.id from unnest(claim_jobs.queues) with ordinality as u (name, at) join queue q on q.ns_id = c.ns and q.name = u.name and q.stage = claim_jobs.stage order by u.at loop
      all_queues := all_queues || one.id;
    end loop;
    select count(*) into got from still_held(c, claim_jobs.queues);
    if claim_jobs.holds_others then
      select array_agg(q.id order by u.at), array_agg(u.at::int order by u.at), array_agg(q.home_id order by u.at) into c.queue_ids, c.q_of, c.home_ids
      from unnest(claim_jobs.queues) with ordinality as u (name, at) join queue q on q.ns_id = c.ns and q.name = u.name and q.stage = claim_jobs.stage
      join home h on h.id = q.home_id where h.paused_at is null;
      perform work_off(c.ns, h, c.lease, c.wall) from unnest(c.home_ids) as h where h = any (own_turns) order by h;
      if (first_alone(c)).id is not null then flags := flags | 1; end if;
    end if;
    if got < claim_jobs.n then due := next_due(c.ns, all_queues, c.owner_id, c.lease, c.wall); end if;
    return next (0, flags, null, null, null, null, due, null, null, now.waited, null, null, null, null, null, null, null, null, null, null, null, null)::granted_job;
    return query select * from still_held(c, claim_jobs.queues);
    return;
  end if;
  if exists (select 1 from worker w where w.ns_id = c.ns and w.owner = claim_jobs.owner and w.told <> 0) then
    return next (0, 2, null, null, null, null, null, null, null, now.waited, null, null, null, null, null, null, null, null, null, null, null, null)::granted_job;
    return;
  end if;

  -- Read anew after the turns were taken: a setting that was changed before is seen. A queue that came in between has no turn of ours, and one that became
  -- special must be claimed from in turn: both are left out, and the caller comes again.
  for one in
    select q.id, q.home_id, u.at::int as at, h.special, h.paused_at
    from unnest(claim_jobs.queues) with ordinality as u (name, at) join queue q on q.ns_id = c.ns and q.name = u.name and q.stage = claim_jobs.stage join home h on h.id = q.home_id
    order by u.at
  loop
    all_queues := all_queues || one.id;
    if one.paused_at is not null then continue; end if;
    if one.home_id <> all (own_turns) and (one.special or one.home_id <> all (shared_turns)) then
      changed := true;
      continue;
    end if;
    any_special := any_special or one.special;
    c.queue_ids := c.queue_ids || one.id;
    c.q_of := c.q_of || one.at;
    c.home_ids := c.home_ids || one.home_id;
    specials := specials || one.special;
  end loop;

  -- First what lies behind the cursors, then all: the second look is for leases that ran out, jobs that must run alone, and what a cursor has passed.
  for look in 1 .. 2 loop
    exit when c.granted >= c.n or c.queue_ids is null;
    if look = 1 and (any_special or claim_jobs.rescan or cursor_q is null) then continue; end if;
    if look = 2 then
      if exists (select 1 from claim k where k.queue_id = any (c.queue_ids) and k.live > 0 and k.read_at > c.lease) then perform bring_leases_back(c); end if;
      if exists (select 1 from claim k where k.queue_id = any (c.queue_ids) and k.live > 0 and k.bound <= c.lease) then
        perform tighten_bounds(c);
        flags := flags + 8 * bury(c);  -- above the bits
      end if;
      if any_special then
        for i in 1 .. array_length(c.queue_ids, 1) loop
          if specials[i] then perform work_off(c.ns, c.home_ids[i], c.lease, c.wall); end if;
        end loop;
      end if;
      if c.granted = 0 then alone := first_alone(c); end if;
      if alone.id is not null and claim_jobs.holds_others then flags := flags | 1; end if;
      if alone.id is not null and not claim_jobs.holds_others then
        at_queue := array_position(c.queue_ids, alone.queue_id);
        return query select * from grant_jobs(c, alone.queue_id, c.q_of[at_queue], array[alone]);
        c.granted := 1;
        exit;
      end if;
      -- Those whose lease ran out, over all queues; each stretch of one queue is kept as one claim.
      jobs := '{}';
      for j in select * from run_out(c, 0, 0, c.n - c.granted) loop
        if cardinality(jobs) > 0 and jobs[1].queue_id <> j.queue_id then
          return query select * from grant_jobs(c, jobs[1].queue_id, c.q_of[array_position(c.queue_ids, jobs[1].queue_id)], jobs);
          c.granted := c.granted + cardinality(jobs);
          jobs := '{}';
        end if;
        jobs := jobs || j;
      end loop;
      if cardinality(jobs) > 0 then
        return query select * from grant_jobs(c, jobs[1].queue_id, c.q_of[array_position(c.queue_ids, jobs[1].queue_id)], jobs);
        c.granted := c.granted + cardinality(jobs);
      end if;
    end if;

    for i in 1 .. array_length(c.queue_ids, 1) loop
      exit when c.granted >= c.n;
      room := case when specials[i] then room_in(c.home_ids[i], c.lease) end;
      for one in
        select x.rank, x.run_at, x.seq from unnest(cursor_q, cursor_rank, cursor_run_at, cursor_seq) as x (q, rank, run_at, seq) where look = 1 and x.q = c.q_of[i]
        union all
        select x.rank, -1, 0 from ranks_of(c.queue_ids[i], 0::smallint) as x (rank) where look = 2
        order by 1
      loop
        exit when c.granted >= c.n or room <= 0;
        due_ := due_stretch(c.queue_ids[i], one.rank, one.run_at, one.seq, c.wall, least(c.n - c.granted, coalesce(room, c.n))::int);
        places := due_.places;
        got := cardinality(places);
        continue when got is null;
        if specials[i] and exists (select 1 from job where ctid = any (places) and (group_id is not null or limit_id is not null)) then
          jobs := array(select x from job as x where ctid = any (places) order by x.run_at, x.seq);
          return query select * from grant_jobs(c, c.queue_ids[i], c.q_of[i], jobs);
        else
          -- None has a group, whose fence would have to be asked, so one statement grants them all. The floor is read after their rows were locked: what was deleted before has
          -- raised it. Plain variables, because a member of a record costs more for every row.
          claim_ := nextval('claim_seq');
          ends := c.lease + c.ttl;
          select value into floor_ from floor;
          lowest := next_fence(0, floor_, c.wall);
          q_ := c.q_of[i];
          wall := c.wall;
          owner_ := c.owner_id;
          insert into claim (id, ns_id, owner_id, request, queue_id, until, bound, live, losses_most, place, rank, lo_run_at, lo_seq, hi_run_at, hi_seq, read_at)
          values (claim_, c.ns, owner_, c.request, c.queue_ids[i], ends, ends, got, due_.losses_most, c.granted, one.rank, due_.lo_run_at, due_.lo_seq, due_.hi_run_at, due_.hi_seq, c.lease);
          insert into depth (queue_id, ready, running) values (c.queue_ids[i], -got, got);
          if due_.come_again then
            -- The last holder of such a job may not have committed yet.
            insert into superseded (ns_id, resource, fence)
            select x.ns_id, x.id::text, a.fence from job x join attempt a on a.id = x.id and a.ns_id = x.ns_id and a.delivery = x.deliveries
            where x.ctid = any (places) on conflict do nothing;
          end if;
          if places = array(select x from unnest(places) as x order by x) then
            -- They stand in the table as they stand in the queue, and that is how they are met.
            return query
              update job set fence = greatest(fence + 1, lowest), lease_end = ends, ttl = claim_jobs.ttl, started_at = wall, claim_id = claim_, owner_id = owner_, deliveries = deliveries + 1
              where ctid = any (places)
              returning q_, seq, id, rank, attempts_max, created_at, run_at, fence, deliveries, claim_jobs.ttl, failures, losses, losses_in_row, laters, last_outcome, exit_status,
                        percent, word, error, extras, null::text, payload;
          else
            return query
              with updated as (
                update job set fence = greatest(fence + 1, lowest), lease_end = ends, ttl = claim_jobs.ttl, started_at = wall, claim_id = claim_, owner_id = owner_, deliveries = deliveries + 1
                where ctid = any (places) returning *)
              select q_, seq, id, rank, attempts_max, created_at, run_at, fence, deliveries, claim_jobs.ttl, failures, losses, losses_in_row, laters, last_outcome, exit_status,
                     percent, word, error, extras, null::text, payload
              from updated order by run_at, seq;
          end if;
        end if;
        c.granted := c.granted + got;
        room := room - got;
      end loop;
    end loop;
  end loop;

  if changed then flags := flags | 4; end if;
  if c.granted < c.n then
    due := next_due(c.ns, all_queues, c.owner_id, c.lease, c.wall);
    -- What is there and was not to be had is being claimed at this moment by another: when its lease will end is known in a moment.
    for i in 1 .. coalesce(array_length(c.queue_ids, 1), 0) loop
      exit when alone.id is not null and not claim_jobs.holds_others;  -- it was granted, and nothing else beside it
      if not specials[i] and exists (select 1 from job where queue_id = c.queue_ids[i] and blocked = 0 and run_at <= c.wall and lease_end is null) then due := least(due, 50000); end if;
    end loop;
    update queue set hungry_at = c.wall
    where id = any (array(select id from queue where id = any (all_queues) and (hungry_at < c.wall - 10000000 or hungry_at > c.wall) order by id for update skip locked));
    if found then flags := flags | 4; end if;
    delete from claim where id = any (array(select id from claim where live = 0 and until <= c.lease limit 100 for update skip locked));
  end if;
  return next (0, flags, null, null, null, null, due, null, null, now.waited, null, null, null, null, null, null, null, null, null, null, null, null)::granted_job;
end $$;

-- Gives back at no cost what the claim granted and still runs; if that claim arrives later it grants nothing.
create function give_back(ns text, owner text, request text, ttl bigint) returns void language plpgsql set search_path from current as $$
#variable_conflict use_column
declare
  ns_ int := ns_of(give_back.ns);
  owner_ bigint := owner_of(ns_, give_back.owner);
  now record;
  j job;
begin
  perform take_request(owner_, give_back.request);
  select * into now from clock();
  perform hold_settings(u.home_id, false) from (
    select distinct q.home_id from claim k cross join lateral jobs_of(k) as x join queue q on q.id = x.queue_id
    where k.owner_id = owner_ and k.request = give_back.request and x.limit_id is not null order by q.home_id) as u;
  perform 1 from job where id = any (array(select x.id from claim k cross join lateral jobs_of(k) as x where k.owner_id = owner_ and k.request = give_back.request))
    and ns_id = ns_ order by id for update;
  for j in
    select x.* from claim k cross join lateral jobs_of(k) as x where k.owner_id = owner_ and k.request = give_back.request and x.owner_id = owner_ order by k.place, x.seq
  loop
    perform settle_one(j, 4::smallint, null, null, 0, null, now.lease, now.wall);
  end loop;
  update claim set until = greatest(until, now.lease + give_back.ttl) where owner_id = owner_ and claim.request = give_back.request;
  if not found then
    insert into claim (id, ns_id, owner_id, request, queue_id, until, bound, live, losses_most, place)
    values (nextval('claim_seq'), ns_, owner_, give_back.request, 0, now.lease + give_back.ttl, 0, 0, 0, 0);
  end if;
end $$;

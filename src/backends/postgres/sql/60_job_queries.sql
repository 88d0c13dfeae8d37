-- Looks that change nothing. They are `stable`, so that all statements of a call see one moment; none of them reads more of a table than it must. No verb lets the
-- server compile its statements: that takes seconds and saves milliseconds.

-- The namespace, if it is known.
create function find_ns(name_ text) returns int language sql stable as $$ select id from namespace where name = name_; $$;

-- As JobState, of an unfinished job.
create function state_of(j job) returns smallint language sql immutable as $$
  select (case when j.lease_end is not null then 1 when j.blocked & 1 = 1 then 2 else 0 end)::smallint;
$$;

-- A job wherever it stands, as people see it; null if there is none.
create function shown(ns_ int, id_ uuid, lease bigint, with_payload boolean) returns jsonb language plpgsql stable as $$
declare
  j job;
  d done;
begin
  select * into j from job where id = id_ and ns_id = ns_;
  if found then return shown_job(j, lease, with_payload); end if;
  select * into d from done where id = id_ and ns_id = ns_;
  if found then return shown_done(d, with_payload); end if;
  return null;
end $$;

-- {"id"}: one row, the job, or none.
create function get_job(ns text, request jsonb) returns setof jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  shown_ jsonb := shown(find_ns(ns), (request ->> 'id')::uuid, (clock()).lease, true);
begin
  if shown_ is not null then return next shown_; end if;
end $$;

-- Jobs of the namespace whose place in the order of enqueue is in (low, high], of these queues and states (null: any); the first so many. The order of
-- enqueue is indexed by blocks of pages only. The planner would rather try its luck with another index.
create function jobs_between(ns_ int, low bigint, high bigint, queues int[], states int[], most bigint) returns table (seq bigint, id uuid)
language sql stable set jit = off set enable_seqscan = off set enable_indexscan = off as $$
  select u.seq, u.id from (
    select j.seq, j.id from job j
    where j.seq > low and j.seq <= high and j.ns_id = ns_ and (queues is null or j.queue_id = any (queues)) and (states is null or state_of(j) = any (states))
    union all
    select d.seq, d.id from done d
    where d.seq > low and d.seq <= high and d.ns_id = ns_ and (queues is null or d.queue_id = any (queues)) and (states is null or d.state = any (states))
      and (states is null or states && array[3, 4, 5])) as u
  order by u.seq limit most;
$$;

-- The last place that was given in the order of enqueue.
create function newest_seq() returns bigint language sql stable as $$ select case when is_called then last_value else 0 end from job_seq; $$;

-- The first `most` jobs behind `after` and not behind `up_to`, in the order of enqueue. Goes window by window; where jobs are few and far between, windows grow fast, each read once:
-- when new rows have filled the holes that retention left all over `done`, blocks of pages hold old and new ones, and the narrowest window can cost as much as all of it.
create function first_jobs(ns_ int, after_ bigint, up_to bigint, queues int[], states int[], most bigint) returns table (seq bigint, id uuid)
language plpgsql stable as $$
declare
  last bigint := least(up_to, newest_seq());
  low bigint := after_;
  width bigint := 20000;
  got bigint := 0;
  more bigint;
begin
  while low < last and got < most loop
    width := least(width, last - low);
    return query select * from jobs_between(ns_, low, low + width, queues, states, most - got);
    get diagnostics more = row_count;
    got := got + more;
    low := low + width;
    width := width * 4;
  end loop;
end $$;

-- Those that run, from the claims under which they do.
create function running_jobs(ns_ int, queues int[]) returns setof job language sql stable as $$
  select x.* from claim k cross join lateral jobs_of(k) as x where k.queue_id = any (queues) and k.live > 0;
$$;

-- Ready jobs of these queues by where they stand for claims, in no order; at most so many of each.
create function ready_jobs(queues int[], most int) returns table (seq bigint, id uuid) language sql stable set enable_seqscan = off set enable_bitmapscan = off as $$
  select r.seq, r.id
  from unnest(queues) as q (id) cross join lateral (
    select j.seq, j.id from job j where j.queue_id = q.id and j.lease_end is null and j.blocked & 1 = 0 order by j.queue_id, j.blocked, j.rank, j.run_at, j.seq limit most) as r;
$$;

-- Whether a job was asked for by its key, its error or the time of its enqueue: the members of a request that list_jobs describes.
create function has_details(request jsonb, created_at bigint, extras jsonb, error bytea) returns boolean language sql immutable as $$
  select (request ->> 'key' is null or extras ->> 'key' = request ->> 'key')
     and (request ->> 'since' is null or created_at >= (request ->> 'since')::bigint)
     and (request ->> 'before' is null or created_at < (request ->> 'before')::bigint)
     and (request ->> 'error' is null or position(decode(request ->> 'error', 'hex') in coalesce(error, ''::bytea)) > 0);
$$;

-- How long the last delivery of a job took, or has taken so far; null: there was none.
create function ran_for(ns_ int, id_ uuid, wall bigint) returns bigint language sql stable as $$
  select greatest(0, coalesce(
    (select wall - j.started_at from job j where j.id = id_ and j.ns_id = ns_ and j.lease_end is not null),
    (select d.finished_at - d.started_at from done d where d.id = id_ and d.ns_id = ns_ and d.started_at is not null),
    (select a.ended_at - a.started_at from attempt a where a.id = id_ and a.ns_id = ns_ order by a.delivery desc limit 1)))
  where exists (select from job j where j.id = id_ and j.ns_id = ns_ and j.deliveries > 0) or exists (select from done d where d.id = id_ and d.ns_id = ns_ and d.deliveries > 0);
$$;

-- Jobs whose place in the order of enqueue is in (low, high]: how many there are, of any kind, and those that fit, in that order. If there may be more than `most`, they are counted
-- first, and only the count is answered if there are.
create function look_between(ns_ int, low bigint, high bigint, queues int[], state_ int, request jsonb, most bigint, out looked bigint, out seqs bigint[], out ids uuid[])
language plpgsql stable set jit = off set enable_seqscan = off set enable_indexscan = off as $$
begin
  if high - low > most then
    select count(*) into looked from (
      (select from job j where j.seq > low and j.seq <= high limit most + 1) union all (select from done d where d.seq > low and d.seq <= high limit most + 1)) as u;
    if looked > most then return; end if;
  end if;
  select count(*), array_agg(u.seq order by u.seq) filter (where u.fits), array_agg(u.id order by u.seq) filter (where u.fits) into looked, seqs, ids
  from (
    select j.seq, j.id,
           j.ns_id = ns_ and (queues is null or j.queue_id = any (queues)) and (state_ is null or state_of(j) = state_) and has_details(request, j.created_at, j.extras, j.error) as fits
    from job j where j.seq > low and j.seq <= high
    union all
    select d.seq, d.id,
           d.ns_id = ns_ and (queues is null or d.queue_id = any (queues)) and (state_ is null or d.state = state_) and has_details(request, d.created_at, d.extras, d.error) as fits
    from done d where d.seq > low and d.seq <= high) as u;
end $$;

-- A page: {"queue", "state", "tag", "key", "error" (hexadecimal), "since", "before", "newest_first", "after", "limit", "with_payload"}. A row {"job": ..., "ran_for": ...} each, in the
-- order of enqueue or newest first; the last one is {"next": cursor} if there is more. Tags, running, waiting, dead and cancelled jobs, and the few ready ones of a queue, are found by
-- an index, step by step; all others window by window in the order of enqueue. A page ends after `looked_most` jobs that it looked at, whether they fit or not, so that no call reads
-- through a million of them: then it may be short, and has a "next".
create function list_jobs(ns text, request jsonb) returns setof jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  looked_most constant bigint := 40000;
  step constant int := 2000;
  few constant int := 5000;
  ns_ int := find_ns(ns);
  down boolean := coalesce((request ->> 'newest_first')::boolean, false);
  dir constant bigint := case when coalesce((request ->> 'newest_first')::boolean, false) then -1 else 1 end;
  after_ bigint := coalesce((request ->> 'after')::bigint, 0);
  most int := coalesce((request ->> 'limit')::int, 100);
  state_ int := (request ->> 'state')::int;
  tag_ text := coalesce(request ->> 'tag', '');
  with_payload boolean := coalesce((request ->> 'with_payload')::boolean, false);
  lease_ bigint;
  wall_ bigint;
  queues int[];
  every int[];
  last bigint := newest_seq();
  here bigint;  -- where the list has come to
  width bigint := least(20000, greatest(1000, 4 * most));
  looked bigint := 0;
  chunk bigint;
  far bigint;
  ends boolean := false;
  found_seqs bigint[] := '{}';
  found_ids uuid[] := '{}';
  seqs_ bigint[];
  ids_ uuid[];
begin
  if ns_ is null then return; end if;
  select c.lease, c.wall into lease_, wall_ from clock() as c;
  every := array(select q.id from queue q where q.ns_id = ns_);
  if request ->> 'queue' is not null then queues := array(select q.id from queue q where q.ns_id = ns_ and q.name = request ->> 'queue'); end if;
  if cardinality(queues) = 0 then return; end if;
  here := case when not down then after_ when after_ > 0 then after_ else 9223372036854775807 end;

  if state_ = 0 and queues is not null and tag_ = '' then
    -- The few of a queue are not looked for among all that others have.
    select count(*), array_agg(u.seq), array_agg(u.id) into chunk, seqs_, ids_ from ready_jobs(queues, few + 1) as u;
    if chunk <= few then
      select array_agg(u.seq order by dir * u.seq), array_agg(u.id order by dir * u.seq) into found_seqs, found_ids
      from (
        select r.seq, r.id from unnest(seqs_, ids_) as r (seq, id) join job j on j.id = r.id and j.ns_id = ns_
        where dir * r.seq > dir * here and has_details(request, j.created_at, j.extras, j.error) order by dir * r.seq limit most + 1) as u;
      ends := true;
    end if;
  end if;

  while not ends loop
    seqs_ := null;
    ids_ := null;
    if tag_ <> '' then
      select count(*), (array_agg(t.seq order by dir * t.seq desc))[1],
             array_agg(t.seq order by dir * t.seq) filter (where t.fits), array_agg(t.id order by dir * t.seq) filter (where t.fits)
      into chunk, far, seqs_, ids_
      from (
        select t.seq, t.id,
               (queues is null or coalesce(j.queue_id, d.queue_id) = any (queues)) and (state_ is null or coalesce(case when j.id is not null then state_of(j) end, d.state) = state_)
               and (j.id is not null or d.id is not null)
               and has_details(request, coalesce(j.created_at, d.created_at), coalesce(j.extras, d.extras), case when j.id is not null then j.error else d.error end) as fits
        from (
          (select g.seq, g.id from tag g where not down and g.ns_id = ns_ and g.name = tag_ and g.seq > here order by g.seq limit step) union all
          (select g.seq, g.id from tag g where down and g.ns_id = ns_ and g.name = tag_ and g.seq < here order by g.seq desc limit step)) as t
        left join job j on j.id = t.id and j.ns_id = ns_ left join done d on d.id = t.id and d.ns_id = ns_) as t;
      ends := chunk < step;
    elsif state_ in (1, 2) then
      select count(*), array_agg(u.seq order by dir * u.seq), array_agg(u.id order by dir * u.seq) into chunk, seqs_, ids_
      from (
        select v.seq, v.id from (
          select j.seq, j.id, j.created_at, j.extras, j.error from running_jobs(ns_, coalesce(queues, every)) j where state_ = 1
          union all
          select j.seq, j.id, j.created_at, j.extras, j.error from job j
          where state_ = 2 and j.queue_id = any (coalesce(queues, every)) and j.blocked = any ('{1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31}'::smallint[]) and j.lease_end is null) as v
        where dir * v.seq > dir * here and has_details(request, v.created_at, v.extras, v.error) order by dir * v.seq limit most + 1) as u;
      ends := true;
    elsif state_ >= 4 then
      select count(*), (array_agg(t.seq order by dir * t.seq desc))[1],
             array_agg(t.seq order by dir * t.seq) filter (where t.fits), array_agg(t.id order by dir * t.seq) filter (where t.fits)
      into chunk, far, seqs_, ids_
      from (
        select d.seq, d.id, (queues is null or d.queue_id = any (queues)) and has_details(request, d.created_at, d.extras, d.error) as fits
        from (
          (select x.* from done x where not down and x.ns_id = ns_ and x.state = state_ and x.state > 3 and x.seq > here order by x.seq limit step) union all
          (select x.* from done x where down and x.ns_id = ns_ and x.state = state_ and x.state > 3 and x.seq < here order by x.seq desc limit step)) as d) as t;
      ends := chunk < step;
    else
      here := case when down then least(here, last + 1) else here end;
      if (down and here <= 1) or (not down and here >= last) then exit; end if;
      far := case when down then greatest(0, here - width) else here + least(width, last - here) end;
      select l.looked, l.seqs, l.ids into chunk, seqs_, ids_
      from look_between(ns_, case when down then far - 1 else here end, case when down then here - 1 else far end, queues, state_, request, looked_most) as l;
      if chunk > looked_most then  -- a wide window over a dense part
        width := greatest(20000, width / 16);
        continue;
      end if;
      if down then
        seqs_ := array(select u from unnest(seqs_) with ordinality as u (u, n) order by n desc);
        ids_ := array(select u from unnest(ids_) with ordinality as u (u, n) order by n desc);
      end if;
      -- Where jobs are few and far between, windows grow fast: when new rows have filled the holes that retention left all over `done`, blocks of pages hold old and new ones, and
      -- the narrowest window can cost as much as all of it.
      width := case when chunk < width / 4 then width * 4 else greatest(width, least(20000, width * 4)) end;
    end if;
    found_seqs := found_seqs || coalesce(seqs_, '{}');
    found_ids := found_ids || coalesce(ids_, '{}');
    exit when cardinality(found_ids) > most;
    here := coalesce(far, here);
    looked := looked + chunk;
    if not ends and looked >= looked_most then
      -- What was looked at and did not fit is not looked at again.
      for i in 1 .. cardinality(found_ids) loop
        return next jsonb_strip_nulls(jsonb_build_object('job', shown(ns_, found_ids[i], lease_, with_payload), 'ran_for', ran_for(ns_, found_ids[i], wall_)));
      end loop;
      return next jsonb_build_object('next', here);
      return;
    end if;
  end loop;

  for i in 1 .. least(coalesce(cardinality(found_ids), 0), most) loop
    return next jsonb_strip_nulls(jsonb_build_object('job', shown(ns_, found_ids[i], lease_, with_payload), 'ran_for', ran_for(ns_, found_ids[i], wall_)));
  end loop;
  if cardinality(found_ids) > most then return next jsonb_build_object('next', found_seqs[most]); end if;
end $$;

-- {"first", "last", "limit", "suffix", "newest"}: an array of ids. With a suffix only those that end so, of the newest of the namespace, which are looked for
-- among ten times as many of all namespaces.
create function list_ids(ns text, request jsonb) returns jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  first_ uuid := (request ->> 'first')::uuid;
  last_ uuid := (request ->> 'last')::uuid;
  most int := coalesce((request ->> 'limit')::int, 2);
  suffix_ text := coalesce(request ->> 'suffix', '');
  newest int := coalesce((request ->> 'newest')::int, 0);
begin
  if suffix_ <> '' then
    return coalesce((
      select jsonb_agg(u.id order by u.id)
      from (
        select v.id from (
          (select a.id from (select j.id, j.ns_id from job j order by j.id desc limit 10 * newest) as a where a.ns_id = ns_ limit newest)
          union all
          (select b.id from (select d.id, d.ns_id from done d order by d.id desc limit 10 * newest) as b where b.ns_id = ns_ limit newest)) as v
        where right(replace(v.id::text, '-', ''), length(suffix_)) = suffix_ and v.id between first_ and last_
        order by v.id limit most) as u), '[]');
  end if;
  return coalesce((
    select jsonb_agg(u.id order by u.id)
    from (
      select v.id from (
        (select j.id from job j where j.id between first_ and last_ and j.ns_id = ns_ order by j.id limit most)
        union all
        (select d.id from done d where d.id between first_ and last_ and d.ns_id = ns_ order by d.id limit most)) as v
      order by v.id limit most) as u), '[]');
end $$;

-- {"id", "after", "limit"}: {"chunks": [{"delivery", "at", "bytes"}], "dropped", "next"}; null if there is no such job.
create function get_log(ns text, request jsonb) returns jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  id_ uuid := (request ->> 'id')::uuid;
  after_ bigint := coalesce((request ->> 'after')::bigint, 0);
  most int := coalesce((request ->> 'limit')::int, 100);
  chunks_ jsonb;
  last bigint;
begin
  if not exists (select 1 from job where id = id_ and ns_id = ns_) and not exists (select 1 from done where id = id_ and ns_id = ns_) then return null; end if;
  select jsonb_agg(jsonb_build_object('delivery', u.delivery, 'at', u.at, 'bytes', encode(u.bytes, 'hex')) order by u.n), max(u.n) into chunks_, last
  from (select * from log_chunk l where l.id = id_ and l.ns_id = ns_ and l.n > after_ order by l.n limit most) as u;
  return jsonb_build_object('chunks', coalesce(chunks_, '[]'), 'next', coalesce(last, after_),
                            'dropped', coalesce((select s.dropped from log_state s where s.id = id_ and s.ns_id = ns_), 0));
end $$;

-- {"id"}: an array, oldest first, the one at hand included. It stands in the job, or in `done` if that is how it finished.
create function job_attempts(ns text, request jsonb) returns jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  id_ uuid := (request ->> 'id')::uuid;
begin
  return coalesce((
    select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('delivery', u.delivery, 'fence', u.fence, 'owner', owner_name(u.owner_id), 'started_at', u.started_at,
                                                          'ended_at', u.ended_at, 'end', u.ending, 'exit_status', u.exit_status, 'error', encode(u.error, 'hex')))
                     order by u.delivery)
    from (
      select v.* from (
        select a.delivery, a.fence, a.owner_id, a.started_at, a.ended_at, a.ending, a.exit_status, a.error from attempt a where a.id = id_ and a.ns_id = ns_
        union all
        select j.deliveries, j.fence, j.owner_id, j.started_at, null, 0::smallint, null, null from job j where j.id = id_ and j.ns_id = ns_ and j.lease_end is not null
        union all
        select d.deliveries, d.fence, d.owner_id, d.started_at, d.finished_at, (d.last_outcome + 1)::smallint, d.exit_status, case when d.last_outcome in (1, 2) then d.error end
        from done d where d.id = id_ and d.ns_id = ns_ and d.started_at is not null) as v
      order by v.delivery desc limit 50) as u), '[]');
end $$;

-- {"limit"}: an array of the newest entries of the namespace and of the whole store, oldest first.
create function read_trail(ns text, request jsonb) returns jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  ns_name text := ns;
  most int := (request ->> 'limit')::int;
begin
  return coalesce((
    select jsonb_agg(jsonb_build_object('at', u.at, 'ns', u.ns, 'actor', u.actor, 'act', u.act, 'subject', u.subject, 'reason', u.reason) order by u.n)
    from (
      select v.* from (
        (select t.* from trail t where t.ns = ns_name order by t.n desc limit most)
        union all
        (select t.* from trail t where t.ns = '' and ns_name <> '' order by t.n desc limit most)) as v
      order by v.n desc limit most) as u), '[]');
end $$;

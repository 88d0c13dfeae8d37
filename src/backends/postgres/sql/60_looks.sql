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

-- A page: {"queue", "state", "tag", "after", "limit", "with_payload"}. A row {"job": ...} each, in the order of enqueue; the last one is {"next": cursor} if there is more.
create function list_jobs(ns text, request jsonb) returns setof jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  after_ bigint := coalesce((request ->> 'after')::bigint, 0);
  most int := coalesce((request ->> 'limit')::int, 100);
  state_ int := (request ->> 'state')::int;
  tag_ text := coalesce(request ->> 'tag', '');
  with_payload boolean := coalesce((request ->> 'with_payload')::boolean, false);
  lease bigint := (clock()).lease;
  queues int[];
  every int[];
  few constant int := 5000;
  low bigint := after_;
  chunk bigint;
  found_seqs bigint[] := '{}';
  found_ids uuid[] := '{}';
  seqs_ bigint[];
  ids_ uuid[];
begin
  if ns_ is null then return; end if;
  every := array(select q.id from queue q where q.ns_id = ns_);
  if request ->> 'queue' is not null then queues := array(select q.id from queue q where q.ns_id = ns_ and q.name = request ->> 'queue'); end if;
  if cardinality(queues) = 0 then return; end if;

  if tag_ <> '' then
    loop
      select count(*), max(t.seq),
             array_agg(t.seq order by t.seq) filter (where t.fits), array_agg(t.id order by t.seq) filter (where t.fits)
      into chunk, low, seqs_, ids_
      from (
        select t.seq, t.id,
               (queues is null or coalesce(j.queue_id, d.queue_id) = any (queues)) and (state_ is null or coalesce(case when j.id is not null then state_of(j) end, d.state) = state_)
               and (j.id is not null or d.id is not null) as fits
        from (select g.seq, g.id from tag g where g.ns_id = ns_ and g.name = tag_ and g.seq > low order by g.seq limit 2000) as t
        left join job j on j.id = t.id and j.ns_id = ns_ left join done d on d.id = t.id and d.ns_id = ns_) as t;
      found_seqs := found_seqs || coalesce(seqs_, '{}');
      found_ids := found_ids || coalesce(ids_, '{}');
      exit when chunk < 2000 or cardinality(found_ids) > most;
    end loop;
  elsif state_ = 1 then
    select array_agg(u.seq order by u.seq), array_agg(u.id order by u.seq) into found_seqs, found_ids
    from (select j.seq, j.id from running_jobs(ns_, coalesce(queues, every)) j where j.seq > after_ order by j.seq limit most + 1) as u;
  elsif state_ = 2 then
    select array_agg(u.seq order by u.seq), array_agg(u.id order by u.seq) into found_seqs, found_ids
    from (
      select j.seq, j.id from job j
      where j.queue_id = any (coalesce(queues, every)) and j.blocked = any ('{1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31}'::smallint[]) and j.lease_end is null and j.seq > after_
      order by j.seq limit most + 1) as u;
  elsif state_ >= 4 then
    select array_agg(u.seq order by u.seq), array_agg(u.id order by u.seq) into found_seqs, found_ids
    from (
      select d.seq, d.id from done d
      where d.ns_id = ns_ and d.state = state_ and d.state > 3 and d.seq > after_ and (queues is null or d.queue_id = any (queues))
      order by d.seq limit most + 1) as u;
  elsif state_ = 0 and queues is not null then
    -- The few of a queue are not looked for among all that others have.
    select count(*), array_agg(u.seq), array_agg(u.id) into chunk, seqs_, ids_ from ready_jobs(queues, few + 1) as u;
    if chunk <= few then
      select array_agg(u.seq order by u.seq), array_agg(u.id order by u.seq) into found_seqs, found_ids
      from (select r.seq, r.id from unnest(seqs_, ids_) as r (seq, id) where r.seq > after_ order by r.seq limit most + 1) as u;
    else
      select array_agg(u.seq order by u.seq), array_agg(u.id order by u.seq) into found_seqs, found_ids from first_jobs(ns_, after_, 9223372036854775807, queues, array[0], most + 1) as u;
    end if;
  else
    select array_agg(u.seq order by u.seq), array_agg(u.id order by u.seq) into found_seqs, found_ids
    from first_jobs(ns_, after_, 9223372036854775807, queues, case when state_ is not null then array[state_] end, most + 1) as u;
  end if;

  for i in 1 .. least(coalesce(cardinality(found_ids), 0), most) loop
    return next jsonb_build_object('job', shown(ns_, found_ids[i], lease, with_payload));
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

-- Inside the application's own transaction. What it says of jobs is noted, and done at its COMMIT by a deferred trigger: until then it holds no lock that a claim, a settle or
-- another enqueue waits for, however long it is open. A savepoint that is rolled back takes its notes with it.
--
-- No note outlives its transaction, so these tables are not logged: a crash, or a failover, finds them empty and has nothing to miss. tx leads their keys: the rows of others, dead ones that
-- nobody may vacuum yet included, are never read.
create unlogged table noted_end (
  tx xid8 not null, ns_id int not null, id uuid not null, fence bigint not null, owner text not null, kind smallint not null, result bytea, error bytea,
  retry_in bigint not null, exit_status smallint, primary key (tx, ns_id, id)) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create unlogged table noted_effect (
  tx xid8 not null, ns_id int not null, id uuid not null, name text not null, fence bigint not null, digest bytea not null, result bytea not null,
  primary key (tx, ns_id, id, name)) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- n: the order in which they came. named: its id is the caller's, and may be a repeat.
create unlogged table noted_job (
  tx xid8 not null, n bigint generated always as identity, ns text not null, queue text not null, stage text not null, id uuid not null, payload text not null, rank smallint not null,
  delay bigint not null, at bigint, attempts int not null, extras jsonb, named boolean not null, primary key (tx, n)) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index noted_job_id on noted_job (tx, id);
create index noted_job_key on noted_job (tx, queue, (extras ->> 'key')) where extras ? 'key';

-- One row for a transaction with notes; its trigger is what happens at COMMIT. hop: see commit_due.
create unlogged table commit_ticket (tx xid8 primary key, hop timestamptz) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create function take_ticket() returns void language plpgsql as $$
begin
  insert into commit_ticket (tx) values (pg_current_xact_id()) on conflict do nothing;
end $$;

-- An id as clients make them (UUIDv7): the time in milliseconds, and chance.
create function new_job_id() returns uuid language sql volatile as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing substring(int8send((clock()).wall / 1000) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid;
$$;

-- What a holder is told that is not the newest one, or came with another outcome.
create function refuse_holder(id_ uuid, sent bigint, current_ bigint, reason text) returns void language plpgsql as $$
declare
  detail_ text := format('reason=%s sent=%s current=%s', reason, sent, current_);
  other text;
begin
  -- A fence is never smaller than the wall clock was at its grant.
  if sent > current_ and reason in ('not_found', 'superseded') and has_old_snapshot() and sent >= (extract(epoch from transaction_timestamp()) * 1000000)::bigint then
    raise exception using errcode = '40001', message = format('job %s was granted after this transaction took its snapshot', id_),
      hint = 'claim and commit first, then begin the transaction that works';
  end if;
  if reason = 'not_found' then
    select n.name into other from (select j.ns_id from job j where j.id = id_ union all select d.ns_id from done d where d.id = id_) as u join namespace n on n.id = u.ns_id limit 1;
    raise exception using errcode = 'FL003', message = format('there is no job %s', id_) || coalesce(' here: it is in namespace ' || other || format(', say so: namespace => %L', other), ''), detail = detail_;
  end if;
  if reason = 'superseded' and sent > current_ then
    perform fail_behind(format('job %s: fence %s is not known here, the newest is %s: commit the claim that granted it first; if it was, the store was set back: let the job be granted again', id_, sent, current_), detail_);
  end if;
  perform fail_stale(format('job %s: %s', id_, case reason
    when 'superseded' then format('fence %s is stale, the newest is %s: %s', sent, current_, what_became_of(id_, sent))
    when 'other_owner' then format('fence %s was granted to another worker', sent)
    when 'expired' then format('the lease of fence %s has run out', sent)
    when 'finished' then 'it is finished, by another outcome'
    else 'its delivery was settled otherwise' end), detail_);
end $$;

-- The very outcome stands already. For a settle alone that is a repeat and fine; here the work stands in the same transaction, and would be there twice.
create function refuse_repeat(id_ uuid, fence_ bigint) returns void language plpgsql as $$
begin
  raise exception using errcode = 'FL007', message = format('job %s: this outcome of fence %s was committed before: roll back, there is nothing left to do', id_, fence_),
    detail = format('reason=repeat sent=%s current=%s', fence_, fence_);
end $$;

-- Whether it was settled in this very transaction: its COMMIT is under way, and a deferred trigger of the application says it once more.
create function settled_here(ns_ int, id_ uuid) returns boolean language plpgsql as $$
declare
  mine xid := pg_current_xact_id()::xid;
begin
  return exists (select 1 from done d where d.id = id_ and d.ns_id = ns_ and d.xmin = mine) or exists (select 1 from job j where j.id = id_ and j.ns_id = ns_ and j.xmin = mine);
end $$;

-- Who has this very fence of the job, by name; '' if nobody known has it.
create function holder_of(ns_ int, id_ uuid, fence_ bigint) returns text language plpgsql stable as $$
declare
  owner_ bigint;
begin
  select j.owner_id into owner_ from job j where j.id = id_ and j.ns_id = ns_ and j.fence = fence_;
  if not found then select d.owner_id into owner_ from done d where d.id = id_ and d.ns_id = ns_ and d.fence = fence_; end if;
  return owner_name(owner_);
end $$;

-- An item's outcome is for its pipeline to decide, and stores do not know its rules: settled as any job it would skip the stages that are left (P1). What only puts it off is decided upon by whoever claims it next.
create function refuse_item(ns_ int, id_ uuid, kind_ smallint) returns void language plpgsql as $$
declare
  pipeline_ text;
begin
  if kind_ not in (0, 1, 2) then return; end if;  -- done, failed, dead
  select p.name into pipeline_ from job j join queue q on q.id = j.queue_id join pipeline p on p.ns_id = j.ns_id and p.name = q.name where j.id = id_ and j.ns_id = ns_ and not p.removed;
  if found then
    perform fail_refused(format('job %s is an item of pipeline %s, and a settle as %s in a transaction would skip the pipeline''s stages; record the work with record_effect, commit, and return the outcome from the handler (fenceline work %s)',
                                id_, pipeline_, (array['done', 'failed', 'dead'])[kind_ + 1], pipeline_));
  end if;
end $$;

-- Notes an outcome. Looks, without a lock, whether it could be accepted now. The same again in one transaction is a repeat, another one is refused: a delivery has one outcome (J3).
create function note_end(ns text, id_ uuid, fence_ bigint, worker text, kind_ smallint, result_ bytea, error_ bytea, retry_in_ bigint, exit_ smallint) returns void
language plpgsql as $$
declare
  ns_ int := find_ns(ns);
  owner_ text := coalesce(worker, holder_of(ns_, id_, fence_));
  owner_id_ bigint := (select o.id from owner o where o.ns_id = ns_ and o.name = owner_);
  why record;
  before noted_end;
begin
  select * into why from why_not(ns_, owner_id_, id_, fence_, kind_, (clock()).lease);
  if why.reason is not null then perform refuse_holder(id_, fence_, why.current, why.reason); end if;
  if not exists (select 1 from job j where j.id = id_ and j.ns_id = ns_ and j.fence = fence_ and j.lease_end is not null) then
    if settled_here(ns_, id_) then return; end if;
    perform refuse_repeat(id_, fence_);
  end if;
  select * into before from noted_end n where n.tx = pg_current_xact_id() and n.ns_id = ns_ and n.id = id_;
  if found then
    if before.kind <> kind_ then perform refuse_holder(id_, fence_, why.current, 'settled'); end if;
    return;
  end if;
  perform refuse_item(ns_, id_, kind_);
  insert into noted_end (tx, ns_id, id, fence, owner, kind, result, error, retry_in, exit_status)
  values (pg_current_xact_id(), ns_, id_, fence_, owner_, kind_, result_, error_, retry_in_, exit_);
  perform take_ticket();
end $$;

-- Whether the effect is done already, and its result; raises what keeps it from being recorded. The look at the call takes no lock, the one at COMMIT has the job's.
create function look_at_effect(ns_ int, id_ uuid, fence_ bigint, name_ text, digest_ bytea, out done_before boolean, out result_ bytea) language plpgsql as $$
declare
  effects_most constant bigint := 10000;
  current_ bigint;
  running boolean;
  finished boolean := false;
  e effect;
begin
  select j.fence, j.lease_end is not null into current_, running from job j where j.id = id_ and j.ns_id = ns_;
  if not found then
    select d.fence into current_ from done d where d.id = id_ and d.ns_id = ns_;
    finished := found;
    running := false;
  end if;
  if current_ is null then perform refuse_holder(id_, fence_, 0, 'not_found'); end if;
  if current_ <> fence_ then perform refuse_holder(id_, fence_, current_, 'superseded'); end if;
  select * into e from effect x where x.id = id_ and x.ns_id = ns_ and x.name = name_;
  if found and e.state <> 0 and e.digest <> digest_ then
    perform fail_conflict(format('effect %s of job %s was begun for another command or request; give this one another name', name_, id_));
  end if;
  if found and e.state = 1 then perform fail_conflict(format('effect %s of job %s was begun outside a transaction and may have happened', name_, id_)); end if;
  done_before := found and e.state = 2;
  if done_before then
    result_ := e.result;
    return;
  end if;
  -- As begin_effect: what has an outcome begins nothing more. The lease may have run out, since this is done with the record.
  if not running then perform refuse_holder(id_, fence_, current_, case when finished then 'finished' else 'settled' end); end if;
  if e.id is null and (select count(*) from effect x where x.id = id_ and x.ns_id = ns_) >= effects_most then
    perform fail_refused(format('job %s has 10000 effects already', id_));
  end if;
end $$;

-- Notes an effect that is nothing but the statements of its transaction. Answers if it was done before: then these must not be committed.
create function note_effect(ns text, id_ uuid, fence_ bigint, name_ text, digest_ bytea, result_ bytea, out done_before boolean, out first_result bytea) language plpgsql as $$
declare
  ns_ int := find_ns(ns);
  before noted_effect;
begin
  select * into done_before, first_result from look_at_effect(ns_, id_, fence_, name_, digest_);
  if done_before then return; end if;
  select * into before from noted_effect n where n.tx = pg_current_xact_id() and n.ns_id = ns_ and n.id = id_ and n.name = name_;
  if found then
    if before.digest <> digest_ then perform fail_conflict(format('effect %s of job %s was begun for another command or request; give this one another name', name_, id_)); end if;
    done_before := true;
    first_result := before.result;
    return;
  end if;
  insert into noted_effect (tx, ns_id, id, name, fence, digest, result) values (pg_current_xact_id(), ns_, id_, name_, fence_, digest_, coalesce(result_, ''));
  perform take_ticket();
end $$;

-- Records it as done, under the job's lock. It happened in this transaction alone: no intent was ever seen, so there is no doubt.
create function record_noted(e noted_effect, wall bigint) returns void language plpgsql as $$
declare
  before record;
begin
  select * into before from look_at_effect(e.ns_id, e.id, e.fence, e.name, e.digest);
  -- Another transaction under the same fence was first. Run again, this one will be told so and do nothing.
  if before.done_before then raise exception using errcode = '40001', message = format('effect %s of job %s was done meanwhile by another transaction', e.name, e.id); end if;
  insert into effect (ns_id, id, name, state, held, policy, digest, fence, call, actor, doubts, began_at, ended_at, result)
  values (e.ns_id, e.id, e.name, 2, false, 0, e.digest, e.fence, '', '', 0, wall, wall, e.result)
  on conflict (id, ns_id, name) do update set state = 2, held = false, policy = 0, digest = excluded.digest, fence = excluded.fence, call = '', actor = '', doubts = 0,
    began_at = excluded.began_at, ended_at = excluded.ended_at, exit_status = null, resolved_by = '', result = excluded.result;
end $$;

-- Who has a unique key at this moment: a job that is there, or else the first one noted for it in this transaction. A committed holder comes first, because at COMMIT every note with its
-- key only stands for it. Null: nobody.
create function key_holder(ns text, ns_ int, home_ int, queue_ text, key_ text, wall bigint, out id uuid, out payload text, out state text) language plpgsql as $$
#variable_conflict use_column
declare
  there record;
begin
  select k.id into key_holder.id from unique_key k where k.home_id = home_ and k.name = key_ and (k.until is null or k.until > wall);
  select * into there from known_job(ns_, key_holder.id);
  if there.queue_id is not null then
    key_holder.payload := there.payload;
    key_holder.state := (array['ready', 'running', 'waiting', 'done', 'dead', 'cancelled'])[there.state + 1];
    return;
  end if;
  select n.id, n.payload, 'of this transaction' into key_holder.id, key_holder.payload, key_holder.state
  from noted_job n where n.tx = pg_current_xact_id() and n.queue = queue_ and n.extras ->> 'key' = key_ and n.extras ? 'key' and n.ns = key_holder.ns order by n.n limit 1;
end $$;

-- Notes a job. Answers its id, or that of the job that has its key at this moment. Looks without a lock at what would refuse it: COMMIT looks again.
create function note_job(ns text, queue_ text, stage_ text, id_ uuid, payload_ text, rank_ smallint, delay_ bigint, at_ bigint, attempts_ int, extras_ jsonb) returns uuid
language plpgsql as $$
declare
  ns_ int := find_ns(ns);
  home_ int := (select h.id from home h where h.ns_id = ns_ and h.name = queue_);
  in_queue int := (select q.id from queue q where q.ns_id = ns_ and q.name = queue_ and q.stage = stage_);
  own uuid := coalesce(id_, new_job_id());
  wall bigint := (clock()).wall;
  noted noted_job;
  answer uuid;
  holder record;
begin
  if id_ is not null then
    select * into noted from noted_job n where n.tx = pg_current_xact_id() and n.id = id_ and n.ns = note_job.ns;
    if found then
      if noted.queue <> queue_ or noted.stage <> stage_ or noted.payload <> payload_ then perform fail_conflict(format('job %s already exists with another queue, stage or payload', id_)); end if;
      -- It may stand for the job that has its key: then that one is the answer, as it was the first time.
      if noted.extras ? 'key' then select k.id into answer from key_holder(note_job.ns, ns_, home_, queue_, noted.extras ->> 'key', wall) as k; end if;
      return coalesce(answer, id_);
    end if;
    if in_queue is null then
      -- The stage is not there yet, or not even the queue: a job with this id is in another one, and so is whom it stands for, unless that is in another stage of the queue.
      if (known_job(ns_, id_)).queue_id is not null then perform fail_conflict(format('job %s already exists with another queue, stage or payload', id_)); end if;
      in_queue := (select q.id from queue q where q.home_id = home_ limit 1);
      select a.holder into answer from alias a where in_queue is null and a.ns_id = ns_ and a.id = id_ and (known_job(ns_, a.holder)).queue_id is not null;
      if found then perform fail_conflict(format('job %s is an alias of job %s, which has another queue or payload', id_, answer)); end if;
    end if;
    answer := answered_before(ns_, id_, in_queue, payload_);
    if answer is not null then return answer; end if;
  end if;
  if extras_ ? 'key' then
    select * into holder from key_holder(note_job.ns, ns_, home_, queue_, extras_ ->> 'key', wall);
    if holder.id is not null and not same_json(holder.payload, payload_) then
      perform fail_conflict(format('key ''%s'' of queue %s is taken by job %s (%s) with another payload', extras_ ->> 'key', queue_, holder.id, holder.state));
    end if;
    answer := holder.id;
  end if;
  insert into noted_job (tx, ns, queue, stage, id, payload, rank, delay, at, attempts, extras, named)
  values (pg_current_xact_id(), note_job.ns, queue_, stage_, own, payload_, rank_, delay_, at_, attempts_, extras_, id_ is not null);
  perform take_ticket();
  return coalesce(answer, own);
end $$;

-- Under an old snapshot a repeat of an id that came, and finished, since would not be seen. A unique index sees past snapshots: who meets such a row fails (40001).
create function probe_id(ns_ int, id_ uuid, wall bigint) returns void language plpgsql as $$
begin
  insert into done (seq, id, ns_id, queue_id, run_at, rank, state, finished_at, fence, deliveries, attempts_max, created_at, payload) values (0, id_, ns_, 0, 0, 0, 5, wall, 0, 0, 1, wall, 'null')
  on conflict do nothing;
  if found then delete from done where id = id_ and ns_id = ns_; end if;
  insert into alias (ns_id, id, holder, at) values (ns_, id_, id_, wall) on conflict do nothing;
  if found then delete from alias where ns_id = ns_ and id = id_; end if;
end $$;

-- The jobs noted for one namespace come in, in the order in which they were noted.
create function enqueue_noted(ns_name text, wall bigint) returns void language plpgsql as $$
declare
  ns_ int := ns_of(ns_name);
  mine xid8 := pg_current_xact_id();
  queues_ text[];
  stages_ text[];
  one record;
begin
  if has_old_snapshot() then perform probe_id(ns_, n.id, wall) from noted_job n where n.tx = mine and n.ns = ns_name and n.named; end if;
  -- Who wants several keys takes them in one order.
  if (select count(*) from noted_job n where n.tx = mine and n.extras ? 'key') > 1 then
    for one in
      select distinct home_of(ns_, n.queue) as home_id, n.extras ->> 'key' as key, first_value(n.id) over (partition by n.queue, n.extras ->> 'key' order by n.n) as id
      from noted_job n where n.tx = mine and n.ns = ns_name and n.extras ? 'key' order by 1, 2
    loop
      insert into unique_key (home_id, name, id, until) values (one.home_id, one.key, one.id, 0) on conflict do nothing;
      perform 1 from unique_key k where k.home_id = one.home_id and k.name = one.key for update;
    end loop;
  end if;
  select array_agg(p.queue order by p.queue, p.stage), array_agg(p.stage order by p.queue, p.stage) into queues_, stages_
  from (select distinct n.queue, n.stage from noted_job n where n.tx = mine and n.ns = ns_name) as p;
  perform enqueue_jobs(ns_name, queues_, stages_, u.q, u.ids, u.payloads, u.ranks, u.delays, u.ats, u.attempts, u.extras)
  from (
    select array_agg(p.place order by p.n) as q, array_agg(p.id order by p.n) as ids, array_agg(p.payload order by p.n) as payloads, array_agg(p.rank order by p.n) as ranks,
           array_agg(p.delay order by p.n) as delays, array_agg(p.at order by p.n) as ats, array_agg(p.attempts order by p.n) as attempts, array_agg(p.extras order by p.n) as extras
    from (select n.*, (dense_rank() over (order by n.queue, n.stage))::int as place from noted_job n where n.tx = mine and n.ns = ns_name) as p) as u;
end $$;

-- The outcomes noted for one namespace. Whoever is refused now ends the whole transaction.
create function settle_ends(ns_ int) returns void language plpgsql as $$
declare
  mine xid8 := pg_current_xact_id();
  ns_name text := (select name from namespace where id = ns_);
  one record;
  refused record;
begin
  -- The rows are locked: what does not run under its fence now was settled by another transaction since the call. Whoever was refused is named first.
  for one in
    select n.* from noted_end n
    where n.tx = mine and n.ns_id = ns_ and not exists (select 1 from job j where j.id = n.id and j.ns_id = ns_ and j.fence = n.fence and j.lease_end is not null) order by n.id
  loop
    select * into refused from why_not(ns_, (select o.id from owner o where o.ns_id = ns_ and o.name = one.owner), one.id, one.fence, one.kind, (clock()).lease);
    if refused.reason is not null then perform refuse_holder(one.id, one.fence, refused.current, refused.reason); end if;
    perform refuse_repeat(one.id, one.fence);
  end loop;
  -- Here too: its pipeline may have been applied since the call.
  perform refuse_item(ns_, n.id, n.kind) from noted_end n where n.tx = mine and n.ns_id = ns_ order by n.id;
  for one in
    select n.owner, array_agg(n.id order by n.id) as ids, array_agg(n.fence order by n.id) as fences, array_agg(n.kind order by n.id) as kinds, array_agg(n.result order by n.id) as results,
           array_agg(n.error order by n.id) as errors, array_agg(n.retry_in order by n.id) as retry_in, array_agg(n.exit_status order by n.id) as exits
    from noted_end n where n.tx = mine and n.ns_id = ns_ group by n.owner order by n.owner
  loop
    for refused in select * from settle_jobs(ns_name, one.owner, one.ids, one.fences, one.kinds, one.results, one.errors, one.retry_in, one.exits) loop
      perform refuse_holder(refused.id, refused.sent, refused.current, refused.reason);
    end loop;
    perform forget_guards(ns_, u.id, u.fence) from unnest(one.ids, one.fences) as u (id, fence);
  end loop;
end $$;

-- All that this transaction noted happens now. Locks in the order of all others: settings, jobs, claims, groups, then keys. A second call finds nothing.
create function settle_noted() returns void
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  mine xid8 := pg_current_xact_id();
  wall bigint;
  ns_ int;
  name_ text;
  h int;
  e noted_effect;
  homes int[];
  ids uuid[];
begin
  delete from commit_ticket where tx = mine;
  if not found then return; end if;
  -- A prepared transaction would keep these locks for as long as it likes.
  perform refuse_prepare();
  wall := (clock()).wall;
  -- Also of what ends: no pipeline comes between the look for one and this commit, and one that came since an old snapshot ends it (40001).
  homes := array(
    select q.home_id from noted_end n join job j on j.id = n.id and j.ns_id = n.ns_id join queue q on q.id = j.queue_id
    where n.tx = mine and (j.limit_id is not null or n.kind in (0, 1, 2) or has_old_snapshot())
    union select q.home_id from noted_job n join namespace s on s.name = n.ns join queue q on q.ns_id = s.id and q.name = n.queue where n.tx = mine and n.extras ? 'limit_key' order by 1);
  foreach h in array homes loop perform hold_settings(h, false); end loop;
  for ns_ in select n.ns_id from noted_end n where n.tx = mine union select n.ns_id from noted_effect n where n.tx = mine order by 1 loop
    ids := array(select n.id from noted_end n where n.tx = mine and n.ns_id = ns_ union select n.id from noted_effect n where n.tx = mine and n.ns_id = ns_);
    -- Where it stands, in `done` too: who has an old snapshot learns here that it was brought back (40001). Of one alone the verb takes the rest.
    perform lock_jobs(ns_, ids, cardinality(ids) > 1 or exists (select 1 from noted_effect n where n.tx = mine));
  end loop;
  for e in select * from noted_effect n where n.tx = mine order by n.ns_id, n.id, n.name loop perform record_noted(e, wall); end loop;
  for ns_ in select distinct n.ns_id from noted_end n where n.tx = mine order by 1 loop perform settle_ends(ns_); end loop;
  -- An old snapshot does not know who sleeps.
  if has_old_snapshot() then foreach h in array homes loop perform wake_stages(h); end loop; end if;
  for name_ in select distinct n.ns from noted_job n where n.tx = mine order by 1 loop perform enqueue_noted(name_, wall); end loop;
  delete from noted_end where tx = mine;
  delete from noted_effect where tx = mine;
  delete from noted_job where tx = mine;
end $$;

-- SET CONSTRAINTS ALL IMMEDIATE would have it happen now, and its locks held until a COMMIT that may be far: then the ticket is put back. See commit_is_under_way.
create function commit_due() returns trigger language plpgsql security definer set search_path from current as $$
begin
  if not commit_is_under_way(new.hop) then
    set constraints commit_due deferred;
    update commit_ticket set hop = statement_timestamp() where tx = new.tx;
    return null;
  end if;
  perform settle_noted();
  return null;
end $$;
create constraint trigger commit_due after insert or update of hop on commit_ticket deferrable initially deferred for each row execute function commit_due();
-- Also where a session calls itself a replica: a note that nobody works off would be an outcome that was lost.
alter table commit_ticket enable always trigger commit_due;

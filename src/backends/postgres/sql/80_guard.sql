-- A fence for what the application writes itself, in its own transaction: guard, gate, act_as. Checked at the call without a lock, and again at COMMIT.
--
-- At COMMIT a plain look would not do: under REPEATABLE READ it sees the past. So whoever commits under a fence inserts, and deletes, its key in `superseded`, where each grant leaves
-- the fence that it ended. A unique index sees past snapshots, in every isolation level: a key that is there is the end of the transaction; one that somebody is about to leave is
-- waited for; and whoever comes to leave one waits for the commit that is under way, and for nothing that is paused before it.
--
-- Locks at COMMIT: rows of jobs that the transaction settles (84), then keys in their order. A claim takes rows of jobs, then leaves keys.

-- What a transaction has still to check: a row for each resource and fence, gone when it ends. leased: a lease of it lives here. hop: see commit_is_under_way. source: the protected
-- table (82), 0: a call. The namespace by its name: one that is not there yet is made at COMMIT, since others would have to wait for it.
create unlogged table at_commit (
  xid bigint not null, ns text not null, resource text not null, fence bigint not null, ns_id int, leased boolean not null, source int not null, hop timestamptz,
  primary key (xid, ns, resource, fence))
  with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- The largest fence that was let in for a resource of which no lease lives here. It is kept for ever.
create table gate_memory (ns_id int not null, resource text not null, fence bigint not null, raised_at bigint not null, primary key (ns_id, resource)) with (fillfactor = 70);

-- Refusals are counted by sequences: what they gave is not taken back when the transaction is.
create function count_refusal(source int, kind text) returns void language plpgsql as $$
begin
  perform nextval(format('refused_%s_%s', source, kind)::regclass);
end $$;
create sequence refused_0_stale minvalue 0 start 0;
create sequence refused_0_behind minvalue 0 start 0;
create sequence refused_0_unfenced minvalue 0 start 0;

-- Why nobody may go on under a fence of this job, as far as this snapshot knows.
create function what_became_of(id_ uuid, sent bigint) returns text language plpgsql as $$
declare
  state_ smallint;
begin
  select d.state into state_ from done d where d.id = id_ and d.fence > sent;
  if not found then select state_of(j) into state_ from job j where j.id = id_ and j.fence > sent; end if;
  return case state_
    when 0 then 'the job was taken back and waits for its next grant'
    when 2 then 'the job was taken back and waits'
    when 3 then 'another worker has done the job'
    when 4 then 'the job is dead'
    when 5 then 'the job was cancelled'
    else 'another worker has the job now' end;
end $$;

create function refuse_stale(source int, resource text, sent bigint, newest bigint) returns void language plpgsql as $$
begin
  perform count_refusal(source, 'stale');
  perform fail_stale(format('fence %s of %s is stale: %s; stop this work%s', sent, resource, coalesce('the newest is ' || newest, 'it has ended'),
                            case when is_uuid(resource) and newest is not null then ', ' || what_became_of(resource::uuid, sent) when newest is not null then ', someone else has it now' else '' end),
                     format('reason=superseded sent=%s current=%s', sent, coalesce(newest, 0)));
end $$;
create function refuse_behind(source int, resource text, sent bigint, known bigint, why text) returns void language plpgsql as $$
begin
  perform count_refusal(source, 'behind');
  perform fail_behind(format('fence %s of %s is behind: %s', sent, resource, why), format('reason=behind sent=%s current=%s', sent, known));
end $$;

create function is_uuid(name_ text) returns boolean language plpgsql immutable as $$
begin
  return length(name_) = 36 and name_ ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';
end $$;

-- The newest fence that was granted for a resource, as this transaction sees it; null: no lease of it lives here. A job is named by its id.
create function newest_of_job(ns_ int, resource_ text) returns bigint language plpgsql as $$
declare
  id_ uuid;
  newest bigint;
begin
  if ns_ is null or not is_uuid(resource_) then return null; end if;
  id_ := resource_::uuid;
  select fence into newest from job where id = id_ and ns_id = ns_;
  if not found then select fence into newest from done where id = id_ and ns_id = ns_; end if;
  -- It may have been brought back between the two.
  if not found then select fence into newest from job where id = id_ and ns_id = ns_; end if;
  return newest;
end $$;
create function newest_of_lock(ns_ int, resource_ text) returns bigint language plpgsql as $$
declare
  newest bigint;
begin
  select l.fence into newest from lock l where l.ns_id = ns_ and l.resource = resource_ and l.fence > 0;
  if is_uuid(resource_) then newest := greatest(newest, (select max(l.fence) from lock l where l.ns_id = ns_ and l.guarded_as = resource_ and l.fence > 0)); end if;
  return newest;
end $$;
create function newest_grant(ns_ int, resource_ text) returns bigint language plpgsql as $$
begin
  return coalesce(newest_of_job(ns_, resource_), newest_of_lock(ns_, resource_));
end $$;

-- The same of a lock, for one who is about to be let in under it: until the end of this transaction whoever grants that lock leaves the key of the fence that it ends (50_locks.sql). An old snapshot
-- may not know of a grant that came before: so the row must be as the snapshot has it (40001), which only a lock on the row tells; that is given back at once, by a savepoint.
create function hold_newest_of_lock(ns_ int, resource_ text) returns bigint language plpgsql as $$
declare
  newest bigint := newest_of_lock(ns_, resource_);
begin
  if newest is null then return null; end if;
  perform pg_advisory_xact_lock_shared(lock_key(ns_, resource_));
  if has_old_snapshot() then
    begin
      perform 1 from lock l where l.ns_id = ns_ and (l.resource = resource_ or l.guarded_as = resource_) for share;
      raise exception using errcode = 'FL099';
    exception when sqlstate 'FL099' then
      return newest;
    end;
  end if;
  return newest_of_lock(ns_, resource_);
end $$;

-- Raises unless the fence is good for the resource now. remembered: the fence of the row that is written, if any. Answers whether a lease of it lives here.
create function check_fence(ns_ int, resource_ text, fence_ bigint, remembered bigint, source_ int) returns boolean language plpgsql as $$
declare
  -- Below what any store grants: its fences are wall time in microseconds, and this one is the year 2001.
  least_granted constant bigint := 1000000000000000;
  newest bigint := coalesce(newest_of_job(ns_, resource_), hold_newest_of_lock(ns_, resource_));
  memory bigint;
  other text;
begin
  if newest is null then
    if is_uuid(resource_) then
      select n.name into other from job j join namespace n on n.id = j.ns_id where j.id = resource_::uuid limit 1;
      if not found then select n.name into other from done d join namespace n on n.id = d.ns_id where d.id = resource_::uuid limit 1; end if;
      if other is not null then
        raise exception using errcode = '22023', message = format('job %s is in namespace %s: say so, namespace => %L', resource_, other, other);
      end if;
      if has_old_snapshot() and fence_ >= (extract(epoch from transaction_timestamp()) * 1000000)::bigint then
        raise exception using errcode = '40001', message = format('fence %s of %s was granted after this transaction took its snapshot', fence_, resource_),
          hint = 'claim and commit first, then begin the transaction that works';
      end if;
    end if;
    select m.fence into memory from gate_memory m where m.ns_id = ns_ and m.resource = resource_;
    if memory is null and fence_ >= least_granted and is_uuid(resource_) and fence_ <= (select value from floor) then
      perform refuse_stale(source_, resource_, fence_, null);  -- of a job that is long gone
    end if;
    if greatest(memory, remembered) > fence_ then perform refuse_stale(source_, resource_, fence_, greatest(memory, remembered)); end if;
  elsif fence_ < newest then
    perform refuse_stale(source_, resource_, fence_, newest);
  elsif fence_ > newest then
    perform refuse_behind(source_, resource_, fence_, newest, format('the newest that is known here is %s. Either it was granted after this transaction took its snapshot: begin anew; or the store was '
      'set back: have the job granted again', newest));
  elsif remembered > fence_ then
    perform refuse_behind(source_, resource_, fence_, remembered, format('it is the store''s newest, but %s was let in before, so the store was set back; run: select %I.rebase(), and have the job granted '
      'anew', remembered, current_schema()));
  end if;
  return newest is not null;
end $$;

-- Lets a fence in for a resource, until COMMIT, where it is checked again; raises otherwise. Many rows of one statement cost one look.
create function admit(ns_name text, resource_ text, fence_ bigint, remembered bigint, source_ int) returns void language plpgsql as $$
declare
  me bigint;
  ns_ int;
  leased_ boolean;
  word text;
begin
  if coalesce(resource_, '') = '' or length(resource_) > 500 then
    raise exception using errcode = '22023', message = 'a resource''s name has 1 to 500 characters: the id of a job, or a name that all writers use';
  end if;
  if fence_ is null or fence_ < 1 or fence_ > 9007199254740991 then
    raise exception using errcode = '22023', message = format('fence %s of %s is not a fence: a fence is the number that came with the grant, 1 to 2^53-1', coalesce(fence_::text, 'null'), resource_);
  end if;
  word := concat_ws(' ', extract(epoch from statement_timestamp()), current_schema(), ns_name, fence_, resource_);
  if coalesce(remembered, 0) <= fence_ and current_setting('fenceline.admitted', true) = word then return; end if;
  -- The number of the transaction first, and the look after it: see forget_superseded().
  me := pg_current_xact_id()::text::bigint;
  select id into ns_ from namespace where name = ns_name;
  leased_ := check_fence(ns_, resource_, fence_, remembered, source_);
  insert into at_commit (xid, ns, resource, fence, ns_id, leased, source) values (me, ns_name, resource_, fence_, ns_, leased_, source_) on conflict do nothing;
  -- Ends with the transaction, and with the savepoint that the note ends with.
  perform set_config('fenceline.admitted', word, true);
end $$;

-- Nobody takes over from here until this transaction has ended; raises if somebody has.
create function take_fence_key(ns_ int, n at_commit) returns void language plpgsql as $$
declare
  place tid;
begin
  begin
    insert into superseded (ns_id, resource, fence) values (ns_, n.resource, n.fence) returning ctid into place;
  exception when unique_violation then
    place := null;
  end;
  -- The newest for people, if this snapshot knows it.
  if place is null then perform refuse_stale(n.source, n.resource, n.fence, nullif(greatest(newest_grant(ns_, n.resource), n.fence), n.fence)); end if;
  delete from superseded where ctid = place;
end $$;

-- Where none was seen: no lock of that name was granted for the first time since, and one that is about to be waits until this transaction has ended; or the fence is its newest. Raises otherwise. A first grant
-- leaves the key of fence 0, which is seen past snapshots as the others are.
create function no_lock_has_come(ns_ int, n at_commit) returns void language plpgsql as $$
declare
  place tid;
  newest bigint;
begin
  loop
    begin
      insert into superseded (ns_id, resource, fence) values (ns_, n.resource, 0) returning ctid into place;
    exception when unique_violation then
      place := null;
    end;
    if place is not null then
      delete from superseded where ctid = place;
      exit;
    end if;
    if has_old_snapshot() then
      raise exception using errcode = '40001', message = format('lock %s was granted after this transaction took its snapshot', n.resource), hint = 'begin anew';
    end if;
    -- It may be of a lock that was forgotten since: whoever grants it anew waits for who has it.
    perform 1 from superseded k where k.ns_id = ns_ and k.resource = n.resource and k.fence = 0 for share;
    exit when found;
  end loop;
  if has_old_snapshot() then return; end if;
  newest := hold_newest_of_lock(ns_, n.resource);
  if newest <> n.fence then perform refuse_stale(n.source, n.resource, n.fence, nullif(greatest(newest, n.fence), n.fence)); end if;
end $$;

-- For people who look at locks: the largest fence of a lock that was let in. What cannot be written because somebody wrote it since the snapshot need not be.
create function remember_at_gate(ns_ int, n at_commit) returns void language plpgsql as $$
declare
  memory bigint;
begin
  if is_uuid(n.resource) and newest_of_lock(ns_, n.resource) is null then return; end if;  -- a job
  -- Under SERIALIZABLE a look would make two who guard different locks fail each other.
  if current_setting('transaction_isolation') <> 'serializable' then
    select m.fence into memory from gate_memory m where m.ns_id = ns_ and m.resource = n.resource;
    if memory >= n.fence then return; end if;
  end if;
  begin
    insert into gate_memory as m (ns_id, resource, fence, raised_at) values (ns_, n.resource, n.fence, (clock()).wall)
    on conflict (ns_id, resource) do update set fence = excluded.fence, raised_at = excluded.raised_at where m.fence < excluded.fence;
  exception when serialization_failure then
    null;
  end;
end $$;

-- The same where no lease lives here: the largest fence that was let in counts, and is raised now.
create function raise_gate(ns_ int, n at_commit) returns void language plpgsql as $$
declare
  memory bigint;
  wall bigint := (clock()).wall;
begin
  -- A lease of it may have come, and been taken over, after the snapshot in which none was seen.
  perform no_lock_has_come(ns_, n);
  perform take_fence_key(ns_, n);
  loop
    select m.fence into memory from gate_memory m where m.ns_id = ns_ and m.resource = n.resource;
    if not found then
      insert into gate_memory (ns_id, resource, fence, raised_at) values (ns_, n.resource, n.fence, wall) on conflict do nothing;
      exit when found;
    elsif memory > n.fence then
      perform refuse_stale(n.source, n.resource, n.fence, memory);
    elsif memory = n.fence then
      exit;
    else
      update gate_memory m set fence = n.fence, raised_at = wall where m.ns_id = ns_ and m.resource = n.resource and m.fence = memory;
      if found then
        insert into superseded (ns_id, resource, fence) values (ns_, n.resource, memory) on conflict do nothing;
        exit;
      end if;
    end if;
  end loop;
end $$;

create function check_at_commit() returns trigger language plpgsql security definer set search_path from current as $$
declare
  me bigint := pg_current_xact_id()::text::bigint;
  n at_commit;
begin
  if not commit_is_under_way(new.hop) then
    set constraints check_at_commit deferred;
    update at_commit set hop = statement_timestamp() where xid = me and hop is distinct from statement_timestamp();
    return null;
  end if;
  perform refuse_prepare();
  perform settle_noted();
  for n in select * from at_commit where xid = me order by xid, ns, resource collate "C", fence loop
    if n.leased then
      perform take_fence_key(n.ns_id, n);
      perform remember_at_gate(n.ns_id, n);
    else
      if newest_grant(n.ns_id, n.resource) > n.fence then perform refuse_stale(n.source, n.resource, n.fence, null); end if;  -- of a job that was not there before
      perform raise_gate(coalesce(n.ns_id, ns_of(n.ns)), n);
    end if;
  end loop;
  if found then delete from at_commit where xid = me; end if;
  return null;
end $$;
create constraint trigger check_at_commit after insert or update of hop on at_commit deferrable initially deferred for each row execute function check_at_commit();
alter table at_commit enable always trigger check_at_commit;

-- What was settled in this transaction was checked with the job's row.
create function forget_guards(ns_ int, id_ uuid, fence_ bigint) returns void language plpgsql as $$
begin
  delete from at_commit where xid = pg_current_xact_id()::text::bigint and ns = (select name from namespace where id = ns_) and resource = id_::text and fence = fence_;
end $$;

-- Names as they are compared: a job's id as PostgreSQL writes it, however it was spelled.
create function plain_resource(resource_ text) returns text language sql immutable as $$
  select case when translate(trim(resource_), '{}-', '') ~* '^[0-9a-f]{32}$' then translate(trim(resource_), '{}-', '')::uuid::text else resource_ end;
$$;

-- Of several parts, the name of one resource: joined by '/'; in a part '/' and '\' have a '\' before them.
create function resource(variadic parts text[]) returns text language sql immutable as $$
  select case when array_position(parts, null) is null then string_agg(replace(replace(p, E'\\', E'\\\\'), '/', E'\\/'), '/' order by n) end from unnest(parts) with ordinality as u (p, n);
$$;

-- Raises FL004 unless the fence is the newest of the resource, and lets the transaction commit only if it is so still.
create function guard(resource text, fence bigint, namespace text default 'default') returns void language plpgsql security definer set search_path from current as $$
begin
  perform admit(guard.namespace, plain_resource(guard.resource), guard.fence, null, 0);
end $$;

-- The same for a condition in a stored procedure: true, or it raises. To be asked again after each COMMIT of the procedure.
create function gate(resource text, fence bigint, namespace text default 'default') returns boolean language plpgsql security definer set search_path from current as $$
begin
  perform admit(gate.namespace, plain_resource(gate.resource), gate.fence, null, 0);
  return true;
end $$;

-- Of a transaction: the fence under which it writes rows of a resource in protected tables (82) without saying so in each statement. Ends with the transaction, or with the
-- savepoint that it was said in. A null takes it back.
create function act_as(resource text, fence bigint, namespace text default 'default') returns void language plpgsql security definer set search_path from current as $$
declare
  all_ jsonb := coalesce(nullif(current_setting('fenceline.acting', true), ''), '{}')::jsonb;
  name_ text := concat_ws(E'\n', current_schema(), act_as.namespace, plain_resource(act_as.resource));
begin
  if act_as.fence is not null then perform admit(act_as.namespace, plain_resource(act_as.resource), act_as.fence, null, 0); end if;
  perform set_config('fenceline.acting', (case when act_as.fence is null then all_ - name_ else all_ || jsonb_build_object(name_, act_as.fence) end)::text, true);
end $$;
-- The same three by the id of a job as `claim` gives it.
create function guard(resource uuid, fence bigint, namespace text default 'default') returns void language plpgsql security definer set search_path from current as $$
begin
  perform guard(guard.resource::text, guard.fence, guard.namespace);
end $$;
create function gate(resource uuid, fence bigint, namespace text default 'default') returns boolean language plpgsql security definer set search_path from current as $$
begin
  return gate(gate.resource::text, gate.fence, gate.namespace);
end $$;
create function act_as(resource uuid, fence bigint, namespace text default 'default') returns void language plpgsql security definer set search_path from current as $$
begin
  perform act_as(act_as.resource::text, act_as.fence, act_as.namespace);
end $$;
create function acting_fence(ns_name text, resource_ text) returns bigint language plpgsql as $$
declare
  all_ text := nullif(current_setting('fenceline.acting', true), '');
begin
  if all_ is null then return null; end if;
  return (all_::jsonb ->> concat_ws(E'\n', current_schema(), ns_name, resource_))::bigint;
end $$;

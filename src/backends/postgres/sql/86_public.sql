-- What applications call, from any language, in transactions of their own: docs/sql.md. These are the verbs of the store (40 to 68) behind notes (84), nothing of their own; they run with the
-- rights of the schema's owner, so that a role needs no more than EXECUTE. See allow().

create function fail_invalid(message text) returns void language plpgsql as $$ begin raise exception using errcode = '22023', message = message; end $$;

create function check_name(what text, name_ text) returns void language plpgsql as $$
begin
  if coalesce(name_, '') !~ '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$' then
    perform fail_invalid(format('%s ''%s'' is not a name; use 1 to 128 letters, digits, ''.'', ''_'', ''-'' or '':'', the first a letter or digit', what, left(name_, 40)));
  end if;
end $$;

create function check_key(what text, key_ text) returns void language plpgsql set standard_conforming_strings = on as $$
begin
  if octet_length(key_) not between 1 and 256 or key_ ~ '[\x01-\x1f\x7f]' then
    perform fail_invalid(format('%s ''%s'' is not a key; use 1 to 256 bytes without control characters', what, left(key_, 40)));
  end if;
end $$;

-- Microseconds; refused outside of a range. Null: not said.
create function micros(what text, value interval, least_ interval, most interval) returns bigint language plpgsql immutable as $$
declare
  us numeric := extract(epoch from value) * 1000000;
begin
  if us is not null and (us < extract(epoch from least_) * 1000000 or us > extract(epoch from most) * 1000000) then perform fail_invalid(format('%s %s is out of range; use %s to %s', what, value, least_, most)); end if;
  return us;
end $$;

-- How deep arrays and objects of a JSON text lie in each other. Strings are taken out first.
create function json_depth(payload text) returns int language plpgsql immutable set standard_conforming_strings = on as $$
declare
  bare text := regexp_replace(regexp_replace(payload, '"(\\.|[^"\\])*"', '', 'g'), '[^][{}]', '', 'g');
  depth int := 0;
  most int := 0;
  i int;
begin
  for i in 1 .. length(bare) loop
    if substr(bare, i, 1) in ('[', '{') then depth := depth + 1; else depth := depth - 1; end if;
    most := greatest(most, depth);
  end loop;
  return most;
end $$;

create function check_payload(payload text) returns void language plpgsql as $$
begin
  if payload is null then perform fail_invalid('the payload is null; for nothing say the JSON null: ''null'''); end if;
  if octet_length(payload) > 1048576 then perform fail_invalid(format('payload is too large (%s bytes); at most 1 MiB', octet_length(payload))); end if;
  begin
    perform payload::json;
  exception when others then
    perform fail_invalid(format('payload is not JSON (%s%s); a plain string has quotes of its own: %L, or to_jsonb(…)', left(payload, 40), case when length(payload) > 40 then '…' else '' end, '"text"'));
  end;
  if length(payload) - length(translate(payload, '[{', '')) > 128 and json_depth(payload) > 128 then perform fail_invalid('payload is nested too deeply; at most 128 levels'); end if;
end $$;

create function check_fence_sent(job uuid, fence bigint) returns void language plpgsql as $$
begin
  if job is null or fence is null then perform fail_invalid('a job and the fence of its grant are needed'); end if;
end $$;

-- Adds a job when the transaction commits. Answers its id, or that of the job that has its key now.
create function enqueue(queue text, payload text default 'null', key text default null, key_for interval default null, run_at timestamptz default null, delay interval default null,
                        priority int default 0, group_key text default null, limit_key text default null, max_attempts int default 10, timeout interval default null,
                        backoff interval default null, backoff_most interval default null, tags text[] default null, traceparent text default null, stage text default '', id uuid default null,
                        namespace text default 'default')
returns uuid language plpgsql security definer set search_path from current as $$
#variable_conflict use_variable
declare
  sorted text[] := array(select distinct t collate "C" from unnest(tags) as t order by 1);
  at_ bigint := case when run_at between 'epoch' and timestamptz '2200-01-01 00:00:00+00' then extract(epoch from run_at) * 1000000 end;
  wait_ bigint := coalesce(micros('delay', delay, '0', '366 days'), 0);
  first_ bigint := coalesce(micros('backoff', backoff, '0', '7 days'), 1000000);
  most_ bigint := coalesce(micros('longest backoff', backoff_most, '0', '7 days'), greatest(3600000000, first_));
  extras jsonb;
  one text;
begin
  perform check_name('namespace', namespace);
  perform check_name('queue', queue);
  if stage is distinct from '' then perform check_name('stage', stage); end if;
  perform check_payload(payload);
  if priority is null or abs(priority) > 1000 then perform fail_invalid(format('priority %s is out of range; use -1000 to 1000', priority)); end if;
  if max_attempts is null or max_attempts not between 1 and 1000 then perform fail_invalid(format('attempts %s is out of range; use 1 to 1000', max_attempts)); end if;
  if run_at is not null and delay is not null then perform fail_invalid('a job has a delay or a time, not both'); end if;
  if run_at is not null and at_ is null then perform fail_invalid(format('run_at %s is out of range; use 1970 to 2200', run_at)); end if;
  if first_ > most_ then perform fail_invalid('the first backoff is longer than the longest'); end if;
  perform check_key('key', nullif(key, ''));
  perform check_key('group', nullif(group_key, ''));
  perform check_key('limit key', nullif(limit_key, ''));
  if key_for is not null and coalesce(key, '') = '' then perform fail_invalid('a key time needs a key'); end if;
  if cardinality(sorted) > 16 then perform fail_invalid('too many tags; at most 16'); end if;
  foreach one in array sorted loop
    if one is null then perform fail_invalid('a tag is null'); end if;
    perform check_key('tag', one);
  end loop;
  if coalesce(traceparent, '') <> '' and traceparent !~ '^[A-Za-z0-9-]{55,128}$' then perform fail_invalid('traceparent is not a W3C trace context'); end if;
  extras := jsonb_strip_nulls(jsonb_build_object(
    'timeout', micros('timeout', timeout, '1 second', '30 days'), 'backoff_first', nullif(first_, 1000000), 'backoff_most', nullif(most_, 3600000000), 'key', nullif(key, ''),
    'key_for', nullif(micros('key time', key_for, '0', '366 days'), 0), 'group', nullif(group_key, ''), 'limit_key', nullif(limit_key, ''),
    'tags', case when cardinality(sorted) > 0 then to_jsonb(sorted) end, 'traceparent', nullif(traceparent, '')));
  return note_job(namespace, queue, stage, id, payload, (-priority)::smallint, wait_, at_, max_attempts, nullif(extras, '{}'));
end $$;

-- The same where the payload is jsonb.
create function enqueue(queue text, payload jsonb, key text default null, key_for interval default null, run_at timestamptz default null, delay interval default null,
                        priority int default 0, group_key text default null, limit_key text default null, max_attempts int default 10, timeout interval default null,
                        backoff interval default null, backoff_most interval default null, tags text[] default null, traceparent text default null, stage text default '', id uuid default null,
                        namespace text default 'default')
returns uuid language plpgsql security definer set search_path from current as $$
#variable_conflict use_variable
begin
  return enqueue(queue, payload::text, key, key_for, run_at, delay, priority, group_key, limit_key, max_attempts, timeout, backoff, backoff_most, tags, traceparent, stage, id, namespace);
end $$;

-- And where it is json, as some drivers send it.
create function enqueue(queue text, payload json, key text default null, key_for interval default null, run_at timestamptz default null, delay interval default null,
                        priority int default 0, group_key text default null, limit_key text default null, max_attempts int default 10, timeout interval default null,
                        backoff interval default null, backoff_most interval default null, tags text[] default null, traceparent text default null, stage text default '', id uuid default null,
                        namespace text default 'default')
returns uuid language plpgsql security definer set search_path from current as $$
#variable_conflict use_variable
begin
  return enqueue(queue, payload::text, key, key_for, run_at, delay, priority, group_key, limit_key, max_attempts, timeout, backoff, backoff_most, tags, traceparent, stage, id, namespace);
end $$;

-- Whoever leaves a transaction with a grant or a renewal in it open holds up others: the server ends an idle one after a while.
create function end_if_idle_for(most bigint) returns void language plpgsql as $$
declare
  now_ numeric := extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) * 1000;
begin
  if now_ = 0 or now_ > most then perform set_config('idle_in_transaction_session_timeout', most::text, true); end if;
end $$;

-- Takes up to n jobs for a worker, each with its fence: commit it at once, then work.
create function claim(queues text[], worker text, n int default 1, ttl interval default '30 seconds', stage text default '', holds_others boolean default false, request text default null,
                      namespace text default 'default')
returns table (job uuid, fence bigint, from_queue text, payload json, delivery bigint, failures bigint, lease_left interval, taken_over_from text)
language plpgsql security definer set search_path from current as $$
#variable_conflict use_column
declare
  ttl_ bigint := micros('ttl', claim.ttl, '1 second', '24 hours');
  one text;
begin
  perform check_name('namespace', claim.namespace);
  if coalesce(cardinality(claim.queues), 0) = 0 then perform fail_invalid('no queue was named'); end if;
  foreach one in array claim.queues loop perform check_name('queue', one); end loop;
  if (select count(distinct u) from unnest(claim.queues) as u) < cardinality(claim.queues) then perform fail_invalid('a queue was named twice'); end if;
  if claim.stage <> '' then perform check_name('stage', claim.stage); end if;
  if coalesce(octet_length(claim.worker), 0) not between 1 and 128 then perform fail_invalid('worker must have 1 to 128 bytes: one name for one start of one process, never used again'); end if;
  if claim.request is not null and octet_length(claim.request) not between 1 and 128 then perform fail_invalid('request must have 1 to 128 bytes'); end if;
  if claim.n is null or claim.n not between 1 and 10000 then perform fail_invalid('n must be 1 to 10000'); end if;
  if ttl_ is null or claim.stage is null or claim.holds_others is null then perform fail_invalid('ttl, stage and holds_others cannot be null'); end if;
  -- Slots are counted: an old snapshot does not see who has them.
  if has_old_snapshot() then perform fail_refused('claim needs a transaction in READ COMMITTED: set it for this one, claim, and commit; the one that works may be of any level'); end if;
  perform end_if_idle_for(10000);
  return query
    select g.id, g.fence, claim.queues[g.q], g.payload::json, g.deliveries, coalesce(g.failures, 0), make_interval(secs => g.left_us / 1000000.0), g.forced_from
    from claim_jobs(claim.namespace, claim.queues, claim.stage, claim.worker, coalesce(claim.request, gen_random_uuid()::text), claim.n, ttl_, claim.holds_others, true, null, null, null, null) as g
    where g.q > 0;
end $$;

create function claim(queue text, worker text, n int default 1, ttl interval default '30 seconds', stage text default '', holds_others boolean default false, request text default null,
                      namespace text default 'default')
returns table (job uuid, fence bigint, from_queue text, payload json, delivery bigint, failures bigint, lease_left interval, taken_over_from text)
language plpgsql security definer set search_path from current as $$
begin
  return query select * from claim(array[claim.queue], claim.worker, claim.n, claim.ttl, claim.stage, claim.holds_others, claim.request, claim.namespace);
end $$;

-- The lease begins anew. Answers what is left of it. FL004 once it has run out: then stop.
create function extend(job uuid, fence bigint, ttl interval default '30 seconds', worker text default null, namespace text default 'default') returns interval
language plpgsql security definer set search_path from current as $$
declare
  ttl_ bigint := micros('ttl', extend.ttl, '1 second', '24 hours');
  refused record;
begin
  perform check_name('namespace', extend.namespace);
  perform check_fence_sent(extend.job, extend.fence);
  if ttl_ is null then perform fail_invalid('ttl cannot be null'); end if;
  perform end_if_idle_for(least(ttl_ / 1000, 30000));
  for refused in
    select * from extend_jobs(extend.namespace, coalesce(extend.worker, holder_of(find_ns(extend.namespace), extend.job, extend.fence)), array[extend.job], array[extend.fence], ttl_) as e where e.id is not null
  loop
    perform refuse_holder(refused.id, refused.sent, refused.current, refused.reason);
  end loop;
  return make_interval(secs => ttl_ / 1000000.0);
end $$;

-- Ends the delivery when the transaction commits. FL004 at the call, or at COMMIT, if the fence is not the newest: the transaction is undone.
create function settle(job uuid, fence bigint, outcome text, result bytea default null, error bytea default null, retry_in interval default null, exit_status int default null,
                       worker text default null, namespace text default 'default')
returns void language plpgsql security definer set search_path from current as $$
declare
  kind smallint := array_position(array['done', 'failed', 'dead', 'later', 'given_back'], settle.outcome) - 1;
begin
  perform check_name('namespace', settle.namespace);
  perform check_fence_sent(settle.job, settle.fence);
  if kind is null then perform fail_invalid(format('''%s'' is not an outcome; use done, failed, dead, later or given_back', left(settle.outcome, 40))); end if;
  if octet_length(settle.result) > 1048576 then perform fail_invalid('result is too large; at most 1 MiB'); end if;
  if octet_length(settle.error) > 4096 then perform fail_invalid('error is too long; at most 4096 bytes'); end if;
  if settle.exit_status not between 0 and 255 then perform fail_invalid('exit status must be 0 to 255'); end if;
  perform note_end(settle.namespace, settle.job, settle.fence, settle.worker, kind, nullif(settle.result, ''), nullif(settle.error, ''),
                   coalesce(micros('retry delay', settle.retry_in, '0', '366 days'), 0), settle.exit_status::smallint);
end $$;

create function complete(job uuid, fence bigint, result text default null, worker text default null, namespace text default 'default') returns void
language plpgsql security definer set search_path from current as $$
begin
  perform settle(complete.job, complete.fence, 'done', result => convert_to(complete.result, 'UTF8'), worker => complete.worker, namespace => complete.namespace);
end $$;

-- How long a failed job waits, as its backoff says: full jitter over the first one doubling to the longest.
create function usual_wait(ns text, id_ uuid) returns interval language plpgsql as $$
declare
  j job;
  most double precision;
begin
  select * into j from job x where x.id = id_ and x.ns_id = find_ns(ns);
  most := coalesce((j.extras ->> 'backoff_most')::bigint, 3600000000);
  return make_interval(secs => random() * least(most, coalesce((j.extras ->> 'backoff_first')::bigint, 1000000) * power(2.0, least(coalesce(j.failures, 0), 60))) / 1000000);
end $$;

-- An attempt used up: again after a while, or dead when it was the last one, or with retry => false.
create function fail(job uuid, fence bigint, error text default null, retry_in interval default null, retry boolean default true, worker text default null, namespace text default 'default')
returns void language plpgsql security definer set search_path from current as $$
declare
  -- What is too long is cut: an error must not keep a failure from being told. A character may be cut in the middle: it is kept as bytes.
  error_ bytea := substr(convert_to(fail.error, 'UTF8'), 1, 4096);
begin
  perform settle(fail.job, fail.fence, case when fail.retry then 'failed' else 'dead' end, error => error_,
                 retry_in => case when fail.retry then coalesce(fail.retry_in, usual_wait(fail.namespace, fail.job)) end, worker => fail.worker, namespace => fail.namespace);
end $$;

-- An effect that is nothing but the statements of this transaction: done once for its job, whoever runs it again. If it was done before, the answer says so: then do nothing of it.
create function record_effect(job uuid, fence bigint, name text, digest text default '-', result text default null, namespace text default 'default', out done_before boolean, out first_result text)
language plpgsql security definer set search_path from current as $$
declare
  kept bytea;
begin
  perform check_name('namespace', record_effect.namespace);
  perform check_name('effect', record_effect.name);
  perform check_fence_sent(record_effect.job, record_effect.fence);
  if coalesce(octet_length(record_effect.digest), 0) not between 1 and 128 then perform fail_invalid('digest must have 1 to 128 bytes'); end if;
  if octet_length(record_effect.result) > 1048576 then perform fail_invalid('the result of an effect is too large; at most 1 MiB'); end if;
  select * into record_effect.done_before, kept
  from note_effect(record_effect.namespace, record_effect.job, record_effect.fence, record_effect.name, convert_to(record_effect.digest, 'UTF8'), convert_to(record_effect.result, 'UTF8'));
  begin
    first_result := convert_from(kept, 'UTF8');
  exception when others then
    first_result := null;  -- bytes of a command: fenceline effects list shows them
  end;
end $$;

-- Lets a role call what applications call, and touch nothing else of the schema. For the schema's owner.
create function allow(role_ regrole) returns void language plpgsql set search_path from current as $$
declare
  f regprocedure;
begin
  if role_ is null then perform fail_invalid('name a role: allow(''app'')'); end if;
  -- A grant by anybody else would only be warned of.
  if not pg_has_role(current_user, (select n.nspowner from pg_namespace n where n.nspname = current_schema()), 'member') then
    raise exception using errcode = '42501', message = format('only the owner of schema %s can allow others to call its functions', current_schema());
  end if;
  execute format('grant usage on schema %I to %s', current_schema(), role_);
  for f in select p.oid from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.prosecdef
           and p.proname in ('enqueue', 'claim', 'extend', 'settle', 'complete', 'fail', 'record_effect', 'lock_acquire', 'lock_renew', 'lock_release', 'guard', 'gate', 'act_as', 'checked_truncate', 'protections', 'refusals_of') loop
    execute format('grant execute on function %s to %s', f, role_);
  end loop;
  execute format('grant select on %I.refusals to %s', current_schema(), role_);
end $$;

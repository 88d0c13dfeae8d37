-- Locks for applications in any language: docs/sql.md. A call is best a transaction of its own: a grant counts when it is committed, and until then others wait for it.

create function check_lock_name(name_ text) returns void language plpgsql as $$
begin
  if coalesce(name_, '') !~ '^[A-Za-z0-9/][A-Za-z0-9._:/@=-]{0,127}$' then
    perform fail_invalid(format('lock ''%s'' is not a name; use 1 to 128 letters, digits, ''.'', ''_'', ''-'', '':'', ''/'', ''@'' or ''='', the first a letter, a digit or ''/''', left(name_, 40)));
  end if;
end $$;

create function check_lock_holder(what text, name_ text) returns void language plpgsql as $$
begin
  if coalesce(octet_length(name_), 0) not between 1 and 128 then perform fail_invalid(format('%s must have 1 to 128 bytes', what)); end if;
end $$;

-- The verbs commit without waiting for the disk where that does no harm: of a transaction of the application's that is its own to say.
create function keep_commit_as(was text) returns void language plpgsql as $$
begin
  if current_setting('synchronous_commit') <> was then perform set_config('synchronous_commit', was, true); end if;
end $$;

-- Asks for a lock. A row with a fence: it is granted. One without: held_by, the reason ("held", "barred", "delayed", "turn"), and in how long it may be had. holder: one name for one acquire, never used again.
create function lock_acquire(name text, holder text, ttl interval default '30 seconds', shared boolean default false, wait boolean default false, delay interval default '0', hold_at_least interval default '0',
                             request text default null, namespace text default 'default')
returns table (fence bigint, previous_holder text, held_by text, reason text, again_in interval, ahead bigint) language plpgsql security definer set search_path from current as $$
#variable_conflict use_variable
declare
  ttl_ bigint := micros('ttl', ttl, '1 second', '24 hours');
  delay_ bigint := micros('delay', delay, '0', '24 hours');
  hold_ bigint := micros('hold at least', hold_at_least, '0', '24 hours');
  commit_ text := current_setting('synchronous_commit');
  a lock_answer;
begin
  perform check_name('namespace', namespace);
  perform check_lock_name(name);
  perform check_lock_holder('holder', holder);
  if request is not null then perform check_lock_holder('request', request); end if;
  -- Two who have the same name by mistake must not be one: only who says its request can ask again.
  if wait and request is null then perform fail_invalid('a waiter repeats the same request: name one with request => ''...'', unique to this waiter'); end if;
  if ttl_ is null or delay_ is null or hold_ is null or shared is null or wait is null then perform fail_invalid('ttl, delay, hold_at_least, shared and wait cannot be null'); end if;
  if shared and (delay_ > 0 or hold_ > 0) then perform fail_invalid('a shared lock takes neither hold_at_least nor a delay'); end if;
  if has_old_snapshot() then perform fail_refused('lock_acquire needs a transaction in READ COMMITTED: set it for this one, and commit; the one that works may be of any level'); end if;
  perform end_if_idle_for(10000);
  select * into a from acquire_locks(namespace, array[name], holder, coalesce(request, gen_random_uuid()::text), shared::int::smallint, 1, ttl_, false, hold_, delay_, wait, 'sql', '');
  perform keep_commit_as(commit_);
  if a.reason is null then
    return query select a.fence, a.owner, null::text, null::text, null::interval, 0::bigint;
  else
    return query select null::bigint, null::text, a.owner, a.reason, make_interval(secs => a.again_us / 1000000.0), a.ahead;
  end if;
end $$;

create function refuse_lock_word(r lock_refusal) returns void language plpgsql as $$
begin
  perform fail_stale(format('lock %s: fence %s is not held (%s%s)', r.resource, r.fence, r.reason, case when r.current > 0 then format(', the newest is %s', r.current) end),
                     format('reason=%s sent=%s current=%s', r.reason, r.fence, r.current));
end $$;

-- The lease begins anew. Answers what is left of it. FL004 once it has run out, or is another's: then stop.
create function lock_renew(name text, holder text, fence bigint, ttl interval default '30 seconds', namespace text default 'default') returns interval
language plpgsql security definer set search_path from current as $$
#variable_conflict use_variable
declare
  ttl_ bigint := micros('ttl', ttl, '1 second', '24 hours');
  r lock_refusal;
begin
  perform check_name('namespace', namespace);
  perform check_lock_name(name);
  perform check_lock_holder('holder', holder);
  if ttl_ is null or fence is null then perform fail_invalid('a fence and a ttl are needed'); end if;
  if has_old_snapshot() then perform fail_refused('lock_renew needs a transaction in READ COMMITTED'); end if;
  perform end_if_idle_for(least(ttl_ / 1000, 10000));
  for r in select * from renew_locks(namespace, array[name], array[holder], array[fence], ttl_) as e where e.resource is not null loop perform refuse_lock_word(r); end loop;
  return make_interval(secs => ttl_ / 1000000.0);
end $$;

-- Frees it; its fence still counts until the next grant. Said again: nothing happens. FL004 if it is another's.
create function lock_release(name text, holder text, fence bigint, namespace text default 'default') returns void language plpgsql security definer set search_path from current as $$
#variable_conflict use_variable
declare
  commit_ text := current_setting('synchronous_commit');
  r lock_refusal;
begin
  perform check_name('namespace', namespace);
  perform check_lock_name(name);
  perform check_lock_holder('holder', holder);
  if fence is null then perform fail_invalid('a fence is needed'); end if;
  if has_old_snapshot() then perform fail_refused('lock_release needs a transaction in READ COMMITTED'); end if;
  perform end_if_idle_for(10000);
  for r in select * from release_locks(namespace, array[name], array[holder], array[fence]) loop perform refuse_lock_word(r); end loop;
  perform keep_commit_as(commit_);
end $$;

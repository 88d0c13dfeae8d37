-- The ledger: what of a job's side effects has happened. Whoever writes here has locked the job's row first, so an effect is spoken of by one at a time.

-- The running job waits for its effect from now on: its delivery has ended at no cost, and keeps its slot under the same fence.
create function hold_for(j job, name_ text, wall bigint) returns void language plpgsql as $$
declare
  home_ home := home_of_queue(j.queue_id);
begin
  update effect set held = true where id = j.id and ns_id = j.ns_id and name = name_;
  perform keep_slot(j, home_, 9::smallint, wall);
  j.losses_in_row := null;  -- its delivery came to an end of its own
  update job set lease_end = null, started_at = null, claim_id = null, losses_in_row = null, last_outcome = null, exit_status = null, blocked = ready_bits(j, home_, false) | 1
  where id = j.id and ns_id = j.ns_id;
  perform count_moved(j.queue_id, 0, -1, 1, 0, 0, 0);
  perform free_slot(j);
end $$;

-- The effect is done or none. Its job, if it waited for that and waits for nothing else, is ready again in its old place. One that waits at a gate stays there.
create function end_effect(ns_ int, id_ uuid, name_ text, state_ smallint, lease bigint, wall bigint) returns void language plpgsql as $$
declare
  j job;
  home_ home;
  slot_end bigint;
  was_held boolean := (select e.held from effect e where e.id = id_ and e.ns_id = ns_ and e.name = name_);
begin
  update effect set state = state_, ended_at = wall, held = false where id = id_ and ns_id = ns_ and name = name_;
  select * into j from job where id = id_ and ns_id = ns_;
  if j.id is null or not was_held or state_of(j) <> 2 or exists (select 1 from effect e where e.id = id_ and e.ns_id = ns_ and e.held) then return; end if;
  home_ := home_of_queue(j.queue_id);
  select lease_end into slot_end from slot where ns_id = ns_ and id = id_ and lease_end > lease;
  update job set blocked = ready_bits(j, home_, slot_end is not null) where id = id_ and ns_id = ns_;
  perform count_moved(j.queue_id, 1, 0, -1, 0, 0, 0);
  perform look_at_ready(j, home_, slot_end);
  perform wake(j.queue_id);
  perform free_slot(j);
end $$;

-- An intent of this call: it may have happened from now on.
create function write_intent(ns_ int, request jsonb, doubts_ bigint, wall bigint) returns void language plpgsql as $$
begin
  update effect set state = 1, policy = (request ->> 'in_doubt')::smallint, digest = decode(request ->> 'digest', 'hex'), fence = (request ->> 'fence')::bigint,
                    call = request ->> 'call', actor = coalesce(request ->> 'actor', ''), doubts = doubts_, began_at = wall, ended_at = null, exit_status = null, result = null,
                    resolved_by = ''
  where id = (request ->> 'job')::uuid and ns_id = ns_ and name = request ->> 'name';
  if not found then
    insert into effect (ns_id, id, name, state, held, policy, digest, fence, call, actor, doubts, began_at)
    values (ns_, (request ->> 'job')::uuid, request ->> 'name', 1, false, (request ->> 'in_doubt')::smallint, decode(request ->> 'digest', 'hex'), (request ->> 'fence')::bigint,
            request ->> 'call', coalesce(request ->> 'actor', ''), 0, wall);
  end if;
end $$;

-- Verdicts as EffectVerdict: 0 act, 1 again, 2 probe, 3 done, 4 busy, 5 held, 6 lost. The caller holds the job.
create function meet_effect(ns_ int, j job, request jsonb, wall bigint) returns jsonb language plpgsql as $$
declare
  effects_most constant bigint := 10000;
  name_ text := request ->> 'name';
  policy_ int := (request ->> 'in_doubt')::int;
  in_its_way int := case when policy_ = 2 then 2 else 1 end;
  e effect;
begin
  select * into e from effect where id = j.id and ns_id = ns_ and name = name_;
  if not found then
    if (select count(*) from effect x where x.id = j.id and x.ns_id = ns_) >= effects_most then perform fail_refused(format('job %s has 10000 effects already', j.id)); end if;
    perform write_intent(ns_, request, 0, wall);
    return jsonb_build_object('verdict', 0);
  end if;
  if e.state = 0 then
    if e.call = request ->> 'call' then
      perform fail_refused(format('this call of effect %s of job %s ended without effect; begin again with a new call', name_, j.id));
    end if;
    perform write_intent(ns_, request, 0, wall);
    return jsonb_build_object('verdict', 0);
  end if;
  if e.digest <> decode(request ->> 'digest', 'hex') then
    perform fail_conflict(format('effect %s of job %s was %s for another command or request; give this one another name', name_, j.id, case when e.state = 2 then 'done' else 'begun' end));
  end if;
  if e.state = 2 then return jsonb_strip_nulls(jsonb_build_object('verdict', 3, 'result', encode(e.result, 'hex'), 'exit_status', e.exit_status)); end if;
  if e.fence = j.fence and e.call = request ->> 'call' then return jsonb_build_object('verdict', case when e.doubts = 0 then 0 else in_its_way end); end if;
  if e.fence = j.fence and e.call <> coalesce(request ->> 'dead_call', '') then return jsonb_build_object('verdict', 4, 'call', e.call, 'actor', e.actor); end if;
  if policy_ = 0 then
    perform hold_for(j, name_, wall);
    return jsonb_build_object('verdict', 5);
  end if;
  perform write_intent(ns_, request, e.doubts + 1, wall);
  return jsonb_build_object('verdict', in_its_way);
end $$;

create function refusal_of(id_ uuid, sent bigint, current_ bigint, reason text) returns jsonb language sql immutable as $$
  select jsonb_build_object('id', id_, 'sent', sent, 'current', current_, 'reason', reason);
$$;

-- {"job", "fence", "name", "digest", "call", "actor", "in_doubt", "dead_call"}: {"verdict", "result", "exit_status", "call", "actor", "refusal"}.
create function begin_effect(ns text, request jsonb) returns jsonb language plpgsql set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  id_ uuid := (request ->> 'job')::uuid;
  sent bigint := (request ->> 'fence')::bigint;
  now record;
  j job;
  d done;
  reason text;
begin
  perform lock_jobs(ns_, array[id_], true);
  select * into now from clock();
  select * into j from job where id = id_ and ns_id = ns_;
  if j.id is null then select * into d from done where id = id_ and ns_id = ns_; end if;
  reason := case
    when j.id is null and d.id is null then 'not_found'
    when coalesce(j.fence, d.fence) <> sent then 'superseded'
    when d.id is not null then 'finished'
    when j.lease_end is null then 'settled'
    when j.lease_end <= now.lease then 'expired' end;
  if reason is null then return meet_effect(ns_, j, request, now.wall); end if;
  -- The repeat of a call that was answered so.
  if reason = 'settled' and state_of(j) = 2 and exists (select 1 from effect e where e.id = id_ and e.ns_id = ns_ and e.name = request ->> 'name' and e.held) then
    return jsonb_build_object('verdict', 5);
  end if;
  return jsonb_build_object('verdict', 6, 'refusal', refusal_of(id_, sent, coalesce(j.fence, d.fence, 0), reason));
end $$;

-- {"job", "fence", "name", "call", "end", "result", "exit_status"}: {"refusal"}, empty if it is as said. end as EffectEnd: 0 done, 1 none, 2 held.
create function finish_effect(ns text, request jsonb) returns jsonb language plpgsql set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  id_ uuid := (request ->> 'job')::uuid;
  sent bigint := (request ->> 'fence')::bigint;
  name_ text := request ->> 'name';
  end_ int := coalesce((request ->> 'end')::int, 0);
  now record;
  j job;
  e effect;
  current_ bigint;
  known_better boolean;
begin
  perform lock_jobs(ns_, array[id_], true);
  select * into now from clock();
  select * into j from job where id = id_ and ns_id = ns_;
  current_ := coalesce(j.fence, (select d.fence from done d where d.id = id_ and d.ns_id = ns_));
  if current_ is null then return jsonb_build_object('refusal', refusal_of(id_, sent, 0, 'not_found')); end if;
  if current_ <> sent then return jsonb_build_object('refusal', refusal_of(id_, sent, current_, 'superseded')); end if;
  select * into e from effect where id = id_ and ns_id = ns_ and name = name_;
  if e.id is null or e.call <> request ->> 'call' or e.fence <> sent then return jsonb_build_object('refusal', refusal_of(id_, sent, current_, 'other_call')); end if;
  -- What the very call of an intent knows beats what an operator guessed.
  known_better := e.state = 0 and e.resolved_by <> '' and end_ = 0;
  if e.state <> 1 and not known_better then
    if (e.state = 2) = (end_ = 0) and end_ <> 2 and e.resolved_by = '' then return '{}'; end if;
    return jsonb_build_object('refusal', refusal_of(id_, sent, current_, 'other_call'));
  end if;
  if end_ = 2 then
    if j.id is not null and state_of(j) = 1 then
      perform hold_for(j, name_, now.wall);
    elsif j.id is not null and state_of(j) = 2 and exists (select 1 from effect x where x.id = id_ and x.ns_id = ns_ and x.held) then
      update effect set held = true where id = id_ and ns_id = ns_ and name = name_;
    end if;
    return '{}';
  end if;
  if end_ = 0 then
    update effect set result = decode(coalesce(request ->> 'result', ''), 'hex'), exit_status = (request ->> 'exit_status')::smallint, resolved_by = ''
    where id = id_ and ns_id = ns_ and name = name_;
  end if;
  perform end_effect(ns_, id_, name_, case when end_ = 0 then 2 else 0 end::smallint, now.lease, now.wall);
  if known_better then perform note_act(ns, 'worker', 'effect_resolved', format('%s %s done', id_, name_), 'its own call reported so', now.wall); end if;
  return '{}';
end $$;

-- {"job", "name", "call", "done", "result", "act"}.
create function resolve_effect(ns text, request jsonb) returns void language plpgsql set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  id_ uuid := (request ->> 'job')::uuid;
  name_ text := request ->> 'name';
  call_ text := coalesce(request ->> 'call', '');
  wanted smallint := case when coalesce((request ->> 'done')::boolean, false) then 2 else 0 end;
  now record;
  j job;
  e effect;
begin
  perform lock_jobs(ns_, array[id_], true);
  select * into now from clock();
  select * into j from job where id = id_ and ns_id = ns_;
  if j.id is null and not exists (select 1 from done d where d.id = id_ and d.ns_id = ns_) then perform fail_not_found(format('there is no job %s', id_)); end if;
  select * into e from effect where id = id_ and ns_id = ns_ and name = name_;
  if e.id is null then perform fail_not_found(format('there is no effect %s of job %s', name_, id_)); end if;
  if e.state = wanted then return; end if;
  if e.state <> 1 then perform fail_refused(format('effect %s of job %s is not in doubt: it is %s', name_, id_, case when e.state = 2 then 'done' else 'none' end)); end if;
  if call_ <> '' and call_ <> e.call then perform fail_refused(format('effect %s of job %s was begun again by another call; look again', name_, id_)); end if;
  if j.fence = e.fence and j.lease_end > now.lease then
    perform fail_refused(format('effect %s of job %s is not in doubt: its holder is still working on it; cancel the job first, or wait', name_, id_));
  end if;
  if exists (select 1 from slot s where s.ns_id = ns_ and s.id = id_ and s.lease_end > now.lease and s.fence = e.fence) then
    perform fail_refused(format('effect %s of job %s: its holder may still be running; wait until its worker has stopped or its lease has ended', name_, id_));
  end if;
  update effect set resolved_by = request -> 'act' ->> 'actor', result = decode(coalesce(request ->> 'result', ''), 'hex') where id = id_ and ns_id = ns_ and name = name_;
  perform end_effect(ns_, id_, name_, wanted, now.lease, now.wall);
  perform note_act(ns, request -> 'act' ->> 'actor', 'effect_resolved', format('%s %s %s', id_, name_, case when wanted = 2 then 'done' else 'none' end), request -> 'act' ->> 'reason', now.wall);
end $$;

-- Nobody holds its job under its fence by a live lease.
create function is_in_doubt(e effect, lease bigint) returns boolean language sql stable as $$
  select e.state = 1 and not exists (select 1 from job j where j.id = e.id and j.ns_id = e.ns_id and j.fence = e.fence and j.lease_end > lease);
$$;

-- {"job", "in_doubt", "after", "limit", "with_result"}: a row {"effect": ...} each, in the order in which they were first begun; the last one is {"next": cursor} if there is more.
create function list_effects(ns text, request jsonb) returns setof jsonb language plpgsql stable set search_path from current set jit = off as $$
declare
  ns_ int := find_ns(ns);
  id_ uuid := (request ->> 'job')::uuid;
  doubtful boolean := coalesce((request ->> 'in_doubt')::boolean, false);
  after_ bigint := coalesce((request ->> 'after')::bigint, 0);
  most int := coalesce((request ->> 'limit')::int, 100);
  with_result boolean := coalesce((request ->> 'with_result')::boolean, false);
  lease bigint := (clock()).lease;
  numbers bigint[];
  e effect;
begin
  if ns_ is null then return; end if;
  if id_ is not null then
    numbers := array(select x.number from effect x where x.id = id_ and x.ns_id = ns_ and x.number > after_ and (not doubtful or is_in_doubt(x, lease)) order by x.number limit most + 1);
  elsif doubtful then
    numbers := array(select x.number from effect x where x.ns_id = ns_ and x.state = 1 and x.number > after_ and is_in_doubt(x, lease) order by x.number limit most + 1);
  else
    numbers := array(select x.number from effect x where x.ns_id = ns_ and x.number > after_ order by x.number limit most + 1);
  end if;
  for e in select x.* from effect x where x.number = any (numbers[1:most]) order by x.number loop
    return next jsonb_build_object('effect', jsonb_strip_nulls(jsonb_build_object(
      'job', e.id, 'name', e.name, 'state', e.state, 'in_doubt', is_in_doubt(e, lease), 'held', e.held, 'policy', e.policy, 'digest', encode(e.digest, 'hex'), 'fence', e.fence,
      'call', e.call, 'actor', e.actor, 'doubts', e.doubts, 'began_at', e.began_at, 'ended_at', e.ended_at, 'exit_status', e.exit_status, 'resolved_by', e.resolved_by,
      'result', case when with_result then encode(e.result, 'hex') end)));
  end loop;
  if cardinality(numbers) > most then return next jsonb_build_object('next', numbers[most]); end if;
end $$;

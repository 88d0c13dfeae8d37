-- What people do to a schedule, in one step with its account up to that moment, and what is forgotten of schedules.

-- A schedule as it is; see read_schedule in C++.
create function shown_schedule(s schedule, with_unfinished boolean) returns jsonb language plpgsql stable as $$
declare
  looked constant int := 10;
  at_most bigint;
  unfinished jsonb;
begin
  if with_unfinished then
    at_most := (clock()).wall;
    unfinished := (
      select jsonb_agg(jsonb_build_object('tick', t.tick, 'job', t.job, 'state', state_of(j)) order by t.tick)
      from (select x.tick, x.job from tick x where x.schedule_id = s.id and x.tick <= at_most order by x.tick desc limit looked) as t join job j on j.id = t.job and j.ns_id = s.ns_id);
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'name', s.name, 'spec', encode(s.spec, 'hex'), 'revision', s.revision, 'version', s.version, 'resolved_to', s.resolved_to, 'counts_from', s.counts_from, 'fired_to', s.fired_to, 'bar', s.bar,
    'paused', case when s.paused_at is not null then jsonb_build_object('at', s.paused_at, 'by', s.paused_by, 'reason', s.pause_reason) end, 'removed', s.removed,
    'created_at', s.created_at, 'changed_at', s.changed_at, 'unfinished', unfinished));
end $$;

-- The row of a schedule, locked. create_: if there is none, one that says nothing yet; another who makes it at the same moment is waited for.
create function take_schedule(ns_ int, name_ text, create_ boolean) returns schedule language plpgsql as $$
declare
  s schedule;
begin
  loop
    perform take_schedules(ns_, array[name_]);
    select * into s from schedule x where x.ns_id = ns_ and x.name = name_;
    if s.id is not null or not create_ then return s; end if;
    insert into schedule (ns_id, name, revision, version, resolved_to, counts_from, fired_to, bar, created_at, changed_at, removed, spec)
    values (ns_, name_, 0, 0, 0, 0, 0, 0, 0, 0, true, '') on conflict do nothing returning * into s;
    if s.id is not null then return s; end if;
  end loop;
end $$;

-- Moves an account back: ranges after `to_` are gone, of the one that goes over it stays what is said. Fired ticks stay.
create function rewind_schedule(s schedule, asked jsonb) returns schedule language plpgsql as $$
declare
  to_ bigint := (asked ->> 'to')::bigint;
  kept jsonb := asked -> 'kept';
  over skipped;
  gone bigint;
begin
  if s.resolved_to <> (asked ->> 'from')::bigint then perform fail_conflict(format('schedule %s has moved on: read it again', s.name)); end if;
  if to_ < s.bar then perform fail_refused(format('schedule %s cannot be moved back that far: the outcomes of those ticks are no longer known', s.name)); end if;
  if to_ < s.counts_from then perform fail_refused(format('schedule %s cannot be moved back beyond its last edit', s.name)); end if;
  select * into over from skipped x where x.schedule_id = s.id and x.first <= to_ order by x.first desc limit 1;
  if over.last is null or over.last <= to_ then over := null; end if;
  if (over.first is not null) <> (kept is not null)
     or kept is not null and (over.first <> (kept ->> 'first')::bigint or over.reason <> kept ->> 'reason' or over.count <= (kept ->> 'count')::bigint) then
    perform fail_conflict(format('what is kept of schedule %s does not fit: read it again', s.name));
  end if;
  update skipped x set last = (kept ->> 'last')::bigint, count = (kept ->> 'count')::bigint where x.schedule_id = s.id and x.first = over.first;
  delete from skipped x where x.schedule_id = s.id and x.first > to_;
  get diagnostics gone = row_count;
  s.ticks_kept := s.ticks_kept - gone;
  s.resolved_to := to_;
  return s;
end $$;

-- {"name", "change", "revision", "spec", "to", "from", "kept", "subject", "act"}: {"schedule", "duplicates", "now"}. change as ScheduleChange: 0 put, 1 pause, 2 resume, 3 remove, 4 rewind, 5 run. The step, if
-- there is one, as of step_ticks; the job of a run as those of a step.
create function change_schedule(ns text, asked jsonb, request text, owner text, place text, names text[], revisions bigint[], froms bigint[], tos bigint[], fired_of int[], ticks bigint[],
                                skip_of int[], firsts bigint[], lasts bigint[], counts bigint[], reasons text[],
                                queues text[], stages text[], q int[], ids uuid[], payloads text[], ranks smallint[], delays bigint[], ats bigint[], attempts int[], extras jsonb[])
returns jsonb language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_variable
declare
  change int := (asked ->> 'change')::int;
  name_ text := asked ->> 'name';
  revision_ bigint := (asked ->> 'revision')::bigint;
  actor text := asked -> 'act' ->> 'actor';
  reason text := asked -> 'act' ->> 'reason';
  ns_ int := case when revision_ = 0 then ns_of(ns) else find_ns(ns) end;
  s schedule := take_schedule(ns_, name_, revision_ = 0);
  wall bigint := (clock()).wall;
  is_new boolean := coalesce(s.revision = 0, false);
  step step_answer;
  gone bigint;
  count_ schedule_count;
begin
  if s.changed_by = request or s.moved_by = request then
    return jsonb_build_object('schedule', shown_schedule(s, false), 'duplicates', case when s.changed_by = request then s.change_duplicates else s.move_duplicates end, 'now', wall);
  end if;
  if revision_ = 0 then
    if not s.removed then perform fail_conflict(format('schedule %s is there already', name_)); end if;
  elsif s.id is null or s.removed then
    perform fail_not_found(format('there is no schedule %s', name_));
  elsif s.revision <> revision_ then
    perform fail_conflict(format('schedule %s was changed: read it again', name_));
  end if;
  if change = 1 and s.paused_at is not null or change = 2 and s.paused_at is null then
    return jsonb_build_object('schedule', shown_schedule(s, false), 'now', wall);
  end if;
  if cardinality(names) > 0 then
    step := (select t from take_steps(ns, request, owner, place, wall, names, revisions, froms, tos, fired_of, ticks, skip_of, firsts, lasts, counts, reasons,
                                      queues, stages, q, ids, payloads, ranks, delays, ats, attempts, extras) as t);
    if step.refused = 'early' then perform fail_refused(format('the step of schedule %s leads beyond the store''s clock', name_)); end if;
    if step.refused <> '' then perform fail_conflict(format('schedule %s has moved on: read it again', name_)); end if;
    select * into s from schedule x where x.id = s.id;
  end if;
  if change = 5 then
    perform enqueue_kept(ns, '{true}', queues, stages, q, ids, payloads, ranks, delays, ats, attempts, extras);
  elsif change = 4 then
    s := rewind_schedule(s, asked);
    s.moved_by := request;
    s.move_duplicates := null;
  end if;
  if change <> 5 then
    -- From here on all other changes of the namespace wait until this one is committed: versions are seen in their order.
    insert into schedule_count as c (ns_id, version) values (ns_, 1) on conflict (ns_id) do update set version = c.version + 1 returning * into count_;
    s.revision := case when is_new then count_.version else s.revision + 1 end;
    s.version := count_.version;
    s.changed_at := wall;
  end if;
  if change = 0 then
    if revision_ = 0 then
      if is_new then
        s.bar := count_.bar;
        s.fired_to := count_.bar;
      end if;
      s.created_at := wall;
      s.removed := false;
      s.paused_at := null;
    end if;
    -- What a new rule counts from is never ahead of the clock, which may have been set back since.
    if revision_ = 0 or s.resolved_to > wall then
      delete from skipped x where x.schedule_id = s.id and x.last > wall;
      get diagnostics gone = row_count;
      s.ticks_kept := s.ticks_kept - gone;
      s.resolved_to := wall;
      s.moved_by := request;
      s.move_duplicates := null;
    end if;
    s.spec := decode(asked ->> 'spec', 'hex');
    s.counts_from := s.resolved_to;
  elsif change = 1 then
    s.paused_at := wall;
    s.paused_by := actor;
    s.pause_reason := reason;
  elsif change = 2 then
    s.paused_at := null;
  elsif change = 3 then
    s.removed := true;
  end if;
  update schedule x set revision = s.revision, version = s.version, resolved_to = s.resolved_to, counts_from = s.counts_from, fired_to = s.fired_to, bar = s.bar, ticks_kept = s.ticks_kept,
                        created_at = s.created_at, changed_at = s.changed_at, removed = s.removed, paused_at = s.paused_at, paused_by = s.paused_by, pause_reason = s.pause_reason,
                        changed_by = request, change_duplicates = step.duplicates, moved_by = s.moved_by, move_duplicates = s.move_duplicates, spec = s.spec
  where x.id = s.id;
  perform note_act(ns, actor, case change when 0 then case when revision_ = 0 then 'schedule_added' else 'schedule_changed' end when 1 then 'schedule_paused' when 2 then 'schedule_resumed'
                              when 3 then 'schedule_removed' when 4 then 'schedule_rewound' else 'schedule_run' end, asked ->> 'subject', reason, wall);
  perform wake_workers(ns_);
  return jsonb_build_object('schedule', shown_schedule(s, false), 'duplicates', step.duplicates, 'now', wall);
end $$;

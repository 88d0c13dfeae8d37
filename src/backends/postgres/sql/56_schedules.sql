-- How the accounts of schedules move. A row of `schedule` is locked before all else, and what it says is read by a later statement: whoever waited for it sees what was done meanwhile. So of several
-- who all believe they lead one takes a step, and the others are told.
--
-- Order of locks: rows of schedule by name; then what an enqueue takes (30_shared.sql); then the count of the namespace, after which nobody waits for anything.

-- Two who take the same schedules, in whatever order they name them, never wait for each other crosswise.
create function take_schedules(ns_ int, names text[]) returns void language plpgsql as $$
begin
  perform 1 from schedule s where s.ns_id = ns_ and s.name = any (names) order by s.name for update;
end $$;

-- Enqueues those of these jobs that are kept. One whose id is there already undoes all.
create function enqueue_kept(ns text, keep boolean[], queues text[], stages text[], q int[], ids uuid[], payloads text[], ranks smallint[], delays bigint[], ats bigint[], attempts int[], extras jsonb[])
returns void language plpgsql as $$
declare
  used int[];
begin
  if not (true = any (keep)) then return; end if;
  if false = any (keep) then
    used := array(select distinct u.q from unnest(q, keep) as u (q, keep) where u.keep order by u.q);
    queues := array(select queues[u] from unnest(used) as u order by u);
    stages := array(select stages[u] from unnest(used) as u order by u);
    select array_agg(array_position(used, u.q) order by u.n), array_agg(u.id order by u.n), array_agg(u.payload order by u.n), array_agg(u.rank order by u.n), array_agg(u.delay order by u.n),
           array_agg(u.at order by u.n), array_agg(u.attempts order by u.n), array_agg(u.extras order by u.n)
    into q, ids, payloads, ranks, delays, ats, attempts, extras
    from unnest(q, ids, payloads, ranks, delays, ats, attempts, extras, keep) with ordinality as u (q, id, payload, rank, delay, at, attempts, extras, keep, n) where u.keep;
  end if;
  if (select e.existing from enqueue_jobs(ns, queues, stages, q, ids, payloads, ranks, delays, ats, attempts, extras) as e) > 0 then
    perform fail_conflict('the id of a job of these ticks is there already');
  end if;
end $$;

-- Writes skipped ranges of steps that are taken (why is empty), each joined to the one before it where that has the same reason, no fired tick lies between, and it is of the spec at hand. Answers how many rows
-- each step added.
create function skip_ticks(ns_ int, schedules bigint[], why text[], of_step int[], firsts bigint[], lasts bigint[], counts bigint[], reasons text[], owner_ text, place_ text, wall bigint)
returns table (n int, added bigint) language plpgsql as $$
#variable_conflict use_column
begin
  return query
    with new as (select k.n, k.first, k.last, k.count, k.reason from unnest(of_step, firsts, lasts, counts, reasons) as k (n, first, last, count, reason) where why[k.n] = ''),
    before as (
      select d.n, x.first, x.last, x.count, x.reason from (select distinct new.n from new) as d join schedule s on s.id = schedules[d.n],
        lateral (select y.* from skipped y where y.schedule_id = s.id order by y.first desc limit 1) as x
      where x.last > s.counts_from),
    both_ as (
      select u.*, lag(u.last) over w as last_before, lag(u.reason) over w as reason_before
      from (select b.*, true as is_there from before b union all select new.*, false from new) as u window w as (partition by u.n order by u.first)),
    runs as (
      select b.*, sum(case when b.reason = b.reason_before and not exists (select 1 from tick t where t.schedule_id = schedules[b.n] and t.tick > b.last_before and t.tick < b.first) then 0 else 1 end)
                    over (partition by b.n order by b.first) as run
      from both_ b),
    joined as (
      select r.n, min(r.first) as first, max(r.last) as last, sum(r.count)::bigint as count, min(r.reason) as reason, bool_or(r.is_there) as is_there from runs r group by r.n, r.run
      having not bool_and(r.is_there)),
    written as (
      insert into skipped as s (schedule_id, first, last, count, ns_id, reason, at, owner, place)
      select schedules[j.n], j.first, j.last, j.count, ns_, j.reason, wall, owner_, place_ from joined j
      on conflict (schedule_id, first) do update set last = excluded.last, count = excluded.count, at = excluded.at, owner = excluded.owner, place = excluded.place)
    select j.n, count(*) from joined j where not j.is_there group by j.n;
end $$;

-- The steps of one call, of schedules whose rows the caller has: each is taken, or it is said why not.
create function take_steps(ns text, request text, owner text, place text, wall bigint, names text[], revisions bigint[], froms bigint[], tos bigint[], fired_of int[], ticks bigint[],
                           skip_of int[], firsts bigint[], lasts bigint[], counts bigint[], reasons text[],
                           queues text[], stages text[], q int[], ids uuid[], payloads text[], ranks smallint[], delays bigint[], ats bigint[], attempts int[], extras jsonb[])
returns setof step_answer language plpgsql as $$
#variable_conflict use_variable
declare
  ns_ int := find_ns(ns);
  none constant bigint[] := array_fill(0::bigint, array[cardinality(names)]);
  schedules bigint[];
  bars bigint[];
  why text[];
  fresh uuid[];
  keep boolean[] := '{}';
  tops bigint[] := none;
  added bigint[] := none;
  duplicates jsonb[] := array_fill(null::jsonb, array[cardinality(names)]);
  n_ int;
  met int := 0;
  one record;
begin
  select array_agg(s.id order by u.n), array_agg(s.bar order by u.n),
         array_agg(case when s.moved_by = request then 'repeat' when s.id is null or s.removed then 'not_found' when s.revision <> u.revision then 'changed' when s.resolved_to <> u.from_ then 'moved'
                        when u.to_ > wall then 'early' else '' end order by u.n)
  into schedules, bars, why
  from unnest(names, revisions, froms, tos) with ordinality as u (name, revision, from_, to_, n) left join schedule s on s.ns_id = ns_ and s.name = u.name;
  for n_ in
    select k.n from unnest(skip_of, firsts, lasts) as k (n, first, last)
    where why[k.n] = '' and exists (select 1 from tick t where t.schedule_id = schedules[k.n] and t.tick >= k.first and t.tick <= k.last)
  loop
    why[n_] := 'covers';
  end loop;
  -- In the order of the call, so that those that are missing here are known.
  with new as (
    insert into tick (schedule_id, tick, ns_id, job, at, owner, place)
    select schedules[f.n], f.tick, ns_, f.id, wall, owner, place from unnest(fired_of, ticks, ids) as f (n, tick, id) where why[f.n] = '' and f.tick > bars[f.n]
    on conflict do nothing returning job)
  select coalesce(array_agg(x.job), '{}') into fresh from new x;
  for i in 1 .. cardinality(ticks) loop
    n_ := fired_of[i];
    keep[i] := met < cardinality(fresh) and fresh[met + 1] = ids[i];
    if keep[i] then
      met := met + 1;
      added[n_] := added[n_] + 1;
      tops[n_] := greatest(tops[n_], ticks[i]);
    elsif why[n_] = '' then
      duplicates[n_] := coalesce(duplicates[n_], '[]') || to_jsonb(ticks[i]);
    end if;
  end loop;
  if met <> cardinality(fresh) then raise exception 'the ticks of a call were written in another order'; end if;
  perform enqueue_kept(ns, keep, queues, stages, q, ids, payloads, ranks, delays, ats, attempts, extras);
  if cardinality(skip_of) > 0 then
    for one in select * from skip_ticks(ns_, schedules, why, skip_of, firsts, lasts, counts, reasons, owner, place, wall) loop
      added[one.n] := added[one.n] + one.added;
    end loop;
  end if;
  update schedule s set resolved_to = u.to_, fired_to = greatest(s.fired_to, u.top), ticks_kept = s.ticks_kept + u.added, moved_by = request, move_duplicates = u.duplicates
  from unnest(schedules, why, tos, tops, added, duplicates) as u (id, why, to_, top, added, duplicates) where u.why = '' and s.id = u.id;
  return query
    select u.n::int, nullif(u.why, 'repeat'), case when u.why in ('', 'repeat') then s.move_duplicates end, case when u.why <> 'not_found' then s.revision end,
           case when u.why <> 'not_found' then s.resolved_to end, case when u.why <> 'not_found' then s.fired_to end, wall
    from unnest(schedules, why) with ordinality as u (id, why, n) left join schedule s on s.id = u.id order by u.n;
end $$;

create function step_ticks(ns text, request text, owner text, place text, names text[], revisions bigint[], froms bigint[], tos bigint[], fired_of int[], ticks bigint[],
                           skip_of int[], firsts bigint[], lasts bigint[], counts bigint[], reasons text[],
                           queues text[], stages text[], q int[], ids uuid[], payloads text[], ranks smallint[], delays bigint[], ats bigint[], attempts int[], extras jsonb[])
returns setof step_answer language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform take_schedules(find_ns(ns), names);
  return query select * from take_steps(ns, request, owner, place, (clock()).wall, names, revisions, froms, tos, fired_of, ticks, skip_of, firsts, lasts, counts, reasons,
                                        queues, stages, q, ids, payloads, ranks, delays, ats, attempts, extras);
end $$;

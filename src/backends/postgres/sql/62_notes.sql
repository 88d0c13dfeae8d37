-- What handlers say while they work: progress, and a log of which only the end is kept. And when the store first saw a batch.

-- As people write durations: the largest unit that divides it, rounded up to milliseconds.
create function format_duration(micros bigint) returns text language sql immutable as $$
  select case when ms = 0 then '0s' when ms % 86400000 = 0 then ms / 86400000 || 'd' when ms % 3600000 = 0 then ms / 3600000 || 'h' when ms % 60000 = 0 then ms / 60000 || 'm'
              when ms % 1000 = 0 then ms / 1000 || 's' else ms || 'ms' end
  from (select micros / 1000 + case when micros % 1000 = 0 then 0 else 1 end as ms) as u;
$$;

-- Adds bytes to a job's log and drops its oldest past 1 MiB. A gap before them is nobody's to fill; what is there already is not added twice.
create function add_to_log(ns_ int, id_ uuid, delivery_ bigint, bytes_ bytea, at_ bigint, wall bigint) returns void language plpgsql as $$
declare
  kept_most constant bigint := 1048576;
  s log_state;
  size bigint := length(bytes_);
  seen bigint;
  oldest record;
  goes bigint;
begin
  select * into s from log_state where id = id_ and ns_id = ns_ for update;
  if not found then
    s := (ns_, id_, 0, 0, 0, delivery_, 0)::log_state;
  elsif s.delivery <> delivery_ then
    s.delivery := delivery_;
    s.sent := 0;
  end if;
  seen := least(greatest(s.sent - at_, 0), size);
  if seen = size then return; end if;
  s.sent := at_ + size;
  s.chunks := s.chunks + 1;
  s.kept := s.kept + size - seen;
  insert into log_chunk (ns_id, id, n, delivery, at, bytes) values (ns_, id_, s.chunks, delivery_, wall, substr(bytes_, seen::int + 1));
  while s.kept > kept_most loop
    select n, length(bytes) as size into oldest from log_chunk where id = id_ and ns_id = ns_ order by n limit 1;
    goes := least(oldest.size, s.kept - kept_most);
    if goes = oldest.size then
      delete from log_chunk where id = id_ and ns_id = ns_ and n = oldest.n;
    else
      update log_chunk set bytes = substr(bytes, goes::int + 1) where id = id_ and ns_id = ns_ and n = oldest.n;
    end if;
    s.kept := s.kept - goes;
    s.dropped := s.dropped + goes;
  end loop;
  insert into log_state select s.* on conflict (id, ns_id) do update
  set chunks = excluded.chunks, kept = excluded.kept, dropped = excluded.dropped, delivery = excluded.delivery, sent = excluded.sent;
end $$;

-- {"notes": [{"id", "fence", "progress": {"percent", "note"}, "log", "log_at"}]}: {"refused": [{"id", "sent", "current", "reason"}]}.
create function record_notes(ns text, request jsonb) returns jsonb
language plpgsql set search_path from current set jit = off set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  ns_ int := find_ns(ns);
  wall bigint;
  note jsonb;
  id_ uuid;
  sent bigint;
  fence_ bigint;
  delivery_ bigint;
  finished boolean;
  refused jsonb := '[]';
begin
  perform lock_jobs(ns_, array(select (n ->> 'id')::uuid from jsonb_array_elements(request -> 'notes') as n), false);
  wall := (clock()).wall;
  for note in select * from jsonb_array_elements(request -> 'notes') loop
    id_ := (note ->> 'id')::uuid;
    sent := (note ->> 'fence')::bigint;
    select fence, deliveries, false into fence_, delivery_, finished from job where id = id_ and ns_id = ns_;
    if not found then select fence, deliveries, true into fence_, delivery_, finished from done where id = id_ and ns_id = ns_; end if;
    if fence_ is distinct from sent then
      refused := refused || jsonb_build_object('id', id_, 'sent', sent, 'current', coalesce(fence_, 0), 'reason', case when fence_ is null then 'not_found' else 'superseded' end);
      continue;
    end if;
    if jsonb_typeof(note -> 'progress') = 'object' then
      if finished then
        update done set percent = (note -> 'progress' ->> 'percent')::smallint, word = coalesce(note -> 'progress' ->> 'note', '') where id = id_ and ns_id = ns_;
      else
        update job set percent = (note -> 'progress' ->> 'percent')::smallint, word = coalesce(note -> 'progress' ->> 'note', '') where id = id_ and ns_id = ns_;
      end if;
    end if;
    if coalesce(note ->> 'log', '') <> '' then
      perform add_to_log(ns_, id_, delivery_, decode(note ->> 'log', 'hex'), coalesce((note ->> 'log_at')::bigint, 0), wall);
    end if;
  end loop;
  return jsonb_build_object('refused', refused);
end $$;

-- {"name"}: {"first_seen"}.
create function open_batch(ns text, request jsonb) returns jsonb language plpgsql set search_path from current set jit = off as $$
declare
  repeatable_for constant bigint := 86400000000;
  remembered_for constant bigint := 2592000000000;
  ns_ int := ns_of(ns);
  name_ text := request ->> 'name';
  wall bigint;
  first bigint;
begin
  loop
    insert into batch_name (ns_id, name, first_seen) values (ns_, name_, (clock()).wall) on conflict do nothing;
    select first_seen into first from batch_name where ns_id = ns_ and name = name_ for update;
    exit when found;
  end loop;
  wall := (clock()).wall;
  if wall - first >= remembered_for then
    first := wall;
    update batch_name set first_seen = wall where ns_id = ns_ and name = name_;
  elsif wall - first > repeatable_for then
    perform fail_refused(format('batch ''%s'' was first seen %s ago and can be repeated for 24h only; use another name', name_,
                                format_duration((wall - first) / 3600000000 * 3600000000)));
  end if;
  return jsonb_build_object('first_seen', first);
end $$;

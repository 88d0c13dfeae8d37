-- Schedules: what they are, how far their ticks are accounted for, and what became of each (store/schedule_store.hpp has the rules).
--
-- A step updates a row of `schedule` in place and must stay on its page (HOT): NO INDEX MAY MENTION what a step changes: resolved_to, fired_to, ticks_kept and the columns of its move.
--
-- A removed one keeps its row, and with it its ticks, until tidying forgets it. ticks_kept: its rows in tick and in skipped. changed_by: the request that changed it last, and which ticks of that change's step
-- had fired before; moved_by: the same of what moved its account last.
create table schedule (
  id bigint generated always as identity primary key, ns_id int not null, name text collate "C" not null, revision bigint not null, version bigint not null,
  resolved_to bigint not null, counts_from bigint not null, fired_to bigint not null, bar bigint not null, ticks_kept bigint not null default 0,
  created_at bigint not null, changed_at bigint not null, removed boolean not null default false, paused_at bigint, paused_by text, pause_reason text,
  changed_by text, change_duplicates jsonb, moved_by text, move_duplicates jsonb, spec bytea not null,
  unique (ns_id, name))
  with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 2000);
create index schedule_version on schedule (ns_id, version);
create index schedule_removed on schedule (ns_id, name) where removed;

-- What a namespace counts: changes of its schedules, and the largest instant of all that was forgotten of them. Only changes and tidying write it, steps never.
create table schedule_count (ns_id int primary key, version bigint not null default 0, bar bigint not null default 0) with (fillfactor = 50);

-- A tick that fired. This key is what makes it fire once (S1): its job is enqueued only by who has written its row.
create table tick (
  schedule_id bigint not null, tick bigint not null, ns_id int not null, job uuid not null, at bigint not null, owner text not null, place text not null,
  primary key (schedule_id, tick))
  with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50000);
create index tick_age on tick (ns_id, tick);

-- Ticks that were skipped, `count` of them from the first to the last. A range that is joined to it changes the row in place.
create table skipped (
  schedule_id bigint not null, first bigint not null, last bigint not null, count bigint not null, ns_id int not null, reason text not null, at bigint not null, owner text not null,
  place text not null, primary key (schedule_id, first))
  with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50000);
create index skipped_age on skipped (ns_id, first);

-- What became of a step, by its place in the call. Nothing but n and refused of a schedule that is not there.
create type step_answer as (n int, refused text, duplicates jsonb, revision bigint, resolved_to bigint, fired_to bigint, now bigint);

-- Tables. Unfinished jobs stand in `job`, finished ones have moved to `done`: a job is in exactly one of the two (J4). It is
-- `running` if lease_end is not null, `waiting` if bit 1 of `blocked` is set, else `ready`.
--
-- A claim, a renewal and a takeover update a job in place, and such an update stays on its page (HOT) only if it changes no
-- column that any index mentions, in its keys or its predicate. So: NO INDEX MAY MENTION fence, lease_end, started_at, claim_id,
-- owner_id, deliveries or a counter of `job`. Half of each page is left free for the new versions.
--
-- Times named *_at are wall time in microseconds. lease_end, until and bound are instants of the lease clock in microseconds;
-- see 20_clock.sql.
create table meta (key text primary key, value text not null);
-- The largest fence ever deleted, or more if an operator raised it. One row.
create table floor (value bigint not null);
insert into floor values (0);

create table namespace (id int generated always as identity primary key, name text not null unique);

-- A queue with all its stages, and its settings. special: some job of it has (or had) a group, a limit key or a revoked delivery, or it has a limit:
-- then its claims take turns (see 40_claim.sql) and look at `todo`. looked_at: wall time of the last such claim.
create table home (
  id int generated always as identity primary key, ns_id int not null, name text not null,
  running_most int not null default 0, per_key_most int not null default 0, keep_done bigint, keep_dead bigint,
  paused_at bigint, paused_by text, pause_reason text, special boolean not null default false, looked_at bigint not null default 0,
  unique (ns_id, name));
-- How often the settings of a home were changed. A row of its own, so that who has an old snapshot can see by its lock that they are still what it sees.
create table home_change (home_id int primary key, n bigint not null);
-- One stage of it. hungry_at: when a claim last came back short, give or take ten seconds: an enqueue notifies only if somebody may sleep.
create table queue (
  id int generated always as identity primary key, ns_id int not null, home_id int not null, name text not null, stage text not null,
  hungry_at bigint not null default 0, unique (ns_id, name, stage)) with (fillfactor = 50);
create index queue_home on queue (home_id);
-- Depths as small changes, folded by readers and by tidy: no row that everybody writes.
create table depth (
  queue_id int not null, ready bigint not null default 0, running bigint not null default 0, waiting bigint not null default 0,
  done bigint not null default 0, dead bigint not null default 0, cancelled bigint not null default 0);

-- Holders by a small number. Names are never reused. seen_at: when it last claimed or reported, give or take an hour; tidy forgets those that are long gone.
create table owner (
  id bigint generated always as identity primary key, ns_id int not null, name text not null, seen_at bigint not null, unique (ns_id, name)) with (fillfactor = 50);
create index owner_seen on owner (seen_at);

create sequence job_seq;

-- seq: order of enqueue, the cursor of listings. rank: -priority. blocked: why it cannot be claimed, a sum of bits: 1 it waits for a person; 2 it is not the
-- open head of its group; 4 its limit key has no room for it, or it is not due (only while the queue has a limit per key); 8 it must run
-- alone; 16 its own revoked delivery keeps its slot. 0 for all that run. place: in its group. acted: request of the last act that was ok.
-- extras: what most jobs do not have: timeout, backoff_first, backoff_most (microseconds), key, key_for, group, limit_key, tags, traceparent.
create table job (
  seq bigint not null, id uuid not null, ns_id int not null, queue_id int not null, run_at bigint not null, rank smallint not null, blocked smallint not null default 0,
  -- what changes
  fence bigint not null default 0, deliveries bigint not null default 0, lease_end bigint, started_at bigint, claim_id bigint, owner_id bigint,
  failures bigint, losses bigint, losses_in_row bigint, laters bigint, last_outcome smallint, exit_status smallint, percent smallint,
  -- what does not, or seldom
  attempts_max int not null, created_at bigint not null, group_id bigint, limit_id bigint, place bigint, word text, acted text, error bytea, extras jsonb,
  payload text not null,
  -- 2^53 - 1: a grant past it is refused, never wrapped.
  constraint fences_left check (fence <= 9007199254740991))
  with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000, autovacuum_vacuum_insert_scale_factor = 0,
        autovacuum_vacuum_insert_threshold = 200000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
create unique index job_id on job (id, ns_id);
create index job_order on job (queue_id, blocked, rank, run_at, seq);
create index job_seq_brin on job using brin (seq) with (pages_per_range = 32, autosummarize = on);
create index job_group on job (group_id, place) where group_id is not null;
create index job_limit on job (limit_id, queue_id, blocked, rank, run_at, seq) where limit_id is not null;

-- The same columns, and how it ended. state as in the model: 3 done, 4 dead, 5 cancelled. started_at: of its last delivery, if that is how it
-- finished; null: see attempt.
create table done (
  seq bigint not null, id uuid not null, ns_id int not null, queue_id int not null, run_at bigint not null, rank smallint not null, state smallint not null,
  finished_at bigint not null, fence bigint not null, deliveries bigint not null, started_at bigint, owner_id bigint,
  failures bigint, losses bigint, losses_in_row bigint, laters bigint, last_outcome smallint, exit_status smallint, percent smallint,
  attempts_max int not null, created_at bigint not null, group_id bigint, limit_id bigint, place bigint, word text, acted text, error bytea, extras jsonb,
  result bytea, payload text not null)
  with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50000);
create unique index done_id on done (id, ns_id);
create index done_seq_brin on done using brin (seq) with (pages_per_range = 32, autosummarize = on);
create index done_finished_brin on done using brin (finished_at) with (pages_per_range = 32, autosummarize = on);
create index done_badly on done (ns_id, state, seq) where state > 3;
create index done_group on done (group_id) where group_id is not null;
create index done_limit on done (limit_id) where limit_id is not null;

-- What a claim granted, a row for each stretch of one rank: answers repeats until `until`, finds leases that ran out (no index on job may). live: jobs that run under it.
-- bound: no lease of these ends before. losses_most: the largest losses_in_row of these when they were granted. They stand in job_order between lo and hi and have
-- its id (see jobs_of): naming each of them here would cost as much as granting it. place: of the first of them in the reply. forced_from: the owner before, of one that was
-- taken over. A claim that was given back before it arrived has queue 0.
create sequence claim_seq;
create table claim (
  id bigint primary key, ns_id int not null, owner_id bigint not null, request text not null, queue_id int not null,
  until bigint not null, bound bigint not null, live int not null, losses_most bigint not null, place int not null, rank smallint not null default 0,
  lo_run_at bigint not null default 0, lo_seq bigint not null default 0, hi_run_at bigint not null default 0, hi_seq bigint not null default 0, forced_from text)
  with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index claim_request on claim (owner_id, request);
create index claim_bound on claim (queue_id, bound) where live > 0;
create index claim_lossy on claim (queue_id, bound) where live > 0 and losses_most > 0;
create index claim_over on claim (until) where live = 0;

-- Deliveries that ended but whose worker has not stopped: they keep their slot in queue, group and limit key until lease_end.
create table slot (
  ns_id int not null, id uuid not null, seq bigint not null, home_id int not null, queue_id int not null, group_id bigint, limit_id bigint, fence bigint not null,
  lease_end bigint not null, owner_id bigint not null, primary key (ns_id, id));
create index slot_home on slot (home_id);
create index slot_owner on slot (owner_id);

-- fence: the largest one minted for a job of it. open_id: the one member that may be claimed or runs.
create table grp (
  id bigint generated always as identity primary key, home_id int not null, name text not null, fence bigint not null default 0, open_id uuid,
  unique (home_id, name));
create table limit_key (id bigint generated always as identity primary key, home_id int not null, name text not null, unique (home_id, name));

-- What the next claim of a special home looks at before it grants: a group, a limit key, or a job with bit 16, from `at` on: of the lease clock
-- (clock 0) or of the wall clock (1). at 0: now.
create table todo (
  home_id int not null, clock smallint not null, at bigint not null, n bigint generated always as identity, group_id bigint, limit_id bigint, id uuid,
  primary key (home_id, clock, at, n));

-- Who took a unique key last: it has it while it is unfinished (until is null), and until then.
create table unique_key (home_id int not null, name text not null, id uuid not null, until bigint, primary key (home_id, name));
-- Ids of enqueues that were answered by another job's id.
create table alias (ns_id int not null, id uuid not null, holder uuid not null, at bigint not null, primary key (ns_id, id));
create index alias_at on alias (ns_id, at);
create table batch_name (ns_id int not null, name text not null, first_seen bigint not null, primary key (ns_id, name));
create table tag (ns_id int not null, name text not null, seq bigint not null, id uuid not null, primary key (ns_id, name, seq));

-- Deliveries that ended; the one at hand stands in job, or in done if that is how it finished.
create table attempt (
  ns_id int not null, id uuid not null, delivery bigint not null, fence bigint not null, started_at bigint not null, ended_at bigint not null, ending smallint not null,
  exit_status smallint, owner_id bigint not null, error bytea, primary key (id, ns_id, delivery));

-- The ledger. number: a cursor, never used twice. state as EffectState: 1 is an intent. held: its job waits for it.
create table effect (
  number bigint generated always as identity primary key, ns_id int not null, id uuid not null, name text not null, state smallint not null, held boolean not null,
  policy smallint not null, digest bytea not null, fence bigint not null, call text not null, actor text not null, doubts bigint not null,
  began_at bigint not null, ended_at bigint, exit_status smallint, resolved_by text not null default '', result bytea, unique (id, ns_id, name));
create index effect_intent on effect (ns_id, number) where state = 1;
create index effect_ns on effect (ns_id, number);

-- The lengths of a job's log. delivery and sent: how much that delivery has logged.
create table log_state (
  ns_id int not null, id uuid not null, chunks bigint not null, kept bigint not null, dropped bigint not null, delivery bigint not null, sent bigint not null,
  primary key (id, ns_id));
create table log_chunk (
  ns_id int not null, id uuid not null, n bigint not null, delivery bigint not null, at bigint not null, bytes bytea not null, primary key (id, ns_id, n));

create table worker (
  ns_id int not null, owner text not null, started_at bigint not null, seen_at bigint not null, told smallint not null default 0, report jsonb not null,
  primary key (ns_id, owner)) with (fillfactor = 50);

create table trail (
  n bigint generated always as identity primary key, ns text not null, at bigint not null, actor text not null, act text not null, subject text not null,
  reason text not null);
create index trail_ns on trail (ns, n);

-- Fences that ended because a newer one was granted, or an operator or retention ended them: whoever commits under such a fence meets its key here (80_guard.sql). It matters
-- only to transactions that were under way then, and none of those outlives a crash: so it need not either. marked: see forget_superseded().
create unlogged table superseded (ns_id int not null, resource text not null, fence bigint not null, marked bigint, primary key (ns_id, resource, fence))
  with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);

-- Locks. A grant, a renewal and a release update a row in place and must stay on its page (HOT): NO INDEX MAY MENTION a column of `lock` but its key.
--
-- A row with fence 0 keeps a place for a name that nobody was granted yet: to everybody who asks, nothing is known of it.
--
-- free_at: since when, or from when on, it is free, should nobody renew, join or release; of the lease clock, as lease_end, bar (nobody has it before) and freed_at
-- (the last release) are. -2^62 is "since ever". mode 1: shared; its holders stand in lock_sharer, and owner, request and lease_end say nothing. ended: the fence before this one. previous: whose lease ran
-- out before this grant. unclean: some fence of it was ended by a takeover or a break. guarded_as: the name that guards know it by, if that is another one (a UUID spelled otherwise). waiting (of a name): somebody may wait for it. withdrawn: until then a request for it may be one that was taken back.
create table lock (
  ns_id int not null, resource text collate "C" not null,
  fence bigint not null default 0, free_at bigint not null default -4611686018427387904, lease_end bigint not null default -4611686018427387904,
  bar bigint not null default -4611686018427387904, freed_at bigint not null default -4611686018427387904, delay bigint not null default 0,
  withdrawn bigint not null default -4611686018427387904, granted_at bigint not null default 0, ended bigint not null default 0,
  mode smallint not null default 0, released boolean not null default true, to_its_end boolean not null default false, waiting boolean not null default false,
  unclean boolean not null default false,
  owner text, request text, place text, pattern text, previous text, guarded_as text, break_request text, break_ended bigint, break_fence bigint,
  primary key (ns_id, resource))
  with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 2000);

create index lock_guarded_as on lock (ns_id, guarded_as) where guarded_as is not null;

-- Holders of a shared phase, those who released included, until the next phase, or until somebody joins after known_until.
create table lock_sharer (
  ns_id int not null, resource text collate "C" not null, owner text collate "C" not null, request text not null, place text not null, previous text, granted_at bigint not null,
  lease_end bigint not null, known_until bigint not null, released boolean not null default false, primary key (ns_id, resource, owner)) with (fillfactor = 70);

-- Who waits for a name, in turn: by n, one number for a request for several names. It has left if it was not seen until then.
create sequence lock_place;
create table lock_waiter (
  ns_id int not null, name text collate "C" not null, n bigint not null, owner text not null, request text not null, mode smallint not null, seen_until bigint not null,
  since bigint not null, place text not null, primary key (ns_id, name, n))
  with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Requests that were taken back, a row for each of their names.
create table lock_withdrawn (
  ns_id int not null, name text collate "C" not null, owner text not null, request text not null, until bigint not null, primary key (ns_id, name, owner, request));

-- When tidying looks at a lock next: no sooner could it be gone. One row for each lock, moved only by tidying, so that the verbs write none but for a new name.
create table lock_look (ns_id int not null, at bigint not null, resource text collate "C" not null, primary key (ns_id, at, resource));

-- What an acquire answers: a row for each grant (reason is null), or one that says why not.
create type lock_answer as (resource text, fence bigint, owner text, place text, reason text, left_us bigint, waited bigint, again_us bigint, ahead bigint);
-- Where a request stands at one of its names: the resource it may have from `may_have` on; free: since when, or from when on, the first of them is free. passed: so many of those before it
-- let their turn pass, if it is granted now. joins: a phase that has holders.
create type lock_standing as (resource text, free bigint, may_have bigint, ahead bigint, passed bigint, joins boolean);
-- A word of a holder that was not accepted.
create type lock_refusal as (resource text, owner text, fence bigint, current bigint, reason text);

#include "backends/sqlite/schema.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

#include "base/crash_point.hpp"
#include "store/schedule_store.hpp"

namespace fenceline::sqlite {
namespace {

// A table for each state: a claim does not rewrite the job, and no index mentions what a renewal changes. A job is
// `ready` if it has a row in ready, `running` if in run, `waiting` if in waiting, finished if in done; it always has
// exactly one of the four (J4).
//
// seq is the order of enqueue and never used twice. queue_id names (namespace, queue, stage), home_id the queue with
// all its stages. rank is -priority, so that all columns ascend. lane: see ready_lanes.hpp. Times named *_at are wall
// time in microseconds, lease ends and `until` of a claim are instants of the boot in meta. Rarely set things are null
// and cost a byte: a plain job pays for nothing that it does not use.
constexpr const char* kTables = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
-- first_seq: none of its jobs is older; 0: it has none. A listing starts there and not at the first job of all.
CREATE TABLE namespace (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, first_seq INTEGER NOT NULL DEFAULT 0);

-- The settings of a queue.
CREATE TABLE home (
  id INTEGER PRIMARY KEY, ns_id INTEGER NOT NULL, name TEXT NOT NULL, running_most INTEGER NOT NULL DEFAULT 0,
  per_key_most INTEGER NOT NULL DEFAULT 0, keep_done INTEGER, keep_dead INTEGER, paused_at INTEGER, paused_by TEXT,
  pause_reason TEXT, UNIQUE (ns_id, name));
-- Its stages, with their depths. looked_at: when jobs of a limit key were last let in because their time had come.
CREATE TABLE queue (
  id INTEGER PRIMARY KEY, ns_id INTEGER NOT NULL, home_id INTEGER NOT NULL, name TEXT NOT NULL, stage TEXT NOT NULL,
  ready INTEGER NOT NULL DEFAULT 0, running INTEGER NOT NULL DEFAULT 0, waiting INTEGER NOT NULL DEFAULT 0,
  done INTEGER NOT NULL DEFAULT 0, dead INTEGER NOT NULL DEFAULT 0, cancelled INTEGER NOT NULL DEFAULT 0,
  looked_at INTEGER NOT NULL DEFAULT 0, UNIQUE (ns_id, name, stage));
CREATE INDEX queue_home ON queue (home_id);

-- more, last_id, ids, payload: see job_rows.hpp. flags: see delivery.hpp. run_at: null if it is created_at, as for
-- most. place: in its group, if it is not seq. acted: request of the last act that was ok. extras: see extras.hpp.
CREATE TABLE job (
  seq INTEGER PRIMARY KEY, more INTEGER NOT NULL DEFAULT 0, ns_id INTEGER NOT NULL, id BLOB NOT NULL, last_id BLOB,
  queue_id INTEGER NOT NULL, priority INTEGER NOT NULL, attempts_max INTEGER NOT NULL, created_at INTEGER NOT NULL,
  run_at INTEGER, flags INTEGER NOT NULL, group_id INTEGER, limit_id INTEGER, place INTEGER, acted TEXT, extras BLOB,
  ids BLOB, payload TEXT NOT NULL,
  UNIQUE (ns_id, id));
CREATE INDEX job_shared ON job (ns_id, last_id, id) WHERE more > 0;
-- Groups and limit keys are forgotten with their last job.
CREATE INDEX job_group ON job (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX job_limit ON job (limit_id) WHERE limit_id IS NOT NULL;

-- more, here and in the others: so many jobs of the next numbers stand in the same row. Plain jobs that share all else,
-- as those of a batch do, come and go as one row; whoever touches one of them parts it. past, here and below: see
-- past.hpp.
CREATE TABLE ready (
  queue_id INTEGER NOT NULL, lane INTEGER NOT NULL, rank INTEGER NOT NULL, run_at INTEGER NOT NULL,
  seq INTEGER NOT NULL, more INTEGER NOT NULL DEFAULT 0, fence INTEGER NOT NULL DEFAULT 0,
  deliveries INTEGER NOT NULL DEFAULT 0, limit_id INTEGER, past BLOB,
  PRIMARY KEY (queue_id, lane, rank, run_at, seq)) WITHOUT ROWID;
-- A job that was never granted is found by job.run_at; only the others need this.
CREATE INDEX ready_again ON ready (seq) WHERE deliveries > 0;
-- The jobs of a limit key in their order, lane by lane.
CREATE INDEX ready_limited ON ready (limit_id, queue_id, lane, rank, run_at, seq) WHERE limit_id IS NOT NULL;

-- place: in the reply of its claim, of the first.
CREATE TABLE run (
  seq INTEGER PRIMARY KEY, more INTEGER NOT NULL DEFAULT 0, claim_id INTEGER NOT NULL, place INTEGER NOT NULL,
  fence INTEGER NOT NULL, lease_end INTEGER NOT NULL, run_at INTEGER NOT NULL, deliveries INTEGER NOT NULL,
  flags INTEGER NOT NULL, limit_id INTEGER, past BLOB);
CREATE INDEX run_limited ON run (limit_id) WHERE limit_id IS NOT NULL;

-- Jobs that wait for a person. The last delivery stands in attempt.
CREATE TABLE waiting (
  seq INTEGER PRIMARY KEY, fence INTEGER NOT NULL, run_at INTEGER NOT NULL, deliveries INTEGER NOT NULL, past BLOB);

-- started_at: of its last delivery, if that is how it finished; null: see attempt. result: see finished.hpp.
CREATE TABLE done (
  seq INTEGER PRIMARY KEY, more INTEGER NOT NULL DEFAULT 0, state INTEGER NOT NULL, finished_at INTEGER NOT NULL,
  fence INTEGER NOT NULL, run_at INTEGER NOT NULL, deliveries INTEGER NOT NULL, started_at INTEGER, owner TEXT NOT NULL,
  past BLOB, result BLOB NOT NULL);
CREATE INDEX done_badly ON done (state, seq) WHERE state > 3;

-- What ended when, one row for a queue in a call: retention needs no index on done. kind 0: done; 1: dead or cancelled;
-- 2, 3: the same that still had their unique key when they were due to go, `at` when to ask again.
-- seqs as in claim. A job that was retried since is found not to match.
CREATE TABLE ended (
  queue_id INTEGER NOT NULL, kind INTEGER NOT NULL, at INTEGER NOT NULL, n INTEGER NOT NULL, seqs BLOB NOT NULL,
  PRIMARY KEY (queue_id, kind, at, n)) WITHOUT ROWID;

-- One row for a queue in a claim: answers repeats until `until`, finds expired leases without an index on
-- run.lease_end. `bound`: no lease of its live jobs ends before; exact: they all end there. seqs: what it granted, see
-- seq_ranges.hpp. A claim that was given back before it arrived has no queue.
CREATE TABLE claim (
  id INTEGER PRIMARY KEY, ns_id INTEGER NOT NULL, owner TEXT NOT NULL, request TEXT NOT NULL, queue_id INTEGER NOT NULL,
  started_at INTEGER NOT NULL, until INTEGER NOT NULL, bound INTEGER NOT NULL, exact INTEGER NOT NULL,
  live INTEGER NOT NULL, losses_most INTEGER NOT NULL, seqs BLOB NOT NULL);
CREATE INDEX claim_request ON claim (ns_id, owner, request);
CREATE INDEX claim_bound ON claim (queue_id, bound) WHERE live > 0;
CREATE INDEX claim_lossy ON claim (queue_id, bound) WHERE live > 0 AND losses_most > 0;
CREATE INDEX claim_over ON claim (until) WHERE live = 0;

-- Deliveries that an operator ended and that keep their slot in queue, group and limit key.
CREATE TABLE slot (
  seq INTEGER PRIMARY KEY, ns_id INTEGER NOT NULL, home_id INTEGER NOT NULL, queue_id INTEGER NOT NULL,
  group_id INTEGER, limit_id INTEGER, fence INTEGER NOT NULL, lease_end INTEGER NOT NULL, owner TEXT NOT NULL);
CREATE INDEX slot_home ON slot (home_id, lease_end);
CREATE INDEX slot_group ON slot (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX slot_limit ON slot (limit_id) WHERE limit_id IS NOT NULL;
CREATE INDEX slot_owner ON slot (ns_id, owner);

-- fence: the last one minted for a job of it.
CREATE TABLE grp (
  id INTEGER PRIMARY KEY, home_id INTEGER NOT NULL, name TEXT NOT NULL, fence INTEGER NOT NULL DEFAULT 0,
  UNIQUE (home_id, name));
-- The unfinished jobs of each group, in their order.
CREATE TABLE member (group_id INTEGER NOT NULL, place INTEGER NOT NULL, seq INTEGER NOT NULL,
  PRIMARY KEY (group_id, place)) WITHOUT ROWID;
CREATE TABLE limit_key (id INTEGER PRIMARY KEY, home_id INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE (home_id, name));

-- Who took a unique key last: it has it while it is unfinished (until is null), and until then.
CREATE TABLE unique_key (
  home_id INTEGER NOT NULL, name TEXT NOT NULL, seq INTEGER NOT NULL, until INTEGER,
  PRIMARY KEY (home_id, name)) WITHOUT ROWID;
-- Ids of enqueues that were answered by another job's id.
CREATE TABLE alias (
  ns_id INTEGER NOT NULL, id BLOB NOT NULL, holder BLOB NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (ns_id, id)) WITHOUT ROWID;
CREATE INDEX alias_at ON alias (ns_id, at);
CREATE TABLE batch_name (ns_id INTEGER NOT NULL, name TEXT NOT NULL, first_seen INTEGER NOT NULL,
  PRIMARY KEY (ns_id, name)) WITHOUT ROWID;
CREATE TABLE tag (ns_id INTEGER NOT NULL, name TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (ns_id, name, seq))
  WITHOUT ROWID;

-- Deliveries that ended; the one at hand stands in run, or in done.
CREATE TABLE attempt (
  seq INTEGER NOT NULL, delivery INTEGER NOT NULL, fence INTEGER NOT NULL, started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL, ending INTEGER NOT NULL, exit_status INTEGER, owner TEXT NOT NULL, error TEXT NOT NULL,
  PRIMARY KEY (seq, delivery)) WITHOUT ROWID;

-- The ledger. number: a cursor, never used twice. state: as EffectState, 1 is an intent. held: its job waits for it.
CREATE TABLE effect (
  number INTEGER PRIMARY KEY AUTOINCREMENT, ns_id INTEGER NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL,
  state INTEGER NOT NULL, held INTEGER NOT NULL, policy INTEGER NOT NULL, digest BLOB NOT NULL, fence INTEGER NOT NULL,
  call TEXT NOT NULL, actor TEXT NOT NULL, doubts INTEGER NOT NULL, began_at INTEGER NOT NULL, ended_at INTEGER,
  exit_status INTEGER, resolved_by TEXT NOT NULL DEFAULT '', result BLOB NOT NULL DEFAULT x'',
  UNIQUE (seq, name));
CREATE INDEX effect_ns ON effect (ns_id);
CREATE INDEX effect_intent ON effect (ns_id) WHERE state = 1;

-- What jobs said: progress, and the lengths of the log. delivery and sent: how much that delivery has logged.
CREATE TABLE note (
  seq INTEGER PRIMARY KEY, percent INTEGER, word TEXT, chunks INTEGER NOT NULL DEFAULT 0,
  kept INTEGER NOT NULL DEFAULT 0, dropped INTEGER NOT NULL DEFAULT 0, delivery INTEGER NOT NULL DEFAULT 0,
  sent INTEGER NOT NULL DEFAULT 0);
CREATE TABLE log (
  id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, n INTEGER NOT NULL, delivery INTEGER NOT NULL, at INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (seq, n));

CREATE TABLE worker (
  ns_id INTEGER NOT NULL, owner TEXT NOT NULL, started_at INTEGER NOT NULL, seen_at INTEGER NOT NULL,
  host TEXT NOT NULL, pid INTEGER NOT NULL, version TEXT NOT NULL, queues TEXT NOT NULL, stage TEXT NOT NULL,
  concurrency INTEGER NOT NULL, ttl INTEGER NOT NULL, told INTEGER NOT NULL DEFAULT 0, holding BLOB NOT NULL,
  PRIMARY KEY (ns_id, owner)) WITHOUT ROWID;

CREATE TABLE trail (
  n INTEGER PRIMARY KEY, ns TEXT NOT NULL, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL,
  subject TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX trail_ns ON trail (ns, n);
)sql";

// Since kSchemaWithLocks. These are named so that no table of an application can be in the way.
constexpr const char* kLockTables = R"sql(
-- A resource: its newest fence, and the last grant. mode: as LockMode; of a shared one the holders stand in a table of
-- their own, and owner to lease_end mean nothing. lease_end, freed and bar are instants of the boot in meta; bar_wall
-- is the bar as wall time, for the next boot. freed: the last release, or a break; null: there was none since the
-- grant. broken: the request of the last break, with the fence that it ended and the one that it minted; a repeat must
-- not end the lease of the next holder. unclean: some fence of it was ended by a takeover or a break. look_at: it
-- leaves nothing to tidy before; an index entry that a grant and a release do not touch.
CREATE TABLE fenceline_lock (
  ns_id INTEGER NOT NULL, resource TEXT NOT NULL, fence INTEGER NOT NULL, mode INTEGER NOT NULL,
  to_its_end INTEGER NOT NULL, owner TEXT NOT NULL, request TEXT NOT NULL, granted_at INTEGER NOT NULL,
  lease_end INTEGER NOT NULL, freed INTEGER, delay INTEGER NOT NULL, bar INTEGER, bar_wall INTEGER, place TEXT NOT NULL,
  pattern TEXT NOT NULL, previous TEXT, broken TEXT, ended INTEGER, minted INTEGER, unclean INTEGER NOT NULL,
  look_at INTEGER NOT NULL,
  PRIMARY KEY (ns_id, resource)) WITHOUT ROWID;
CREATE INDEX fenceline_lock_look ON fenceline_lock (ns_id, look_at);

-- Who was granted a shared lock in the phase at hand, until it is forgotten.
CREATE TABLE fenceline_lock_holder (
  ns_id INTEGER NOT NULL, resource TEXT NOT NULL, owner TEXT NOT NULL, request TEXT NOT NULL,
  granted_at INTEGER NOT NULL, lease_end INTEGER NOT NULL, known_until INTEGER NOT NULL, released INTEGER NOT NULL,
  place TEXT NOT NULL, previous TEXT, PRIMARY KEY (ns_id, resource, owner)) WITHOUT ROWID;
CREATE INDEX fenceline_lock_last ON fenceline_lock_holder (ns_id, resource, lease_end DESC, owner) WHERE released = 0;
CREATE INDEX fenceline_lock_known ON fenceline_lock_holder (ns_id, resource, known_until);

-- The queues of names. heard: when it last asked.
CREATE TABLE fenceline_lock_waiter (
  ns_id INTEGER NOT NULL, name TEXT NOT NULL, turn INTEGER NOT NULL, owner TEXT NOT NULL, request TEXT NOT NULL,
  mode INTEGER NOT NULL, heard INTEGER NOT NULL, since INTEGER NOT NULL, place TEXT NOT NULL,
  PRIMARY KEY (ns_id, name, turn)) WITHOUT ROWID;

-- Acquires that were taken back, and are refused until then.
CREATE TABLE fenceline_lock_withdrawn (
  ns_id INTEGER NOT NULL, owner TEXT NOT NULL, request TEXT NOT NULL, until INTEGER NOT NULL,
  PRIMARY KEY (ns_id, owner, request)) WITHOUT ROWID;
CREATE INDEX fenceline_lock_withdrawn_until ON fenceline_lock_withdrawn (until);
)sql";

// Since kSchemaWithSchedules.
constexpr const char* kScheduleTables = R"sql(
-- Of a namespace: how often one of its schedules was changed, and the bar of names that have no row.
CREATE TABLE fenceline_schedule_count (ns_id INTEGER PRIMARY KEY, version INTEGER NOT NULL, bar INTEGER NOT NULL);

-- A schedule, and what is left of one that was removed. Instants are wall time. changed, moved: the requests that
-- changed it last and that moved its account last, each with the ticks that were duplicates in its step, see
-- schedule_rows.cpp. ticks: how many rows it has of ticks and ranges. A step changes this row in place, and no entry of
-- an index.
CREATE TABLE fenceline_schedule (
  ns_id INTEGER NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, version INTEGER NOT NULL,
  removed INTEGER NOT NULL, resolved_to INTEGER NOT NULL, counts_from INTEGER NOT NULL, fired_to INTEGER NOT NULL,
  bar INTEGER NOT NULL, created_at INTEGER NOT NULL, changed_at INTEGER NOT NULL, paused_at INTEGER, paused_by TEXT,
  pause_reason TEXT, changed TEXT NOT NULL, changed_duplicates BLOB, moved TEXT NOT NULL, moved_duplicates BLOB,
  ticks INTEGER NOT NULL, PRIMARY KEY (ns_id, name)) WITHOUT ROWID;
CREATE INDEX fenceline_schedule_version ON fenceline_schedule (ns_id, version);
CREATE INDEX fenceline_schedule_there ON fenceline_schedule (ns_id, name) WHERE removed = 0;
CREATE INDEX fenceline_schedule_removed ON fenceline_schedule (ns_id, changed_at) WHERE removed = 1;
CREATE INDEX fenceline_schedule_full ON fenceline_schedule (ns_id, name) WHERE ticks > 10000;
-- What it is: beside it, as a step should not rewrite it.
CREATE TABLE fenceline_schedule_spec (ns_id INTEGER NOT NULL, name TEXT NOT NULL, spec TEXT NOT NULL,
  PRIMARY KEY (ns_id, name)) WITHOUT ROWID;

-- Ticks that fired (S1): at most one row each. And ranges of those that were skipped.
CREATE TABLE fenceline_tick (
  ns_id INTEGER NOT NULL, schedule TEXT NOT NULL, tick INTEGER NOT NULL, job BLOB NOT NULL, at INTEGER NOT NULL,
  owner TEXT NOT NULL, place TEXT NOT NULL,
  PRIMARY KEY (ns_id, schedule, tick)) WITHOUT ROWID;
CREATE INDEX fenceline_tick_age ON fenceline_tick (ns_id, tick, schedule);
CREATE TABLE fenceline_tick_range (
  ns_id INTEGER NOT NULL, schedule TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL,
  reason TEXT NOT NULL, at INTEGER NOT NULL, owner TEXT NOT NULL, place TEXT NOT NULL,
  PRIMARY KEY (ns_id, schedule, first)) WITHOUT ROWID;
CREATE INDEX fenceline_tick_range_age ON fenceline_tick_range (ns_id, first, schedule);
)sql";

// Since schema 8.
constexpr const char* kPipelineTables = R"sql(
-- One that was removed has no spec, and its revision goes on.
CREATE TABLE fenceline_pipeline (
  ns_id INTEGER NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, changed_at INTEGER NOT NULL,
  spec TEXT NOT NULL, PRIMARY KEY (ns_id, name)) WITHOUT ROWID;
CREATE INDEX fenceline_pipeline_there ON fenceline_pipeline (ns_id) WHERE spec <> '';

-- See item_rows.hpp. Its job may go in a process of a version before, and leave it behind: numbers are not used twice.
CREATE TABLE fenceline_item (seq INTEGER PRIMARY KEY, revision INTEGER NOT NULL, request TEXT NOT NULL,
  first_queue_id INTEGER NOT NULL, record TEXT NOT NULL);
)sql";
static_assert(kTicksKeptMost == 10'000, "as the index of those that have more says");

// Offsets in the header of a SQLite file.
constexpr std::size_t kHeaderBytes = 100;
constexpr std::size_t kFormatAt = 18;  // to write, to read
constexpr unsigned char kWalFormat = 2;
constexpr std::size_t kVersionAt = 60;
constexpr std::size_t kApplicationAt = 68;

using Header = std::array<unsigned char, kHeaderBytes>;

std::int64_t big_endian(const Header& header, std::size_t at) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value * 256 + header[at + i];
  return value;
}

Result<void> check_version(std::int64_t version, const std::string& path) {
  if ((version >= kSchemaUpgraded && version <= kSchemaVersion) || version == 0) return {};
  if (version < kSchemaVersion)
    return fail(Code::refused, "store " + path +
                                   " was created by a version of fenceline that was never released (schema " +
                                   std::to_string(version) + ", this one knows " + std::to_string(kSchemaVersion) +
                                   "); name another file");
  return fail(Code::refused, "store " + path + " was created by a newer fenceline (schema " + std::to_string(version) +
                                 ", this one knows " + std::to_string(kSchemaVersion) + "); use that version");
}

std::unexpected<Error> not_ours(const std::string& path) {
  return fail(Code::refused, "store " + path + " is another application's SQLite database; name another file");
}

// Through a file of SQLite's, but without a lock or a transaction: a descriptor of our own would, when it is closed,
// take the locks away from every other connection that this process has on the file.
Result<void> read_header(const std::string& path, Header& header) {
  try {
    const Database db(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);
    sqlite3_file* file = nullptr;
    sqlite3_file_control(db.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
    const int code = file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0);
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) throw SqliteFailure{code, sqlite3_errstr(code)};
    if (code == SQLITE_IOERR_SHORT_READ || std::memcmp(header.data(), "SQLite format 3", 16) != 0)
      return fail(Code::refused, "store " + path + " is not a SQLite database; name another file");
    return {};
  } catch (const SqliteFailure& failure) {
    return std::unexpected(failure.error(path));
  }
}

}  // namespace

Result<FileState> inspect_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return FileState::empty;
    return fail(Code::refused, "store " + path + " cannot be read: " + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) return fail(Code::refused, "store " + path + " is not a regular file");
  if (status.st_nlink > 1)
    return fail(
        Code::refused,
        "store " + path + " has more than one name (hard links), so its locks would not agree; remove the other names");
  if (status.st_size == 0) return FileState::empty;
  Header header{};
  if (auto ok = read_header(path, header); !ok) return std::unexpected(ok.error());
  const std::int64_t application = big_endian(header, kApplicationAt);
  if (application == kApplicationId) {
    if (auto ok = check_version(big_endian(header, kVersionAt), path); !ok) return std::unexpected(ok.error());
    // Until the log is in use the file is not finished, and whoever reads it is in the way of who finishes it.
    if (header[kFormatAt] != kWalFormat || header[kFormatAt + 1] != kWalFormat) return FileState::empty;
    return big_endian(header, kVersionAt) < kSchemaVersion ? FileState::older : FileState::ours;
  }
  // Our schema and our mark are one commit, so a file of ours always shows it. Without one it is another's, unless it
  // is as empty as a database can be: one page.
  const std::int64_t page_code = header[16] * 256 + header[17];
  const std::int64_t page = page_code == 1 ? 65536 : page_code;
  if (application == 0 && status.st_size <= page) return FileState::empty;
  return not_ours(path);
}

Result<FileState> inspect_database(Database& db, const std::string& path) {
  const std::int64_t application = db.number("PRAGMA application_id").value_or(0);
  const std::int64_t version = db.number("PRAGMA user_version").value_or(0);
  if (application == kApplicationId) {
    if (auto ok = check_version(version, path); !ok) return std::unexpected(ok.error());
    if (version == 0) return FileState::empty;
    return version == kSchemaVersion ? FileState::ours : FileState::older;
  }
  const std::int64_t tables = db.number("SELECT count(*) FROM sqlite_schema").value_or(0);
  if (application != 0 || version != 0 || tables != 0) return not_ours(path);
  return FileState::empty;
}

namespace {

// All of `body` and the version, or nothing.
void change_schema(Database& db, const std::function<void()>& body) {
  FENCELINE_CRASH_POINT(sqlite_migrate_before);
  db.execute("BEGIN IMMEDIATE");
  try {
    body();
    db.run_script("PRAGMA application_id = " + std::to_string(kApplicationId) +
                  "; PRAGMA user_version = " + std::to_string(kSchemaVersion));
    db.execute("COMMIT");
  } catch (const SqliteFailure&) {
    if (db.in_transaction()) db.execute("ROLLBACK");
    throw;
  }
  FENCELINE_CRASH_POINT(sqlite_migrate_after);
}

constexpr const char* kEnterChange =
    "INSERT INTO trail (ns, at, actor, act, subject, reason) VALUES ('', ?1, ?2, ?3, ?4, '')";

}  // namespace

void make_tables(Database& db) {
  for (const char* script : {kTables, kLockTables, kScheduleTables, kPipelineTables}) db.run_script(script);
}

void migrate(Database& db, std::int64_t at, const std::string& boot_id, const std::string& actor) {
  change_schema(db, [&] {
    make_tables(db);
    db.execute("INSERT INTO meta VALUES ('boot_id', ?1), ('floor', 0), ('seq_floor', 0), ('made_at', ?2)", boot_id, at);
    db.execute(kEnterChange, at, actor, std::string("store_created"), "schema " + std::to_string(kSchemaVersion));
  });
}

void upgrade(Database& db, std::int64_t at, const std::string& actor) {
  const std::int64_t from = db.number("PRAGMA user_version").value_or(0);
  change_schema(db, [&] {
    if (from < kSchemaWithLocks) db.run_script(kLockTables);
    if (from < kSchemaWithSchedules) db.run_script(kScheduleTables);
    db.run_script(kPipelineTables);
    db.execute(kEnterChange, at, actor, std::string("store_migrated"),
               "schema " + std::to_string(from) + " to " + std::to_string(kSchemaVersion));
  });
}

void configure(Database& db, const std::string& synchronous) {
  // Checkpoints are ours alone, pages are never mapped (a lost file would be a signal), and deleted rows need not be
  // overwritten. The busy timeout is only a net below the writers' turn: nothing of ours meets it.
  db.run_script(
      "PRAGMA synchronous = " + synchronous +
      "; PRAGMA wal_autocheckpoint = 0; PRAGMA mmap_size = 0; PRAGMA secure_delete = OFF; PRAGMA cache_size = -16384;"
      " PRAGMA temp_store = MEMORY; PRAGMA busy_timeout = 2000");
}

}  // namespace fenceline::sqlite

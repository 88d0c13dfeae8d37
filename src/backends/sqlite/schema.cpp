#include "backends/sqlite/schema.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/crash_point.hpp"

namespace fenceline::sqlite {
namespace {

// A table for each state: a claim does not rewrite the job, and no index mentions what a renewal changes. A job is
// `ready` if it has a row in ready, `running` if in run, finished if in done; it always has exactly one of the
// three (J4).
//
// seq is the order of enqueue and never used twice. queue_id names (namespace, queue, stage). rank is -priority, so
// that all columns ascend. lane 1 has the jobs that must run alone, so that they do not lie in the way of others.
// Times named *_at are wall time in microseconds, lease ends and `until` are instants of the boot in meta.
constexpr const char* kTables = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
-- first_seq: none of its jobs is older; 0: it has none. A listing starts there and not at the first job of all.
CREATE TABLE namespace (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, first_seq INTEGER NOT NULL DEFAULT 0);
CREATE TABLE queue (id INTEGER PRIMARY KEY, ns_id INTEGER NOT NULL, name TEXT NOT NULL, stage TEXT NOT NULL,
  UNIQUE (ns_id, name, stage));

CREATE TABLE job (
  seq INTEGER PRIMARY KEY, ns_id INTEGER NOT NULL, id BLOB NOT NULL, queue_id INTEGER NOT NULL, priority INTEGER NOT NULL,
  attempts_max INTEGER NOT NULL, created_at INTEGER NOT NULL, run_at INTEGER NOT NULL, payload TEXT NOT NULL,
  UNIQUE (ns_id, id));

CREATE TABLE ready (
  queue_id INTEGER NOT NULL, lane INTEGER NOT NULL, rank INTEGER NOT NULL, run_at INTEGER NOT NULL, seq INTEGER NOT NULL,
  fence INTEGER NOT NULL DEFAULT 0, deliveries INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
  losses INTEGER NOT NULL DEFAULT 0, losses_in_row INTEGER NOT NULL DEFAULT 0, laters INTEGER NOT NULL DEFAULT 0,
  last_outcome INTEGER, owner TEXT NOT NULL DEFAULT '', error TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (queue_id, lane, rank, run_at, seq)) WITHOUT ROWID;
-- A job that was never granted is found by job.run_at; only the others need this.
CREATE INDEX ready_again ON ready (seq) WHERE deliveries > 0;

CREATE TABLE run (
  seq INTEGER PRIMARY KEY, claim_id INTEGER NOT NULL, place INTEGER NOT NULL, fence INTEGER NOT NULL,
  lease_end INTEGER NOT NULL, run_at INTEGER NOT NULL, deliveries INTEGER NOT NULL, failures INTEGER NOT NULL,
  losses INTEGER NOT NULL, losses_in_row INTEGER NOT NULL, laters INTEGER NOT NULL, last_outcome INTEGER,
  previous_owner TEXT, error TEXT NOT NULL);

CREATE TABLE done (
  seq INTEGER PRIMARY KEY, state INTEGER NOT NULL, finished_at INTEGER NOT NULL, fence INTEGER NOT NULL, run_at INTEGER NOT NULL,
  deliveries INTEGER NOT NULL, failures INTEGER NOT NULL, losses INTEGER NOT NULL, losses_in_row INTEGER NOT NULL,
  laters INTEGER NOT NULL, last_outcome INTEGER, owner TEXT NOT NULL, error TEXT NOT NULL, result BLOB NOT NULL);
CREATE INDEX done_badly ON done (state, seq) WHERE state > 3;

-- One row for a queue in a claim: answers repeats until `until`, finds expired leases without an index on
-- run.lease_end. `bound`: no lease of its live jobs ends before; exact: they all end there. seqs: what it granted, 8
-- bytes each. A claim that was given back before it arrived has no queue.
CREATE TABLE claim (
  id INTEGER PRIMARY KEY, ns_id INTEGER NOT NULL, owner TEXT NOT NULL, request TEXT NOT NULL, queue_id INTEGER NOT NULL,
  until INTEGER NOT NULL, bound INTEGER NOT NULL, exact INTEGER NOT NULL, live INTEGER NOT NULL, losses_most INTEGER NOT NULL,
  seqs BLOB NOT NULL);
CREATE INDEX claim_request ON claim (ns_id, owner, request);
CREATE INDEX claim_bound ON claim (queue_id, bound) WHERE live > 0;
CREATE INDEX claim_lossy ON claim (queue_id, bound) WHERE live > 0 AND losses_most > 0;
CREATE INDEX claim_over ON claim (until) WHERE live = 0;

CREATE TABLE worker (
  ns_id INTEGER NOT NULL, owner TEXT NOT NULL, started_at INTEGER NOT NULL, seen_at INTEGER NOT NULL, host TEXT NOT NULL,
  pid INTEGER NOT NULL, version TEXT NOT NULL, queues TEXT NOT NULL, stage TEXT NOT NULL, concurrency INTEGER NOT NULL,
  ttl INTEGER NOT NULL, holding BLOB NOT NULL, PRIMARY KEY (ns_id, owner)) WITHOUT ROWID;

CREATE TABLE trail (
  n INTEGER PRIMARY KEY, ns TEXT NOT NULL, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL, subject TEXT NOT NULL,
  reason TEXT NOT NULL);
CREATE INDEX trail_ns ON trail (ns, n);
)sql";

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
  if (version <= kSchemaVersion) return {};
  return fail(Code::refused, "store " + path + " was made by a newer fenceline (schema " + std::to_string(version) + ", this one knows " +
                                 std::to_string(kSchemaVersion) + "); use that version");
}

std::unexpected<Error> not_ours(const std::string& path) {
  return fail(Code::refused, "store " + path + " is a SQLite database of another application; name another file");
}

// Through a file of SQLite's, but without a lock or a transaction: a descriptor of our own would, when it is closed, take
// the locks away from every other connection that this process has on the file.
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
    return fail(Code::refused, "store " + path + " cannot be looked at: " + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) return fail(Code::refused, "store " + path + " is not a regular file");
  if (status.st_nlink > 1)
    return fail(Code::refused, "store " + path + " has more than one name (a hard link): its locks would be two; remove the other");
  if (status.st_size == 0) return FileState::empty;
  Header header{};
  if (auto ok = read_header(path, header); !ok) return std::unexpected(ok.error());
  const std::int64_t application = big_endian(header, kApplicationAt);
  if (application == kApplicationId) {
    if (auto ok = check_version(big_endian(header, kVersionAt), path); !ok) return std::unexpected(ok.error());
    // Until the log is in use the file is not finished, and whoever reads it is in the way of who finishes it.
    return header[kFormatAt] == kWalFormat && header[kFormatAt + 1] == kWalFormat ? FileState::ours : FileState::empty;
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
    return version == kSchemaVersion ? FileState::ours : FileState::empty;
  }
  const std::int64_t tables = db.number("SELECT count(*) FROM sqlite_schema").value_or(0);
  if (application != 0 || version != 0 || tables != 0) return not_ours(path);
  return FileState::empty;
}

void migrate(Database& db, std::int64_t at, const std::string& boot_id, const std::string& actor) {
  FENCELINE_CRASH_POINT(sqlite_migrate_before);
  db.execute("BEGIN IMMEDIATE");
  try {
    db.run_script(kTables);
    db.execute("INSERT INTO meta VALUES ('boot_id', ?1), ('floor', 0), ('seq_floor', 0), ('made_at', ?2)", boot_id, at);
    db.execute("INSERT INTO trail (ns, at, actor, act, subject, reason) VALUES ('', ?1, ?2, 'store_created', ?3, '')", at, actor,
               "schema " + std::to_string(kSchemaVersion));
    db.run_script("PRAGMA application_id = " + std::to_string(kApplicationId) +
                  "; PRAGMA user_version = " + std::to_string(kSchemaVersion));
    db.execute("COMMIT");
  } catch (const SqliteFailure&) {
    if (db.in_transaction()) db.execute("ROLLBACK");
    throw;
  }
  FENCELINE_CRASH_POINT(sqlite_migrate_after);
}

void configure(Database& db, const std::string& synchronous) {
  // Checkpoints are ours alone, pages are never mapped (a lost file would be a signal), and deleted rows need not be
  // overwritten. The busy timeout is only a net below the writers' turn: nothing of ours meets it.
  db.run_script("PRAGMA synchronous = " + synchronous +
                "; PRAGMA wal_autocheckpoint = 0; PRAGMA mmap_size = 0; PRAGMA secure_delete = OFF; PRAGMA cache_size = -16384;"
                " PRAGMA temp_store = MEMORY; PRAGMA busy_timeout = 2000");
}

}  // namespace fenceline::sqlite

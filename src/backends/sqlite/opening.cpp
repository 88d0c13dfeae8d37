#include "backends/sqlite/opening.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <optional>

#include "backends/sqlite/filesystem.hpp"
#include "backends/sqlite/schema.hpp"
#include "backends/sqlite/store_files.hpp"
#include "backends/sqlite/writer.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kBootId = "SELECT value FROM meta WHERE key = 'boot_id'";

const char* synchronous_word(SqliteSync synchronous) { return synchronous == SqliteSync::full ? "FULL" : "NORMAL"; }

std::string boot_id_of(Database& db) {
  auto rows = db.query(kBootId);
  return rows.next() ? rows.text(0) : "";
}

std::int64_t wall_us(Clock& clock) { return clock.wall_now().time_since_epoch().count(); }

std::unexpected<Error> not_set_up(const SqliteOptions& options) {
  return fail(
      Code::not_found,
      "store " + options.path +
          " does not exist; check the path, or create it with 'fenceline migrate' or the first 'fenceline enqueue'");
}

std::int64_t bytes_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : -1;
}

// A store was here, and its database is empty or gone: to set up another one in its place would hide that everything in
// it is lost. Empty: there was none, as far as we can see.
std::optional<Error> lost_store(const LockFile& locks, const std::string& path) {
  const bool left_its_log = bytes_of(path + "-wal") > 0;
  if (!locks.remembers_store() && !left_its_log) return std::nullopt;
  const bool there = bytes_of(path) >= 0;
  return Error{Code::refused, "store " + path + (there ? " is empty" : " is missing") + ", but " + path +
                                  (left_its_log ? "-wal" : "-lock") + " shows that a store was here: it was " +
                                  (there ? "emptied" : "deleted or moved") +
                                  "; put it back, or restore a backup: fenceline restore FILE --store sqlite:" + path +
                                  "; to start over with an empty store: rm -f " + path + "-lock " + path + "-wal"};
}

std::unique_ptr<Database> connect(const SqliteOptions& options, bool may_create) {
  auto db = std::make_unique<Database>(
      options.path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (may_create ? SQLITE_OPEN_CREATE : 0));
  configure(*db, synchronous_word(options.synchronous));
  return db;
}

// A lock's lease ends at this very moment, so that a delay runs from here on; its bar is what is left of it as wall
// time, and never more than it was at the grant: a clock that begins years ago would bar it for as long. Whoever waited
// is gone.
constexpr const char* kEndLocks = R"sql(
  UPDATE fenceline_lock SET lease_end = ?1, freed = CASE WHEN freed IS NOT NULL THEN ?1 END,
    bar = ?1 + min(bar_wall - granted_at, max(0, bar_wall - ?2)), look_at = ?1 + ?3)sql";

// No lease outlives a boot.
void change_boot(Database& db, Clock& clock, const std::string& old_boot, const std::string& actor) {
  db.execute("BEGIN IMMEDIATE");
  try {
    end_every_lease(db, clock);
    db.execute("UPDATE meta SET value = ?1 WHERE key = 'boot_id'", clock.boot_id());
    db.execute("INSERT INTO trail (ns, at, actor, act, subject, reason) VALUES ('', ?1, ?2, 'boot_changed', ?3, ?4)",
               wall_us(clock), actor, clock.boot_id(), "every lease of boot " + old_boot + " has ended");
    db.execute("COMMIT");
  } catch (const SqliteFailure&) {
    if (db.in_transaction()) db.execute("ROLLBACK");
    throw;
  }
}

// Usual: the file is ours and of this boot, and nobody's turn is needed. Empty: it is not so simple.
Result<std::unique_ptr<Database>> open_as_it_is(Clock& clock, LockFile& locks, const SqliteOptions& options) {
  const StoreFiles before(options.path);
  auto db = connect(options, false);
  const Result<FileState> state = inspect_database(*db, options.path);
  if (!state) return std::unexpected(state.error());
  if (*state != FileState::ours || db->pragma_text("PRAGMA journal_mode") != "wal") return nullptr;
  if (!locks.share_presence()) return nullptr;
  if (before.database_changed()) {  // a restore replaced it before we were known to be here
    locks.leave_presence();
    return nullptr;
  }
  if (boot_id_of(*db) == clock.boot_id()) return db;
  locks.leave_presence();
  return nullptr;
}

// Who opens the file at this very moment holds the presence byte for a moment, even under another boot id.
bool own_presence_soon(Runtime& runtime, LockFile& locks) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    if (locks.own_presence()) return true;
    runtime.sleep_for(std::chrono::milliseconds{10}, {});
  }
  return false;
}

// In the writers' turn.
Result<std::unique_ptr<Database>> set_up(Runtime& runtime, Clock& clock, LockFile& locks,
                                         const SqliteOptions& options) {
  if (bytes_of(options.path) <= 0) {  // before SQLite makes the file, or meets a log that belongs to none
    if (auto lost = lost_store(locks, options.path)) return std::unexpected(std::move(*lost));
    if (!options.may_create) return not_set_up(options);
  }
  auto db = connect(options, options.may_create);
  const Result<FileState> state = inspect_database(*db, options.path);
  if (!state) return std::unexpected(state.error());
  if (*state == FileState::empty) {
    if (auto lost = lost_store(locks, options.path)) return std::unexpected(std::move(*lost));
    if (!options.may_create) return not_set_up(options);
    migrate(*db, wall_us(clock), clock.boot_id(), options.actor);
  } else if (*state == FileState::older) {
    upgrade(*db, wall_us(clock), options.actor);
  }
  if (db->pragma_text("PRAGMA journal_mode = WAL") != "wal")
    return fail(Code::refused, "store " + options.path + " cannot use a write-ahead log on this file system");
  if (const std::string old_boot = boot_id_of(*db); old_boot != clock.boot_id()) {
    if (!own_presence_soon(runtime, locks))
      return fail(Code::refused, "store " + options.path + " is open in a process with another boot id (" + old_boot +
                                     ", here " + clock.boot_id() +
                                     "): their clocks cannot be compared; close it there first");
    change_boot(*db, clock, old_boot, options.actor);
  }
  if (!locks.share_presence())
    return fail(Code::unavailable, "store " + options.path + " is being opened by a process with another boot id");
  return db;
}

// Runs `body` in the writers' turn, on a thread of its own: a wait for the turn has no time-out.
Result<std::unique_ptr<Database>> in_turn(Runtime& runtime, LockFile& locks, const SqliteOptions& options,
                                          const std::function<Result<std::unique_ptr<Database>>()>& body) {
  std::optional<Result<std::unique_ptr<Database>>> answer;
  const std::unique_ptr<Event> ended = runtime.make_event();
  const Instant deadline = runtime.now() + options.open_timeout;
  Task task = runtime.spawn("sqlite_open", [&](std::stop_token stop) {
    const Result<bool> turn = locks.take_turn(stop);
    if (!turn) {
      answer = std::unexpected(turn.error());
    } else if (*turn) {
      try {
        answer = body();
      } catch (const SqliteFailure& failure) {
        answer = std::unexpected(failure.error(options.path));
      }
      locks.end_turn();
    }
    ended->notify();
  });
  const bool in_time = ended->wait_until(deadline);
  const std::optional<pid_t> holder = in_time ? std::nullopt : locks.turn_holder();
  task.request_stop();
  task.join();
  if (answer) return std::move(*answer);
  return fail(Code::unavailable, "store " + options.path + ": " + describe_holder(holder) + "; it was not opened");
}

}  // namespace

void end_every_lease(Database& db, Clock& clock) {
  db.execute("UPDATE run SET lease_end = 0");
  db.execute("UPDATE claim SET bound = 0, until = 0, exact = 1");
  db.execute("UPDATE slot SET lease_end = 0");
  const std::int64_t now = clock.now().time_since_epoch().count();
  db.execute(kEndLocks, now, wall_us(clock), kFreeLockKeptFor.count());
  db.execute("UPDATE fenceline_lock_holder SET lease_end = ?1", now);
  db.execute("DELETE FROM fenceline_lock_waiter");
  db.execute("DELETE FROM fenceline_lock_withdrawn");
}

Result<OpenedFile> open_file(Runtime& runtime, Clock& clock, const SqliteOptions& options) {
  if (auto ok = check_filesystem(options.path, options.accept_shared_fs); !ok) return std::unexpected(ok.error());
  const Result<FileState> state = inspect_file(options.path);
  if (!state) return std::unexpected(state.error());
  // Whoever may not set a store up leaves no lock file behind either.
  if (*state == FileState::empty && !options.may_create && bytes_of(options.path + "-lock") < 0 &&
      bytes_of(options.path + "-wal") <= 0)
    return not_set_up(options);
  Result<std::unique_ptr<LockFile>> locks = LockFile::open(options.path + "-lock");
  if (!locks) return std::unexpected(locks.error());
  Result<std::unique_ptr<Database>> db = nullptr;
  try {
    if (*state == FileState::ours) db = open_as_it_is(clock, **locks, options);
  } catch (const SqliteFailure& failure) {
    // Someone recovers the log, or is about to finish the file: after them, in turn.
    if (failure.error(options.path).code != Code::unavailable) return std::unexpected(failure.error(options.path));
  }
  // Also in our turn someone may be looking at the file for a moment, or recover its log.
  const Instant deadline = runtime.now() + options.open_timeout;
  while (db && !*db) {
    db = in_turn(runtime, **locks, options, [&] { return set_up(runtime, clock, **locks, options); });
    if (!db && db.error().code == Code::unavailable && runtime.now() < deadline) db = nullptr;
  }
  if (!db) return std::unexpected(db.error());
  (*locks)->remember_store();
  return OpenedFile{std::move(*locks), std::move(*db)};
}

std::unique_ptr<Database> open_reader(const SqliteOptions& options) {
  auto db = connect(options, false);
  // Longer than a writer waits: a read is not tried again.
  db->run_script("PRAGMA query_only = 1; PRAGMA busy_timeout = 10000");
  return db;
}

std::unique_ptr<Database> open_in_memory(Clock& clock, const SqliteOptions& options) {
  auto db = std::make_unique<Database>(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX);
  configure(*db, synchronous_word(options.synchronous));
  migrate(*db, wall_us(clock), clock.boot_id(), options.actor);
  if (options.seq_floor > 0) db->execute("UPDATE meta SET value = ?1 WHERE key = 'seq_floor'", options.seq_floor);
  return db;
}

}  // namespace fenceline::sqlite

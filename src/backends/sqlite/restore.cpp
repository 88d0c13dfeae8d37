#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "backends/sqlite/backup.hpp"
#include "backends/sqlite/copy_pages.hpp"
#include "backends/sqlite/filesystem.hpp"
#include "backends/sqlite/lock_file.hpp"
#include "backends/sqlite/opening.hpp"
#include "backends/sqlite/schema.hpp"
#include "base/utc_text.hpp"
#include "gates/durable_file.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kLargestFence = R"sql(
  SELECT max((SELECT coalesce(max(value), 0) FROM meta WHERE key = 'floor'),
             (SELECT coalesce(max(fence), 0) FROM ready), (SELECT coalesce(max(fence), 0) FROM run),
             (SELECT coalesce(max(fence), 0) FROM waiting), (SELECT coalesce(max(fence), 0) FROM done),
             (SELECT coalesce(max(fence), 0) FROM slot), (SELECT coalesce(max(fence), 0) FROM grp),
             (SELECT coalesce(max(fence), 0) FROM fenceline_lock)))sql";
constexpr const char* kLargestOfTables = "SELECT coalesce(max(fence), 0) FROM fenceline_fence";
constexpr const char* kHasTableGates = "SELECT 1 FROM sqlite_schema WHERE name = 'fenceline_fence'";

constexpr const char* kLeases = R"sql(
  SELECT (SELECT coalesce(sum(more + 1), 0) FROM run) +
         (SELECT count(*) FROM fenceline_lock WHERE freed IS NULL AND lease_end > ?1))sql";

std::int64_t microseconds(WallTime at) { return at.time_since_epoch().count(); }

// All that it ever granted, and what tables of the application remember.
Fence largest_fence(Database& db) {
  Fence largest = db.number(kLargestFence).value_or(0);
  if (db.number(kHasTableGates)) largest = std::max(largest, db.number(kLargestOfTables).value_or(0));
  return largest;
}

// As SQLite reads a URI.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      constexpr std::string_view kDigits = "0123456789ABCDEF";
      uri += '%';
      uri += kDigits[static_cast<unsigned char>(c) >> 4];
      uri += kDigits[static_cast<unsigned char>(c) & 15];
    } else {
      uri += c;
    }
  }
  return uri;
}

bool has_log(const std::string& path) {
  struct stat status {};
  return ::stat((path + "-wal").c_str(), &status) == 0 && status.st_size > 0;
}

// Nothing is written beside a backup, which may lie on a disk that is read-only; unless it has a log of its own.
std::unique_ptr<Database> open_backup(const std::string& path) {
  if (has_log(path)) return std::make_unique<Database>(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);
  return std::make_unique<Database>(uri_of(path) + "?immutable=1",
                                    SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI);
}

Result<void> check_backup(const std::string& file, const std::string& store) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::unexpected(file_error(file, "cannot be opened", errno));
  if (!S_ISREG(status.st_mode)) return fail(Code::invalid, file + " is not a regular file; name a backup");
  if (file == store) return fail(Code::invalid, file + " is the store itself; name a backup of it");
  const Error not_one{Code::invalid,
                      file + " is not a backup of a fenceline store; name one that 'fenceline backup' made"};
  if (status.st_size == 0) return std::unexpected(not_one);
  try {
    const std::unique_ptr<Database> db = open_backup(file);
    const Result<FileState> state = inspect_database(*db, file);
    if (!state && db->number("PRAGMA application_id").value_or(0) != 0) return std::unexpected(state.error());
    if (!state || *state == FileState::empty) return std::unexpected(not_one);
  } catch (const SqliteFailure& failure) {
    if ((failure.code & 0xff) == SQLITE_NOTADB) return std::unexpected(not_one);
    return std::unexpected(failure.error(file));
  }
  return {};
}

// Alone with the store: nobody has it open, and nobody opens it before this goes away.
Result<std::unique_ptr<LockFile>> shut(const std::string& store) {
  Result<std::unique_ptr<LockFile>> locks = LockFile::open(store + "-lock");
  if (!locks) return locks;
  if (!(*locks)->own_presence() || !(*locks)->try_turn())
    return fail(Code::held, "store " + store +
                                " is open in another process; stop every worker, scheduler and command "
                                "that uses it first ('fuser -v " +
                                store + "' lists them)");
  return locks;
}

// Of the store that is there, if it can be read.
std::optional<Fence> fences_of_old(const SqliteOptions& options) {
  try {
    const std::unique_ptr<Database> db = open_reader(options);
    const Result<FileState> state = inspect_database(*db, options.path);
    if (!state || *state == FileState::empty) return std::nullopt;
    return *state == FileState::ours ? std::optional(largest_fence(*db)) : std::nullopt;
  } catch (const SqliteFailure&) {
    return std::nullopt;
  }
}

// In the copy: no lease is left, and no fence from before is good for anything.
void begin_anew(Database& db, Clock& clock, const SqliteOptions& options, const RestoreRequest& request,
                RestoreReply& reply) {
  const WallTime wall = clock.wall_now();
  db.execute("BEGIN IMMEDIATE");
  if (const auto at = db.number("SELECT value FROM meta WHERE key = 'backup_at'"))
    reply.taken_at = WallTime(Duration{*at});
  reply.leases_ended =
      db.number(kLeases, static_cast<std::int64_t>(clock.now().time_since_epoch().count())).value_or(0);
  // One that was never granted: a fence that is compared with it is smaller, or of a grant that is still to come.
  reply.floor = std::max({reply.floor, request.above, largest_fence(db), Fence{microseconds(wall)}}) + 1;
  end_every_lease(db, clock);
  // Their holders still know the old ones. One that nobody was granted is stale for everyone.
  db.execute("UPDATE run SET fence = ?1", reply.floor);
  db.execute("UPDATE fenceline_lock SET fence = ?1", reply.floor);
  if (db.number(kHasTableGates)) db.execute("UPDATE fenceline_fence SET fence = ?1", reply.floor);
  db.execute("UPDATE meta SET value = ?1 WHERE key = 'floor'", reply.floor);
  db.execute("INSERT OR REPLACE INTO meta VALUES ('restored_above', ?1)", reply.floor);
  db.execute("DELETE FROM meta WHERE key = 'backup_at'");
  db.execute("DELETE FROM worker");
  db.execute("UPDATE meta SET value = ?1 WHERE key = 'boot_id'", clock.boot_id());
  db.execute("INSERT INTO trail (ns, at, actor, act, subject, reason) VALUES ('', ?1, ?2, 'store_restored', ?3, ?4)",
             microseconds(wall), options.actor, request.file, request.reason);
  db.execute("COMMIT");
}

Result<void> prepare(Clock& clock, const SqliteOptions& options, const RestoreRequest& request, const std::string& file,
                     const std::string& copy_path, RestoreReply& reply) {
  const std::unique_ptr<Database> copy = open_copy(copy_path);
  {
    const std::unique_ptr<Database> from = open_backup(file);
    from->execute("BEGIN");
    if (auto ok = copy_pages(*from, *copy, request.progress, request.stop); !ok) return ok;
  }
  if (auto ok = finish_copy(*copy, "backup " + file, request.progress, request.stop); !ok) return ok;
  const Result<FileState> state = inspect_database(*copy, file);
  if (!state) return std::unexpected(state.error());
  if (*state == FileState::older) upgrade(*copy, microseconds(clock.wall_now()), options.actor);
  begin_anew(*copy, clock, options, request, reply);
  return {};
}

Result<void> move_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT) return {};
  return std::unexpected(file_error(from, "cannot be moved to " + to, errno));
}

// A name that nothing has. The log goes with it, so that what is kept is a whole store.
std::string kept_path(const std::string& store, WallTime now) {
  std::string at = utc_text(now).substr(0, 19);
  std::erase_if(at, [](char c) { return c == '-' || c == ':'; });
  const std::string base = store + ".before-restore-" + at;
  std::string path = base;
  std::error_code unknown;
  for (int n = 2; std::filesystem::exists(path, unknown); ++n) path = base + "-" + std::to_string(n);
  return path;
}

// The old log must be gone before the new file has the name: SQLite would write it over the new pages. A power cut in
// between leaves no store of that name, which is refused by name, never a mixture.
Result<void> swap_in(StagedFile& staged, const std::string& store, const std::string& kept) {
  if (!kept.empty()) {
    if (auto ok = move_file(store, kept); !ok) return ok;
    if (auto ok = move_file(store + "-wal", kept + "-wal"); !ok) return ok;
  }
  for (const char* left : {"-wal", "-shm", "-journal"}) ::unlink((store + left).c_str());
  if (auto ok = sync_folder(fenceline::folder_of(store)); !ok) return ok;
  if (auto ok = staged.take_place(); !ok) return ok;
  return sync_folder(fenceline::folder_of(store));
}

}  // namespace

Result<RestoreReply> restore(Runtime&, Clock& clock, const SqliteOptions& wanted, const RestoreRequest& request) {
  SqliteOptions options = wanted;
  const Result<std::string> store = canonical_path(options.path);
  if (!store) return std::unexpected(store.error());
  options.path = *store;
  if (auto ok = check_filesystem(*store, options.accept_shared_fs); !ok) return std::unexpected(ok.error());
  const Result<std::string> file = canonical_path(request.file);
  if (!file) return std::unexpected(file.error());
  if (auto ok = check_backup(*file, *store); !ok) return std::unexpected(ok.error());
  const Result<std::unique_ptr<LockFile>> locks = shut(*store);
  if (!locks) return std::unexpected(locks.error());

  RestoreReply reply{.store = *store};
  struct stat status {};
  if (::lstat(store->c_str(), &status) == 0) {
    reply.kept = kept_path(*store, clock.wall_now());
    const std::optional<Fence> known = status.st_size > 0 ? fences_of_old(options) : std::nullopt;
    reply.knew_old_fences = known.has_value();
    reply.floor = known.value_or(0);
  } else if (::lstat((*store + "-wal").c_str(), &status) == 0 && status.st_size > 0) {
    reply.kept = kept_path(*store, clock.wall_now());  // a restore was interrupted after it had moved the store away
    reply.knew_old_fences = false;
  }
  const std::string copy = *store + "-restoring";  // nobody else is here
  remove_copy_files(copy);
  Result<StagedFile> staged = StagedFile::begin(*store, copy);
  if (!staged) return std::unexpected(staged.error());
  try {
    if (auto ok = prepare(clock, options, request, *file, copy, reply); !ok) return std::unexpected(ok.error());
  } catch (const SqliteFailure& failure) {
    remove_copy_files(copy);
    return std::unexpected(failure.error(*file));
  }
  if (auto ok = staged->sync(); !ok) return std::unexpected(ok.error());
  if (auto ok = swap_in(*staged, *store, reply.kept); !ok) return std::unexpected(ok.error());
  (*locks)->remember_store();
  return reply;
}

}  // namespace fenceline::sqlite

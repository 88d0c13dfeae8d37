#include "backends/sqlite/copy_pages.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <memory>

namespace fenceline::sqlite {
namespace {

constexpr int kPagesAtOnce = 2048;           // 8 MiB
constexpr int kStepsBetweenLooks = 100'000;  // of SQLite's virtual machine, some milliseconds

std::unexpected<Error> stopped() { return fail(Code::unavailable, "stopped; nothing was changed"); }

struct Finish {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

[[noreturn]] void raise_for(Database& db) {
  throw SqliteFailure{sqlite3_extended_errcode(db.handle()), sqlite3_errmsg(db.handle())};
}

}  // namespace

Result<void> copy_pages(Database& from, Database& to, const CopyProgress& progress, std::stop_token stop) {
  std::unique_ptr<sqlite3_backup, Finish> copy(sqlite3_backup_init(to.handle(), "main", from.handle(), "main"));
  if (!copy) raise_for(to);
  int code = SQLITE_OK;
  while (code == SQLITE_OK) {
    if (stop.stop_requested()) return stopped();
    code = sqlite3_backup_step(copy.get(), kPagesAtOnce);
    const std::int64_t all = sqlite3_backup_pagecount(copy.get());
    const std::int64_t left = sqlite3_backup_remaining(copy.get());
    if (progress && all > 0) progress("copied", static_cast<int>(100 * (all - left) / all));
  }
  const int ended = sqlite3_backup_finish(copy.release());
  if (code != SQLITE_DONE) throw SqliteFailure{code, sqlite3_errstr(code)};
  if (ended != SQLITE_OK) raise_for(to);
  return {};
}

std::unique_ptr<Database> open_copy(const std::string& path) {
  auto db = std::make_unique<Database>(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX);
  db->run_script("PRAGMA synchronous = OFF; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY");
  return db;
}

Result<void> finish_copy(Database& copy, const std::string& named, const CopyProgress& progress, std::stop_token stop) {
  if (copy.pragma_text("PRAGMA journal_mode = DELETE") != "delete")
    return fail(Code::broken, named + " cannot be made one file without a log");
  if (progress) progress("checking", 0);
  const auto ask_to_stop = [](void* token) { return static_cast<std::stop_token*>(token)->stop_requested() ? 1 : 0; };
  sqlite3_progress_handler(copy.handle(), kStepsBetweenLooks, ask_to_stop, &stop);
  std::string found;
  try {
    found = copy.pragma_text("PRAGMA quick_check(1)");
  } catch (const SqliteFailure& failure) {
    sqlite3_progress_handler(copy.handle(), 0, nullptr, nullptr);
    if ((failure.code & 0xff) == SQLITE_INTERRUPT) return stopped();
    throw;
  }
  sqlite3_progress_handler(copy.handle(), 0, nullptr, nullptr);
  if (found != "ok") return fail(Code::broken, named + " is damaged: " + found);
  return {};
}

void remove_copy_files(const std::string& path) {
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) ::unlink((path + ending).c_str());
}

}  // namespace fenceline::sqlite

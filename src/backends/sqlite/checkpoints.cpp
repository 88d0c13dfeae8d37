#include "backends/sqlite/checkpoints.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/crash_point.hpp"

namespace fenceline::sqlite {
namespace {

constexpr std::int64_t kWalBytesLarge = 16 << 20;  // from here on the file is cut, not only used again
constexpr int kWalPagesPressing = 8000;            // from here on every commit tries

}  // namespace

Checkpoints::Checkpoints(Database& db, Log log, std::string path, int pages)
    : db_(db), log_(log), path_(std::move(path)), pages_(pages), next_(pages) {
  const auto remember_pages = [](void* counter, sqlite3*, const char*, int count) {
    *static_cast<int*>(counter) = count;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(db_.handle(), remember_pages, &wal_pages_);
}

std::optional<Error> Checkpoints::run_if_due() {
  return wal_pages_ < next_ && wal_pages_ < kWalPagesPressing ? std::nullopt : run();
}

std::optional<Error> Checkpoints::run() {
  struct stat wal {};
  const bool large = ::stat((path_ + "-wal").c_str(), &wal) == 0 && wal.st_size > kWalBytesLarge;
  FENCELINE_CRASH_POINT(sqlite_checkpoint_before);
  sqlite3_busy_timeout(db_.handle(), 0);
  const int code = sqlite3_wal_checkpoint_v2(
      db_.handle(), "main", large ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
  const SqliteFailure failure{sqlite3_extended_errcode(db_.handle()), sqlite3_errmsg(db_.handle())};
  sqlite3_busy_timeout(db_.handle(), 2000);
  FENCELINE_CRASH_POINT(sqlite_checkpoint_after);
  if (code == SQLITE_OK) {
    wal_pages_ = 0;
    next_ = pages_;
    return std::nullopt;
  }
  next_ = wal_pages_ + std::max(1, pages_ / 4);
  if (failure.is_io_error()) return failure.error(path_);
  log_.debug("checkpoint_put_off", {{"store", path_}, {"wal_pages", wal_pages_}, {"reason", failure.message}});
  return std::nullopt;
}

}  // namespace fenceline::sqlite

// A copy of a store while others use it, and a store made of such a copy.
//
// A backup is one snapshot, read page by page beside the writers: it holds up no write and no lease. While it runs the
// log cannot be cut, so it grows by what is written meanwhile. The copy is one file without a log, checked, on the
// disk, and has its name only when it is whole.
//
// A restore puts a copy in the place of the store. Nobody may have the store open. Every lease of the copy is ended,
// and no fence that was granted before is good for anything: those of running jobs and locks are raised, and the floor
// lies above all that the copy, the store that it replaces, the clock and the gates know of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "backends/sqlite/sqlite_store.hpp"
#include "base/result.hpp"
#include "model/fence.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::sqlite {

// "copied", 42: per cent of this step.
using CopyProgress = std::function<void(const std::string& step, int percent)>;

struct BackupRequest {
  std::string file;
  bool replace = false;  // a file that is there; else that is refused
  std::stop_token stop = {};
  CopyProgress progress = {};
};

struct BackupReply {
  std::string file;  // the whole path
  std::int64_t bytes = 0;
  WallTime taken_at{};
};

// Errors: not_found (no store, or no such folder), conflict (the file is there), refused, invalid, full, broken,
// unavailable (stopped). Without a reply no file of that name was made or changed.
Result<BackupReply> back_up(Runtime& runtime, Clock& clock, const SqliteOptions& options, const BackupRequest& request);

struct RestoreRequest {
  std::string file;
  Fence above = 0;  // the largest fence that a gate remembers
  std::string reason = {};
  std::stop_token stop = {};
  CopyProgress progress = {};
};

struct RestoreReply {
  std::string store;  // the whole path
  std::string kept;   // what was there before; empty: nothing
  std::optional<WallTime> taken_at;
  Fence floor = 0;
  std::int64_t leases_ended = 0;
  bool knew_old_fences = true;  // false: what was there cannot be read, and the clock alone says what it granted
};

// Errors: not_found (no such backup), held (a process has the store open), refused (not a store of ours), invalid,
// broken (the backup is damaged), full, unavailable (stopped). Without a reply, and unless it is broken, the store is
// as it was.
Result<RestoreReply> restore(Runtime& runtime, Clock& clock, const SqliteOptions& options,
                             const RestoreRequest& request);

}  // namespace fenceline::sqlite

#include "history/work_history.hpp"

#include <utility>

#include "base/uuid.hpp"

namespace fenceline::history {
namespace {

// One after the other: a runtime of a seed replays only what has an order.
std::string fresh_name(Runtime& runtime) {
  const std::uint64_t high = runtime.random();
  return to_string(make_uuid7(runtime.wall_now(), high, runtime.random()));
}

RecorderOptions options_for(Runtime& runtime, const Store& store) {
  const StoreProfile profile = store.profile();
  RecorderOptions options{.by = fresh_name(runtime), .store = profile.kind, .guarantee = letter(profile.guarantee)};
  // Stores of this machine run leases on the same clock as we do.
  if (profile.kind == "sqlite" || profile.kind == "memory") options.store_clock = runtime.boot_id();
  return options;
}

}  // namespace

Result<std::unique_ptr<WorkHistory>> WorkHistory::open(const std::string& path, Runtime& runtime, Log log,
                                                       Store& store) {
  Result<std::unique_ptr<HistoryFile>> file = HistoryFile::open(path, runtime, log);
  if (!file) return std::unexpected(file.error());
  return std::unique_ptr<WorkHistory>(new WorkHistory(std::move(*file), runtime, store));
}

WorkHistory::WorkHistory(std::unique_ptr<HistoryFile> file, Runtime& runtime, Store& store)
    : file_(std::move(file)), recorder_(runtime, *file_, options_for(runtime, store)), store_(recorder_, store) {}

}  // namespace fenceline::history

// The store of a command, with every call written down if --history was given.
#pragma once

#include <memory>
#include <utility>

#include "cli/frame/command.hpp"
#include "history/work_history.hpp"

namespace fenceline::cli {

class NotedStore {
 public:
  // `store` must outlive it. Errors: those of HistoryFile::open.
  static Result<NotedStore> open(const Invocation& invocation, Store& store) {
    NotedStore made(store);
    const std::optional<std::string> path = invocation.value("--history");
    if (!path) return made;
    Result<std::unique_ptr<history::WorkHistory>> opened =
        history::WorkHistory::open(*path, *invocation.runtime, Log(*invocation.log_sink), store);
    if (!opened) return std::unexpected(opened.error());
    made.noted_ = std::move(*opened);
    return made;
  }

  Store& store() const { return noted_ ? noted_->store() : *store_; }

 private:
  explicit NotedStore(Store& store) : store_(&store) {}

  Store* store_;
  std::unique_ptr<history::WorkHistory> noted_;
};

inline OptionSpec history_option() {
  return {"--history", "FILE", "write every call to the store into FILE, added to what is there; see fenceline audit"};
}

}  // namespace fenceline::cli

// A store in memory whose calls run on their callers and neither block nor yield: for the simulator's fibers and for
// tests. Watchers are a list of callbacks.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "backends/sqlite/database.hpp"
#include "backends/sqlite/listeners.hpp"
#include "backends/sqlite/names.hpp"
#include "backends/sqlite/verbs.hpp"
#include "runtime/clock.hpp"
#include "store/store.hpp"

namespace fenceline::sqlite {

class DirectConnection {
 public:
  using Body = std::function<bool(Call&)>;  // what it wrote is kept if it returns true

  DirectConnection(const Clock& clock, std::unique_ptr<Database> db)
      : clock_(clock), db_(std::move(db)), names_(*db_) {}

  Result<void> run(const Body& body);
  // Callbacks run on the caller of run(), after it changed something. The handle waits for one under way.
  std::unique_ptr<Watch> watch(std::vector<QueueName> names, std::function<void()> on_change) {
    return listeners_.add(std::move(names), {}, std::move(on_change));
  }

 private:
  Result<void> run_locked(const Body& body, std::set<QueueName>& awakened);

  const Clock& clock_;
  std::mutex mutex_;  // never contended on fibers: nothing below it yields
  std::unique_ptr<Database> db_;
  Names names_;
  Listeners listeners_;
};

}  // namespace fenceline::sqlite

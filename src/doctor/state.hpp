// What is wrong with the work in a store, by what the store says: jobs that nobody holds, workers that believe what is
// not so, groups and locks that stand still. `fenceline doctor`, `fenceline top` and the metrics look through here.
//
// Every look is bounded: pages by indexes, the totals that a store keeps anyway, and a budget of time. Nothing counts
// rows, so that it is as quick with a million jobs as with ten.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

// Every name that a finding about state can have: what metrics are labelled with. In the order in which they are looked
// at.
inline constexpr std::array<std::string_view, 14> kStateChecks{
    "stale_jobs", "poison_jobs",    "orphans",          "beliefs",        "workers_gone",
    "queue_age",  "dead_letters",   "effects_in_doubt", "groups_blocked", "lock_wait",
    "lock_debt",  "schedules_late", "schedules_ahead",  "items_on_hold"};

struct StateOptions {
  std::string ns = "default";
  // When so much time has gone by, no further page is asked for: what was found until then is told, and that it may not
  // be all.
  Duration budget = std::chrono::milliseconds{500};
  bool other_namespaces = false;  // also how much lock debt the others have
  std::size_t findings_most = 5;  // of one check; then one more that says how many there are beside
  // Whether a process lives, if anybody here can tell: it decides which command mends a worker that says nothing.
  std::function<std::optional<bool>(const WorkerRow&)> lives = {};
  // Whether a process of that number there, not younger than that, is known to be stopped.
  std::function<bool(const std::string& host, std::int64_t pid, Duration age)> stopped = {};
};

// Numbers for the metrics. Each is of what was looked at: `cut` says that there may be more.
struct StateNumbers {
  std::int64_t stale_jobs = 0;
  std::int64_t poison_jobs = 0;
  std::int64_t orphans = 0;       // running now, taken over from a lease that ran out
  std::int64_t dead_letters = 0;  // all of them, as the store keeps the depth
  std::int64_t effects_in_doubt = 0;
  std::int64_t groups_blocked = 0;
  std::int64_t lock_waiters = 0;
  Duration lock_wait_longest{0};
  std::int64_t lock_debt = 0;  // leases of locks that ran out and were not released
  std::int64_t beliefs_wrong = 0;
  std::int64_t workers_seen = 0;
  std::int64_t workers_gone = 0;
  Duration schedule_lag{0};  // the largest: since the first open tick of a schedule was due
  std::int64_t schedules_ahead = 0;
  std::int64_t items_on_hold = 0;

  bool operator==(const StateNumbers&) const = default;
};

// What runs, as the store has it: deliveries under a live lease, by their owner. A worker's own report is older.
using RunningByOwner = std::map<std::string, std::vector<Holding>>;
// Those among these jobs.
RunningByOwner running_by_owner(const std::vector<Job>& jobs);
// Of a namespace, the first kRunningLooked running jobs. Errors: those of the store.
inline constexpr std::size_t kRunningLooked = 20'000;
Result<RunningByOwner> read_running(Store& store, const std::string& ns);

struct Looked {
  std::vector<Finding>
      findings;  // in the order of kStateChecks, each check at least once: ok, or what is wrong, the worst first
  StateNumbers numbers;
  std::vector<QueueRow> queues;  // as the store gave them
  std::vector<WorkerRow> workers;
  RunningByOwner running;
  bool cut = false;  // the budget, or a bound, left something unseen
};

// Not seen for longer than its leases live: it died without a word, hangs, or is cut off.
bool is_gone(const WorkerRow& row);
// Last seen at a moment that lies ahead: the store's clock was ahead, and it was not seen since the clock came back. It
// counts as gone.
bool was_seen_ahead(const WorkerRow& row);

// All of kStateChecks in one namespace. Errors: the first that the store answers; whoever asks knows then that the
// store is away.
Result<Looked> look_at_state(Runtime& runtime, Store& store, const StateOptions& options);

}  // namespace fenceline

// What the loops of one worker share: the two seams, what is held, whom to wake, what was counted.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "runtime/runtime.hpp"
#include "services/backoff.hpp"
#include "services/holdings.hpp"
#include "services/worker.hpp"
#include "store/store.hpp"

namespace fenceline {

// A wait that only a notification ends; waits are renewed after it, so its length decides nothing.
inline constexpr Duration kUntilNotified = std::chrono::hours{1};

// Why a lease was given up or a handler told to stop, as docs/events.md lists it.
inline constexpr std::string_view kRevoked = "revoked";
inline constexpr std::string_view kTimedOut = "timed_out";
inline constexpr std::string_view kLeaseNotRenewed = "lease_not_renewed";
inline constexpr std::string_view kWorkerStops = "worker_stops";

// A delivery ends under its own fence, and before its outcome, only if an effect in doubt makes its job wait. That is
// as it should be, and no late write.
bool ended_by_hold(const Refusal& refusal);

struct WorkerContext {
  WorkerContext(Runtime& the_runtime, Log the_log, Store& the_store, const WorkerOptions& the_options,
                const std::string& the_owner)
      : runtime(the_runtime),
        log(the_log),
        store(the_store),
        options(the_options),
        owner(the_owner),
        times(LeaseTimes::of(the_options.ttl)),
        holdings(times),
        fetcher(the_runtime.make_event()),
        slots(the_runtime.make_event()),
        keeper(the_runtime.make_event()),
        watch(the_runtime.make_event()),
        settler(the_runtime.make_event()),
        orders(the_runtime.make_event()),
        recorder(the_runtime.make_event()),
        reporter(the_runtime.make_event()) {}

  Runtime& runtime;
  Log log;
  Store& store;
  const WorkerOptions& options;
  const std::string& owner;
  const LeaseTimes times;

  Holdings holdings;

  // One waiter each, but for `slots`.
  const std::unique_ptr<Event> fetcher;
  const std::unique_ptr<Event> slots;
  const std::unique_ptr<Event> keeper;
  const std::unique_ptr<Event> watch;
  const std::unique_ptr<Event> settler;
  const std::unique_ptr<Event> orders;
  const std::unique_ptr<Event> recorder;
  const std::unique_ptr<Event> reporter;

  // There may be something to claim, or an order that concerns us: whoever is in charge looks now, not when it is due.
  void hint_claim();
  void hint_orders();
  std::atomic<bool> claim_hinted = false;
  std::atomic<bool> orders_hinted = false;

  std::atomic<bool> quiet = false;    // by an operator's order: nothing more is claimed
  std::atomic<bool> ordered = false;  // a claim was answered so, and may be due again when there is no such order

  void count(std::int64_t WorkReport::*what, std::int64_t by = 1);
  WorkReport counted() const;

  // The store answered, or did not: logged when it changes.
  void store_answered();
  void store_failed(std::string_view verb, const Error& error);

  // Something that waiting cannot mend: the worker ends with the first of these.
  void give_up(const Error& error);
  std::optional<Error> failure() const;

  // Both are logged alike, whichever verb was refused or whoever noticed.
  void log_refusal(std::string_view verb, const Refusal& refusal);
  // A doubt about an effect ended it. An order and a refusal may both tell of one: it counts once.
  void log_held(std::string_view verb, const Holding& delivery);
  void log_loss(const Delivery& delivery, std::string_view why);
  void log_told(const Delivery& delivery, std::string_view why);

 private:
  mutable std::mutex mutex_;
  WorkReport report_;
  std::deque<Holding> held_;  // the last of which it was told
  std::optional<Error> failure_;
  std::atomic<bool> store_away_ = false;
};

}  // namespace fenceline

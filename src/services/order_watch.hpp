// Asks the store what operators want of this worker, and does it: ends deliveries that were revoked, claims nothing
// while it shall be quiet, stops. Tells the store when nothing of a revoked delivery runs any more. A delivery that a
// doubt about an effect ended is no surprise to its handler, which was told so and mostly ends by itself: it gets a
// second for its last words.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <stop_token>
#include <vector>

#include "services/worker_context.hpp"

namespace fenceline {

class OrderWatch {
 public:
  // `stop_worker` is requested when the worker is ordered to stop.
  OrderWatch(WorkerContext& context, std::stop_source stop_worker)
      : context_(context), stop_worker_(std::move(stop_worker)) {}

  // Until `stop` and the store knows of all that stopped, or `give_up_at` came first.
  void watch(std::stop_token stop);

  void give_up_at(Instant when) { give_up_at_ = when; }

 private:
  Instant ask_at() const;
  void ask();
  void obey(WorkerOrder order);
  void revoke(const OrdersReply& reply);
  // Their handlers are told, and gone soon after.
  void end(const std::vector<Holding>& revoked);
  void end_held(Instant now);
  // True if the store knows of all of them.
  bool tell_stopped(const std::vector<Holding>& stopped);

  WorkerContext& context_;
  std::stop_source stop_worker_;
  Instant asked_at_ = Instant::min();
  WorkerOrder order_ = WorkerOrder::work;
  bool failed_ = false;
  int tries_ = 0;                    // to tell what stopped, since the last success
  Instant tell_at_;                  // not before
  std::map<Holding, Instant> held_;  // whose handler may still end by itself: until then
  std::atomic<Instant> give_up_at_ = Instant::max();
};

}  // namespace fenceline

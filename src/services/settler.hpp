// Sends outcomes to the store, all that are known in one call.
#pragma once

#include <atomic>
#include <stop_token>

#include "services/recorder.hpp"
#include "services/worker_context.hpp"

namespace fenceline {

class Settler {
 public:
  Settler(WorkerContext& context, Recorder& recorder) : context_(context), recorder_(recorder) {}

  // Until `stop` and nothing is left to send. A store that does not answer is asked again; what it has not
  // taken by the time that `give_up_at` named is dropped, and its job runs again after its lease.
  void settle(std::stop_token stop);

  void give_up_at(Instant when) { give_up_at_ = when; }

 private:
  bool send(const std::vector<Settlement>& settlements);
  // `moved`: where it led, if to another stage of its pipeline.
  void accepted(const Settlement& settlement, const ItemMoved* moved);
  void drop(const std::vector<Settlement>& settlements);

  WorkerContext& context_;
  Recorder& recorder_;
  std::atomic<Instant> give_up_at_ = Instant::max();
};

}  // namespace fenceline

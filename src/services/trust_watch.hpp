// Tells handlers when their lease is about to end or the time of their attempt is over, and gives a lease up when trust
// ends (L5). Apart from the renewals, so that a store that hangs delays nothing here.
#pragma once

#include <stop_token>

#include "services/worker_context.hpp"

namespace fenceline {

class TrustWatch {
 public:
  explicit TrustWatch(WorkerContext& context) : context_(context) {}

  void watch(std::stop_token stop);

 private:
  void ignored(const Delivery& delivery, bool lost);

  WorkerContext& context_;
};

}  // namespace fenceline

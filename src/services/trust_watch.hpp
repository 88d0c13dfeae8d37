// Tells handlers when their lease is about to end, and gives it up when trust ends (L5). Apart from the
// renewals, so that a store that hangs delays nothing here.
#pragma once

#include <stop_token>

#include "services/worker_context.hpp"

namespace fenceline {

class TrustWatch {
 public:
  explicit TrustWatch(WorkerContext& context) : context_(context) {}

  void watch(std::stop_token stop);

 private:
  WorkerContext& context_;
};

}  // namespace fenceline

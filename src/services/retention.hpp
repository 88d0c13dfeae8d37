// Removes finished jobs that were kept long enough. Every worker does it now and then, so that nobody has to be told
// to.
#pragma once

#include <stop_token>

#include "services/worker_context.hpp"

namespace fenceline {

class Retention {
 public:
  explicit Retention(WorkerContext& context) : context_(context) {}

  // Until `stop`: about every `tidy_every`, each worker at a time of its own. What fails is only logged.
  void tidy(std::stop_token stop);

 private:
  void tidy_once(const std::stop_token& stop);

  WorkerContext& context_;
};

}  // namespace fenceline

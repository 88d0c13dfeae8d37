// Keeps the worker's row in the registry. For people: no row decides about a lease.
#pragma once

#include <stop_token>

#include "services/worker_context.hpp"

namespace fenceline {

class Registration {
 public:
  explicit Registration(WorkerContext& context) : context_(context) {}

  // Once. Errors: those that a repeat cannot mend.
  Result<void> report();
  // Again and again until `stop`.
  void keep_reporting(std::stop_token stop);
  // At a graceful end.
  void remove();

 private:
  WorkerContext& context_;
};

}  // namespace fenceline

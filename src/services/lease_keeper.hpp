// Renews all leases of a worker in one call.
#pragma once

#include <stop_token>

#include "services/worker_context.hpp"

namespace fenceline {

class LeaseKeeper {
 public:
  explicit LeaseKeeper(WorkerContext& context) : context_(context) {}

  // Until `stop`: renews at the times that renewal_try() names. What the store refuses is lost at once.
  void keep(std::stop_token stop);

 private:
  void renew();
  void apply(const Holdings::Renewal& renewal, const ExtendReply& reply, Instant asked_at, Instant answered_at);

  WorkerContext& context_;
};

}  // namespace fenceline

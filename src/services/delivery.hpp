// One delivery of a job to this worker: from its claim until its outcome is accepted or it is given up.
#pragma once

#include <memory>
#include <stop_token>
#include <utility>

#include "model/job.hpp"
#include "model/trust.hpp"
#include "services/handler.hpp"
#include "store/job_store.hpp"

namespace fenceline {

enum class Phase {
  waiting,   // for a slot
  running,   // its handler has not returned
  returned,  // its outcome is known and not yet accepted
};

struct Delivery {
  Delivery(Job claimed, Instant trusted, Instant ended) : job(std::move(claimed)), trust(trusted), ended_by(ended) {}

  Holding holding() const { return {job.id, job.fence}; }

  const Job job;
  TrustDeadline trust;
  std::stop_source stop;

  // What follows is guarded by the Holdings that has this delivery.
  Phase phase = Phase::waiting;
  Outcome outcome;        // once returned
  bool told = false;      // its lease is about to end: its handler was told, and it is not renewed any more
  bool lost = false;      // final
  bool renewable = true;  // false once a renewal was refused, or the worker's grace is over
  int tries = 0;          // renewals tried since the last success
  Instant ended_by;       // at the latest then the store has ended the lease, if its clock runs as ours
};

using DeliveryPtr = std::shared_ptr<Delivery>;

}  // namespace fenceline

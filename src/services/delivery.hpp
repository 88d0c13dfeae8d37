// One delivery of a job to this worker: from its claim until its outcome is accepted or it is given up.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "handler/handler.hpp"
#include "model/job.hpp"
#include "model/trust.hpp"
#include "services/note_pad.hpp"
#include "store/job_store.hpp"

namespace fenceline {

// What a handler gets that was told for good, because its attempt timed out or its lease is lost.
constexpr Duration stop_grace(const LeaseTimes& times) {
  return std::min(times.grace, Duration{std::chrono::seconds{5}});
}

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
  NotePad notes;
  std::optional<Duration> ran;  // how long its handler took; set before it is `returned`

  // What follows is guarded by the Holdings that has this delivery.
  Phase phase = Phase::waiting;
  Outcome outcome;       // once returned
  bool told = false;     // its lease is about to end: its handler was told, and it is not renewed any more
  bool lost = false;     // final
  bool revoked = false;  // by an operator: lost, and the store waits for the word that nothing of it runs
  bool renewable =
      true;       // false once a renewal was refused, the worker's grace is over, or its handler ignores its timeout
  int tries = 0;  // renewals tried since the last success
  Instant start_by{};                   // what still waits then goes back to be started by another
  Instant ended_by;                     // at the latest then the store has ended the lease, if its clock runs as ours
  std::optional<Instant> times_out_at;  // of a running handler with a timeout that has not been told of it
  std::optional<Instant> ignores_at;    // a running handler that was told for good shall have returned by then
};

using DeliveryPtr = std::shared_ptr<Delivery>;

}  // namespace fenceline

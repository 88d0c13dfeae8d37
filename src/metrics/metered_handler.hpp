// A Handler that measures how long another one works.
#pragma once

#include <exception>

#include "handler/handler.hpp"
#include "metrics/metrics.hpp"
#include "runtime/clock.hpp"

namespace fenceline::metrics {

class MeteredHandler final : public Handler {
 public:
  // All must outlive it.
  MeteredHandler(const Clock& clock, Metrics& metrics, Handler& inner)
      : clock_(clock), metrics_(metrics), inner_(inner) {}

  RunResult run(const Run& run) override {
    const Instant began = clock_.now();
    RunResult result;
    std::exception_ptr thrown;
    try {
      result = inner_.run(run);
    } catch (const std::exception&) {
      thrown = std::current_exception();
    }
    metrics_.observe(Family::job_run_seconds, {run.job.queue}, seconds_of(clock_.now() - began));
    if (thrown) std::rethrow_exception(thrown);
    return result;
  }

 private:
  const Clock& clock_;
  Metrics& metrics_;
  Handler& inner_;
};

}  // namespace fenceline::metrics

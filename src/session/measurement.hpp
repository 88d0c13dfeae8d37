// What one process counts of itself: the counters, its log as it is counted, and when gauges are brought up to date.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "metrics/metered_log.hpp"
#include "metrics/metrics.hpp"
#include "metrics/sampler.hpp"
#include "runtime/runtime.hpp"

namespace fenceline {

class Measurement {
 public:
  // All must outlive it.
  Measurement(Runtime& runtime, LogSink& sink, const metrics::MetricsOptions& options)
      : runtime_(runtime), counted_(options, runtime), sink_(counted_, sink) {}

  metrics::Metrics& counted() { return counted_; }
  LogSink& sink() { return sink_; }

  // Once. `take` and this one must outlive the task.
  [[nodiscard]] Task start(metrics::Sampler::Take take) {
    check(!sampler_, "a measurement is started once");
    sampler_.emplace(runtime_, counted_, std::move(take));
    return runtime_.spawn("sampler", [this](std::stop_token stop) { sampler_->run(std::move(stop)); });
  }

  // After start().
  metrics::Sampler& sampler() { return *sampler_; }
  // In the Prometheus text format, with a fresh sample if the store answers soon.
  std::string text() {
    sampler_->freshen();
    return counted_.text(runtime_.now());
  }

 private:
  Runtime& runtime_;
  metrics::Metrics counted_;
  metrics::MeteredLog sink_;
  std::optional<metrics::Sampler> sampler_;
};

}  // namespace fenceline

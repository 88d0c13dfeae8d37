// What the gauges about an issue tracker say. There is nothing to look at but what the worker itself has counted.
#pragma once

#include "metrics/metrics.hpp"
#include "tracker/tracker_worker.hpp"

namespace fenceline::metrics {

class TrackerSample {
 public:
  // It must outlive this one.
  explicit TrackerSample(Metrics& metrics) : metrics_(metrics) {}

  // From one task.
  void take(const tracker::TrackerWorkerCounts& counts) {
    metrics_.set(Family::tracker_contested, static_cast<double>(counts.contested));
    metrics_.set(Family::finding, {"contested"},
                 counts.contested > 0 ? static_cast<double>(FindingStatus::warning) : 0);
    metrics_.add(Family::renewals, {"item"}, static_cast<double>(counts.renewals - renewals_));
    renewals_ = counts.renewals;
  }

 private:
  Metrics& metrics_;
  std::int64_t renewals_ = 0;
};

}  // namespace fenceline::metrics

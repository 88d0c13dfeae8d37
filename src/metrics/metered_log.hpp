// A LogSink that counts events of docs/events.md that no call to the store shows: what was given up, left
// behind, or done without a lock.
#pragma once

#include "base/log.hpp"
#include "metrics/metrics.hpp"

namespace fenceline::metrics {

class MeteredLog final : public LogSink {
 public:
  // Both must outlive it.
  MeteredLog(Metrics& metrics, LogSink& inner) : metrics_(metrics), inner_(inner) {}

  void write(const LogEvent& event) override;

 private:
  Metrics& metrics_;
  LogSink& inner_;
};

}  // namespace fenceline::metrics

// What ClientOptions::metrics adds to a client: its store and its log as they are counted, and a task that samples.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fenceline/version.hpp"
#include "metrics/metered_log.hpp"
#include "metrics/metered_store.hpp"
#include "metrics/metrics.hpp"
#include "metrics/sampler.hpp"
#include "metrics/store_sample.hpp"

namespace fenceline {

class ClientMetrics {
 public:
  // All must outlive it.
  ClientMetrics(Runtime& runtime, LogSink& sink, Store& store, const std::string& ns,
                const std::vector<std::string>& queues)
      : runtime_(runtime),
        counted_({.version = std::string(kVersion),
                  .store = store.profile().kind,
                  .guarantee = store.profile().guarantee,
                  .queues = queues,
                  .checks = metrics::check_names()},
                 runtime),
        sink_(counted_, sink),
        store_(runtime, counted_, store),
        sample_(runtime, counted_, store_, {.ns = ns, .queues = queues}),
        sampler_(runtime, counted_, [this] { return sample_.take(); }) {
    counted_.answered(runtime.now());  // it was opened
    sampling_ = runtime.spawn("sampler", [this](std::stop_token stop) { sampler_.run(std::move(stop)); });
  }

  Store& store() { return store_; }
  LogSink& sink() { return sink_; }
  metrics::Metrics& counted() { return counted_; }

  std::string text() {
    sampler_.freshen();
    return counted_.text(runtime_.now());
  }

 private:
  Runtime& runtime_;
  metrics::Metrics counted_;
  metrics::MeteredLog sink_;
  metrics::MeteredStore store_;
  metrics::StoreSample sample_;
  metrics::Sampler sampler_;
  Task sampling_;  // goes first
};

}  // namespace fenceline

// What the gauges about a store say: what `fenceline doctor` looks at, as numbers.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metrics/metrics.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline::metrics {

struct StoreSampleOptions {
  std::string ns = "default";
  std::vector<std::string> queues = {};              // that are served; the first kQueuesMost have a label of their own
  Duration examine_every = std::chrono::minutes{1};  // what asks more of a store than a look
  std::function<Result<std::vector<Finding>>(Store&)> more = {};  // what else is found then
};

// Every check whose finding a metric has.
std::vector<std::string> check_names();

class StoreSample {
 public:
  // All must outlive it.
  StoreSample(Runtime& runtime, Metrics& metrics, Store& store, StoreSampleOptions options)
      : runtime_(runtime), metrics_(metrics), store_(store), options_(std::move(options)) {}

  // False if the store did not answer; gauges stay as they were then.
  bool take();

 private:
  void set_queues(const std::vector<QueueRow>& rows);
  void set_findings(const std::vector<Finding>& findings, std::set<std::string>& named);
  bool examine();
  bool not_answered(const Error& error);

  Runtime& runtime_;
  Metrics& metrics_;
  Store& store_;
  const StoreSampleOptions options_;
  std::set<std::string> looked_at_;  // names of the last findings
  std::set<std::string> examined_;   // and by the last examination
  std::optional<Instant> examined_at_;
};

}  // namespace fenceline::metrics

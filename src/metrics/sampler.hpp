// When gauges are brought up to date: at the start, every quarter of a minute (of a large fleet every minute), and when
// somebody looks. Nobody who looks waits for a store that is away: there is the last sample then, and its age.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "metrics/metrics.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::metrics {

struct SamplerOptions {
  Duration every = std::chrono::seconds{15};
  Duration fresh = std::chrono::seconds{1};            // a sample that is not older is not taken again for a scrape
  Duration patience = std::chrono::milliseconds{500};  // of who looks
  Duration first_patience = std::chrono::seconds{2};   // and before the first sample
};

// Every process looks at the whole store: where many do, each does so more seldom, up to what FencelineSampleAge
// allows.
inline constexpr int kWorkersAtOnce = 10;
inline constexpr int kSeldomMost = 4;

class Sampler {
 public:
  // Brings gauges up to date; false if it could not. Called from one task.
  using Take = std::function<bool()>;

  // All must outlive it.
  Sampler(Runtime& runtime, Metrics& metrics, Take take, SamplerOptions options = {});

  // Until `stop`.
  void run(std::stop_token stop);

  // Has a sample taken if the last one is not fresh, and waits for it as long as the patience lasts and the store
  // answers. From any task, while run() runs.
  void freshen();

 private:
  bool asked_for();
  int how_seldom() const;

  Runtime& runtime_;
  Metrics& metrics_;
  const Take take_;
  const SamplerOptions options_;
  const std::unique_ptr<Event> wake_;
  std::atomic<Instant> taken_at_ = Instant::min();  // the last whole one began then
  std::mutex mutex_;                                // guards what follows; never held across a call
  std::vector<std::shared_ptr<Event>> waiters_;
};

}  // namespace fenceline::metrics

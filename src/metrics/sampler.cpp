#include "metrics/sampler.hpp"

#include <algorithm>
#include <utility>

namespace fenceline::metrics {

Sampler::Sampler(Runtime& runtime, Metrics& metrics, Take take, SamplerOptions options)
    : runtime_(runtime), metrics_(metrics), take_(std::move(take)), options_(options), wake_(runtime.make_event()) {}

void Sampler::run(std::stop_token stop) {
  const std::stop_callback on_stop(stop, [this] { wake_->notify(); });
  Instant due = runtime_.now();
  while (!stop.stop_requested()) {
    if (runtime_.now() < due && !asked_for()) {
      wake_->wait_until(due);
      continue;
    }
    const Instant began = runtime_.now();
    if (take_()) {
      taken_at_ = began;
      metrics_.sampled(began);
    }
    due = runtime_.now() + options_.every * how_seldom();
    std::vector<std::shared_ptr<Event>> waiters;  // also those who came meanwhile: it is new enough for them
    {
      const std::lock_guard lock(mutex_);
      waiters.swap(waiters_);
    }
    for (const std::shared_ptr<Event>& waiter : waiters) waiter->notify();
  }
}

int Sampler::how_seldom() const {
  return std::clamp(static_cast<int>(metrics_.value(Family::workers, {"seen"})) / kWorkersAtOnce, 1, kSeldomMost);
}

bool Sampler::asked_for() {
  const std::lock_guard lock(mutex_);
  return !waiters_.empty();
}

void Sampler::freshen() {
  const Instant now = runtime_.now();
  const Instant taken = taken_at_;
  const bool first = taken == Instant::min();
  if (!first && now - taken < options_.fresh + options_.every * (how_seldom() - 1)) return;
  const std::shared_ptr<Event> done = runtime_.make_event();
  {
    const std::lock_guard lock(mutex_);
    waiters_.push_back(done);
  }
  wake_->notify();
  const bool away = metrics_.answered_at() && metrics_.value(Family::store_up) == 0;
  if (!away) done->wait_until(now + (first ? options_.first_patience : options_.patience));
}

}  // namespace fenceline::metrics

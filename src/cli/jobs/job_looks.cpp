#include "cli/jobs/job_looks.hpp"

#include <algorithm>

namespace fenceline::cli {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds{50};
constexpr Duration kLongestPause = std::chrono::milliseconds{500};
constexpr Duration kShortestPause = std::chrono::milliseconds{20};  // a busy queue must not keep us reading

}  // namespace

JobLooks::JobLooks(Invocation& invocation, Store& store, const Job& job)
    : runtime_(*invocation.runtime),
      stop_(invocation.stop),
      changed_(runtime_.make_event()),
      watch_(store.watch({.ns = invocation.ns, .queues = {job.queue}, .stage = job.stage, .orders = true},
                         [event = changed_.get()] { event->notify(); })),
      on_stop_(stop_, [event = changed_.get()] { event->notify(); }),
      pause_(kFirstPause) {}

bool JobLooks::wait(std::optional<Instant> until) {
  if (!runtime_.sleep_for(kShortestPause, stop_)) return false;
  const Instant next = runtime_.now() + pause_;
  changed_->wait_until(until ? std::min(*until, next) : next);
  pause_ = std::min(pause_ * 2, kLongestPause);
  return !stop_.stop_requested();
}

}  // namespace fenceline::cli

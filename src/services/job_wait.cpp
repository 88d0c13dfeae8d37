#include "services/job_wait.hpp"

#include <algorithm>
#include <utility>

namespace fenceline {
namespace {

constexpr Duration kLookPauseFirst = std::chrono::milliseconds{50};
constexpr Duration kLookPauseMost = std::chrono::milliseconds{500};
constexpr Duration kLookPauseLeast = std::chrono::milliseconds{20};  // a busy queue must not keep us reading

}  // namespace

JobLooks::JobLooks(Runtime& runtime, Store& store, const std::string& ns, const Job& job, std::stop_token stop)
    : runtime_(runtime),
      stop_(std::move(stop)),
      changed_(runtime_.make_event()),
      watch_(store.watch({.ns = ns, .queues = {job.queue}, .stage = job.stage, .orders = true},
                         [event = changed_.get()] { event->notify(); })),
      on_stop_(stop_, [event = changed_.get()] { event->notify(); }),
      pause_(kLookPauseFirst) {}

bool JobLooks::wait(std::optional<Instant> until) {
  if (!runtime_.sleep_for(kLookPauseLeast, stop_)) return false;
  const Instant next = runtime_.now() + pause_;
  changed_->wait_until(until ? std::min(*until, next) : next);
  pause_ = std::min(pause_ * 2, kLookPauseMost);
  return !stop_.stop_requested();
}

Result<std::optional<Job>> wait_until_finished(Runtime& runtime, Store& store, const JobId& id,
                                               const JobWaitOptions& options, const std::stop_token& stop) {
  std::optional<JobLooks> looks;  // once its queue is known
  while (true) {
    Result<std::optional<Job>> read = store.job(options.ns, id);
    const bool away = !read && (read.error().code == Code::unavailable || read.error().code == Code::in_doubt);
    if (!read && !away) return std::unexpected(read.error());
    if (read && !*read)
      return fail(Code::not_found,
                  "no job " + to_string(id) + " in namespace " + options.ns + "; 'fenceline jobs' lists them");
    if (read && is_finished((*read)->state)) return std::move(*read);
    if (options.looked) options.looked(read ? Result<Job>(**read) : std::unexpected(read.error()));
    if (options.until && runtime.now() >= *options.until) return std::nullopt;
    if (!looks && read) looks.emplace(runtime, store, options.ns, **read, stop);
    if (looks ? !looks->wait(options.until) : !runtime.sleep_for(kLookPauseMost, stop)) return std::nullopt;
  }
}

}  // namespace fenceline

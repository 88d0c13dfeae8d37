#include "services/queue_rewind.hpp"

#include <utility>
#include <vector>

namespace fenceline {
namespace {

constexpr int kRewindPage = 1000;

Result<std::optional<WallTime>> last_end_of(Store& store, const std::string& ns, const Job& job, WallTime now) {
  if (job.deliveries == 0 || job.run_at <= now) return std::nullopt;
  const Result<std::vector<Attempt>> attempts = store.attempts(ns, job.id);
  if (!attempts) return std::unexpected(attempts.error());
  if (attempts->empty()) return std::nullopt;
  return attempts->back().ended_at;
}

}  // namespace

RunTime run_time_of(const Job& job, std::optional<WallTime> last_end, WallTime now) {
  if (job.state != JobState::ready || job.run_at <= now) return RunTime::as_meant;
  if (last_end && *last_end > now) return RunTime::put_off;
  if (job.deliveries > 0 || job.created_at <= now) return RunTime::as_meant;
  return job.run_at <= job.created_at ? RunTime::enqueued : RunTime::delayed;
}

Result<Rewound> rewind_queue(Store& store, const RewindOptions& options, const std::function<std::string()>& fresh,
                             const ActUntilKnown& until_known, std::stop_token stop) {
  const Result<SchedulesReply> clock = store.schedules({.ns = options.ns, .limit = 1});
  if (!clock) return std::unexpected(clock.error());
  Rewound rewound;
  JobsRequest page{.ns = options.ns, .queue = options.queue, .state = JobState::ready, .limit = kRewindPage};
  for (bool more = true; more && !stop.stop_requested();) {
    const Result<JobsReply> jobs = store.jobs(page);
    if (!jobs) return std::unexpected(jobs.error());
    std::vector<JobId> ids;
    for (const Job& job : jobs->jobs) {
      const Result<std::optional<WallTime>> last_end = last_end_of(store, options.ns, job, clock->now);
      if (!last_end) return std::unexpected(last_end.error());
      const RunTime run_time = run_time_of(job, *last_end, clock->now);
      if (run_time == RunTime::delayed) rewound.delayed += 1;
      else if (run_time != RunTime::as_meant) ids.push_back(job.id);
    }
    rewound.moved += static_cast<std::int64_t>(ids.size());
    if (!ids.empty() && !options.dry_run) {
      const ActRequest request{
          .ns = options.ns, .ids = std::move(ids), .request = fresh(), .only = JobState::ready, .act = options.act};
      const Result<ActReply> reply = until_known([&] { return store.retry(request); });
      if (!reply) return std::unexpected(reply.error());
      rewound.moved -= static_cast<std::int64_t>(reply->refused.size());
    }
    more = jobs->next.has_value();
    page.after = jobs->next.value_or(0);
  }
  return rewound;
}

}  // namespace fenceline

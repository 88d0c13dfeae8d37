// The store as a whole against what must be true of it: J1, J4, and changes that no call admitted to.
#include "sim/checks/store_checks.hpp"

namespace fenceline::sim {

void StoreChecks::compare(const KnownJob& job, const Job& shown, Instant now, std::string_view promise) {
  const auto differs = [&](std::string_view named, std::string_view what, const auto& is, const auto& must) {
    broken(named, job.id, "shows " + std::string(what) + " " + std::to_string(is) + ", it must be " + std::to_string(must));
  };
  if (shown.state != job.state)
    return broken(job.finished() ? "J3" : promise, job.id, "is " + std::string(to_string(shown.state)) + ", it must be " + std::string(to_string(job.state)));
  if (shown.fence != job.fence) return differs(shown.fence < job.fence ? "L2" : promise, "fence", shown.fence, job.fence);
  if (shown.owner != job.owner) return broken(promise, job.id, "shows owner '" + shown.owner + "', it must be '" + job.owner + "'");
  if (shown.deliveries != job.deliveries) return differs("J5", "deliveries", shown.deliveries, job.deliveries);
  if (shown.failures != job.failures) return differs("J5", "failures", shown.failures, job.failures);
  if (shown.losses != job.losses) return differs("J5", "losses", shown.losses, job.losses);
  if (shown.losses_in_row != job.losses_in_row) return differs("J5", "losses in a row", shown.losses_in_row, job.losses_in_row);
  if (shown.laters != job.laters) return differs("J5", "laters", shown.laters, job.laters);
  if (job.state == JobState::ready && shown.run_at != job.run_at)
    return differs(promise, "run time", shown.run_at.time_since_epoch().count(), job.run_at.time_since_epoch().count());
  const Duration left = job.lease_end - now;
  if (job.state == JobState::running && shown.lease_left != left)
    differs(promise, "left of its lease", shown.lease_left.value_or(Duration{0}).count(), left.count());
}

void StoreChecks::compare_all(Instant now) {
  std::set<JobId> seen;
  std::map<JobState, std::int64_t> in_state;
  JobsRequest request{.ns = ns_, .limit = 1000};
  while (true) {
    const Result<JobsReply> page = store_.jobs(request);
    if (!page) return violations_.add("J4", "the store cannot be listed: " + page.error().message);
    for (const Job& shown : page->jobs) {
      if (!seen.insert(shown.id).second) broken("J4", shown.id, "is listed twice");
      in_state[shown.state] += 1;
      if (const KnownJob* job = find(shown.id)) compare(*job, shown, now, "J4");
      else broken("J4", shown.id, "is there and nobody enqueued it");
    }
    if (!page->next) break;
    request.after = *page->next;
  }
  for (const auto& [id, job] : jobs_) {
    if (!seen.contains(id)) return broken("J1", id, "was enqueued and is gone");
  }
  for (const JobState state : {JobState::ready, JobState::running, JobState::waiting, JobState::done, JobState::dead, JobState::cancelled}) {
    const Result<JobsReply> page = store_.jobs({.ns = ns_, .state = state, .limit = 1000});
    if (page && static_cast<std::int64_t>(page->jobs.size()) != in_state[state])
      violations_.add("J4", "the list of " + std::string(to_string(state)) + " jobs has " + std::to_string(page->jobs.size()) + ", the whole list " +
                                std::to_string(in_state[state]));
  }
}

}  // namespace fenceline::sim

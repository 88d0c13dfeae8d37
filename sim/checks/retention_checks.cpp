// What may be removed, and when: J1, J6, L2.
#include <algorithm>

#include "sim/checks/store_checks.hpp"

namespace fenceline::sim {

void StoreChecks::see(const Applied& when, const TidyCall& call) {
  if (!call.reply) return;
  for (auto& [id, alias] : aliases_) alias.may_be_gone = alias.may_be_gone || when.wall >= alias.since + kAliasLeast;
  for (auto& [name, batch] : batches_)
    batch.may_be_gone = batch.may_be_gone || when.wall >= batch.first + kBatchRememberedFor;
  std::vector<JobId> gone;
  for (const auto& [id, job] : jobs_) {
    if (!job.finished()) continue;  // compare_all() misses them
    const Result<std::optional<Job>> shown = store_.job(ns_, id);
    if (!shown || *shown) continue;
    const QueueSettings& settings = queues_[job.queue].settings;
    const Duration keep = std::max<Duration>(job.state == JobState::done ? settings.keep_done : settings.keep_dead,
                                             std::chrono::hours{24});
    if (when.wall < *job.finished_at + keep) broken("J1", id, "was removed before its retention was over");
    if (key_holder(job.queue, job.key, when.wall) == &job) broken("J6", id, "was removed while it has its key");
    if (job.has_doubt(when.at)) broken("E2", id, "was removed with an effect in doubt");
    const auto same = [&](const auto& slot) { return slot.first.id == id; };
    if (std::any_of(kept_.begin(), kept_.end(), same))
      broken("J7", id, "was removed while its revoked delivery has its slot");
    gone.push_back(id);
  }
  const std::int64_t removed = static_cast<std::int64_t>(gone.size()) + others_tidied_;
  if (call.reply->removed != removed)
    violations_.add("J4", "tidying says that it removed " + std::to_string(call.reply->removed) +
                              " jobs, locks, ticks and schedules, it was " + std::to_string(removed));
  for (const JobId& id : gone) {
    tidied_[id] = std::max(tidied_[id], find(id)->fence);
    jobs_.erase(id);
    tally_.add(Count::tidied);
  }
}

}  // namespace fenceline::sim

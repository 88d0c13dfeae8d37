// Jobs that run, or should: stale ones, those that kill their workers, those that were taken over.
#include <algorithm>

#include "doctor/state_look.hpp"

namespace fenceline::doctor {
namespace {

bool serves(const WorkerRow& row, const Job& job) {
  return !is_gone(row) && row.order == WorkerOrder::work && row.report.stage == job.stage &&
         std::ranges::find(row.report.queues, job.queue) != row.report.queues.end();
}

Duration ttl_of(const StateLook& look, const std::string& owner) {
  const WorkerRow* row = look.worker(owner);
  return row ? row->report.ttl : kTtlDefault;
}

std::string work_on(const Job& job) {
  return "fenceline work " + job.queue + (job.stage.empty() ? "" : " --stage " + job.stage) + " -- CMD";
}

std::string what_takes_it_over(const StateLook& look, const Job& job) {
  const auto row = std::ranges::find(look.looked.queues, job.queue, &QueueRow::queue);
  if (row != look.looked.queues.end() && row->paused) return "fenceline queue resume " + job.queue;
  if (std::ranges::any_of(look.looked.workers, [&](const WorkerRow& worker) { return serves(worker, job); }))
    return "fenceline job explain " + to_string(job.id);
  return work_on(job);
}

// The last delivery that was lost, of a job that lost some.
Result<std::optional<Attempt>> last_loss(const StateLook& look, const Job& job) {
  const Result<std::vector<Attempt>> attempts = look.store.attempts(look.options.ns, job.id);
  if (!attempts) return std::unexpected(attempts.error());
  const auto last = std::find_if(attempts->rbegin(), attempts->rend(),
                                 [](const Attempt& attempt) { return attempt.end == AttemptEnd::lost; });
  return last == attempts->rend() ? std::nullopt : std::optional(*last);
}

// Since when its deliveries are lost, one after the other.
Result<std::optional<WallTime>> first_of_row(const StateLook& look, const Job& job) {
  const Result<std::vector<Attempt>> attempts = look.store.attempts(look.options.ns, job.id);
  if (!attempts) return std::unexpected(attempts.error());
  std::optional<WallTime> first;
  for (auto attempt = attempts->rbegin(); attempt != attempts->rend(); ++attempt) {
    if (attempt->end == AttemptEnd::lost) first = attempt->started_at;
    else if (attempt->end != AttemptEnd::running) break;
  }
  return first;
}

// An expired job counts its current loss too.
std::int64_t losses_now(const Job& job) { return job.losses_in_row + (has_expired(job) ? 1 : 0); }

}  // namespace

Result<Findings> stale_jobs(StateLook& look) {
  FindingList list("stale_jobs",
                   "no one works on it until a worker takes it over; its group, limits and unique key stay taken",
                   "fenceline jobs --state running");
  for (const Job& job : look.running) {
    if (!has_expired(job)) continue;
    const Duration over = expired_for(job);
    const bool bad = over > std::max(kStaleBad, 3 * ttl_of(look, job.owner));
    list.add(bad ? FindingStatus::bad : FindingStatus::warning,
             named(job) + ": the lease of " + job.owner + " under fence " + std::to_string(job.fence) + " expired " +
                 rough(over) + " ago, and no worker has taken over",
             what_takes_it_over(look, job), look.now - over);
  }
  look.looked.numbers.stale_jobs = list.size();
  return look.told(std::move(list),
                   "none among " + counted(static_cast<std::int64_t>(look.running.size()), "running job"));
}

Result<Findings> poison_jobs(StateLook& look) {
  FindingList list("poison_jobs",
                   "it may be killing its workers: it runs alone now, and " + std::to_string(kLossesInRowMax) +
                       " losses in a row make it dead",
                   "fenceline jobs --state running");
  std::size_t asked = 0;
  for (const Job& job : look.running) {
    const std::int64_t losses = losses_now(job);
    if (losses < kLossesBeforeAlone) continue;
    std::optional<WallTime> since;
    if (asked++ < kAttemptsAsked) {
      const Result<std::optional<WallTime>> first = first_of_row(look, job);
      if (!first) return std::unexpected(first.error());
      since = *first;
    }
    // A job with a live lease may be fine this time, and its workers may have died of something else.
    const bool bad = losses + 1 >= kLossesInRowMax;
    list.add(bad ? FindingStatus::bad : FindingStatus::warning,
             named(job) + " was lost " + std::to_string(losses) + " times in a row, last by " + job.owner,
             (bad || has_expired(job) ? "fenceline job cancel " : "fenceline job show ") + to_string(job.id), since);
  }
  look.looked.numbers.poison_jobs = list.size();
  return look.told(std::move(list), "no running job was lost twice in a row");
}

Result<Findings> orphans(StateLook& look) {
  FindingList list("orphans",
                   "the work of its first holder is repeated, except effects and gated writes; a worker died, hung or "
                   "lost its connection",
                   "fenceline jobs --state running");
  for (const Job& job : look.running) {
    if (job.losses_in_row == 0 || has_expired(job)) continue;
    if (list.size() >= static_cast<std::int64_t>(kAttemptsAsked)) {
      list.add_untold(1);
      continue;
    }
    const Result<std::optional<Attempt>> lost = last_loss(look, job);
    if (!lost) return std::unexpected(lost.error());
    const std::string from =
        *lost ? "from " + (*lost)->owner + " (fence " + std::to_string((*lost)->fence) + ")" : "from an unknown holder";
    const std::string when = *lost && (*lost)->ended_at ? " at " + moment(*(*lost)->ended_at, look.now) : "";
    list.add(FindingStatus::warning,
             named(job) + " was taken over " + from + when + "; " + job.owner + " has it under fence " +
                 std::to_string(job.fence),
             "fenceline job show " + to_string(job.id), *lost ? (*lost)->ended_at : std::nullopt);
  }
  look.looked.numbers.orphans =
      std::ranges::count_if(look.running, [](const Job& job) { return job.losses_in_row > 0 && !has_expired(job); });
  return look.told(std::move(list), "no running job was taken over");
}

}  // namespace fenceline::doctor

// Workers: what they believe they hold against what the store says, and those that are not seen any more.
#include <algorithm>
#include <set>

#include "doctor/state_look.hpp"

namespace fenceline::doctor {
namespace {

struct Belief {
  const WorkerRow* worker;
  Holding held;
};

// What may be wrong: all but what runs under a live lease as the worker says.
std::vector<Belief> doubtful(const StateLook& look) {
  std::map<JobId, const Job*> running;
  for (const Job& job : look.running) running.emplace(job.id, &job);
  std::vector<Belief> beliefs;
  for (const WorkerRow& row : look.looked.workers) {
    for (const Holding& held : row.report.holding) {
      const auto found = running.find(held.id);
      const bool so = found != running.end() && found->second->fence == held.fence &&
                      found->second->owner == row.report.owner && !has_expired(*found->second);
      if (!so) beliefs.push_back({&row, held});
    }
  }
  return beliefs;
}

std::string believes(const Belief& belief) {
  return belief.worker->report.owner + " believes it holds " + to_string(belief.held.id) + " under fence " +
         std::to_string(belief.held.fence);
}

// What the store says of a delivery that ended under another word than its holder's; empty: that was its holder's own.
struct Truth {
  std::string words;
  WallTime at;
};

std::optional<Truth> truth_of(const StateLook& look, const Belief& belief, const Job& job,
                              const std::vector<Attempt>& attempts) {
  const auto own = std::ranges::find(attempts, belief.held.fence, &Attempt::fence);
  if (own != attempts.end() && own->end != AttemptEnd::lost && own->end != AttemptEnd::cancelled &&
      own->end != AttemptEnd::retried)
    return std::nullopt;
  const auto next =
      std::ranges::find_if(attempts, [&](const Attempt& attempt) { return attempt.fence > belief.held.fence; });
  if (next != attempts.end())
    return Truth{"the store gave it to " + next->owner + " under " + std::to_string(next->fence) + " at " +
                     moment(next->started_at, look.now),
                 next->started_at};
  const WallTime at = own != attempts.end() && own->ended_at ? *own->ended_at : job.finished_at.value_or(look.now);
  return Truth{"it is " + std::string(to_string(job.state)) + " under " + std::to_string(job.fence) + " since " +
                   moment(at, look.now),
               at};
}

std::string remedy_for(const StateLook& look, const WorkerRow& row) {
  return is_gone(row) ? look.wake_or_forget(row) : "fenceline workers stop " + shell_word(row.report.owner);
}

}  // namespace

Result<Findings> beliefs(StateLook& look) {
  FindingList list("beliefs",
                   "its handler may still be running: its writes are refused only where the fence is checked",
                   "fenceline workers list");
  const std::vector<Belief> doubts = doubtful(look);
  std::vector<JobId> ids;
  for (const Belief& belief : doubts) ids.push_back(belief.held.id);
  if (ids.size() > static_cast<std::size_t>(kItemsAtOnceMax)) look.cut_short();
  const Result<std::map<JobId, Job>> jobs = look.jobs_now(std::move(ids));
  if (!jobs) return std::unexpected(jobs.error());
  std::size_t asked = 0;
  for (const Belief& belief : doubts) {
    const auto found = jobs->find(belief.held.id);
    if (found == jobs->end()) continue;
    const Job& job = found->second;
    const WorkerRow& row = *belief.worker;
    // Under its own fence nothing else can have happened than what it said itself, or that its lease ran out. If it is
    // gone too, that job is stale and told as such.
    if (job.fence == belief.held.fence) {
      if (has_expired(job) && !is_gone(row))
        list.add(FindingStatus::warning, believes(belief) + "; its lease expired " + rough(expired_for(job)) + " ago",
                 remedy_for(look, row), look.now - expired_for(job));
      continue;
    }
    if (asked++ >= kAttemptsAsked) {
      look.cut_short();
      break;
    }
    const Result<std::vector<Attempt>> attempts = look.store.attempts(look.options.ns, job.id);
    if (!attempts) return std::unexpected(attempts.error());
    const std::optional<Truth> truth = truth_of(look, belief, job, *attempts);
    if (!truth) continue;
    // Said again after it was no longer so: it lives, and knows nothing of it.
    const bool insists = row.seen_at > truth->at && !is_gone(row);
    list.add(insists ? FindingStatus::bad : FindingStatus::warning, believes(belief) + "; " + truth->words,
             remedy_for(look, row), truth->at);
  }
  look.looked.numbers.beliefs_wrong = list.size();
  std::int64_t held = 0;
  for (const WorkerRow& row : look.looked.workers) held += static_cast<std::int64_t>(row.report.holding.size());
  return look.told(std::move(list),
                   "the store agrees with every lease that workers believe in: " + counted(held, "job"));
}

Result<Findings> workers_gone(StateLook& look) {
  FindingList list("workers_gone",
                   "its leases expire and its jobs are repeated by others; its queues have one worker less",
                   "fenceline workers list");
  std::int64_t seen = 0;
  for (const WorkerRow& row : look.looked.workers) {
    if (!is_gone(row)) {
      seen += 1;
      continue;
    }
    const std::int64_t held = static_cast<std::int64_t>(row.report.holding.size());
    const std::string unseen =
        was_seen_ahead(row)
            ? ") was last seen " + rough(-row.unseen) +
                  " ahead of the store's clock, and not since the clock was set back"
            : ") has not been seen for " + rough(row.unseen) + ", longer than its ttl of " + rough(row.report.ttl);
    list.add(FindingStatus::warning,
             "worker " + row.report.owner + " on " + row.report.host + " (pid " + std::to_string(row.report.pid) +
                 unseen + (held > 0 ? "; it had " + counted(held, "job") : ""),
             look.wake_or_forget(row), row.seen_at);
  }
  look.looked.numbers.workers_seen = seen;
  look.looked.numbers.workers_gone = list.size();
  return look.told(std::move(list), std::to_string(seen) + " registered, all seen within their ttl");
}

}  // namespace fenceline::doctor

// What a claim and a give-back may do: L1 to L3, J2, J5.
#include <algorithm>

#include "sim/checks/store_checks.hpp"

namespace fenceline::sim {

void StoreChecks::see(const Applied& when, const ClaimCall& call) {
  if (!call.reply) return;
  std::erase_if(claims_, [&](const auto& claim) { return claim.second.end <= when.at; });
  const std::vector<ClaimedJob>& granted = call.reply->jobs;
  if (granted.size() > static_cast<std::size_t>(call.request.limit))
    violations_.add("J2", "a claim of at most " + std::to_string(call.request.limit) + " jobs returned " + std::to_string(granted.size()));
  const std::pair key{call.request.owner, call.request.request};
  const auto before = claims_.find(key);
  const bool is_repeat = before != claims_.end();
  for (const ClaimedJob& claimed : granted) {
    if (is_repeat) see_repeat(when, call, claimed, before->second);
    else see_grant(when, call, claimed);
  }
  see_burials(when, call, is_repeat);
  if (is_repeat || granted.empty()) return;
  ClaimSeen& seen = claims_[key];
  seen.end = when.at + call.request.ttl;
  for (const ClaimedJob& claimed : granted) seen.granted.insert({claimed.job.id, claimed.job.fence});
}

void StoreChecks::see_grant(const Applied& when, const ClaimCall& call, const ClaimedJob& claimed) {
  const JobId& id = claimed.job.id;
  KnownJob* job = known(id);
  if (!job) return broken("J2", id, "was granted and nobody enqueued it");
  if (job->finished()) return broken("J3", id, "was granted though it is " + std::string(to_string(job->state)));
  if (job->leased(when.at)) return broken("L3", id, "was granted to " + call.request.owner + " while " + job->owner + " holds it");
  if (job->state == JobState::ready && job->run_at > when.wall) return broken("J4", id, "was granted before its time");
  if (claimed.job.fence <= job->fence) return broken("L2", id, "was granted under fence " + std::to_string(claimed.job.fence) + " after " + std::to_string(job->fence));
  if (claimed.job.fence > kFenceMax) return broken("L2", id, "was granted under a fence past 2^53-1");
  if (claimed.left > call.request.ttl) broken("L3", id, "was granted for longer than its ttl");

  const bool taken_over = job->state == JobState::running;
  if (claimed.forced != taken_over) broken("L3", id, "was granted with a wrong word on whether it was taken over");
  if (taken_over) {
    count_loss(*job);
    tally_.add(Count::takeovers);
  }
  if (job->losses_in_row >= kLossesInRowMax) broken("J5", id, "was granted after its fifth loss in a row");
  if (job->losses_in_row >= kLossesBeforeAlone) {
    if (call.request.holds_others) broken("J5", id, "must run alone and went to a worker that holds others");
    if (call.reply->jobs.size() > 1) broken("J5", id, "must run alone and was granted among others");
  }
  tally_.add(Count::claimed);
  job->state = JobState::running;
  job->fence = claimed.job.fence;
  job->owner = call.request.owner;
  job->request = call.request.request;
  job->lease_end = when.at + claimed.left;
  job->deliveries += 1;
  job->outcome.reset();

  // The grant and its fence are one step: the store shows both at once, and its reply shows the same.
  const Result<std::optional<Job>> shown = store_.job(ns_, id);
  if (!shown || !*shown) return broken("J1", id, "was granted and is not there");
  if ((*shown)->fence != claimed.job.fence || (*shown)->owner != call.request.owner) return broken("L1", id, "was granted under a fence that the store does not have");
  compare(*job, **shown, when.at, "J5");
  compare(*job, claimed.job, when.at, "J5");
}

void StoreChecks::see_repeat(const Applied& when, const ClaimCall& call, const ClaimedJob& claimed, const ClaimSeen& before) {
  const JobId& id = claimed.job.id;
  if (!before.granted.contains({id, claimed.job.fence})) return broken("J2", id, "was granted by the repeat of a claim that had its answer");
  const KnownJob* job = find(id);
  if (!job || !job->leased(when.at) || job->fence != claimed.job.fence || job->owner != call.request.owner)
    return broken("L3", id, "was granted again by a repeat though it is no longer held");
  if (when.at + claimed.left != job->lease_end) broken("L3", id, "was granted again by a repeat with another lease end");
}

void StoreChecks::see_burials(const Applied& when, const ClaimCall& call, bool is_repeat) {
  const std::vector<std::string>& queues = call.request.queues;
  for (auto& [id, job] : jobs_) {
    const bool due = job.expired(when.at) && job.losses_in_row + 1 >= kLossesInRowMax && job.stage == call.request.stage &&
                     std::find(queues.begin(), queues.end(), job.queue) != queues.end();
    if (!due) continue;
    const Result<std::optional<Job>> shown = store_.job(ns_, id);
    if (!shown || !*shown) {
      broken("J1", id, "is gone");
      continue;
    }
    if ((*shown)->state != JobState::dead) {
      // A repeat returns what it had granted, and need do no more.
      if (!is_repeat) broken("J5", id, "was lost five times in a row and is not dead");
      continue;
    }
    if ((*shown)->fence <= job.fence) broken("L2", id, "died of its losses without a new fence");
    count_loss(job);
    tally_.add(Count::died_of_losses);
    job.state = JobState::dead;
    job.fence = (*shown)->fence;
    job.owner.clear();
    job.outcome.reset();
    unfinished_ -= 1;
    compare(job, **shown, when.at, "J5");
  }
}

void StoreChecks::see(const Applied& when, const GiveBackCall& call) {
  if (!call.reply) return;
  for (auto& [id, job] : jobs_) {
    if (job.state != JobState::running || job.owner != call.request.owner || job.request != call.request.request) continue;
    job.settle({.kind = OutcomeKind::given_back}, when.wall);
    tally_.add(Count::given_back);
    const Result<std::optional<Job>> shown = store_.job(ns_, id);
    if (shown && *shown) compare(job, **shown, when.at, "J5");
  }
  ClaimSeen& seen = claims_[{call.request.owner, call.request.request}];
  seen.end = std::max(seen.end, when.at + call.request.ttl);
}

}  // namespace fenceline::sim

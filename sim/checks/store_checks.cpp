#include "sim/checks/store_checks.hpp"

#include <algorithm>

#include "sim/checks/find_refusal.hpp"

namespace fenceline::sim {

const KnownJob* StoreChecks::find(const JobId& id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

KnownJob* StoreChecks::known(const JobId& id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

void StoreChecks::broken(std::string_view promise, const JobId& id, std::string_view what) {
  violations_.add(promise, "job " + short_id(id) + " " + std::string(what));
}

void StoreChecks::applied(const Applied& when) {
  tally_.add(Count::operations);
  // A worker that nobody has seen for a day is forgotten with its order, and to a clock set ahead that is all of them.
  // Set back, it cannot tell a row that was made anew from one that was there.
  if (std::chrono::abs(when.wall - wall_last_) >= std::chrono::hours{1}) {
    for (const auto& [owner, order] : orders_) unsure_orders_.insert(owner);
  }
  wall_last_ = when.wall;
  wall_high_ = std::max(wall_high_, when.wall);
  std::erase_if(kept_, [&](const auto& slot) { return slot.second.end <= when.at; });
  std::visit([&](const auto& call) { see(when, call); }, when.call);
}

void StoreChecks::see(const Applied& when, const ExtendCall& call) {
  if (!call.reply) return;
  if (call.reply->left > call.request.ttl) violations_.add("L4", "a renewal gave more than its ttl");
  for (const Holding& holding : call.request.jobs) {
    KnownJob* job = known(holding.id);
    const bool rightful =
        job && job->leased(when.at) && job->fence == holding.fence && job->owner == call.request.owner;
    if (const Refusal* refusal = find_refusal(call.reply->refused, holding.id, &Refusal::id)) {
      see_refused(when, *refusal, rightful, "extend", "L4");
    } else if (!job) {
      broken("L4", holding.id, "was renewed and is not there");
    } else {
      see_extended(when, call, *job, holding);
    }
  }
}

void StoreChecks::see_extended(const Applied& when, const ExtendCall& call, KnownJob& job, const Holding& holding) {
  if (job.fence != holding.fence)
    broken("L4", job.id,
           "was renewed under fence " + std::to_string(holding.fence) + ", its newest is " + std::to_string(job.fence));
  else if (job.owner != call.request.owner)
    broken("L4", job.id, "was renewed for " + call.request.owner + ", its owner is " + job.owner);
  else if (job.state != JobState::running)
    broken("L4", job.id, "was renewed though it is " + std::string(to_string(job.state)));
  else if (job.expired(when.at)) broken("L4", job.id, "was renewed after its lease had run out");
  else {
    job.lease_end = when.at + call.reply->left;
    tally_.add(Count::lease_operations);
  }
}

void StoreChecks::see(const Applied& when, const SettleCall& call) {
  if (!call.reply) return;
  for (const Settlement& settlement : call.request.settlements) {
    KnownJob* job = known(settlement.id);
    const bool rightful =
        job && job->state == JobState::running && job->fence == settlement.fence && job->owner == call.request.owner;
    if (const Refusal* refusal = find_refusal(call.reply->refused, settlement.id, &Refusal::id)) {
      see_refused(when, *refusal, rightful, "settle", "J3");
    } else if (!job) {
      broken("J3", settlement.id, "has an accepted outcome and is not there");
    } else {
      see_settled(when, call, *job, settlement);
    }
  }
}

void StoreChecks::see_settled(const Applied& when, const SettleCall& call, KnownJob& job,
                              const Settlement& settlement) {
  if (job.fence != settlement.fence)
    return broken("J3", job.id,
                  "took an outcome under fence " + std::to_string(settlement.fence) + ", its newest is " +
                      std::to_string(job.fence));
  if (job.owner != call.request.owner)
    return broken("J3", job.id, "took an outcome from " + call.request.owner + ", its owner is " + job.owner);
  if (job.state != JobState::running) {
    // The same outcome sent again changes nothing, which compare_all() sees to.
    if (job.outcome != settlement.outcome.kind) broken("J3", job.id, "took a second outcome under one fence");
    return;
  }
  // On a wall clock that was set back, a store that forgot a delivery may mint its fence again (L2). Its holder then
  // counts failures that the store has forgotten.
  const bool counts_what_was_forgotten = forgotten_.contains({job.id, settlement.fence});
  if (!counts_what_was_forgotten && !job.may_wait(settlement.outcome))
    broken("retry", job.id, "waits for another time than its backoff says");
  job.settle(settlement.outcome, when.wall);
  const OutcomeKind kind = settlement.outcome.kind;
  tally_.add(kind == OutcomeKind::given_back ? Count::given_back : Count::settled);
  tally_.add(Count::lease_operations);
  if (kind == OutcomeKind::failed) tally_.add(Count::failures);
  if (kind == OutcomeKind::later) tally_.add(Count::laters);
  if (job.state == JobState::dead) tally_.add(Count::dead_letters);
  if (job.finished()) unfinished_ -= 1;
}

void StoreChecks::see_refused(const Applied& when, const Refusal& refusal, bool was_rightful, std::string_view verb,
                              std::string_view promise) {
  tally_.add(Count::refusals);
  if (verb == "settle" && revoked_.contains({refusal.id, refusal.sent})) tally_.add(Count::late_outcomes);
  if (was_rightful)
    broken(promise, refusal.id, "refused the " + std::string(verb) + " of its holder as " + word_of(refusal.reason));
  const KnownJob* job = find(refusal.id);
  if (!job) return;
  const Result<std::optional<Job>> shown = store_.job(ns_, refusal.id);
  if (shown && *shown) compare(*job, **shown, when.at, promise);
}

void StoreChecks::count_loss(KnownJob& job) {
  job.lose(poisoned_.contains({job.id, job.fence}));
  tally_.add(Count::losses);
  // The third would be of a job that ran alone.
  if (job.poisoned_in_row > kLossesBeforeAlone)
    broken("J5", job.id, "was lost again by a neighbour that killed their worker");
}

}  // namespace fenceline::sim

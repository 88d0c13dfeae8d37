// What a claim and a give-back may do: L1 to L3, J2, J5, J8.
#include <algorithm>

#include "sim/checks/store_checks.hpp"

namespace fenceline::sim {
namespace {

bool serves(const ClaimRequest& request, const KnownJob& job) {
  return job.stage == request.stage &&
         std::find(request.queues.begin(), request.queues.end(), job.queue) != request.queues.end();
}

}  // namespace

void StoreChecks::see(const Applied& when, const ClaimCall& call) {
  if (!call.reply) return see_refused_for_fences(when, call.reply.error());
  std::erase_if(claims_, [&](const auto& claim) { return claim.second.end <= when.at; });
  const std::vector<ClaimedJob>& granted = call.reply->jobs;
  if (granted.size() > static_cast<std::size_t>(call.request.limit))
    violations_.add("J2", "a claim of at most " + std::to_string(call.request.limit) + " jobs returned " +
                              std::to_string(granted.size()));
  const std::pair key{call.request.owner, call.request.request};
  const auto before = claims_.find(key);
  const bool is_repeat = before != claims_.end();
  const bool ordered = is_ordered(call.request.owner).value_or(call.reply->ordered);
  see_burials(when, call, is_repeat || ordered);
  if (is_repeat) {
    for (const ClaimedJob& claimed : granted) see_repeat(when, call, claimed, before->second);
    return;
  }
  if (call.reply->ordered != ordered)
    return violations_.add("order",
                           "a claim of " + call.request.owner + " has a wrong word on whether it has an order");
  if (ordered) {
    tally_.add(Count::order_waits);
    for (const ClaimedJob& claimed : granted)
      broken("order", claimed.job.id, "was granted to " + call.request.owner + ", which shall claim nothing");
    return;
  }
  Slots slots(jobs_, kept_, queues_);
  for (const ClaimedJob& claimed : granted) see_grant(when, call, claimed, slots);
  see_passed_over(when, call, slots);
  if (granted.empty()) return;
  ClaimSeen& seen = claims_[key];
  seen.end = when.at + call.request.ttl;
  for (const ClaimedJob& claimed : granted) seen.granted.insert({claimed.job.id, claimed.job.fence});
}

void StoreChecks::see_grant(const Applied& when, const ClaimCall& call, const ClaimedJob& claimed, Slots& slots) {
  const JobId& id = claimed.job.id;
  KnownJob* job = known(id);
  if (!job) return broken("J2", id, "was granted and nobody enqueued it");
  if (job->finished()) return broken("J3", id, "was granted though it is " + std::string(to_string(job->state)));
  if (job->leased(when.at))
    return broken("L3", id, "was granted to " + call.request.owner + " while " + job->owner + " holds it");
  if (claimed.job.fence <= job->fence)
    return broken(
        "L2", id,
        "was granted under fence " + std::to_string(claimed.job.fence) + " after " + std::to_string(job->fence));
  if (claimed.job.fence <= floor_)
    return broken(
        "L2", id,
        "was granted under fence " + std::to_string(claimed.job.fence) + ", the floor is " + std::to_string(floor_));
  if (claimed.job.fence > kFenceMax) return broken("L2", id, "was granted under a fence past 2^53-1");
  see_fence(when, *job, claimed.job.fence);
  if (claimed.left > call.request.ttl) broken("L3", id, "was granted for longer than its ttl");
  if (!see_slots(when, *job, slots)) return;

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
  tally_.add(Count::lease_operations);
  if (job->attempts.size() >= kAttemptsKept) tally_.add(Count::histories_cut);
  job->grant(claimed.job.fence, call.request.owner, call.request.request, when.at + claimed.left);

  // The grant and its fence are one step: the store shows both at once, and its reply shows the same.
  const Result<std::optional<Job>> shown = store_.job(ns_, id);
  if (!shown || !*shown) return broken("J1", id, "was granted and is not there");
  if ((*shown)->fence != claimed.job.fence || (*shown)->owner != call.request.owner)
    return broken("L1", id, "was granted under a fence that the store does not have");
  compare(*job, **shown, when.at, "J5");
  compare(*job, claimed.job, when.at, "J5");
}

// J7 and the pause. False if the rest of the story would only follow from it.
bool StoreChecks::see_slots(const Applied& when, const KnownJob& job, Slots& slots) {
  const bool was_ready = job.state == JobState::ready;
  switch (slots.why(job, when.at, when.wall)) {
    case Blocked::no: break;
    case Blocked::not_waiting:
      broken(job.state == JobState::waiting ? "E2" : "J4", job.id,
             "was granted though it is " + std::string(to_string(job.state)));
      return false;
    case Blocked::paused: broken("pause", job.id, "was granted though its queue is paused"); return false;
    case Blocked::not_its_time: broken("J4", job.id, "was granted before its time"); return false;
    case Blocked::own_slot: broken("J7", job.id, "was granted while its revoked delivery keeps its slot"); return false;
    case Blocked::group:
      broken("J7", job.id,
             "was granted though it is not the turn of group " + job.group + " or another job of it runs");
      return false;
    case Blocked::limit: broken("J7", job.id, "was granted beyond the limit of queue " + job.queue); return false;
    case Blocked::limit_key: broken("J7", job.id, "was granted beyond the limit of key " + job.limit_key); return false;
  }
  if (was_ready) slots.take(job.queue, job.group, job.limit_key);
  if (!job.group.empty()) {
    const auto [last, is_first] = group_last_.emplace(Slots::Name{job.queue, job.group}, job.id);
    if (!is_first && last->second != job.id) tally_.add(Count::group_handovers);
    last->second = job.id;
  }
  return true;
}

// J8: a claim that had room for more left nothing behind that it could have granted.
void StoreChecks::see_passed_over(const Applied& when, const ClaimCall& call, const Slots& slots) {
  const std::vector<ClaimedJob>& granted = call.reply->jobs;
  const auto alone = [](const ClaimedJob& claimed) { return claimed.job.losses_in_row >= kLossesBeforeAlone; };
  const bool one_alone = std::any_of(granted.begin(), granted.end(), alone);
  const bool had_room = granted.size() < static_cast<std::size_t>(call.request.limit) && !one_alone;
  for (const auto& [id, job] : jobs_) {
    if (job.finished() || job.leased(when.at) || !serves(call.request, job)) continue;
    switch (slots.why(job, when.at, when.wall)) {
      case Blocked::no: {
        const bool must_wait = job.must_run_alone(when.at) && (call.request.holds_others || !granted.empty());
        if (had_room && !must_wait) broken("J8", id, "could be granted and was passed over");
        break;
      }
      case Blocked::paused: tally_.add(Count::queue_waits); break;
      case Blocked::own_slot: tally_.add(Count::slot_waits); break;
      case Blocked::group: tally_.add(Count::group_waits); break;
      case Blocked::limit:
      case Blocked::limit_key: tally_.add(Count::limit_waits); break;
      case Blocked::not_waiting:
      case Blocked::not_its_time: break;
    }
  }
}

void StoreChecks::see_repeat(const Applied& when, const ClaimCall& call, const ClaimedJob& claimed,
                             const ClaimSeen& before) {
  const JobId& id = claimed.job.id;
  if (!before.granted.contains({id, claimed.job.fence}))
    return broken("J2", id, "was granted by the repeat of a claim that had its answer");
  const KnownJob* job = find(id);
  if (!job || !job->leased(when.at) || job->fence != claimed.job.fence || job->owner != call.request.owner)
    return broken("L3", id, "was granted again by a repeat though it is no longer held");
  if (when.at + claimed.left != job->lease_end)
    broken("L3", id, "was granted again by a repeat with another lease end");
}

// A row that was removed, or forgotten with the day, binds nobody. Of one that began after its order nothing can be
// said: a late report of a worker that has gone may have made it anew. Empty then.
std::optional<bool> StoreChecks::is_ordered(const std::string& owner) const {
  const auto order = orders_.find(owner);
  if (order == orders_.end() || order->second.order == WorkerOrder::work) return false;
  if (unsure_orders_.contains(owner)) return std::nullopt;
  const Result<std::vector<WorkerRow>> rows = store_.workers(ns_);
  if (!rows) return false;
  const auto row = std::ranges::find(*rows, owner, [](const WorkerRow& one) { return one.report.owner; });
  if (row == rows->end()) return false;
  return row->started_at <= order->second.at ? std::optional(true) : std::nullopt;
}

void StoreChecks::see_burials(const Applied& when, const ClaimCall& call, bool does_nothing) {
  for (auto& [id, job] : jobs_) {
    const bool due = job.expired(when.at) && job.losses_in_row + 1 >= kLossesInRowMax && serves(call.request, job) &&
                     !is_paused(job.queue);
    if (!due) continue;
    const Result<std::optional<Job>> shown = store_.job(ns_, id);
    if (!shown || !*shown) {
      broken("J1", id, "is gone");
      continue;
    }
    if ((*shown)->state != JobState::dead) {
      // A repeat returns what it had granted, and need do no more.
      if (!does_nothing) broken("J5", id, "was lost five times in a row and is not dead");
      continue;
    }
    if ((*shown)->fence <= job.fence) broken("L2", id, "died of its losses without a new fence");
    see_fence(when, job, (*shown)->fence);
    count_loss(job);
    tally_.add(Count::died_of_losses);
    tally_.add(Count::dead_letters);
    job.finish(JobState::dead, when.wall);
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
    if (job.state != JobState::running || job.owner != call.request.owner || job.request != call.request.request)
      continue;
    job.settle({.kind = OutcomeKind::given_back}, when.wall);
    tally_.add(Count::given_back);
    tally_.add(Count::lease_operations);
    const Result<std::optional<Job>> shown = store_.job(ns_, id);
    if (shown && *shown) compare(job, **shown, when.at, "J5");
  }
  ClaimSeen& seen = claims_[{call.request.owner, call.request.request}];
  seen.end = std::max(seen.end, when.at + call.request.ttl);
}

}  // namespace fenceline::sim

// What operators may do, and what their acts leave of a delivery: J3, J4, J6, J7.
#include <algorithm>

#include "sim/checks/find_refusal.hpp"
#include "sim/checks/store_checks.hpp"

namespace fenceline::sim {

void StoreChecks::see(const Applied& when, const CancelCall& call) {
  if (!call.reply) return see_refused_for_fences(when, call.reply.error());
  for (const JobId& id : call.request.ids) {
    KnownJob* job = known(id);
    const bool other =
        job && call.request.only && job->last_act != call.request.request && job->state != *call.request.only;
    const Reason must = !job                                                           ? Reason::not_found
                        : other                                                        ? Reason::state
                        : job->state == JobState::done || job->state == JobState::dead ? Reason::finished
                                                                                       : Reason::none;
    const ActRefusal* refusal = find_refusal(call.reply->refused, id, &ActRefusal::id);
    const Reason is = refusal ? refusal->reason : Reason::none;
    if (is == Reason::finished) tally_.add(Count::cancelled_too_late);
    if (is != must)
      return broken("J3", id,
                    "was cancelled with the answer '" + word_of(is) + "', it must be '" + word_of(must) + "'");
    if (must == Reason::none) see_cancelled(when, *job, call.request.request);
  }
}

void StoreChecks::see_cancelled(const Applied& when, KnownJob& job, const std::string& request) {
  if (job.last_act == request) return tally_.add(Count::acts_repeated);
  job.last_act = request;
  if (job.state == JobState::cancelled) return;
  const bool ran = job.state == JobState::running;
  const bool waited = job.state == JobState::waiting;  // its old handler may still speak
  if (ran) {
    revoke(when, job, AttemptEnd::cancelled);
    tally_.add(Count::cancelled_running);
  }
  job.finish(JobState::cancelled, when.wall);
  unfinished_ -= 1;
  tally_.add(Count::cancelled);
  take_over_from_store(when, job, ran || waited);
}

void StoreChecks::see(const Applied& when, const RetryCall& call) {
  if (!call.reply) return see_refused_for_fences(when, call.reply.error());
  for (const JobId& id : call.request.ids) {
    KnownJob* job = known(id);
    const ActRefusal* refusal = find_refusal(call.reply->refused, id, &ActRefusal::id);
    const Reason is = refusal ? refusal->reason : Reason::none;
    // What the answer to a repeat is does not matter, as long as nothing changes.
    if (job && job->last_act == call.request.request) {
      tally_.add(Count::acts_repeated);
      const Result<std::optional<Job>> shown = store_.job(ns_, id);
      if (shown && *shown) compare(*job, **shown, when.at, "J3");
      continue;
    }
    const KnownJob* holder = job && job->finished() ? key_holder(job->queue, job->key, when.wall) : nullptr;
    const bool taken = holder && holder->id != id;
    const bool other = job && call.request.only && job->state != *call.request.only;
    const bool held = job && job->state == JobState::waiting && !job->held_for().empty();
    const Reason must = !job                           ? Reason::not_found
                        : other                        ? Reason::state
                        : job->state == JobState::done ? Reason::finished
                        : held                         ? Reason::effect_in_doubt
                        : taken                        ? Reason::key_taken
                                                       : Reason::none;
    if (is == Reason::key_taken) tally_.add(Count::keys_taken);
    if (is != must)
      return broken(taken || is == Reason::key_taken ? "J6" : "J3", id,
                    "was retried with the answer '" + word_of(is) + "', it must be '" + word_of(must) + "'");
    if (must == Reason::key_taken && refusal->holder != holder->id)
      broken("J6", id, "was not retried since its key is taken, and the wrong job is named");
    if (must != Reason::none) continue;
    see_retried(when, *job, call.request.request);
  }
}

void StoreChecks::see_retried(const Applied& when, KnownJob& job, const std::string& request) {
  job.last_act = request;
  if (job.state == JobState::waiting || (job.state == JobState::ready && job.run_at <= when.wall))
    return;  // it is as asked for
  const bool ran = job.state == JobState::running;
  if (ran) {
    revoke(when, job, AttemptEnd::retried);
    tally_.add(Count::retried_running);
  }
  if (job.finished()) {
    job.failures = 0;
    job.losses_in_row = 0;
    job.poisoned_in_row = 0;
    job.place = ++sequence_;
    job.finished_at.reset();
    if (!job.key.empty()) take_key(job);
    unfinished_ += 1;
  }
  job.state = JobState::ready;
  job.run_at = when.wall;
  tally_.add(Count::retried);
  take_over_from_store(when, job, ran);
}

void StoreChecks::revoke(const Applied& when, KnownJob& job, AttemptEnd end) {
  const Holding delivery{job.id, job.fence};
  revoked_[delivery] = when.at;
  if (end == AttemptEnd::held) held_.insert(delivery);
  if (job.lease_end > when.at) kept_[delivery] = {job.queue, job.group, job.limit_key, job.owner, job.lease_end};
  job.end_attempt(end);
  job.owner.clear();
  job.request.clear();
  job.outcome.reset();
}

void StoreChecks::take_over_from_store(const Applied& when, KnownJob& job, bool must_have_grown) {
  const Result<std::optional<Job>> shown = store_.job(ns_, job.id);
  if (!shown || !*shown) return broken("J1", job.id, "is gone after an act on it");
  const Job& now = **shown;
  if (now.fence < job.fence || (must_have_grown && now.fence == job.fence))
    return broken("L2", job.id,
                  "was revoked and has fence " + std::to_string(now.fence) + " after " + std::to_string(job.fence));
  if (now.fence > job.fence) {
    see_fence(when, job, now.fence);
    job.fence = now.fence;
    job.owner.clear();
    job.outcome.reset();
  }
  compare(job, now, when.at, "J3");
}

void StoreChecks::see(const Applied& when, const PurgeCall& call) {
  if (!call.reply) return;
  std::vector<KnownJob*> waiting;
  for (auto& [id, job] : jobs_) {
    if (job.queue == call.request.queue && (job.state == JobState::ready || job.state == JobState::waiting))
      waiting.push_back(&job);
  }
  std::sort(waiting.begin(), waiting.end(), [](const KnownJob* a, const KnownJob* b) { return a->order < b->order; });
  const std::size_t some = std::min(waiting.size(), static_cast<std::size_t>(call.request.limit));
  if (call.reply->cancelled != static_cast<std::int64_t>(some))
    return violations_.add("J4", "a purge of queue " + call.request.queue + " says " +
                                     std::to_string(call.reply->cancelled) + " jobs, it must be " +
                                     std::to_string(some));
  if (call.reply->more != (waiting.size() > some))
    violations_.add("J4", "a purge of queue " + call.request.queue + " has a wrong word on whether there is more");
  for (std::size_t i = 0; i < some; ++i) {
    KnownJob& job = *waiting[i];
    const bool waited = job.state == JobState::waiting;
    job.finish(JobState::cancelled, when.wall);
    unfinished_ -= 1;
    tally_.add(Count::purged);
    take_over_from_store(when, job, waited);
  }
  if (waiting.size() == some) return;
  const Result<std::optional<Job>> next = store_.job(ns_, waiting[some]->id);
  if (next && *next) compare(*waiting[some], **next, when.at, "J4");
}

void StoreChecks::see(const Applied&, const SetQueueCall& call) {
  if (!call.reply) return;
  QueueSettings& settings = queues_[call.request.queue].settings;
  const QueueChange& change = call.request.change;
  settings.limit = change.limit.value_or(settings.limit);
  settings.limit_per_key = change.limit_per_key.value_or(settings.limit_per_key);
  settings.keep_done = change.keep_done.value_or(settings.keep_done);
  settings.keep_dead = change.keep_dead.value_or(settings.keep_dead);
  tally_.add(Count::settings_changed);
}

void StoreChecks::see(const Applied&, const PauseCall& call) {
  if (!call.reply) return;
  if (!call.request.paused && !queues_.contains(call.request.queue)) return;  // nothing to resume, and nothing is made
  queues_[call.request.queue].paused = call.request.paused;
  tally_.add(call.request.paused ? Count::queues_paused : Count::queues_resumed);
}

void StoreChecks::see(const Applied& when, const OrderCall& call) {
  if (!call.reply) return;
  orders_[call.request.owner] = {call.request.order, when.wall};
  unsure_orders_.erase(call.request.owner);
  tally_.add(Count::workers_ordered);
}

void StoreChecks::see(const Applied&, const StoppedCall& call) {
  if (!call.reply) return;
  for (const Holding& holding : call.request.jobs) {
    const auto slot = kept_.find(holding);
    if (slot == kept_.end() || slot->second.owner != call.request.owner) continue;
    kept_.erase(slot);
    tally_.add(Count::stopped_said);
  }
}

bool StoreChecks::is_paused(const std::string& queue) const {
  const auto found = queues_.find(queue);
  return found != queues_.end() && found->second.paused;
}

bool StoreChecks::keeps_slot(const Holding& delivery, Instant now) const {
  const auto slot = kept_.find(delivery);
  return slot != kept_.end() && slot->second.end > now;
}

std::optional<Instant> StoreChecks::revoked_at(const Holding& delivery) const {
  const auto found = revoked_.find(delivery);
  return found == revoked_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace fenceline::sim

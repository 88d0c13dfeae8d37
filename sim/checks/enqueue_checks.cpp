// What an enqueue may do: J1 and J6.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/checks/store_checks.hpp"

namespace fenceline::sim {
namespace {

bool same_value(const std::string& a, const std::string& b) {
  return nlohmann::json::parse(a) == nlohmann::json::parse(b);
}

}  // namespace

const KnownJob* StoreChecks::key_holder(const std::string& queue, const std::string& key, WallTime now) const {
  const auto last = keys_.find({queue, key});
  const KnownJob* job = key.empty() || last == keys_.end() ? nullptr : find(last->second);
  return job && job->keeps_key(now) ? job : nullptr;
}

void StoreChecks::forget_aliases(const Applied& when, const EnqueueCall& call) {
  for (std::size_t i = 0; i < call.request.jobs.size(); ++i) {
    const auto alias = aliases_.find(call.request.jobs[i].id);
    if (alias == aliases_.end() || (!alias->second.may_be_gone && when.wall < alias->second.since + kAliasLeast))
      continue;
    const bool still_known = call.reply && i < call.reply->ids.size() && call.reply->ids[i] == alias->second.of;
    if (!still_known) aliases_.erase(alias);
  }
}

std::optional<StoreChecks::Expected> StoreChecks::expected(const Applied& when, const NewJob& job,
                                                           const std::map<Slots::Name, const NewJob*>& sooner) const {
  if (jobs_.contains(job.id)) return Expected{.id = job.id};
  if (const auto alias = aliases_.find(job.id); alias != aliases_.end()) return Expected{.id = alias->second.of};
  if (const auto first = sooner.find({job.queue, job.key}); !job.key.empty() && first != sooner.end()) {
    if (first->second->id != job.id && !same_value(first->second->payload, job.payload)) return std::nullopt;
    return Expected{.id = first->second->id, .by_key = true};
  }
  if (const KnownJob* holder = key_holder(job.queue, job.key, when.wall)) {
    if (!same_value(holder->payload, job.payload)) return std::nullopt;
    return Expected{.id = holder->id, .by_key = true};
  }
  return Expected{.id = job.id, .is_new = true};
}

void StoreChecks::see(const Applied& when, const EnqueueCall& call) {
  const std::vector<NewJob>& jobs = call.request.jobs;
  forget_aliases(when, call);
  std::vector<Expected> all;
  std::map<Slots::Name, const NewJob*> sooner;
  bool conflict = false;
  for (const NewJob& job : jobs) {
    const std::optional<Expected> one = expected(when, job, sooner);
    conflict = conflict || !one;
    if (!one) continue;
    if (one->is_new && !job.key.empty()) sooner.emplace(Slots::Name{job.queue, job.key}, &job);
    all.push_back(*one);
  }
  if (!call.reply) {
    if (call.reply.error().code != Code::conflict) return;
    tally_.add(Count::key_conflicts);
    if (!conflict)
      violations_.add("J6", "an enqueue was refused as a conflict and there is none: " + call.reply.error().message);
    return;
  }
  if (conflict) return violations_.add("J6", "an enqueue was accepted though its key belongs to another payload");
  if (call.reply->ids.size() != jobs.size())
    return violations_.add("J1", "an enqueue of " + std::to_string(jobs.size()) + " jobs was answered with " +
                                     std::to_string(call.reply->ids.size()) + " ids");
  std::int64_t existing = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool differs = call.reply->ids[i] != all[i].id;
    if (differs)
      return broken(all[i].by_key || aliases_.contains(jobs[i].id) ? "J6" : "J1", jobs[i].id,
                    "was enqueued as " + short_id(call.reply->ids[i]) + ", it must be " + short_id(all[i].id));
    if (all[i].is_new && !jobs_.contains(jobs[i].id)) {
      add_job(when, jobs[i]);
      continue;
    }
    existing += 1;
    if (!all[i].by_key) {
      tally_.add(Count::met_again);
      continue;
    }
    tally_.add(Count::keys_met);
    if (const KnownJob* holder = find(all[i].id); holder && holder->finished()) tally_.add(Count::keys_held_after);
    if (jobs[i].id != all[i].id) aliases_[jobs[i].id] = {all[i].id, when.wall};
  }
  if (existing != call.reply->existing)
    violations_.add("J1", "an enqueue found " + std::to_string(call.reply->existing) +
                              " jobs there already, and it was " + std::to_string(existing));
}

void StoreChecks::add_job(const Applied& when, const NewJob& added) {
  KnownJob job;
  job.id = added.id;
  job.queue = added.queue;
  job.stage = added.stage;
  job.payload = added.payload;
  job.attempts_max = added.attempts_max;
  job.backoff = added.backoff;
  job.key = added.key;
  job.key_for = added.key_for;
  job.group = added.group;
  job.limit_key = added.limit_key;
  job.run_at = std::max(when.wall, added.at.value_or(when.wall + added.delay));
  job.deliveries = deliveries_from_;
  job.order = ++sequence_;
  job.place = job.order;
  if (!job.key.empty()) take_key(job);
  queues_[job.queue];
  jobs_.emplace(added.id, std::move(job));
  unfinished_ += 1;
  tally_.add(Count::enqueued);
  if (tidied_.contains(added.id)) tally_.add(Count::made_anew);
}

void StoreChecks::see(const Applied& when, const StepCall& call) {
  if (!call.reply) return;
  for (std::size_t i = 0; i < call.request.steps.size() && i < call.reply->answers.size(); ++i) {
    const StepAnswer& answer = call.reply->answers[i];
    if (answer.refused == Reason::none) add_fired(when, call.request.steps[i], answer.duplicates);
  }
}

void StoreChecks::see(const Applied& when, const ChangeScheduleCall& call) {
  if (!call.reply) return;
  // An act that changes nothing has no step either.
  const bool stepped = call.request.step && call.reply->schedule.resolved_to >= call.request.step->to;
  if (stepped) add_fired(when, *call.request.step, call.reply->duplicates);
  if (!call.request.job || jobs_.contains(call.request.job->id)) return;
  // Of one that was tidied away a repeat adds nothing, and another request for the same job does.
  const Result<std::optional<Job>> shown = store_.job(ns_, call.request.job->id);
  if (!tidied_.contains(call.request.job->id) || (shown && *shown)) add_job(when, *call.request.job);
}

// A repeat adds nothing, also if what the first one added has been tidied away since.
void StoreChecks::add_fired(const Applied& when, const TickStep& step, const std::vector<WallTime>& duplicates) {
  for (const FiredTick& fired : step.fired) {
    const bool known = jobs_.contains(fired.job.id) || tidied_.contains(fired.job.id);
    if (!std::ranges::binary_search(duplicates, fired.tick) && !known) add_job(when, fired.job);
  }
}

void StoreChecks::acknowledged(const std::vector<NewJob>& jobs, const std::vector<JobId>& ids) {
  for (std::size_t i = 0; i < jobs.size() && i < ids.size(); ++i) {
    acknowledged_.insert(ids[i]);
    const bool known = jobs_.contains(ids[i]) || tidied_.contains(ids[i]) || forgotten_jobs_.contains(ids[i]);
    if (!known) broken("J1", jobs[i].id, "was acknowledged and never came in");
  }
}

void StoreChecks::see(const Applied& when, const BatchCall& call) {
  if (const auto old = batches_.find(call.request.name); old != batches_.end() && old->second.may_be_gone) {
    if (call.reply && call.reply->first_seen == when.wall) batches_.erase(old);
  }
  const auto known = batches_.find(call.request.name);
  const bool remembered = known != batches_.end() && when.wall < known->second.first + kBatchRememberedFor;
  const bool repeatable = remembered && when.wall <= known->second.first + kBatchRepeatableFor;
  if (!call.reply) {
    if (call.reply.error().code == Code::refused && (!remembered || repeatable))
      violations_.add("J1", "the batch " + call.request.name + " was refused within its day");
    return;
  }
  if (remembered && !repeatable)
    return violations_.add("J1", "the batch " + call.request.name + " was opened again after its day");
  if (!remembered) {
    batches_[call.request.name] = {.first = when.wall};
  } else {
    tally_.add(Count::batches_opened_again);
  }
  if (call.reply->first_seen != batches_[call.request.name].first)
    violations_.add("J1", "the batch " + call.request.name + " has another first moment");
}

}  // namespace fenceline::sim

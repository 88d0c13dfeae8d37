#include "metrics/metered_store.hpp"

#include <algorithm>

#include "model/schedule.hpp"

namespace fenceline::metrics {
namespace {

// It did not answer, or cannot do its work; whatever else a store says is an answer.
std::optional<std::string_view> trouble_of(const Error& error) {
  switch (error.code) {
    case Code::unavailable: return "unavailable";
    case Code::in_doubt: return "in_doubt";
    case Code::denied:
    case Code::full:
    case Code::broken: return kOther;
    case Code::held:
    case Code::lost:
    case Code::not_found:
    case Code::conflict:
    case Code::refused:
    case Code::invalid: break;
  }
  return std::nullopt;
}

// A doubt about an effect ended the delivery, under its own fence: no late write.
bool is_late(const Refusal& refusal) { return refusal.reason != Reason::settled || refusal.sent != refusal.current; }
bool is_late_word(const LockRefusal& refusal) { return refusal.reason != Reason::to_its_end; }
bool is_late_change(const ItemRefusal& refusal) {
  return refusal.reason != Reason::changed && refusal.reason != Reason::effect_in_doubt &&
         refusal.reason != Reason::state;
}

// That of the schedulers saves them work, and guards nothing.
bool is_ours(const std::string& lock) { return lock == kSchedulerLock; }

std::string delivery_name(const JobId& job, Fence fence) { return to_string(job) + " " + std::to_string(fence); }

std::size_t of_users(const std::vector<LockHolding>& locks) {
  return static_cast<std::size_t>(
      std::ranges::count_if(locks, [](const LockHolding& lock) { return !is_ours(lock.resource); }));
}

std::vector<LockRefusal> late_of_users(const std::vector<LockRefusal>& refused) {
  std::vector<LockRefusal> late;
  std::ranges::copy_if(refused, std::back_inserter(late),
                       [](const LockRefusal& one) { return is_late_word(one) && !is_ours(one.sent.resource); });
  return late;
}

}  // namespace

void MeteredStore::count_call(std::string_view verb, Instant asked, const Error* error) {
  const Instant now = clock_.now();
  metrics_.observe(Family::store_call_seconds, {verb}, seconds_of(now - asked));
  const std::optional<std::string_view> trouble = error ? trouble_of(*error) : std::nullopt;
  if (!trouble) return metrics_.answered(now);
  metrics_.add(Family::store_errors, {verb, *trouble});
  metrics_.not_answered();
}

void MeteredStore::count_refused(std::string_view verb, std::size_t number) {
  if (number > 0) metrics_.add(Family::stale_writes_refused, {verb}, static_cast<double>(number));
}

Result<ClaimReply> MeteredStore::claim(const ClaimRequest& request) {
  Result<ClaimReply> reply = StoreAround::claim(request);
  if (reply && reply->buried > 0) metrics_.add(Family::dead_letters, {}, static_cast<double>(reply->buried));
  if (!reply || reply->jobs.empty()) return reply;
  const auto forced = static_cast<double>(std::ranges::count_if(reply->jobs, &ClaimedJob::forced));
  metrics_.observe(Family::claim_batch_jobs, static_cast<double>(reply->jobs.size()));
  for (const ClaimedJob& claimed : reply->jobs) metrics_.add(Family::deliveries, {claimed.job.queue});
  metrics_.add(Family::orphans_replayed, {}, forced);
  metrics_.add(Family::takeovers, {"job"}, forced);
  const std::lock_guard lock(mutex_);
  for (const ClaimedJob& claimed : reply->jobs) {
    if (claimed.job.failures + 1 >= claimed.job.attempts_max)
      last_attempts_.add(delivery_name(claimed.job.id, claimed.job.fence), {});
  }
  return reply;
}

Result<ExtendReply> MeteredStore::extend(const ExtendRequest& request) {
  Result<ExtendReply> reply = StoreAround::extend(request);
  if (!reply) {
    metrics_.add(Family::renewal_failures, {"job"}, static_cast<double>(request.jobs.size()));
    return reply;
  }
  metrics_.add(Family::renewals, {"job"},
               static_cast<double>(request.jobs.size() - std::min(request.jobs.size(), reply->refused.size())));
  count_refused("extend", static_cast<std::size_t>(std::ranges::count_if(reply->refused, is_late)));
  return reply;
}

Result<SettleReply> MeteredStore::settle(const SettleRequest& request) {
  Result<SettleReply> reply = StoreAround::settle(request);
  metrics_.observe(Family::settle_batch_jobs, static_cast<double>(request.settlements.size()));
  if (reply) count_settled(request, *reply);
  return reply;
}

void MeteredStore::count_settled(const SettleRequest& request, const SettleReply& reply) {
  count_refused("settle", static_cast<std::size_t>(std::ranges::count_if(reply.refused, is_late)));
  double dead = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const Settlement& settlement : request.settlements) {
      const bool last = last_attempts_.take(delivery_name(settlement.id, settlement.fence)).has_value();
      if (std::ranges::any_of(reply.refused, [&](const Refusal& one) {
            return one.id == settlement.id && one.sent == settlement.fence;
          }))
        continue;
      const bool ended =
          settlement.outcome.kind == OutcomeKind::dead || (settlement.outcome.kind == OutcomeKind::failed && last);
      if (ended) dead += 1;
    }
  }
  if (dead > 0) metrics_.add(Family::dead_letters, {}, dead);
}

Result<RecordReply> MeteredStore::record(const RecordRequest& request) {
  Result<RecordReply> reply = StoreAround::record(request);
  if (reply) count_refused("record", reply->refused.size());
  return reply;
}

Result<BeginEffectReply> MeteredStore::begin_effect(const BeginEffectRequest& request) {
  Result<BeginEffectReply> reply = StoreAround::begin_effect(request);
  if (reply && reply->refusal && is_late(*reply->refusal)) count_refused("begin_effect", 1);
  return reply;
}

Result<FinishEffectReply> MeteredStore::finish_effect(const FinishEffectRequest& request) {
  Result<FinishEffectReply> reply = StoreAround::finish_effect(request);
  if (reply && reply->refusal) count_refused("finish_effect", 1);
  return reply;
}

Result<ChangeItemsReply> MeteredStore::change_items(const ChangeItemsRequest& request) {
  Result<ChangeItemsReply> reply = StoreAround::change_items(request);
  const auto refusal_of = [&](const ItemChange& change) {
    return std::ranges::find(reply->refused, change.id, &ItemRefusal::id);
  };
  const auto settles = [](const ItemChange& change) { return change.fence && change.place; };
  if (const auto settled = std::ranges::count_if(request.changes, settles); settled > 0)
    metrics_.observe(Family::settle_batch_jobs, static_cast<double>(settled));
  if (!reply) return reply;
  for (const ItemChange& change : request.changes) {
    const auto refusal = refusal_of(change);
    const bool refused = refusal != reply->refused.end();
    if (refused && change.fence && is_late_change(*refusal)) count_refused("change_items", 1);
    if (!refused && settles(change) && change.place->state == JobState::dead) metrics_.add(Family::dead_letters);
  }
  return reply;
}

Result<AcquireReply> MeteredStore::acquire(const AcquireRequest& request) {
  const bool counts = !request.names.empty() && !is_ours(request.names.front());
  if (counts) {
    const Instant now = clock_.now();
    const std::lock_guard lock(mutex_);
    if (!held_.contains(request.owner)) asked_.add(request.request, {now, request.pattern, request.names.front()});
  }
  Result<AcquireReply> reply = StoreAround::acquire(request);
  if (counts && reply && !reply->grants.empty()) count_granted(request, *reply);
  return reply;
}

void MeteredStore::count_granted(const AcquireRequest& request, const AcquireReply& reply) {
  const Instant now = clock_.now();
  std::optional<LockSince> asked;
  {
    const std::lock_guard lock(mutex_);
    asked = asked_.take(request.request);
    held_.add(request.owner, {now, request.pattern, request.names.front()});
  }
  if (!asked) return;  // it was granted before
  observe_lock(Family::lock_wait_seconds, *asked);
  const auto taken =
      std::ranges::count_if(reply.grants, [](const LockGrant& grant) { return !grant.previous_owner.empty(); });
  if (taken > 0) metrics_.add(Family::takeovers, {"lock"}, static_cast<double>(taken));
}

// Of several names under one owner the first word counts.
void MeteredStore::lock_ended(const std::string& owner) {
  std::optional<LockSince> since;
  {
    const std::lock_guard lock(mutex_);
    since = held_.take(owner);
  }
  if (since) observe_lock(Family::lock_hold_seconds, *since);
}

void MeteredStore::observe_lock(Family family, const LockSince& since) {
  metrics_.observe(family, {metrics_.lock_class(since.pattern), since.name}, seconds_of(clock_.now() - since.at));
}

Result<RenewReply> MeteredStore::renew(const RenewRequest& request) {
  Result<RenewReply> reply = StoreAround::renew(request);
  const std::size_t asked = of_users(request.locks);
  if (asked == 0) return reply;
  if (!reply) {
    metrics_.add(Family::renewal_failures, {"lock"}, static_cast<double>(asked));
    return reply;
  }
  const std::vector<LockRefusal> late = late_of_users(reply->refused);
  metrics_.add(Family::renewals, {"lock"}, static_cast<double>(asked - std::min(asked, reply->refused.size())));
  count_refused("renew", late.size());
  for (const LockRefusal& refusal : late) lock_ended(refusal.sent.owner);
  return reply;
}

Result<ReleaseReply> MeteredStore::release(const ReleaseRequest& request) {
  Result<ReleaseReply> reply = StoreAround::release(request);
  if (!reply) return reply;
  count_refused("release", late_of_users(reply->refused).size());
  for (const LockHolding& released : request.locks) lock_ended(released.owner);
  return reply;
}

Result<void> MeteredStore::withdraw(const WithdrawRequest& request) {
  Result<void> reply = StoreAround::withdraw(request);
  std::optional<LockSince> asked;
  {
    const std::lock_guard lock(mutex_);
    asked = asked_.take(request.request);
    held_.take(request.owner);  // no work was done under it
  }
  if (asked) observe_lock(Family::lock_wait_seconds, *asked);
  return reply;
}

}  // namespace fenceline::metrics

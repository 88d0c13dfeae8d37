#include "check/deliveries.hpp"

#include <algorithm>
#include <span>

#include "check/limits.hpp"

namespace fenceline::audit {
namespace {

// When nothing of the call can take effect any more.
Time late(const CallLog& log, const JobOp& op) {
  return op.answered == kNever ? kNever : std::max(op.answered, op.asked + log.about.repeats);
}

}  // namespace

Deliveries::Deliveries(const CallLog& log, const JobOps& ops, const Unseen& unseen)
    : log_(log), ops_(ops), spans_(log.jobs.size()) {
  for (const Call& call : log.calls) {
    if (call.verb != Verb::purge || !call.may_count()) continue;
    if (purged_.size() <= call.queue) purged_.resize(call.queue + 1, kNever);
    purged_[call.queue] = std::min(purged_[call.queue], call.asked);
  }
  for (const Call& call : log.calls) {
    if (call.verb != Verb::claim || !call.may_count()) continue;
    const auto [first, is_new] = first_asked_.emplace(std::uint64_t{call.owner} << 32 | call.request, call.asked);
    if (!is_new) first->second = std::min(first->second, call.asked);
  }
  first_.assign(2, 0);
  for (std::uint32_t job = 1; job < log.jobs.size(); ++job) {
    find_grants(job);
    first_.push_back(static_cast<std::uint32_t>(all_.size()));
    find_ends(job);
    find_span(job, unseen);
  }
}

const Delivery* Deliveries::find(std::uint32_t job, std::int64_t fence) const {
  const Delivery* found = std::lower_bound(begin(job), end(job), fence,
                                           [](const Delivery& one, std::int64_t than) { return one.fence < than; });
  return found != end(job) && found->fence == fence ? found : nullptr;
}

void Deliveries::find_grants(std::uint32_t job) {
  const auto first = static_cast<std::ptrdiff_t>(all_.size());
  for (const JobOp* op = ops_.begin(job); op != ops_.end(job); ++op) {
    const Call& call = log_.calls[op->call];
    if (call.verb != Verb::claim) continue;
    const Item& item = log_.items[op->item];
    const Time least = log_.about.lease_times ? call.earliest() + item.amount : kAlways;
    const Time most = log_.about.lease_times ? call.answered + item.amount : kNever;
    const Time asked = call.request == 0 ? call.asked : first_asked_.at(std::uint64_t{call.owner} << 32 | call.request);
    all_.push_back({job, item.fence, op->call, op->item, asked, call.answered, kAlways, least, most});
  }
  std::stable_sort(all_.begin() + first, all_.end(),
                   [](const Delivery& a, const Delivery& b) { return a.fence < b.fence; });
  // What a repeat was answered is the same delivery.
  std::size_t kept = static_cast<std::size_t>(first);
  for (std::size_t i = static_cast<std::size_t>(first) + 1; i < all_.size(); ++i) {
    if (all_[i].fence == all_[kept].fence) {
      all_[kept].lease_least = std::max(all_[kept].lease_least, all_[i].lease_least);
      all_[kept].lease_most = std::max(all_[kept].lease_most, all_[i].lease_most);
    } else {
      all_[++kept] = all_[i];
    }
  }
  if (all_.size() > static_cast<std::size_t>(first)) all_.resize(kept + 1);
}

void Deliveries::find_ends(std::uint32_t job) {
  struct Times {
    Time ended = kNever;
    Time renewed = kAlways;
    Time stretch = 0;
  };
  const std::span<Delivery> own(all_.begin() + first_[job], all_.end());
  std::vector<Times> times(own.size());
  const auto number_of = [&](std::int64_t fence) {
    const Delivery* found = find(job, fence);
    return found == nullptr ? own.size() : static_cast<std::size_t>(found - own.data());
  };
  for (const JobOp* op = ops_.begin(job); op != ops_.end(job); ++op) {
    const Call& call = log_.calls[op->call];
    const Item* item = op->item == kNoCall ? nullptr : &log_.items[op->item];
    // A copy of a person's change that was refused may find the job in another state.
    const bool comes_again = log_.about.repeats > 0 && call.verb == Verb::change_items && item->fence == 0;
    if (item != nullptr && item->reason != Reason::none && !comes_again) continue;
    const std::size_t i = item == nullptr ? own.size() : number_of(item->fence);
    const bool moves = call.verb == Verb::change_items && log_.move_of(call, op->item).to != Life::absent;
    if ((call.verb == Verb::settle || moves) && i < own.size()) times[i].ended = std::min(times[i].ended, call.asked);
    const EffectCall& effect = log_.effect_of(call);
    const bool may_hold =
        effect.begun == Begun::held || effect.ended == Ended::held || (call.verb == Verb::begin_effect && op->optional);
    if (may_hold && i < own.size()) times[i].ended = std::min(times[i].ended, call.asked);
    if (call.verb == Verb::extend && i < own.size()) {
      Delivery& delivery = own[i];
      if (op->optional) {
        times[i].stretch += call.ttl;
        continue;
      }
      times[i].renewed = std::max(times[i].renewed, call.asked);
      if (!log_.about.lease_times) continue;
      delivery.lease_least = std::max(delivery.lease_least, call.earliest() + call.left);
      delivery.lease_most = std::max(delivery.lease_most, call.answered + call.left);
      if (log_.about.repeats > 0)
        delivery.lease_most = std::max(delivery.lease_most, call.asked + log_.about.repeats + call.ttl);
    }
    for (std::size_t k = 0; k < own.size(); ++k) {
      const Call& claim = log_.calls[own[k].call];
      const bool given_back =
          call.verb == Verb::give_back && call.owner == claim.owner && call.request == claim.request;
      const bool by_person = call.verb == Verb::cancel || call.verb == Verb::retry || (moves && item->fence == 0);
      const bool act = by_person && late(log_, *op) >= own[k].asked;
      if (given_back || act) times[k].ended = std::min(times[k].ended, call.asked);
      if (call.verb != Verb::give_back && !by_person) break;
    }
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    // A renewal that was answered shows that it was held until then, whatever the clocks say.
    own[i].held_until = std::min(times[i].ended, std::max(own[i].lease_least, times[i].renewed));
    for (const Time forgot : log_.forgotten) {
      if (forgot >= own[i].asked) own[i].held_until = std::min(own[i].held_until, forgot);
    }
    if (own[i].lease_most != kNever) own[i].lease_most += times[i].stretch;
  }
}

void Deliveries::find_span(std::uint32_t job, const Unseen& unseen) {
  JobSpan& span = spans_[job];
  Time finished = kNever;
  for (const JobOp* op = ops_.begin(job); op != ops_.end(job); ++op) {
    const Call& call = log_.calls[op->call];
    const Item* item = op->item == kNoCall ? nullptr : &log_.items[op->item];
    if (item == nullptr || item->reason != Reason::none) continue;
    if (call.verb == Verb::enqueue) {
      span.first_asked = std::min(span.first_asked, call.asked);
      if (!op->optional && call.answered < span.there_since) {
        span.there_since = call.answered;
        span.enqueue = op->call;
      }
    }
    const bool ends =
        item->outcome == Outcome::done || item->outcome == Outcome::dead || item->outcome == Outcome::failed;
    const bool put_to_end = call.verb == Verb::change_items && is_finished(log_.move_of(call, op->item).to);
    if ((call.verb == Verb::settle && ends) || call.verb == Verb::cancel || put_to_end)
      finished = std::min(finished, call.asked);
  }
  const Name queue = log_.jobs[job].queue;
  if (queue < purged_.size()) finished = std::min(finished, purged_[queue]);
  // It may have been buried.
  const std::int32_t never_seen = unseen.claims(queue, kNever);
  if (never_seen >= kLossesMost) finished = std::min(finished, span.first_asked);
  for (const Delivery* delivery = begin(job); delivery != end(job); ++delivery) {
    if (log_.items[delivery->item].losses_in_row + 1 + never_seen >= kLossesMost)
      finished = std::min(finished, delivery->lease_least);
  }
  span.unfinished_until = log_.about.whole ? finished : kAlways;
}

}  // namespace fenceline::audit

// L1 to L4 and L6 of locks. Each lock has a simple life, so no search is needed: a lease is held for certain from the
// answer to its acquire until the first call that may have ended it was sent, or until it may have run out, counted
// from before it was asked for. What is told is certain for every order that the history allows.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "check/checks.hpp"

namespace fenceline::audit {
namespace {

// One lease of one lock, with all answers that tell of it.
struct Lease {
  Name resource = 0;
  Name owner = 0;
  Name request = 0;
  Name from = 0;
  std::int64_t fence = 0;
  bool shared = false;
  bool window = false;
  Time ttl = 0;
  CallNumber call = kNoCall;         // whose answer told of it first
  Time lower = kNever;               // it was granted no sooner,
  Time upper = kNever;               // and no later
  Time least_end = kAlways;          // it lasts at least so long, unless somebody ends it
  Time first_cut = kNever;           // by then somebody may have ended it
  CallNumber renewed_by = kNoCall;   // the renewal that counts for its end
  std::vector<CallNumber> renewals;  // that were accepted
  std::vector<CallNumber> doubtful;  // without an answer
  CallNumber released_by = kNoCall;  // certainly

  Time until() const { return std::min(least_end, first_cut); }
};

// A fence that somebody was told of.
struct Told {
  Time at = 0;
  std::int64_t fence = 0;
  bool shared = false;
  CallNumber call = kNoCall;
};

using HoldingKey = std::tuple<Name, Name, std::int64_t>;  // resource, owner, fence
using TryKey = std::pair<Name, Name>;                     // owner, request

class Locks {
 public:
  explicit Locks(const Scene& scene) : scene_(scene), log_(scene.log) {}

  LockSums check() {
    for (CallNumber number = 0; number < log_.calls.size(); ++number) {
      if (log_.calls[number].verb == Verb::acquire && log_.calls[number].may_count()) note_try(number);
    }
    for (CallNumber number = 0; number < log_.calls.size(); ++number) {
      const Call& call = log_.calls[number];
      if (call.verb == Verb::acquire && call.status == Status::ok && !log_.lock_of(call).granted.empty())
        take_grants(number);
      if (call.verb == Verb::break_lock && call.status == Status::ok && !log_.lock_of(call).granted.empty())
        told_[log_.lock_of(call).items.front().resource].push_back(
            {call.answered, log_.lock_of(call).granted.front().fence, false, number});
    }
    for (const auto& [key, lease] : leases_)
      by_holding_.emplace(HoldingKey{lease.resource, lease.owner, lease.fence}, key);
    for (auto& [key, lease] : leases_)
      told_[lease.resource].push_back({lease.upper, lease.fence, lease.shared, lease.call});
    for (auto& [resource, fences] : told_) sort_told(fences);
    for (CallNumber number = 0; number < log_.calls.size(); ++number) take_renewals_and_ends(number);
    for (CallNumber number = 0; number < log_.calls.size(); ++number) check_words_of_holders(number);
    check_repeats();
    check_leases();
    return {.locks = static_cast<std::int64_t>(told_.size()), .grants = static_cast<std::int64_t>(leases_.size())};
  }

 private:
  // Resource, owner, request, fence. A request that is repeated when its lease is over is granted anew.
  using LeaseKey = std::tuple<Name, Name, Name, std::int64_t>;

  // A copy of a request that waited may be granted later. Without copies one that was answered with nothing did
  // nothing.
  void note_try(CallNumber number) {
    const Call& call = log_.calls[number];
    const bool did_nothing = call.status == Status::ok && log_.lock_of(call).granted.empty();
    if (did_nothing && log_.about.repeats == 0) return;
    Time& first = first_asked_.emplace(TryKey{call.owner, call.request}, call.asked).first->second;
    first = std::min(first, call.asked);
    if (call.status == Status::unknown) doubtful_owners_[call.owner] = true;
  }

  void take_grants(CallNumber number) {
    const Call& call = log_.calls[number];
    const LockCall& lock = log_.lock_of(call);
    if (call.left > call.ttl)
      broken("L4", lock.granted.front().resource, "was granted for longer than its ttl", {number}, call.answered);
    if (lock.granted.size() != lock.items.size())
      broken("L1", lock.granted.front().resource,
             "was granted with some of the names that were asked for, not with all", {number}, call.answered);
    for (const LockItem& granted : lock.granted) {
      const bool asked = std::any_of(lock.items.begin(), lock.items.end(),
                                     [&](const LockItem& item) { return is_slot_of(granted.resource, item.resource); });
      if (!asked)
        broken("L1", granted.resource, "was granted to somebody who did not ask for it", {number}, call.answered);
      const auto [found, is_new] = leases_.try_emplace({granted.resource, call.owner, call.request, granted.fence});
      Lease& lease = found->second;
      if (is_new) {
        lease = {.resource = granted.resource,
                 .owner = call.owner,
                 .request = call.request,
                 .from = granted.from,
                 .fence = granted.fence,
                 .shared = lock.shared,
                 .window = lock.window,
                 .ttl = call.ttl,
                 .call = number,
                 .lower = first_asked_.at({call.owner, call.request})};
      }
      lease.upper = std::min(lease.upper, call.answered);
      if (log_.about.lease_times) lease.least_end = std::max(lease.least_end, call.earliest() + call.left);
    }
  }

  bool is_slot_of(Name resource, Name asked) const {
    const std::string_view slot = log_.text(resource);
    return resource == asked || slot.substr(0, slot.find('#')) == log_.text(asked);
  }

  static void sort_told(std::vector<Told>& fences) {
    std::sort(fences.begin(), fences.end(), [](const Told& a, const Told& b) { return a.at < b.at; });
    // So that the largest until a moment is found by its place.
    for (std::size_t i = 1; i < fences.size(); ++i) {
      if (fences[i - 1].fence <= fences[i].fence) continue;
      const Time at = fences[i].at;
      fences[i] = fences[i - 1];
      fences[i].at = at;
    }
  }
  // The largest fence that somebody was told of before `moment`, and of which nothing may have been forgotten.
  const Told* largest_before(Name resource, Time moment) const {
    const auto found = told_.find(resource);
    if (found == told_.end()) return nullptr;
    const auto after = std::lower_bound(found->second.begin(), found->second.end(), moment,
                                        [](const Told& told, Time at) { return told.at < at; });
    if (after == found->second.begin()) return nullptr;
    const Told& told = *std::prev(after);
    const bool forgotten = std::any_of(log_.forgotten.begin(), log_.forgotten.end(),
                                       [&](Time at) { return at >= log_.calls[told.call].asked; });
    return forgotten ? nullptr : &told;
  }

  Lease* lease_of(const LockItem& item) {
    const auto found = by_holding_.find({item.resource, item.owner, item.fence});
    return found == by_holding_.end() ? nullptr : &leases_.at(found->second);
  }

  void cut(Lease& lease, const Call& call) const {
    // What was answered before it was asked for was about an earlier one.
    if (call.answered < lease.lower) return;
    lease.first_cut = std::min(lease.first_cut, call.asked);
  }

  void take_renewals_and_ends(CallNumber number) {
    const Call& call = log_.calls[number];
    if (!call.may_count()) return;
    if (call.verb == Verb::remove_namespace) {
      for (auto& [key, lease] : leases_) cut(lease, call);
    }
    if (call.lock == 0) return;
    for (const LockItem& item : log_.lock_of(call).items) {
      if (call.verb == Verb::break_lock) {
        for (auto found = leases_.lower_bound({item.resource, 0, 0, 0});
             found != leases_.end() && found->second.resource == item.resource; ++found)
          cut(found->second, call);
      }
      if (call.verb == Verb::withdraw) {
        for (auto& found : leases_of_try(call)) cut(*found, call);
        return;
      }
      Lease* lease = call.verb == Verb::renew || call.verb == Verb::release ? lease_of(item) : nullptr;
      if (!lease || item.refused) continue;
      if (call.verb == Verb::release) {
        cut(*lease, call);
        if (call.status == Status::ok &&
            (lease->released_by == kNoCall || log_.calls[lease->released_by].answered > call.answered))
          lease->released_by = number;
        continue;
      }
      if (call.status == Status::unknown) {
        lease->doubtful.push_back(number);
        continue;
      }
      lease->renewals.push_back(number);
      // One that should not have been accepted says nothing of the time before it.
      if (const Told* newer = largest_before(item.resource, call.earliest()); newer && newer->fence > item.fence)
        continue;
      if (!log_.about.lease_times || call.earliest() + call.left <= lease->least_end) continue;
      lease->least_end = call.earliest() + call.left;
      lease->renewed_by = number;
    }
  }

  std::vector<Lease*> leases_of_try(const Call& call) {
    if (tries_.empty()) {
      for (auto& [key, lease] : leases_) tries_[{lease.owner, lease.request}].push_back(&lease);
    }
    const auto found = tries_.find({call.owner, call.request});
    return found == tries_.end() ? std::vector<Lease*>{} : found->second;
  }

  // Renewals and releases: accepted from the newest holder alone, and from it always.
  void check_words_of_holders(CallNumber number) {
    const Call& call = log_.calls[number];
    if (call.status != Status::ok || (call.verb != Verb::renew && call.verb != Verb::release)) return;
    const bool renews = call.verb == Verb::renew;
    const std::string accepted = renews ? "was renewed for " : "was released for ";
    if (renews && call.left > call.ttl && !log_.lock_of(call).items.empty())
      broken("L4", log_.lock_of(call).items.front().resource, "was renewed for longer than its ttl", {number},
             call.answered);
    for (const LockItem& item : log_.lock_of(call).items) {
      const Lease* lease = lease_of(item);
      const std::string who = name(item.owner) + " under fence " + std::to_string(item.fence);
      if (item.refused) {
        if (renews && lease && log_.about.whole && !lease->window && lease->upper <= call.asked &&
            call.answered < lease->until())
          broken("L4", item.resource, "was refused to its holder " + who + " while it held it",
                 {lease->call, lease->renewed_by, number}, call.answered);
        continue;
      }
      const Told* newer = largest_before(item.resource, call.earliest());
      if (newer && newer->fence > item.fence) {
        broken("L4", item.resource, accepted + who + " after " + std::to_string(newer->fence) + " was there",
               {newer->call, number}, call.answered);
        continue;
      }
      if (!lease) {
        if (log_.about.whole && !doubtful_owners_.contains(item.owner))
          broken("L4", item.resource, accepted + who + ", who never had it", {number}, call.answered);
        continue;
      }
      if (lease->window) {
        broken("L6", item.resource, accepted + who + ", though it is held to the end of its window",
               {lease->call, number}, call.answered);
        continue;
      }
      if (renews) check_renewal(*lease, number);
    }
  }

  void check_renewal(const Lease& lease, CallNumber number) {
    const Call& call = log_.calls[number];
    const std::string who = name(lease.owner) + " under fence " + std::to_string(lease.fence);
    if (lease.released_by != kNoCall && log_.calls[lease.released_by].answered <= call.asked)
      return broken("L4", lease.resource, "was renewed for " + who + " after it had released it",
                    {lease.released_by, number}, call.answered);
    // Copies, and renewals without an answer, may have kept it alive.
    if (!log_.about.lease_times || log_.about.repeats > 0 || !lease.doubtful.empty()) return;
    Time most = lease.upper + lease.ttl;
    CallNumber last = lease.call;
    for (const CallNumber other : lease.renewals) {
      if (other == number || log_.calls[other].asked > call.answered) continue;
      if (log_.calls[other].answered + log_.calls[other].left <= most) continue;
      most = log_.calls[other].answered + log_.calls[other].left;
      last = other;
    }
    if (most <= call.earliest())
      broken("L4", lease.resource, "was renewed for " + who + " after its lease had run out",
             {lease.call, last, number}, call.answered);
  }

  // As long as a lease lasts, a repeat answers its fence.
  void check_repeats() {
    const Lease* before = nullptr;
    for (const auto& [key, lease] : leases_) {
      const bool repeated = before && before->resource == lease.resource && before->owner == lease.owner &&
                            before->request == lease.request;
      if (repeated && lease.upper < before->until())
        broken("L1", lease.resource,
               "was granted to " + name(lease.owner) + " under fence " + std::to_string(before->fence) +
                   ", and its repeat answers " + std::to_string(lease.fence),
               {before->call, lease.call}, lease.upper);
      before = &lease;
    }
  }

  void check_leases() {
    std::map<Name, std::vector<const Lease*>> of;
    for (const auto& [key, lease] : leases_) of[lease.resource].push_back(&lease);
    for (auto& [resource, leases] : of) {
      check_fences(leases);
      check_overlaps(leases);
    }
  }

  void check_fences(std::vector<const Lease*>& leases) {
    std::map<std::int64_t, const Lease*> by_fence;
    std::sort(leases.begin(), leases.end(), [](const Lease* a, const Lease* b) {
      return std::tie(a->upper, a->fence) < std::tie(b->upper, b->fence);
    });
    for (const Lease* lease : leases) {
      const auto [seen, is_new] = by_fence.emplace(lease->fence, lease);
      if (!is_new && !(seen->second->shared && lease->shared)) {
        broken("L2", lease->resource,
               "was granted to " + name(seen->second->owner) + " and to " + name(lease->owner) + " under one fence, " +
                   std::to_string(lease->fence),
               {seen->second->call, lease->call}, lease->upper);
        return;
      }
      const Told* before = largest_before(lease->resource, lease->lower);
      if (!before || before->fence < lease->fence || (before->fence == lease->fence && before->shared && lease->shared))
        continue;
      broken("L2", lease->resource,
             "was granted under fence " + std::to_string(lease->fence) + " after " + std::to_string(before->fence),
             {before->call, lease->call}, lease->upper);
      return;
    }
  }

  // Two that hold it for certain at one moment; or one that was granted, whenever that was, while another held it.
  void check_overlaps(std::vector<const Lease*>& leases) {
    const Lease* longest = nullptr;  // of those before, by their answers
    const Lease* longest_shared = nullptr;
    for (const Lease* lease : leases) {
      for (const Lease* other : {longest, longest_shared}) {
        if (other && other->until() > lease->upper && lease->until() > lease->upper && meets(*other, *lease)) return;
      }
      keep_longest(lease, longest, longest_shared);
    }
    std::vector<const Lease*> by_lower = leases;
    std::sort(by_lower.begin(), by_lower.end(), [](const Lease* a, const Lease* b) { return a->lower < b->lower; });
    longest = longest_shared = nullptr;
    std::size_t next = 0;
    for (const Lease* lease : by_lower) {
      for (; next < leases.size() && leases[next]->upper <= lease->lower; ++next)
        keep_longest(leases[next], longest, longest_shared);
      for (const Lease* other : {longest, longest_shared}) {
        if (other && other != lease && other->until() > lease->upper && meets(*other, *lease)) return;
      }
    }
  }
  static void keep_longest(const Lease* lease, const Lease*& longest, const Lease*& longest_shared) {
    const Lease*& place = lease->shared ? longest_shared : longest;
    if (!place || lease->until() > place->until()) place = lease;
  }
  // Tells of two that overlap, unless they may. Whoever is not in the history may have broken the first one's lease; a
  // grant that says that it ran out tells that nobody did.
  bool meets(const Lease& first, const Lease& second) {
    if (first.shared && second.shared && first.fence == second.fence) return false;
    if (!log_.about.whole && second.from != first.owner) return false;
    broken(first.window ? "L6" : "L3", second.resource,
           "was granted to " + name(second.owner) + " under fence " + std::to_string(second.fence) + " while " +
               name(first.owner) + (first.window ? " had it to its end" : " held it") + " under fence " +
               std::to_string(first.fence),
           {first.call, first.renewed_by, second.call}, second.upper);
    return true;
  }

  std::string name(Name who) const { return who == 0 ? "someone" : std::string(log_.text(who)); }
  void broken(std::string promise, Name resource, const std::string& what, std::vector<CallNumber> calls,
              Time at) const {
    scene_.broken(std::move(promise), "lock " + log_.lock_text(resource) + " " + what, std::move(calls), 0, at);
  }

  const Scene& scene_;
  const CallLog& log_;
  std::map<LeaseKey, Lease> leases_;
  std::map<HoldingKey, LeaseKey> by_holding_;
  std::map<TryKey, Time> first_asked_;
  std::map<TryKey, std::vector<Lease*>> tries_;
  std::map<Name, bool> doubtful_owners_;  // with an acquire that has no answer
  std::map<Name, std::vector<Told>> told_;
};

}  // namespace

LockSums check_locks(const Scene& scene) { return Locks(scene).check(); }

}  // namespace fenceline::audit

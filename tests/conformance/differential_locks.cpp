#include "conformance/differential_locks.hpp"

#include <algorithm>
#include <set>

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLockBeat = 250ms;  // as in the rest of the stream: much ends at the very moment of a call
constexpr std::size_t kAskedMost = 60;
constexpr std::size_t kHeldMost = 100;

const std::vector<std::string> kLockNamespaces{"one", "two"};
const std::vector<std::string> kLockNames{"l", "m", "n/1"};
const std::vector<std::string> kBadLockNames{"", "#", "a{b}", std::string("n\0l", 3), "l#2", std::string(129, 'x')};
const Act kLockTester{"tester", "differential"};

void remember_lock(auto& items, const auto& item, std::size_t most) {
  items.push_back(item);
  if (items.size() > most) items.pop_front();
}

}  // namespace

void DifferentialLocks::step() {
  struct Choice {
    std::uint64_t weight;
    void (DifferentialLocks::*act)();
  };
  using L = DifferentialLocks;
  static const std::vector<Choice> choices{{40, &L::acquire}, {12, &L::renew}, {22, &L::release},  {6, &L::withdraw},
                                           {3, &L::locks},    {6, &L::lock},   {3, &L::break_lock}};
  std::uint64_t total = 0;
  for (const Choice& choice : choices) total += choice.weight;
  std::uint64_t picked = below(total);
  for (const Choice& choice : choices) {
    if (picked < choice.weight) return (this->*choice.act)();
    picked -= choice.weight;
  }
}

AcquireRequest DifferentialLocks::made_up() {
  const std::string number = std::to_string(++last_number_);
  AcquireRequest request{
      .ns = one_of(kLockNamespaces), .names = {one_of(kLockNames)}, .owner = "o" + number, .request = "t" + number};
  request.ttl = 1s + kLockBeat * static_cast<std::int64_t>(below(one_in(8) ? 60 : 8));
  request.wait = one_in(2);
  request.pattern = one_in(2) ? "item" : "p\xc3\xa9";
  request.place = "host:" + number;
  switch (below(10)) {
    case 0:
    case 1:
      request.names = {"s"};
      request.slots = static_cast<int>(1 + below(3));
      break;
    case 2:
    case 3: request.mode = LockMode::shared; break;
    case 4: {
      std::set<std::string> names;
      for (std::uint64_t i = 0; i < 2 + below(2); ++i) names.insert(one_in(4) ? "s" : one_of(kLockNames));
      request.names.assign(names.begin(), names.end());
      if (one_in(3)) request.mode = LockMode::shared;
      break;
    }
    case 5: request.to_its_end = true; break;
    case 6: request.hold_at_least = kLockBeat * static_cast<std::int64_t>(below(16)); break;
    case 7: request.delay = kLockBeat * static_cast<std::int64_t>(below(16)); break;
    default: break;
  }
  // Against the rule: another try of an owner that has asked before.
  if (!asked_.empty() && request.mode == LockMode::exclusive && one_in(20))
    request.owner = one_of_the_last(asked_, 10).owner;
  return request;
}

void DifferentialLocks::acquire() {
  AcquireRequest request = made_up();
  if (!asked_.empty() && one_in(2)) request = one_of_the_last(asked_, one_in(3) ? kAskedMost : 10);
  if (one_in(40)) {
    switch (below(6)) {
      case 0: request.names = {one_of(kBadLockNames)}; break;
      case 1: request.names = {"m", "l"}; break;
      case 2: request.ttl = one_in(2) ? 0s : 25h; break;
      case 3: request.slots = one_in(2) ? 0 : 1001; break;
      case 4: request.ns = "a b"; break;
      default: request.request = ""; break;
    }
  }
  send(request);
}

bool DifferentialLocks::waits(const AcquireRequest& request) {
  return std::ranges::any_of(look(request.ns, request.names.front()).waiters,
                             [&](const LockWaiter& waiter) { return waiter.owner == request.owner; });
}

bool DifferentialLocks::holds(const AcquireRequest& request) {
  const auto reply = oracle_.locks({.ns = request.ns, .limit = 1000});
  return reply && std::ranges::any_of(reply->locks, [&](const LockRow& row) {
           return std::ranges::any_of(row.holders,
                                      [&](const LockHolder& holder) { return holder.owner == request.owner; });
         });
}

LockRow DifferentialLocks::look(const std::string& ns, const std::string& resource) {
  const auto row = oracle_.lock(ns, resource);
  return row && *row ? **row : LockRow{};
}

void DifferentialLocks::send(const AcquireRequest& request) {
  const bool asked_before =
      std::ranges::any_of(asked_, [&](const AcquireRequest& earlier) { return earlier.request == request.request; });
  const bool waited = asked_before && waits(request);
  const bool held_before = asked_before && holds(request);
  const LockRow before = request.names.empty() ? LockRow{} : look(request.ns, request.names.front());
  const auto reply = both("acquire", text_of(request), [&](Store& store) { return store.acquire(request); });
  if (!asked_before && (reply || reply.error().code != Code::invalid)) remember_lock(asked_, request, kAskedMost);
  if (!reply) return;
  if (!reply->grants.empty()) {
    const bool joined = request.mode == LockMode::shared && !held_before && before.fence == reply->grants.front().fence;
    note_("acquire", held_before                        ? "repeat"
                     : joined                           ? "joined"
                     : request.mode == LockMode::shared ? "shared"
                                                        : "granted");
    if (joined) compare_lock(request.ns, reply->grants.front().resource);
    if (waited && !held_before) note_("acquire", "after_waiting");
    if (reply->grants.size() > 1) note_("acquire", "several");
    if (reply->grants.front().resource.contains('#')) note_("acquire", "slot");
    const LockRow after = look(request.ns, request.names.front());
    const auto waits = [](const LockRow& row) {
      return row.waiters_count > 0 ? row.waiters.front().owner : std::string();
    };
    if (!held_before && waits(before) != request.owner && waits(after) != waits(before)) note_("acquire", "passed_by");
    for (const LockGrant& grant : reply->grants) {
      if (!grant.previous_owner.empty()) note_("acquire", "forced");
      if (!held_before)
        remember_lock(held_, Remembered{request.ns, {grant.resource, request.owner, grant.fence}}, kHeldMost);
    }
    return;
  }
  note_("acquire", std::string(to_string(reply->held->reason)));
  if (reply->ahead > 0) note_("acquire", "ahead");
}

void DifferentialLocks::with_no_fences_left() {
  for (int i = 0; i < 2; ++i) {
    const auto request = made_up();
    both("acquire", text_of(request), [&](Store& store) { return store.acquire(request); });
  }
  const BreakRequest request{.ns = one_of(kLockNamespaces),
                             .resource = any_resource(),
                             .only = {},
                             .request = "b" + std::to_string(++last_number_),
                             .act = kLockTester};
  both("break_lock", request.ns + " " + request.resource, [&](Store& store) { return store.break_lock(request); });
}

std::string DifferentialLocks::any_resource() {
  if (one_in(4)) return "s" + (one_in(2) ? "#" + std::to_string(2 + below(3)) : "");
  return one_in(15) ? "never" : one_of(kLockNames);
}

std::vector<LockHolding> DifferentialLocks::some_locks(std::string& ns) {
  std::set<LockHolding> seen;
  std::vector<LockHolding> chosen;
  ns = one_of(kLockNamespaces);
  const std::uint64_t size = 1 + below(one_in(3) ? 5 : 1);
  for (std::uint64_t i = 0; i < size; ++i) {
    LockHolding lock{any_resource(), "o" + std::to_string(below(last_number_ + 1)), static_cast<Fence>(1 + below(9))};
    if (!held_.empty() && !one_in(20)) {
      const Remembered& remembered = one_of_the_last(held_, one_in(3) ? kHeldMost : 5);
      if (chosen.empty()) ns = remembered.ns;
      if (remembered.ns != ns) continue;
      lock = remembered.lock;
    }
    if (one_in(15)) lock.owner = "o" + std::to_string(below(last_number_ + 1));
    if (one_in(20)) lock.fence += one_in(2) ? 1 : -1;
    if (seen.insert(lock).second) chosen.push_back(lock);
  }
  if (!chosen.empty() && one_in(40)) chosen.push_back(chosen.front());
  return chosen;
}

void DifferentialLocks::renew() {
  RenewRequest request;
  request.locks = some_locks(request.ns);
  request.ttl = 1s + kLockBeat * static_cast<std::int64_t>(below(12));
  if (one_in(40)) request.ttl = one_in(2) ? 0s : 25h;
  const auto reply =
      both("renew", request.ns + text_of(request.locks), [&](Store& store) { return store.renew(request); });
  if (!reply) return;
  for (const LockRefusal& refusal : reply->refused) note_("renew", std::string(to_string(refusal.reason)));
  if (reply->refused.size() < request.locks.size()) note_("renew", reply->refused.empty() ? "ok" : "mixed");
}

void DifferentialLocks::release() {
  ReleaseRequest request;
  request.locks = some_locks(request.ns);
  if (one_in(40)) request.ns = "../x";
  const auto held = [&](const LockHolding& lock) {
    const LockRow row = look(request.ns, lock.resource);
    return row.fence == lock.fence &&
           std::ranges::any_of(row.holders, [&](const LockHolder& holder) { return holder.owner == lock.owner; });
  };
  std::vector<LockHolding> at_hand;
  std::ranges::copy_if(request.locks, std::back_inserter(at_hand), held);
  const auto reply =
      both("release", request.ns + text_of(request.locks), [&](Store& store) { return store.release(request); });
  if (!reply) return;
  for (const LockRefusal& refusal : reply->refused) note_("release", std::string(to_string(refusal.reason)));
  if (!reply->refused.empty() && reply->refused.size() < request.locks.size()) note_("release", "mixed");
  const std::size_t accepted = request.locks.size() - reply->refused.size();
  if (!at_hand.empty() && reply->refused.empty()) note_("release", "ok");
  if (accepted > at_hand.size()) note_("release", "repeat");
}

void DifferentialLocks::withdraw() {
  const bool known = !asked_.empty() && !one_in(6);
  const AcquireRequest acquire = known ? AcquireRequest(one_of_the_last(asked_, 12)) : made_up();
  WithdrawRequest request{.ns = acquire.ns,
                          .names = acquire.names,
                          .slots = acquire.slots,
                          .owner = acquire.owner,
                          .request = acquire.request,
                          .ttl = acquire.ttl};
  if (one_in(20)) request.ttl = 0s;
  const bool waited = waits(acquire);
  const bool held = holds(acquire);
  const auto reply = both("withdraw", text_of(acquire), [&](Store& store) { return store.withdraw(request); });
  if (!reply) return;
  if (!known) remember_lock(asked_, acquire, kAskedMost);  // it may still arrive
  note_("withdraw", waited                    ? "left_queue"
                    : held && !holds(acquire) ? "freed"
                    : held                    ? "stays"
                    : known                   ? "nothing"
                                              : "before_acquire");
}

void DifferentialLocks::compare_page_by_page(LocksRequest request) {
  for (;;) {
    const auto reply =
        both("locks", request.ns + " '" + request.prefix + "'", [&](Store& store) { return store.locks(request); });
    if (!reply) return;
    note_("locks", reply->locks.empty() ? "empty" : reply->next ? "more" : "last");
    if (!reply->next) return;
    request.after = *reply->next;
  }
}

void DifferentialLocks::locks() {
  LocksRequest request{.ns = one_of(kLockNamespaces), .held = one_in(2), .limit = static_cast<int>(1 + below(5))};
  if (one_in(3)) request.prefix = one_in(2) ? "s" : one_in(2) ? "s#" : "n/";
  if (one_in(10)) request.ns = "none";
  if (one_in(15)) request.limit = 0;
  compare_page_by_page(request);
}

void DifferentialLocks::compare_everything() {
  for (const std::string& ns : kLockNamespaces) compare_page_by_page({.ns = ns});
}

void DifferentialLocks::lock() {
  const std::string ns = one_in(20) ? "a b" : one_of(kLockNamespaces);
  compare_lock(ns, any_resource());
}

void DifferentialLocks::compare_lock(const std::string& ns, const std::string& resource) {
  const auto reply = both("lock", ns + " " + resource, [&](Store& store) { return store.lock(ns, resource); });
  if (!reply) return;
  if (!*reply) return note_("lock", "none");
  const LockRow& row = **reply;
  const bool alive = std::ranges::any_of(row.holders, [](const LockHolder& holder) { return holder.left > 0s; });
  note_("lock", alive ? "held" : row.free_in ? "barred_or_delayed" : row.holders.empty() ? "free" : "ran_out");
  if (row.waiters_count > 0) note_("lock", "waiters");
  if (row.holders_count > 1) note_("lock", "sharers");
}

void DifferentialLocks::break_lock() {
  BreakRequest request{.ns = one_of(kLockNamespaces),
                       .resource = any_resource(),
                       .only = {},
                       .request = "b" + std::to_string(++last_number_),
                       .act = kLockTester};
  const bool repeat = !breaks_.empty() && one_in(4);
  if (repeat) request = one_of_the_last(breaks_, 3);
  else if (one_in(2)) request.only = std::max<Fence>(1, look(request.ns, request.resource).fence - (one_in(3) ? 1 : 0));
  if (one_in(15)) request.act.actor = "";
  const Fence before = look(request.ns, request.resource).fence;
  const auto reply = both("break_lock", request.ns + " " + request.resource + " " + request.request,
                          [&](Store& store) { return store.break_lock(request); });
  if (!reply) return;
  note_("break_lock", reply->current > before ? "broken" : "repeat");
  if (!repeat) remember_lock(breaks_, request, 10);
}

}  // namespace fenceline::test

// What every store promises about the inventory of locks: what it shows, how an operator breaks one, what is malformed,
// and who is told.
#include <atomic>
#include <functional>

#include "conformance/conformance.hpp"
#include "support/comes_about.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> resources_of(const LocksReply& reply) {
  std::vector<std::string> resources;
  for (const LockRow& row : reply.locks) resources.push_back(row.resource);
  return resources;
}

TEST_P(LockConformance, ARowSaysWhoHoldsWhoWaitsAndForHowLong) {
  const WallTime at = wall();
  const LockHolding held = taken_by("a");
  let_time_pass(500ms);
  EXPECT_EQ(tried(waiting("w")), "held");
  EXPECT_EQ(lock_row(), (LockRow{.resource = "l",
                                 .fence = held.fence,
                                 .mode = LockMode::exclusive,
                                 .pattern = "item",
                                 .holders = {{"a", "host:a", at, kTtl - 500ms}},
                                 .holders_count = 1,
                                 .free_in = kTtl - 500ms,
                                 .waiters = {{"w", "host:w", at + 500ms, LockMode::exclusive}},
                                 .waiters_count = 1,
                                 .seen_at_gate = {}}));
  let_time_pass(kTtl);
  const LockRow ran_out = lock_row();
  ASSERT_EQ(ran_out.holders.size(), 1u);
  EXPECT_EQ(ran_out.holders[0].left, -500ms) << "nobody took over yet";
  EXPECT_FALSE(ran_out.free_in);
  EXPECT_EQ(released(held), "");
  const LockRow free = lock_row();
  EXPECT_EQ(free.fence, held.fence);
  EXPECT_TRUE(free.holders.empty());
  EXPECT_EQ(free.holders_count, 0);
}

TEST_P(LockConformance, ARowOfABarredOrDelayedLockSaysWhenItIsFree) {
  AcquireRequest barred = taking("a");
  barred.hold_at_least = 1h;
  EXPECT_EQ(released(taken(barred)), "");
  EXPECT_EQ(lock_row().free_in, 1h);
  EXPECT_EQ(lock_row().holders_count, 0);
  AcquireRequest delayed = taking("a", "m");
  delayed.delay = 5s;
  taken(delayed);
  EXPECT_EQ(lock_row("m").free_in, kTtl + 5s);
}

TEST_P(LockConformance, ARowShowsTheFirstPeopleAndCountsAll) {
  for (int i = 0; i < 12; ++i) {
    taken(sharing("s" + std::to_string(100 + i)));
    let_time_pass(kMoment);
  }
  taken(taking("h", "m"));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(tried(waiting("w" + std::to_string(100 + i), "m")), "held");
  const LockRow shared = lock_row();
  EXPECT_EQ(shared.holders_count, 12);
  ASSERT_EQ(shared.holders.size(), kLockPeopleShown);
  EXPECT_EQ(shared.holders.front().owner, "s100");
  EXPECT_EQ(shared.holders.back().owner, "s109");
  const LockRow waited = lock_row("m");
  EXPECT_EQ(waited.waiters_count, 12);
  ASSERT_EQ(waited.waiters.size(), kLockPeopleShown);
  EXPECT_EQ(waited.waiters.back().owner, "w109");
}

TEST_P(LockConformance, TheInventoryIsSortedAndComesInPages) {
  const std::vector<std::string> names{"a", "a-b", "a/b", "a/c", "aa", "b"};
  for (const char* name : {"b", "aa", "a/c", "a/b", "a-b", "a"}) EXPECT_EQ(released(taken_by("o", name)), "");
  EXPECT_EQ(resources_of(must(store().locks({.ns = "default"}))), names);
  std::vector<std::string> paged;
  LocksRequest request{.ns = "default", .limit = 2};
  for (int page = 0; page < 10; ++page) {
    const LocksReply reply = must(store().locks(request));
    EXPECT_LE(reply.locks.size(), 2u);
    for (const std::string& resource : resources_of(reply)) paged.push_back(resource);
    if (!reply.next) break;
    request.after = *reply.next;
  }
  EXPECT_EQ(paged, names);
  EXPECT_EQ(resources_of(must(store().locks({.ns = "default", .prefix = "a/"}))),
            (std::vector<std::string>{"a/b", "a/c"}));
  EXPECT_EQ(resources_of(must(store().locks({.ns = "default", .prefix = "aa"}))), std::vector<std::string>{"aa"});
  EXPECT_TRUE(must(store().locks({.ns = "default", .prefix = "c"})).locks.empty());
  EXPECT_TRUE(must(store().locks({.ns = "never"})).locks.empty());
}

TEST_P(LockConformance, TheInventoryOfWhatIsHeldHasBarredAndDelayedOnesToo) {
  EXPECT_EQ(released(taken_by("a", "free")), "");
  AcquireRequest barred = taking("a", "barred");
  barred.hold_at_least = 1h;
  EXPECT_EQ(released(taken(barred)), "");
  AcquireRequest delayed = taking("a", "delayed");
  delayed.delay = 1h;
  taken(delayed);
  taken_by("a", "ran-out");
  let_time_pass(kTtl);
  taken_by("a", "held");
  AcquireRequest window = taking("a", "window");
  window.to_its_end = true;
  taken(window);
  EXPECT_EQ(resources_of(must(store().locks({.ns = "default", .held = true}))),
            (std::vector<std::string>{"barred", "delayed", "held", "window"}));
  EXPECT_EQ(must(store().locks({.ns = "default"})).locks.size(), 6u);
}

TEST_P(LockConformance, SlotsAreRowsOfTheirOwnAndTheFirstHasTheWaiters) {
  AcquireRequest request = taking("a");
  request.slots = 2;
  taken(request);
  request = taking("b");
  request.slots = 2;
  taken(request);
  request = waiting("w");
  request.slots = 2;
  EXPECT_EQ(tried(request), "held");
  taken_by("o", "l/x");
  EXPECT_EQ(resources_of(must(store().locks({.ns = "default"}))), (std::vector<std::string>{"l", "l#2", "l/x"}));
  EXPECT_EQ(resources_of(must(store().locks({.ns = "default", .prefix = "l#"}))), std::vector<std::string>{"l#2"});
  EXPECT_EQ(lock_row("l").waiters_count, 1);
  EXPECT_EQ(lock_row("l#2").waiters_count, 0);
}

TEST_P(LockConformance, OfALockThatWasNeverHeldNothingIsKnown) {
  EXPECT_EQ(must(store().lock("default", "l")), std::nullopt);
  withdrawn(taking("a"));
  EXPECT_EQ(must(store().lock("default", "l")), std::nullopt);
  EXPECT_EQ(must(store().lock("never", "l")), std::nullopt);
}

TEST_P(LockConformance, ABreakEndsTheLeaseAtOnceUnderAFenceThatNobodyHas) {
  const LockHolding held = taken(taking("a"));
  const BreakReply reply = must(broken());
  EXPECT_EQ(reply.ended, held.fence);
  EXPECT_GT(reply.current, held.fence);
  EXPECT_EQ(renewed(held), "superseded");
  EXPECT_EQ(released(held), "superseded");
  const LockRow row = lock_row();
  EXPECT_EQ(row.fence, reply.current);
  EXPECT_EQ(row.holders_count, 0);
  EXPECT_FALSE(row.free_in);
  const AcquireReply next = must(store().acquire(taking("b")));
  ASSERT_EQ(next.grants.size(), 1u);
  EXPECT_GT(next.grants[0].fence, reply.current);
  EXPECT_EQ(next.grants[0].previous_owner, "");
}

TEST_P(LockConformance, ABreakEndsBarsDelaysAndSharedPhases) {
  AcquireRequest barred = taking("a", "barred");
  barred.hold_at_least = 1h;
  EXPECT_EQ(released(taken(barred)), "");
  AcquireRequest delayed = taking("a", "delayed");
  delayed.delay = 1h;
  taken(delayed);
  const LockHolding shared = taken(sharing("a", "shared"));
  taken(sharing("b", "shared"));
  let_time_pass(kTtl - kMoment);
  for (const char* name : {"barred", "delayed", "shared"}) {
    must(broken(name));
    EXPECT_EQ(tried(taking("c", name)), "granted") << name;
  }
  EXPECT_EQ(renewed(shared), "superseded");
}

TEST_P(LockConformance, ABreakStandsInTheTrailOnce) {
  const LockHolding held = taken(taking("a"));
  const BreakReply first = must(broken("l", std::nullopt, "break"));
  let_time_pass(1s);
  const BreakReply again = must(broken("l", std::nullopt, "break"));
  EXPECT_EQ(again.ended, first.ended);
  EXPECT_EQ(again.current, first.current);
  const std::vector<TrailEntry> entries = trail();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0],
            (TrailEntry{wall() - 1s, "default", "ann", "lock_broken", "l " + std::to_string(held.fence), "because"}));
}

TEST_P(LockConformance, ARepeatedBreakDoesNotEndTheLeaseOfTheNext) {
  taken(taking("a"));
  const BreakReply first = must(broken("l", std::nullopt, "break"));
  const LockHolding next = taken(taking("b"));
  const BreakReply again = must(broken("l", std::nullopt, "break"));
  EXPECT_EQ(again.ended, first.ended);
  EXPECT_EQ(again.current, first.current);
  EXPECT_EQ(renewed(next), "");
  EXPECT_EQ(trail().size(), 1u);
}

TEST_P(LockConformance, ABreakCanBeBoundToWhatTheOperatorSaw) {
  const LockHolding old = taken_by("a");
  let_time_pass(kTtl);
  const LockHolding held = taken_by("b");
  EXPECT_EQ(code_of(broken("l", old.fence)), Code::refused);
  EXPECT_EQ(renewed(held), "") << "it changed nothing";
  EXPECT_TRUE(trail().empty());
  EXPECT_EQ(must(broken("l", held.fence)).ended, held.fence);
}

TEST_P(LockConformance, ThereIsNothingToBreakOfALockThatIsFree) {
  EXPECT_EQ(code_of(broken()), Code::not_found);
  EXPECT_EQ(released(taken_by("a")), "");
  EXPECT_EQ(code_of(broken()), Code::not_found);
  taken_by("a", "m");
  let_time_pass(kTtl);
  EXPECT_EQ(code_of(broken("m")), Code::not_found) << "it ran out";
  EXPECT_EQ(code_of(broken("l#2")), Code::not_found);
  EXPECT_TRUE(trail().empty());
}

TEST_P(LockConformance, ABreakConcernsOneSlot) {
  AcquireRequest request = taking("a");
  request.slots = 2;
  const LockHolding one = taken(request);
  request = taking("b");
  request.slots = 2;
  const LockHolding two = taken(request);
  must(broken("l#2"));
  EXPECT_EQ(renewed(one), "");
  EXPECT_EQ(renewed(two), "superseded");
}

TEST_P(LockConformance, NamespacesHaveTheirOwnLocks) {
  const AcquireRequest here = taking("a");
  AcquireRequest there = here;
  there.ns = "other";
  const LockHolding held = taken(here);
  EXPECT_EQ(tried(there), "granted");
  EXPECT_EQ(must(store().release({.ns = "never", .locks = {held}})).refused.at(0).reason, Reason::not_found);
  must(store().remove_namespace("other", kAct));
  EXPECT_EQ(renewed(held), "");
  EXPECT_EQ(resources_of(must(store().locks({.ns = "default"}))), std::vector<std::string>{"l"});
  EXPECT_TRUE(must(store().locks({.ns = "other"})).locks.empty());
}

TEST_P(LockConformance, L4_AHolderInARemovedNamespaceHasLostItsLock) {
  const AcquireRequest request = taking("a");
  const LockHolding held = taken(request);
  EXPECT_EQ(tried(waiting("w")), "held");
  must(store().remove_namespace("default", kAct));
  EXPECT_EQ(renewed(held), "not_found");
  EXPECT_EQ(released(held), "not_found");
  EXPECT_EQ(taken_by("b").resource, "l") << "nobody waits any more";
}

TEST_P(LockConformance, AMalformedAcquireIsInvalidAndTakesNothing) {
  const auto with = [&](const std::function<void(AcquireRequest&)>& spoil) {
    AcquireRequest request = waiting("a");
    spoil(request);
    return tried(request);
  };
  using R = AcquireRequest;
  const std::vector<std::function<void(R&)>> wrong{
      [](R& r) { r.ns = "../x"; },
      [](R& r) { r.names = {}; },
      [](R& r) { r.names = {""}; },
      [](R& r) { r.names = {"a{b}"}; },
      [](R& r) { r.names = {std::string("a\0b", 3)}; },
      [](R& r) { r.names = {"a\nb"}; },
      [](R& r) { r.names = {"l#2"}; },
      [](R& r) { r.names = {std::string(65536, 'x')}; },
      [](R& r) {
        r.names = {"m", "l"};
      },
      [](R& r) {
        r.names = {"l", "l"};
      },
      [](R& r) {
        r.names.clear();
        for (char c = 'a'; c < 'a' + 17; ++c) r.names.emplace_back(1, c);
      },
      [](R& r) { r.owner = ""; },
      [](R& r) { r.request = ""; },
      [](R& r) { r.ttl = 0s; },
      [](R& r) { r.ttl = -1s; },
      [](R& r) { r.ttl = 500ms; },
      [](R& r) { r.ttl = 24h * 400; },
      [](R& r) { r.hold_at_least = -1s; },
      [](R& r) { r.hold_at_least = 25h; },
      [](R& r) { r.delay = 25h; },
      [](R& r) { r.slots = 0; },
      [](R& r) { r.slots = 1001; },
      [](R& r) {
        r.slots = 2, r.names = {"l", "m"};
      },
      [](R& r) { r.slots = 2, r.mode = LockMode::shared; },
      [](R& r) { r.to_its_end = true, r.mode = LockMode::shared; },
      [](R& r) { r.hold_at_least = 1s, r.mode = LockMode::shared; },
      [](R& r) { r.delay = 1s, r.mode = LockMode::shared; },
      [](R& r) { r.delay = 1s, r.to_its_end = true; },
      [](R& r) { r.place = std::string(257, 'x'); },
      [](R& r) { r.pattern = "\xff"; },
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) EXPECT_EQ(with(wrong[i]), "invalid") << i;
  EXPECT_TRUE(must(store().locks({.ns = "default"})).locks.empty());
}

TEST_P(LockConformance, WhatElseIsMalformedIsInvalidAndChangesNothing) {
  const LockHolding held = taken_by("a");
  const auto renewal = [&](std::vector<LockHolding> locks, Duration ttl) {
    return code_of(store().renew({.ns = "default", .locks = std::move(locks), .ttl = ttl}));
  };
  EXPECT_EQ(renewal({held}, 0s), Code::invalid);
  EXPECT_EQ(renewal({held}, 25h), Code::invalid);
  EXPECT_EQ(renewal({held, held}, 1h), Code::invalid);
  EXPECT_EQ(renewal({{"l#1", "a", 1}}, 1h), Code::invalid);
  EXPECT_EQ(renewal({{"l", "", 1}}, 1h), Code::invalid);
  EXPECT_EQ(code_of(store().release({.ns = "default", .locks = {held, held}})), Code::invalid);
  EXPECT_EQ(code_of(store().release({.ns = "a b", .locks = {held}})), Code::invalid);
  EXPECT_EQ(code_of(store().withdraw({.ns = "default", .names = {"l"}, .owner = "a", .request = "", .ttl = kTtl})),
            Code::invalid);
  EXPECT_EQ(code_of(store().withdraw({.ns = "default", .names = {"l"}, .owner = "a", .request = "r", .ttl = 0s})),
            Code::invalid);
  EXPECT_EQ(code_of(store().locks({.ns = "default", .limit = 0})), Code::invalid);
  EXPECT_EQ(code_of(store().locks({.ns = "default", .limit = 1001})), Code::invalid);
  EXPECT_EQ(code_of(store().locks({.ns = "default", .prefix = "a b"})), Code::invalid);
  EXPECT_EQ(code_of(store().lock("default", "a b")), Code::invalid);
  EXPECT_EQ(code_of(store().lock("a b", "l")), Code::invalid);
  EXPECT_EQ(code_of(broken("l#0")), Code::invalid);
  EXPECT_EQ(code_of(broken("l", 0)), Code::invalid);
  EXPECT_EQ(
      code_of(store().break_lock({.ns = "default", .resource = "l", .only = {}, .request = "r", .act = {"", ""}})),
      Code::invalid);
  EXPECT_EQ(renewal({}, 1h), std::nullopt) << "nothing is not wrong";
  let_time_pass(kTtl);
  EXPECT_EQ(tried(taking("b")), "granted") << "nothing was renewed";
}

TEST_P(LockConformance, AWatcherIsToldOfReleaseWithdrawalAndBreak) {
  std::atomic<int> told = 0;
  const auto watch = store().watch({.ns = "default", .queues = {}, .stage = "", .locks = {"l", "m"}}, [&] { ++told; });
  const auto tells = [&](const std::function<void()>& act) {
    const int before = told;
    act();
    return comes_about([&] { return told > before; });
  };
  // Somebody waits each time: a store need not speak to nobody.
  const LockHolding held = taken_by("a");
  const std::vector<AcquireRequest> waiters{waiting("w1"), waiting("w2"), waiting("w3"), waiting("w4")};
  for (const AcquireRequest& request : waiters) EXPECT_EQ(tried(request), "held");
  EXPECT_TRUE(tells([&] { EXPECT_EQ(released(held), ""); }));
  taken(waiters[0]);
  EXPECT_TRUE(tells([&] { withdrawn(waiters[0]); })) << "what it was granted is free";
  taken(waiters[1]);
  EXPECT_TRUE(tells([&] { withdrawn(waiters[2]); })) << "its queue became shorter";
  taken_by("b", "m");
  EXPECT_TRUE(tells([&] { must(broken("m")); }));
  std::vector<LockHolding> slots;
  for (const char* owner : {"s", "t", "u"}) {
    AcquireRequest slot = taking(owner, "m");
    slot.slots = 3;
    slots.push_back(taken(slot));
  }
  AcquireRequest waits = waiting("v", "m");
  waits.slots = 3;
  EXPECT_EQ(tried(waits), "held");
  EXPECT_TRUE(tells([&] { EXPECT_EQ(released(slots[1]), ""); })) << "a slot is of its name";
}

TEST_P(LockConformance, WhoHasALockOrWaitsForOneIsToldThatTheNamespaceIsRemoved) {
  std::atomic<int> held = 0, shared = 0, waited = 0;
  const auto follow = [&](const std::string& name, std::atomic<int>& told) {
    return store().watch({.ns = "default", .queues = {}, .stage = "", .locks = {name}}, [&told] { ++told; });
  };
  const auto first = follow("held", held), second = follow("shared", shared), third = follow("waited", waited);
  AcquireRequest slot = taking("a", "held");
  slot.slots = 2;
  taken(slot);
  slot = taking("b", "held");
  slot.slots = 2;
  const LockHolding second_slot = taken(slot);
  EXPECT_EQ(second_slot.resource, "held#2");
  taken(sharing("c", "shared"));
  AcquireRequest both = waiting("d", "held");
  both.names = {"held", "waited"};
  EXPECT_EQ(tried(both), "held");
  const int before[] = {held, shared, waited};
  must(store().remove_namespace("default", kAct));
  EXPECT_TRUE(comes_about([&] { return held > before[0] && shared > before[1] && waited > before[2]; }));
}

}  // namespace
}  // namespace fenceline::test

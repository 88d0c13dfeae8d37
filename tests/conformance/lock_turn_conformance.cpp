// What every store promises about those that want a lock together: turns of waiters, shared phases, and locks of
// several slots.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

AcquireRequest slot_of(AcquireRequest request, int slots) {
  request.slots = slots;
  return request;
}

AcquireRequest turn_lasting(AcquireRequest request, Duration ttl) {
  request.ttl = ttl;
  return request;
}

std::vector<std::string> owners_of(const std::vector<LockWaiter>& waiters) {
  std::vector<std::string> owners;
  for (const LockWaiter& waiter : waiters) owners.push_back(waiter.owner);
  return owners;
}

TEST_P(LockConformance, WaitersAreServedInTheOrderInWhichTheyCame) {
  LockHolding held = taken(turn_lasting(taking("h"), 1h));
  std::vector<AcquireRequest> waiters;
  for (const char* owner : {"c", "a", "b"}) {
    waiters.push_back(turn_lasting(waiting(owner), 1h));
    const AcquireReply reply = must(store().acquire(waiters.back()));
    EXPECT_EQ(reply.ahead, static_cast<std::int64_t>(waiters.size()) - 1);
    ASSERT_TRUE(reply.held);
    EXPECT_EQ(reply.held->reason, Reason::held);
  }
  EXPECT_EQ(owners_of(lock_row().waiters), (std::vector<std::string>{"c", "a", "b"}));
  for (std::size_t turn = 0; turn < waiters.size(); ++turn) {
    EXPECT_EQ(released(held), "");
    for (std::size_t i = waiters.size() - 1; i > turn; --i) {
      const AcquireReply reply = must(store().acquire(waiters[i]));
      EXPECT_TRUE(reply.grants.empty());
      ASSERT_TRUE(reply.held);
      EXPECT_EQ(*reply.held, (LockHeld{"l", Reason::turn, held.fence, "", ""}));
      EXPECT_EQ(reply.ahead, static_cast<std::int64_t>(i - turn));
      EXPECT_EQ(reply.again_in, static_cast<std::int64_t>(i - turn) * kLockTurn);
    }
    held = taken(waiters[turn]);
    EXPECT_EQ(lock_row().waiters_count, static_cast<std::int64_t>(waiters.size() - turn) - 1)
        << "who has it waits no longer";
  }
}

TEST_P(LockConformance, NothingIsGrantedToAWaiterThatDoesNotAsk) {
  const LockHolding held = taken_by("h");
  EXPECT_EQ(tried(waiting("w")), "held");
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(lock_row().holders_count, 0);
  EXPECT_FALSE(lock_row().free_in);
}

TEST_P(LockConformance, AWaiterThatDiedCostsThoseBehindItOneTurn) {
  const LockHolding held = taken(turn_lasting(taking("h"), 1h));
  const AcquireRequest dies = waiting("dies");
  const AcquireRequest next = waiting("next");
  const AcquireRequest last = waiting("last");
  for (const AcquireRequest& request : {dies, next, last}) EXPECT_EQ(tried(request), "held");
  let_time_pass(kMoment);
  EXPECT_EQ(released(held), "");
  let_time_pass(kLockTurn - kMoment);
  EXPECT_EQ(tried(next), "turn");
  let_time_pass(kMoment);
  EXPECT_EQ(tried(last), "turn");
  EXPECT_EQ(tried(next), "granted");
  EXPECT_EQ(owners_of(lock_row().waiters), (std::vector<std::string>{"last", "dies"}))
      << "it let its turn pass, and has a place, should it come back";
}

TEST_P(LockConformance, WaitersThatDiedCostATurnEachOnce) {
  LockHolding held = taken(turn_lasting(taking("h"), 1h));
  constexpr int kDead = 20;
  for (int i = 0; i < kDead; ++i) EXPECT_EQ(tried(waiting("dead" + std::to_string(i))), "held");
  std::vector<AcquireRequest> alive;
  for (const char* owner : {"a", "b", "c"}) {
    alive.push_back(turn_lasting(waiting(owner), 1h));
    EXPECT_EQ(tried(alive.back()), "held");
  }
  let_time_pass(kMoment);
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(must(store().acquire(alive[0])).again_in, kDead * kLockTurn);
  let_time_pass(kDead * kLockTurn);
  EXPECT_EQ(tried(alive[1]), "turn");
  held = taken(alive[0]);
  EXPECT_EQ(owners_of(lock_row().waiters), (std::vector<std::string>{"b", "c", "dead0", "dead1", "dead2", "dead3",
                                                                     "dead4", "dead5", "dead6", "dead7"}))
      << "in their order";
  EXPECT_EQ(lock_row().waiters_count, kDead + 2);
  EXPECT_EQ(released(held), "");
  held = taken(alive[1]);
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(tried(alive[2]), "granted") << "without a turn of theirs";
}

TEST_P(LockConformance, AWaiterThatAsksBeforeItsTurnKeepsItsPlaceAndOneThatDoesNotGoesToTheEnd) {
  const LockHolding held = taken(turn_lasting(taking("h"), 1h));
  const AcquireRequest dies = waiting("dies");
  const AcquireRequest slow = waiting("slow");
  const AcquireRequest next = turn_lasting(waiting("next"), 1h);
  const AcquireRequest last = waiting("last");
  for (const AcquireRequest& request : {dies, slow, next, last}) EXPECT_EQ(tried(request), "held");
  let_time_pass(kMoment);
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(tried(slow), "turn") << "heard of since it is free";
  let_time_pass(2 * kLockTurn);
  const LockHolding passed = taken(next);
  EXPECT_EQ(owners_of(lock_row().waiters), (std::vector<std::string>{"slow", "last", "dies"}));
  EXPECT_EQ(released(passed), "");
  EXPECT_EQ(tried(last), "turn");
  let_time_pass(kLockTurn);
  EXPECT_EQ(tried(last), "granted");
  EXPECT_EQ(owners_of(lock_row().waiters), (std::vector<std::string>{"dies", "slow"})) << "this time it did not ask";
}

TEST_P(LockConformance, WhoeverTakesOneOfSeveralFreeSlotsPassesNobodyForWhomThereIsAnother) {
  std::vector<LockHolding> held;
  for (const char* owner : {"h1", "h2"}) held.push_back(taken(slot_of(turn_lasting(taking(owner), 1h), 2)));
  std::vector<AcquireRequest> waiters;
  for (const char* owner : {"a", "b", "c", "d"}) {
    waiters.push_back(slot_of(turn_lasting(waiting(owner), 1h), 2));
    EXPECT_EQ(tried(waiters.back()), "held");
  }
  let_time_pass(kMoment);
  for (const LockHolding& lock : held) EXPECT_EQ(released(lock), "");
  EXPECT_EQ(tried(waiters[1]), "granted");
  EXPECT_EQ(owners_of(lock_row().waiters), (std::vector<std::string>{"a", "c", "d"}))
      << "the other slot is for the first";
  EXPECT_EQ(tried(waiters[2]), "turn");
  let_time_pass(kLockTurn);
  EXPECT_EQ(tried(waiters[2]), "granted");
  EXPECT_EQ(owners_of(lock_row().waiters), (std::vector<std::string>{"d", "a"})) << "now it let its turn pass";
}

TEST_P(LockConformance, OneThatWaitsForSeveralAndDiedGoesToTheEndOfTheQueueInWhichItWasPassed) {
  const LockHolding held = taken(turn_lasting(taking("h"), 1h));
  taken(turn_lasting(taking("x", "m"), 1h));
  AcquireRequest both = waiting("both");
  both.names = {"l", "m"};
  EXPECT_EQ(tried(both), "held");
  const AcquireRequest one = waiting("one");
  for (const AcquireRequest& request : {one, waiting("two"), waiting("three", "m")}) EXPECT_EQ(tried(request), "held");
  let_time_pass(kMoment);
  EXPECT_EQ(released(held), "");
  let_time_pass(kLockTurn);
  EXPECT_EQ(tried(one), "granted");
  EXPECT_EQ(owners_of(lock_row().waiters), (std::vector<std::string>{"two", "both"}));
  EXPECT_EQ(owners_of(lock_row("m").waiters), (std::vector<std::string>{"both", "three"}));
}

TEST_P(LockConformance, TurnsBeginWhenTheLockIsFreeHoweverItBecameFree) {
  taken_by("h");
  const AcquireRequest first = waiting("first");
  const AcquireRequest second = waiting("second");
  for (const AcquireRequest& request : {first, second}) EXPECT_EQ(tried(request), "held");
  EXPECT_EQ(must(store().acquire(second)).again_in, kTtl + kLockTurn) << "as far as is known now";
  let_time_pass(kTtl);
  EXPECT_EQ(tried(second), "turn");
  let_time_pass(kLockTurn);
  const LockHolding held = taken(second);
  AcquireRequest third = waiting("third");
  EXPECT_EQ(tried(third), "held");
  must(broken());
  EXPECT_EQ(tried(third), "turn") << "the first one still waits";
  EXPECT_EQ(tried(first), "granted");
}

TEST_P(LockConformance, AWaiterThatAsksNoMoreHasLeftTheQueue) {
  const LockHolding held = taken(turn_lasting(taking("h"), 1h));
  const AcquireRequest silent = waiting("silent");
  const AcquireRequest alive = waiting("alive");
  EXPECT_EQ(tried(silent), "held");
  EXPECT_EQ(tried(alive), "held");
  let_time_pass(kLockWaiterKeptFor - kMoment);
  EXPECT_EQ(must(store().acquire(alive)).ahead, 1);
  let_time_pass(kMoment);
  EXPECT_EQ(must(store().acquire(alive)).ahead, 0);
  EXPECT_EQ(owners_of(lock_row().waiters), std::vector<std::string>{"alive"});
  EXPECT_EQ(must(store().acquire(silent)).ahead, 1) << "it comes back as the last";
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(tried(silent), "turn");
  EXPECT_EQ(tried(alive), "granted");
}

TEST_P(LockConformance, ARequestThatDoesNotWaitComesAfterAllThatDo) {
  const LockHolding held = taken(turn_lasting(taking("h"), 1h));
  for (const char* owner : {"w1", "w2"}) EXPECT_EQ(tried(waiting(owner)), "held");
  EXPECT_EQ(released(held), "");
  const AcquireReply reply = must(store().acquire(taking("passes-by")));
  ASSERT_TRUE(reply.held);
  EXPECT_EQ(reply.held->reason, Reason::turn);
  EXPECT_EQ(reply.ahead, 2);
  EXPECT_EQ(reply.again_in, 2 * kLockTurn);
  EXPECT_EQ(lock_row().waiters_count, 2) << "it took no place";
  let_time_pass(2 * kLockTurn - kMoment);
  EXPECT_EQ(tried(taking("passes-by")), "turn");
  let_time_pass(kMoment);
  EXPECT_EQ(tried(taking("passes-by")), "granted");
}

TEST_P(LockConformance, OneThatWaitsForSeveralHoldsUpNobodyForEver) {
  const LockHolding held = taken(turn_lasting(taking("h"), 1h));
  taken(turn_lasting(taking("x", "m"), 1h));
  AcquireRequest both = waiting("both");
  both.names = {"l", "m"};
  const AcquireRequest one = waiting("one");
  EXPECT_EQ(tried(both), "held");
  EXPECT_EQ(tried(one), "held");
  EXPECT_EQ(released(held), "");
  const AcquireReply reply = must(store().acquire(both));
  ASSERT_TRUE(reply.held);
  EXPECT_EQ(reply.held->resource, "m");
  EXPECT_EQ(tried(one), "turn");
  let_time_pass(kLockTurn);
  EXPECT_EQ(tried(one), "granted");
  EXPECT_EQ(owners_of(lock_row().waiters), std::vector<std::string>{"both"});
  EXPECT_EQ(owners_of(lock_row("m").waiters), std::vector<std::string>{"both"});
}

TEST_P(LockConformance, SeveralAreGrantedWhenEachMayBeHad) {
  const LockHolding held = taken(turn_lasting(taking("h"), 1h));
  const LockHolding other = taken(turn_lasting(taking("h2", "m"), 1h));
  const AcquireRequest before = waiting("before", "m");
  EXPECT_EQ(tried(before), "held");
  AcquireRequest both = waiting("both");
  both.names = {"l", "m"};
  const AcquireReply first = must(store().acquire(both));
  EXPECT_EQ(first.ahead, 1) << "in that of its queues where they are most";
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(released(other), "");
  const AcquireReply reply = must(store().acquire(both));
  ASSERT_TRUE(reply.held);
  EXPECT_EQ(reply.held->resource, "m");
  EXPECT_EQ(reply.held->reason, Reason::turn);
  const LockHolding passed = taken(before);
  EXPECT_EQ(released(passed), "");
  EXPECT_EQ(all_taken(both).size(), 2u);
  EXPECT_EQ(lock_row().waiters_count + lock_row("m").waiters_count, 0);
}

TEST_P(LockConformance, AWithdrawalLeavesTheQueue) {
  const LockHolding held = taken(turn_lasting(taking("h"), 1h));
  const AcquireRequest first = waiting("first");
  const AcquireRequest second = waiting("second");
  EXPECT_EQ(tried(first), "held");
  EXPECT_EQ(tried(second), "held");
  withdrawn(first);
  EXPECT_EQ(lock_row().waiters_count, 1);
  EXPECT_EQ(tried(first), "refused");
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(tried(second), "granted");
}

TEST_P(LockConformance, AWaiterWaitsForABarAndADelayToo) {
  AcquireRequest barred = taking("h");
  barred.hold_at_least = 10s;
  EXPECT_EQ(released(taken(barred)), "");
  const AcquireRequest first = waiting("first");
  const AcquireRequest second = waiting("second");
  EXPECT_EQ(tried(first), "barred");
  EXPECT_EQ(must(store().acquire(second)).again_in, 10s + kLockTurn);
  let_time_pass(10s);
  EXPECT_EQ(tried(second), "turn") << "it has been free since the bar was over, not since the release";
  AcquireRequest delays = first;
  delays.delay = 5s;
  EXPECT_EQ(tried(delays), "granted");
  let_time_pass(kTtl);
  EXPECT_EQ(tried(second), "delayed");
  let_time_pass(5s);
  EXPECT_EQ(tried(second), "granted");
}

// Shared.

TEST_P(LockConformance, AllHoldersOfASharedPhaseHaveOneFence) {
  const LockHolding first = taken(sharing("a"));
  let_time_pass(1s);
  const LockHolding second = taken(sharing("b"));
  EXPECT_EQ(second.fence, first.fence);
  const AcquireReply reply = must(store().acquire(taking("x")));
  ASSERT_TRUE(reply.held);
  EXPECT_EQ(*reply.held, (LockHeld{"l", Reason::held, first.fence, "b", "host:b"})) << "the one whose lease ends last";
  EXPECT_EQ(reply.again_in, kTtl);
  EXPECT_EQ(lock_row().holders_count, 2);
  EXPECT_EQ(lock_row().mode, LockMode::shared);
}

TEST_P(LockConformance, ASharedRequestIsNotGrantedBesideAnExclusiveHolder) {
  const LockHolding held = taken_by("x");
  EXPECT_EQ(tried(sharing("a")), "held");
  EXPECT_EQ(released(held), "");
  EXPECT_GT(taken(sharing("a")).fence, held.fence);
}

TEST_P(LockConformance, APhaseEndsWithItsLastHolderAndTheNextHasAnotherFence) {
  const LockHolding first = taken(sharing("a"));
  const LockHolding second = taken(sharing("b"));
  EXPECT_EQ(released(first), "");
  EXPECT_EQ(released(first), "") << "a repeat within the phase";
  EXPECT_EQ(renewed(first), "released");
  EXPECT_EQ(tried(taking("x")), "held");
  EXPECT_EQ(renewed(second, 2 * kTtl), "");
  let_time_pass(kTtl);
  const LockHolding third = taken(sharing("c"));
  EXPECT_EQ(third.fence, second.fence);
  EXPECT_EQ(released(second), "");
  EXPECT_EQ(released(third), "");
  const LockHolding next = taken(sharing("d"));
  EXPECT_GT(next.fence, first.fence);
  EXPECT_EQ(released(third), "superseded");
  EXPECT_EQ(renewed(second), "superseded");
}

TEST_P(LockConformance, L4_ASharedLeaseThatRanOutIsNotRenewedThoughItsPhaseGoesOn) {
  const LockHolding dies = taken(sharing("dies"));
  const LockHolding lives = taken(turn_lasting(sharing("lives"), 1h));
  let_time_pass(kTtl);
  EXPECT_EQ(renewed(dies), "expired");
  EXPECT_EQ(renewed({"l", "stranger", lives.fence}), "other_owner");
  EXPECT_EQ(released({"l", "stranger", lives.fence}), "other_owner");
  EXPECT_EQ(renewed(lives), "");
  EXPECT_EQ(tried(taking("x")), "held");
}

TEST_P(LockConformance, APhaseWhoseLeasesRanOutIsOver) {
  const LockHolding first = taken(sharing("a"));
  let_time_pass(kTtl);
  const AcquireReply reply = must(store().acquire(sharing("b")));
  ASSERT_EQ(reply.grants.size(), 1u);
  EXPECT_GT(reply.grants[0].fence, first.fence);
  EXPECT_EQ(reply.grants[0].previous_owner, "a");
}

TEST_P(LockConformance, SharersThatAreOverAreForgottenThoughTheirPhaseGoesOn) {
  const LockHolding lives = taken(turn_lasting(sharing("lives"), 1h));
  const LockHolding left = taken(sharing("left"));
  const LockHolding died = taken(sharing("died"));
  const LockHolding kept = taken(sharing("kept"));
  EXPECT_EQ(renewed(kept, 1h), "");
  EXPECT_EQ(released(left), "");
  let_time_pass(2 * kTtl - kMoment);
  taken(turn_lasting(sharing("a"), 1h));
  EXPECT_EQ(renewed(left), "released");
  EXPECT_EQ(released(left), "") << "a repeat";
  EXPECT_EQ(renewed(died), "expired");
  EXPECT_EQ(lock_row().holders_count, 4);
  let_time_pass(kMoment);
  EXPECT_EQ(renewed(died), "expired") << "nobody joined since";
  taken(turn_lasting(sharing("b"), 1h));
  EXPECT_EQ(renewed(left), "other_owner");
  EXPECT_EQ(released(died), "other_owner");
  EXPECT_EQ(lock_row().holders_count, 4);
  EXPECT_EQ(renewed(lives), "");
  EXPECT_EQ(renewed(kept), "");
  EXPECT_EQ(tried(taking("x")), "held");
}

TEST_P(LockConformance, AnExclusiveWaiterStopsNewSharers) {
  const LockHolding held = taken(turn_lasting(sharing("a"), 1h));
  const AcquireRequest writer = waiting("writer");
  EXPECT_EQ(tried(writer), "held");
  AcquireRequest reader = sharing("b");
  reader.wait = true;
  const AcquireReply reply = must(store().acquire(reader));
  EXPECT_TRUE(reply.grants.empty());
  ASSERT_TRUE(reply.held);
  EXPECT_EQ(reply.held->reason, Reason::held);
  EXPECT_EQ(reply.held->owner, "a");
  EXPECT_EQ(reply.ahead, 1);
  EXPECT_EQ(tried(sharing("c")), "held");
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(tried(reader), "turn");
  const LockHolding written = taken(writer);
  EXPECT_EQ(released(written), "");
  EXPECT_GT(taken(reader).fence, written.fence);
}

TEST_P(LockConformance, AmongSharersNobodyWaitsForATurn) {
  const LockHolding held = taken(turn_lasting(taking("x"), 1h));
  std::vector<AcquireRequest> readers;
  for (const char* owner : {"a", "b", "c"}) {
    readers.push_back(sharing(owner));
    readers.back().wait = true;
    EXPECT_EQ(tried(readers.back()), "held");
  }
  EXPECT_EQ(released(held), "");
  const LockHolding last = taken(readers[2]);
  EXPECT_EQ(taken(readers[0]).fence, last.fence);
  EXPECT_EQ(tried(sharing("d")), "granted") << "nor does one that comes by, with a sharer waiting";
  EXPECT_EQ(taken(readers[1]).fence, last.fence);
}

TEST_P(LockConformance, AnExclusiveWaiterThatDiedStopsSharersForOneTurn) {
  const LockHolding held = taken(turn_lasting(sharing("a"), 1h));
  EXPECT_EQ(tried(waiting("dies")), "held");
  AcquireRequest reader = sharing("b");
  reader.wait = true;
  EXPECT_EQ(tried(reader), "held");
  EXPECT_EQ(released(held), "");
  let_time_pass(kLockTurn - kMoment);
  EXPECT_EQ(tried(reader), "turn");
  let_time_pass(kMoment);
  EXPECT_EQ(tried(reader), "granted");
}

// Several holders at a time.

TEST_P(LockConformance, OfSeveralSlotsTheFirstThatIsFreeIsGranted) {
  const LockHolding one = taken(slot_of(taking("a"), 3));
  const LockHolding two = taken(slot_of(taking("b"), 3));
  const LockHolding three = taken(slot_of(turn_lasting(taking("c"), 2 * kTtl), 3));
  EXPECT_EQ(one.resource, "l");
  EXPECT_EQ(two.resource, "l#2");
  EXPECT_EQ(three.resource, "l#3");
  const AcquireReply reply = must(store().acquire(slot_of(taking("d"), 3)));
  ASSERT_TRUE(reply.held);
  EXPECT_EQ(*reply.held, (LockHeld{"l", Reason::held, one.fence, "a", "host:a"}));
  EXPECT_EQ(released(two), "");
  EXPECT_EQ(taken(slot_of(taking("d"), 3)).resource, "l#2");
  let_time_pass(kTtl);
  EXPECT_EQ(taken(slot_of(taking("e"), 3)).resource, "l");
  EXPECT_EQ(taken(slot_of(taking("f"), 3)).resource, "l#2");
  EXPECT_EQ(tried(slot_of(taking("g"), 3)), "held");
}

TEST_P(LockConformance, L2_EachSlotHasFencesOfItsOwn) {
  const LockHolding one = taken(slot_of(taking("a"), 2));
  const LockHolding two = taken(slot_of(taking("b"), 2));
  EXPECT_EQ(released(two), "");
  EXPECT_GT(taken(slot_of(taking("b"), 2)).fence, two.fence);
  EXPECT_EQ(renewed(one), "") << "a grant of another slot supersedes nothing";
  EXPECT_EQ(renewed({"l#2", "a", one.fence}), "superseded");
  EXPECT_EQ(renewed({"l#3", "a", one.fence}), "not_found");
}

TEST_P(LockConformance, APlainRequestIsOneForTheFirstSlot) {
  taken(slot_of(taking("a"), 2));
  EXPECT_EQ(tried(taking("plain")), "held");
  const LockHolding two = taken(slot_of(taking("b"), 2));
  EXPECT_EQ(two.resource, "l#2");
  EXPECT_EQ(tried(slot_of(taking("c"), 3)), "granted") << "who asks says how many there are";
  EXPECT_EQ(released(two), "");
  EXPECT_EQ(tried(taking("plain")), "held");
}

TEST_P(LockConformance, OfSeveralFreeSlotsAsManyWaitersMayTakeOneAtOnce) {
  const LockHolding one = taken(slot_of(turn_lasting(taking("h1"), 1h), 2));
  const LockHolding two = taken(slot_of(turn_lasting(taking("h2"), 1h), 2));
  std::vector<AcquireRequest> waiters;
  for (const char* owner : {"a", "b", "c"}) {
    waiters.push_back(slot_of(waiting(owner), 2));
    EXPECT_EQ(tried(waiters.back()), "held");
  }
  EXPECT_EQ(released(one), "");
  EXPECT_EQ(tried(waiters[1]), "turn");
  EXPECT_EQ(released(two), "");
  const AcquireReply last = must(store().acquire(waiters[2]));
  EXPECT_EQ(last.held->reason, Reason::turn);
  EXPECT_EQ(last.again_in, kLockTurn);
  EXPECT_EQ(taken(waiters[1]).resource, "l");
  EXPECT_EQ(taken(waiters[0]).resource, "l#2");
  EXPECT_EQ(tried(waiters[2]), "held");
}

TEST_P(LockConformance, AWaiterForASlotThatDiedCostsOneTurn) {
  const LockHolding one = taken(slot_of(turn_lasting(taking("h1"), 1h), 2));
  taken(slot_of(turn_lasting(taking("h2"), 1h), 2));
  EXPECT_EQ(tried(slot_of(waiting("dies"), 2)), "held");
  const AcquireRequest next = slot_of(waiting("next"), 2);
  EXPECT_EQ(tried(next), "held");
  EXPECT_EQ(released(one), "");
  let_time_pass(kLockTurn - kMoment);
  EXPECT_EQ(tried(next), "turn");
  let_time_pass(kMoment);
  EXPECT_EQ(taken(next).resource, "l");
}

TEST_P(LockConformance, ARepeatedAcquireOfASlotHasTheSameSlot) {
  taken(slot_of(taking("a"), 3));
  const AcquireRequest request = slot_of(taking("b"), 3);
  const LockHolding slot = taken(request);
  EXPECT_EQ(taken(request), slot);
  EXPECT_EQ(released(slot), "");
  EXPECT_EQ(tried(request), "lost");
  withdrawn(request);
  EXPECT_EQ(tried(request), "refused");
}

}  // namespace
}  // namespace fenceline::test

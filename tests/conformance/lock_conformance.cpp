// What every store promises about a lock and its holder: who has it, under which fence, until when, and what becomes of
// what others say.
#include <algorithm>
#include <stdexcept>

#include "conformance/conformance.hpp"

namespace fenceline::test {

using namespace std::chrono_literals;

AcquireRequest LockConformance::taking(const std::string& owner, const std::string& name) {
  return {.ns = "default",
          .names = {name},
          .owner = owner,
          .request = "try-" + std::to_string(++last_try_),
          .ttl = kTtl,
          .pattern = "item",
          .place = "host:" + owner};
}

AcquireRequest LockConformance::waiting(const std::string& owner, const std::string& name) {
  AcquireRequest request = taking(owner, name);
  request.wait = true;
  return request;
}

AcquireRequest LockConformance::sharing(const std::string& owner, const std::string& name) {
  AcquireRequest request = taking(owner, name);
  request.mode = LockMode::shared;
  return request;
}

std::string LockConformance::tried(const AcquireRequest& request) {
  const Result<AcquireReply> reply = store().acquire(request);
  if (!reply) return std::string(to_string(reply.error().code));
  if (!reply->grants.empty()) return "granted";
  return reply->held ? std::string(to_string(reply->held->reason)) : "neither granted nor held";
}

std::vector<LockHolding> LockConformance::all_taken(const AcquireRequest& request) {
  std::vector<LockHolding> taken;
  for (const LockGrant& grant : must(store().acquire(request)).grants)
    taken.push_back({grant.resource, request.owner, grant.fence});
  if (taken.size() != request.names.size()) throw std::runtime_error(request.owner + " could not have the lock");
  return taken;
}

LockHolding LockConformance::taken(const AcquireRequest& request) { return all_taken(request).at(0); }

std::string LockConformance::renewed(const LockHolding& lock, Duration ttl) {
  const RenewReply reply = must(store().renew({.ns = "default", .locks = {lock}, .ttl = ttl}));
  return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
}

std::string LockConformance::released(const LockHolding& lock) {
  const ReleaseReply reply = must(store().release({.ns = "default", .locks = {lock}}));
  return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
}

void LockConformance::withdrawn(const AcquireRequest& request) {
  must(store().withdraw({.ns = request.ns,
                         .names = request.names,
                         .slots = request.slots,
                         .owner = request.owner,
                         .request = request.request,
                         .ttl = request.ttl}));
}

LockRow LockConformance::lock_row(const std::string& resource) {
  std::optional<LockRow> row = must(store().lock("default", resource));
  if (!row) throw std::runtime_error("unknown lock " + resource);
  return *row;
}

Result<BreakReply> LockConformance::broken(const std::string& resource, std::optional<Fence> only,
                                           const std::string& request) {
  return store().break_lock({.ns = "default",
                             .resource = resource,
                             .only = only,
                             .request = request.empty() ? "break-" + std::to_string(++last_try_) : request,
                             .act = kAct});
}

namespace {

AcquireRequest lasting(AcquireRequest request, Duration ttl) {
  request.ttl = ttl;
  return request;
}

AcquireRequest to_its_end(AcquireRequest request) {
  request.to_its_end = true;
  return request;
}

AcquireRequest at_least(AcquireRequest request, Duration time) {
  request.hold_at_least = time;
  return request;
}

AcquireRequest delaying(AcquireRequest request, Duration time) {
  request.delay = time;
  return request;
}

TEST_P(LockConformance, L1_AFreeLockIsGrantedWithAFenceAndItsWholeTtl) {
  const AcquireReply reply = must(store().acquire(taking("a")));
  ASSERT_EQ(reply.grants.size(), 1u);
  EXPECT_EQ(reply.grants[0].resource, "l");
  EXPECT_GE(reply.grants[0].fence, wall().time_since_epoch().count());
  EXPECT_EQ(reply.grants[0].previous_owner, "");
  EXPECT_EQ(reply.left, kTtl);
  EXPECT_FALSE(reply.held);
  EXPECT_FALSE(reply.again_in);
}

TEST_P(LockConformance, L3_AHeldLockIsNotGrantedAndItSaysByWhomAndForHowLong) {
  const LockHolding held = taken_by("a");
  let_time_pass(500ms);
  const AcquireReply reply = must(store().acquire(taking("b")));
  EXPECT_TRUE(reply.grants.empty());
  ASSERT_TRUE(reply.held);
  EXPECT_EQ(*reply.held, (LockHeld{"l", Reason::held, held.fence, "a", "host:a"}));
  EXPECT_EQ(reply.again_in, kTtl - 500ms);
  EXPECT_EQ(reply.ahead, 0);
  EXPECT_EQ(must(store().lock("default", "l"))->waiters_count, 0) << "it did not ask to wait";
}

TEST_P(LockConformance, L3_TheSameOwnerInAnotherTryIsSomebodyElse) {
  taken_by("a");
  EXPECT_EQ(tried(taking("a")), "held");
}

TEST_P(LockConformance, L3_ALeaseIsHeldToItsLastMomentAndNoLonger) {
  const LockHolding first = taken_by("a");
  let_time_pass(kTtl - kMoment);
  EXPECT_EQ(tried(taking("b")), "held");
  let_time_pass(kMoment);
  const AcquireReply reply = must(store().acquire(taking("b")));
  ASSERT_EQ(reply.grants.size(), 1u);
  EXPECT_GT(reply.grants[0].fence, first.fence);
  EXPECT_EQ(reply.grants[0].previous_owner, "a");
}

TEST_P(LockConformance, L3_TheStoresWallClockEndsNoLease) {
  taken_by("a");
  set_wall(wall() + 1h);
  EXPECT_EQ(tried(taking("b")), "held");
  set_wall(wall() - 2h);
  let_time_pass(kTtl - kMoment);
  EXPECT_EQ(tried(taking("b")), "held");
  let_time_pass(kMoment);
  EXPECT_EQ(tried(taking("b")), "granted");
}

TEST_P(LockConformance, L2_TheFenceGrowsOverReleaseExpiryAndBreakThoughTheClockIsSetBack) {
  const LockHolding first = taken_by("a");
  EXPECT_EQ(released(first), "");
  set_wall(wall() - 24h);
  const AcquireReply after_release = must(store().acquire(taking("b")));
  EXPECT_GT(after_release.grants.at(0).fence, first.fence);
  EXPECT_EQ(after_release.grants.at(0).previous_owner, "") << "it was released";
  let_time_pass(kTtl);
  const LockHolding third = taken_by("c");
  EXPECT_GT(third.fence, after_release.grants[0].fence);
  const BreakReply broke = must(broken());
  EXPECT_EQ(broke.ended, third.fence);
  EXPECT_GT(broke.current, third.fence);
  EXPECT_GT(taken_by("d").fence, broke.current);
}

TEST_P(LockConformance, L2_TheFenceGrowsOverDeletionAndRemovalOfTheNamespace) {
  const LockHolding first = taken_by("a");
  EXPECT_EQ(released(first), "");
  let_time_pass(kFreeLockKeptFor);
  EXPECT_EQ(tidied(), 1);
  EXPECT_EQ(must(store().lock("default", "l")), std::nullopt);
  set_wall(wall() - 24h);
  const LockHolding second = taken_by("b");
  EXPECT_GT(second.fence, first.fence);
  must(store().remove_namespace("default", kAct));
  EXPECT_EQ(must(store().lock("default", "l")), std::nullopt);
  set_wall(wall() - 24h);
  EXPECT_GT(taken_by("c").fence, second.fence);
  must(store().remove_namespace("default", kAct));
  EXPECT_GT(taken_by("c", "never-held").fence, second.fence) << "the floor is the whole store's";
}

TEST_P(LockConformance, L2_ALockIsForgottenAfterItsTimeAndNotBefore) {
  EXPECT_EQ(released(taken_by("a")), "");
  const LockHolding runs_out = taken_by("a", "m");
  let_time_pass(kTtl);
  taken(delaying(taking("a", "n"), 1h));
  let_time_pass(kFreeLockKeptFor - kTtl - kMoment);
  EXPECT_EQ(tidied(), 0);
  let_time_pass(kMoment);
  EXPECT_EQ(tidied(), 1);
  let_time_pass(kTtl);
  EXPECT_EQ(tidied(), 1) << "one that ran out is free since then";
  EXPECT_EQ(renewed(runs_out), "not_found");
  EXPECT_EQ(released(runs_out), "not_found");
  let_time_pass(1h + kFreeLockKeptFor - kTtl - kMoment);
  const std::int64_t early = tidied();
  let_time_pass(kTtl + kMoment);
  EXPECT_EQ(early + tidied(), 1) << "its delay counts as held";
}

TEST_P(LockConformance, L2_ALockSomebodyWaitsForIsNotForgotten) {
  EXPECT_EQ(released(taken_by("a")), "");
  taken(lasting(taking("h", "m"), 24h));
  let_time_pass(kFreeLockKeptFor - 10s);
  AcquireRequest both = waiting("w");
  both.names = {"l", "m"};
  EXPECT_EQ(tried(both), "held");
  let_time_pass(10s);
  EXPECT_EQ(tidied(), 0);
  let_time_pass(kLockWaiterKeptFor);
  EXPECT_EQ(tidied(), 1) << "it has left";
}

TEST_P(LockConformance, L2_ATidyOfLocksGoesInBoundedStepsTheLongestFreeFirst) {
  for (const char* name : {"c", "a", "b"}) {
    EXPECT_EQ(released(taken_by("o", name)), "");
    let_time_pass(1s);
  }
  let_time_pass(kFreeLockKeptFor);
  TidyReply reply = must(store().tidy({.ns = "default", .limit = 2}));
  EXPECT_EQ(reply.removed, 2);
  EXPECT_TRUE(reply.more);
  const LocksReply left = must(store().locks({.ns = "default"}));
  ASSERT_EQ(left.locks.size(), 1u);
  EXPECT_EQ(left.locks[0].resource, "b");
  reply = must(store().tidy({.ns = "default", .limit = 2}));
  EXPECT_EQ(reply.removed, 1);
  EXPECT_FALSE(reply.more);
}

TEST_P(LockConformance, L2_EveryGrantAndEveryBreakIsAboveTheFloor) {
  EXPECT_EQ(released(taken_by("a")), "");
  taken_by("a", "m");
  const Fence floor = (wall() + 1h).time_since_epoch().count();
  must(store().raise_floor({.ns = "default", .floor = floor, .act = kAct}));
  EXPECT_EQ(taken_by("b").fence, floor + 1) << "also one that had a fence";
  EXPECT_EQ(must(broken("m")).current, floor + 1);
  EXPECT_EQ(taken_by("b", "new").fence, floor + 1);
}

TEST_P(LockConformance, L2_FencesThatAreUsedUpRefuseAndTakeNothing) {
  const LockHolding held = taken(lasting(taking("a", "held"), 1h));
  const WallTime real = wall();
  set_wall(WallTime{Duration{kFenceMax}} + 1s);
  EXPECT_EQ(tried(taking("a")), "refused");
  EXPECT_EQ(code_of(broken("held")), Code::refused);
  EXPECT_EQ(renewed(held, 1h), "") << "needs none";
  set_wall(real);
  EXPECT_EQ(tried(taking("b")), "granted");
  EXPECT_EQ(released(held), "") << "what was refused changed nothing";
  EXPECT_TRUE(trail().empty());
}

TEST_P(LockConformance, L4_ARenewalStartsTheTtlAgainUnderTheSameFence) {
  const LockHolding held = taken_by("a");
  let_time_pass(kTtl - kMoment);
  const RenewReply reply = must(store().renew({.ns = "default", .locks = {held}, .ttl = 3 * kTtl}));
  EXPECT_TRUE(reply.refused.empty());
  EXPECT_EQ(reply.left, 3 * kTtl);
  EXPECT_EQ(lock_row().fence, held.fence);
  let_time_pass(3 * kTtl - kMoment);
  EXPECT_EQ(tried(taking("b")), "held");
  let_time_pass(kMoment);
  EXPECT_EQ(tried(taking("b")), "granted");
}

TEST_P(LockConformance, L4_AnExpiredLeaseIsNeverRenewedThoughNobodyTookOver) {
  const LockHolding held = taken_by("a");
  let_time_pass(kTtl);
  const RenewReply reply = must(store().renew({.ns = "default", .locks = {held}, .ttl = kTtl}));
  ASSERT_EQ(reply.refused.size(), 1u);
  EXPECT_EQ(reply.refused[0], (LockRefusal{held, held.fence, Reason::expired}));
  EXPECT_EQ(renewed(held), "expired");
  EXPECT_EQ(tried(taking("b")), "granted");
}

TEST_P(LockConformance, L4_RenewAndReleaseByAnyoneElseChangeNothing) {
  const LockHolding old = taken_by("a");
  let_time_pass(kTtl);
  const LockHolding held = taken_by("b");
  const LockHolding by_name{"l", "x", held.fence};
  const LockHolding by_fence{"l", "b", held.fence + 1};
  const LockHolding nowhere{"m", "b", held.fence};
  for (const auto& [lock, reason] :
       {std::pair(old, "superseded"), {by_name, "other_owner"}, {by_fence, "superseded"}, {nowhere, "not_found"}}) {
    EXPECT_EQ(renewed(lock, 1h), reason);
    EXPECT_EQ(released(lock), reason);
  }
  const ReleaseReply reply = must(store().release({.ns = "default", .locks = {old, nowhere}}));
  ASSERT_EQ(reply.refused.size(), 2u);
  EXPECT_EQ(reply.refused[0], (LockRefusal{old, held.fence, Reason::superseded}));
  EXPECT_EQ(reply.refused[1], (LockRefusal{nowhere, 0, Reason::not_found}));
  EXPECT_EQ(tried(taking("c")), "held");
  let_time_pass(kTtl);
  EXPECT_EQ(tried(taking("c")), "granted") << "no renewal moved its end";
}

TEST_P(LockConformance, L4_AReleaseFreesAtOnceAndItsRepeatIsOkUntilSomebodyHasIt) {
  const LockHolding held = taken_by("a");
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(renewed(held), "released");
  const LockHolding next = taken_by("b");
  EXPECT_EQ(released(held), "superseded");
  EXPECT_EQ(renewed(held), "superseded");
  EXPECT_EQ(tried(taking("c")), "held");
  EXPECT_EQ(released(next), "");
}

TEST_P(LockConformance, L4_ALeaseThatRanOutCanBeReleased) {
  const LockHolding held = taken_by("a");
  let_time_pass(2 * kTtl);
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(must(store().acquire(taking("b"))).grants.at(0).previous_owner, "") << "it was released in the end";
}

TEST_P(LockConformance, L4_OfOneCallEachLockIsAnsweredForItself) {
  const LockHolding good = taken_by("a");
  const LockHolding gone = taken_by("a", "m");
  EXPECT_EQ(released(gone), "");
  taken_by("b", "m");
  const LockHolding never{"n", "a", 1};
  const RenewReply reply = must(store().renew({.ns = "default", .locks = {never, good, gone}, .ttl = 2 * kTtl}));
  ASSERT_EQ(reply.refused.size(), 2u);
  EXPECT_EQ(reply.refused[0].sent, never);
  EXPECT_EQ(reply.refused[1].sent, gone);
  let_time_pass(kTtl);
  EXPECT_EQ(tried(taking("c")), "held") << "the others were renewed";
}

TEST_P(LockConformance, L6_AWindowIsGrantedToNobodyElseNorToItsOwnerAgain) {
  const LockHolding window = taken(to_its_end(taking("a")));
  EXPECT_EQ(renewed(window), "to_its_end");
  EXPECT_EQ(released(window), "to_its_end");
  let_time_pass(kTtl - kMoment);
  EXPECT_TRUE(must(store().acquire(to_its_end(taking("a")))).grants.empty());
  const AcquireReply others = must(store().acquire(to_its_end(taking("b"))));
  EXPECT_TRUE(others.grants.empty());
  ASSERT_TRUE(others.held);
  EXPECT_EQ(others.held->owner, "a");
  EXPECT_EQ(others.again_in, std::max<Duration>(kMoment, 1ms));
  let_time_pass(kMoment);
  EXPECT_GT(taken(to_its_end(taking("a"))).fence, window.fence);
}

TEST_P(LockConformance, L6_OnlyABreakEndsAWindowSooner) {
  const AcquireRequest request = to_its_end(lasting(taking("a"), 1h));
  const LockHolding window = taken(request);
  withdrawn(request);
  EXPECT_NE(tried(taking("b")), "granted") << "what was granted to be held to its end stays";
  EXPECT_EQ(must(broken()).ended, window.fence);
  EXPECT_EQ(tried(taking("b")), "granted");
  EXPECT_EQ(released(window), "superseded");
}

TEST_P(LockConformance, L6_AWindowOutlivesTheProcess) {
  taken(to_its_end(lasting(taking("a"), 1h)));
  const LockHolding plain = taken(lasting(taking("a", "m"), 1h));
  EXPECT_EQ(released(taken(at_least(taking("a", "n"), 1h))), "");
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_NE(tried(taking("a")), "granted");
  EXPECT_EQ(tried(taking("b", "m")), "held");
  EXPECT_EQ(tried(taking("b", "n")), "barred");
  EXPECT_EQ(renewed(plain), "");
}

TEST_P(LockConformance, HoldAtLeastBarsEverybodyFromTheGrantOnThoughItWasReleased) {
  const LockHolding held = taken(at_least(taking("a"), 5s));
  let_time_pass(1s);
  EXPECT_EQ(released(held), "");
  const AcquireReply reply = must(store().acquire(taking("a")));
  ASSERT_TRUE(reply.held);
  EXPECT_EQ(*reply.held, (LockHeld{"l", Reason::barred, held.fence, "", ""}));
  EXPECT_EQ(reply.again_in, 4s);
  let_time_pass(4s - kMoment);
  EXPECT_EQ(tried(taking("b")), "barred");
  let_time_pass(kMoment);
  EXPECT_EQ(must(store().acquire(taking("b"))).grants.at(0).previous_owner, "");
}

TEST_P(LockConformance, HoldAtLeastBarsAlsoIfTheLeaseRanOut) {
  taken(at_least(taking("a"), 3 * kTtl));
  let_time_pass(kTtl);
  EXPECT_EQ(tried(taking("b")), "barred");
  let_time_pass(2 * kTtl);
  EXPECT_EQ(must(store().acquire(taking("b"))).grants.at(0).previous_owner, "a");
}

TEST_P(LockConformance, HoldAtLeastDoesNotMoveWithARenewal) {
  const LockHolding held = taken(at_least(taking("a"), kTtl + 1s));
  let_time_pass(1s);
  EXPECT_EQ(renewed(held), "");
  let_time_pass(kTtl);
  EXPECT_EQ(tried(taking("b")), "granted");
}

TEST_P(LockConformance, ADelayFollowsALeaseThatRanOutAndNoneThatWasReleased) {
  const LockHolding dies = taken(delaying(taking("a"), 5s));
  let_time_pass(kTtl - kMoment);
  const AcquireReply while_held = must(store().acquire(taking("b")));
  ASSERT_TRUE(while_held.held);
  EXPECT_EQ(while_held.held->reason, Reason::held);
  EXPECT_EQ(while_held.again_in, kMoment + 5s);
  let_time_pass(kMoment);
  const AcquireReply reply = must(store().acquire(taking("a")));
  ASSERT_TRUE(reply.held);
  EXPECT_EQ(*reply.held, (LockHeld{"l", Reason::delayed, dies.fence, "", ""}));
  EXPECT_EQ(reply.again_in, 5s);
  let_time_pass(5s - kMoment);
  EXPECT_EQ(tried(taking("b")), "delayed");
  let_time_pass(kMoment);
  const LockHolding clean = taken(delaying(taking("b"), 5s));
  EXPECT_EQ(released(clean), "");
  EXPECT_EQ(tried(taking("c")), "granted");
}

TEST_P(LockConformance, ADelayMovesWithARenewal) {
  const LockHolding held = taken(delaying(taking("a"), 5s));
  let_time_pass(1s);
  EXPECT_EQ(renewed(held, 2 * kTtl), "");
  let_time_pass(2 * kTtl);
  EXPECT_EQ(tried(taking("b")), "delayed");
  let_time_pass(5s - kMoment);
  EXPECT_EQ(tried(taking("b")), "delayed");
  let_time_pass(kMoment);
  EXPECT_EQ(tried(taking("b")), "granted");
}

TEST_P(LockConformance, SeveralAtOnceAreGrantedAllOrNone) {
  AcquireRequest request = taking("a");
  request.names = {"l", "m", "n"};
  taken_by("x", "m");
  const AcquireReply refused = must(store().acquire(request));
  EXPECT_TRUE(refused.grants.empty());
  ASSERT_TRUE(refused.held);
  EXPECT_EQ(refused.held->resource, "m") << "the first of its names that is not to be had";
  EXPECT_EQ(tried(taking("b", "l")), "granted") << "nothing of it was taken";
  EXPECT_EQ(tried(taking("b", "n")), "granted");
  let_time_pass(kTtl);
  const AcquireReply all = must(store().acquire(request));
  ASSERT_EQ(all.grants.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(all.grants[i].resource, request.names[i]);
  EXPECT_EQ(all.grants[1].previous_owner, "x");
  for (const char* name : {"l", "m", "n"}) EXPECT_EQ(tried(taking("b", name)), "held");
}

TEST_P(LockConformance, SeveralAtOnceAreRenewedAndReleasedEachForItself) {
  AcquireRequest request = taking("a");
  request.names = {"l", "m"};
  const std::vector<LockHolding> held = all_taken(request);
  EXPECT_TRUE(must(store().renew({.ns = "default", .locks = held, .ttl = 2 * kTtl})).refused.empty());
  let_time_pass(kTtl);
  EXPECT_EQ(released(held[0]), "");
  EXPECT_EQ(tried(taking("b", "l")), "granted");
  EXPECT_EQ(tried(taking("b", "m")), "held");
}

TEST_P(LockConformance, L1_ARepeatedAcquireHasTheSameGrantsAndWhatIsLeft) {
  AcquireRequest request = taking("a");
  request.names = {"l", "m"};
  const AcquireReply first = must(store().acquire(request));
  ASSERT_EQ(first.grants.size(), 2u);
  let_time_pass(1s);
  AcquireReply again = must(store().acquire(request));
  EXPECT_EQ(again.grants, first.grants);
  EXPECT_EQ(again.left, kTtl - 1s);
  EXPECT_TRUE(
      must(store().renew({.ns = "default", .locks = {{"l", "a", first.grants[0].fence}}, .ttl = 1h})).refused.empty());
  again = must(store().acquire(request));
  EXPECT_EQ(again.grants, first.grants);
  EXPECT_EQ(again.left, kTtl - 1s) << "of the lease that ends first";
  let_time_pass(kTtl - 1s);
  EXPECT_EQ(tried(request), "lost");
  EXPECT_EQ(tried(taking("b", "m")), "granted") << "a repeat renewed nothing";
}

TEST_P(LockConformance, L1_ARepeatedAcquireSaysWhoseLeaseRanOut) {
  taken_by("dies");
  let_time_pass(kTtl);
  const AcquireRequest request = taking("a");
  EXPECT_EQ(must(store().acquire(request)).grants.at(0).previous_owner, "dies");
  EXPECT_EQ(must(store().acquire(request)).grants.at(0).previous_owner, "dies");
}

TEST_P(LockConformance, L4_ARepeatedAcquireOfWhatEndedIsLostAndTakesNothing) {
  const AcquireRequest ended = taking("a");
  EXPECT_EQ(released(taken(ended)), "");
  EXPECT_EQ(tried(ended), "lost");
  const LockHolding other = taken_by("b");
  EXPECT_EQ(released(other), "") << "it took nothing";
  const AcquireRequest ran_out = taking("a", "m");
  taken(ran_out);
  let_time_pass(kTtl);
  EXPECT_EQ(tried(ran_out), "lost");
  AcquireRequest several = taking("a", "x");
  several.names = {"x", "y"};
  const std::vector<LockHolding> held = all_taken(several);
  EXPECT_EQ(released(held[1]), "");
  EXPECT_EQ(tried(several), "lost");
  EXPECT_EQ(tried(taking("b", "x")), "held") << "what it has of them it keeps";
}

TEST_P(LockConformance, L6_ARepeatedAcquireOfAWindowHasTheSameGrant) {
  const AcquireRequest request = to_its_end(taking("a"));
  const LockHolding window = taken(request);
  EXPECT_EQ(taken(request), window);
  let_time_pass(kTtl);
  EXPECT_EQ(tried(request), "lost");
}

TEST_P(LockConformance, L4_ARepeatedAcquireOfWhatWasBrokenGrantsNothingOld) {
  const AcquireRequest request = taking("a");
  const LockHolding held = taken(request);
  must(broken());
  EXPECT_EQ(tried(request), "lost");
  EXPECT_EQ(renewed(held), "superseded");
}

TEST_P(LockConformance, AWithdrawalFreesWhatWasGrantedAndABarStays) {
  AcquireRequest request = taking("a");
  request.names = {"l", "m"};
  const std::vector<LockHolding> held = all_taken(request);
  withdrawn(request);
  withdrawn(request);
  EXPECT_EQ(renewed(held[0]), "released");
  EXPECT_EQ(tried(taking("b", "l")), "granted");
  EXPECT_EQ(tried(taking("b", "m")), "granted");
  withdrawn(request);
  EXPECT_EQ(tried(taking("c", "l")), "held") << "it takes back its own and nobody else's";
  const AcquireRequest barred = at_least(taking("a", "n"), 1h);
  taken(barred);
  withdrawn(barred);
  EXPECT_EQ(tried(taking("b", "n")), "barred");
}

TEST_P(LockConformance, AWithdrawnAcquireThatArrivesLateIsRefused) {
  const AcquireRequest late = taking("a");
  withdrawn(late);
  EXPECT_EQ(tried(late), "refused");
  let_time_pass(kTtl - kMoment);
  EXPECT_EQ(tried(late), "refused");
  EXPECT_EQ(tried(taking("a")), "granted") << "another try of the same owner is another";
  const AcquireRequest granted = taking("b", "m");
  taken(granted);
  withdrawn(granted);
  EXPECT_EQ(tried(granted), "refused");
  AcquireRequest slot = taking("c", "s");
  slot.slots = 3;
  taken_by("x", "s");
  withdrawn(slot);
  EXPECT_EQ(tried(slot), "refused");
}

TEST_P(LockConformance, AWithdrawalOfAnotherTryChangesNothing) {
  const AcquireRequest request = taking("a");
  taken(request);
  AcquireRequest other_try = taking("a");
  AcquireRequest other_owner = request;
  other_owner.owner = "b";
  withdrawn(other_try);
  withdrawn(other_owner);
  EXPECT_EQ(tried(taking("c")), "held");
  AcquireRequest elsewhere = request;
  elsewhere.ns = "other";
  withdrawn(elsewhere);
  EXPECT_EQ(tried(taking("c")), "held");
}

}  // namespace
}  // namespace fenceline::test

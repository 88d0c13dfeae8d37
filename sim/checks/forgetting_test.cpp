// What a store may forget, by its class, and what the checks still hold it to.
#include <gtest/gtest.h>

#include "backends/memory/memory_store.hpp"
#include "sim/checks/lock_checks.hpp"
#include "sim/checks/store_checks.hpp"
#include "sim/store/recording_store.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;
using test::must;

struct Forgetting : testing::Test {
  test::ManualClock clock;
  MemoryStore memory{clock};
  Violations violations;
  Tally tally;
  StoreChecks checks{"n", memory, violations, tally};
  RecordingStore store{clock, memory, checks};
  NewJob job{.id = make_uuid7(WallTime{}, 1, 2), .queue = "q"};
  int requests = 0;

  EnqueueReply enqueue() { return must(store.enqueue({.ns = "n", .jobs = {job}})); }
  Holding claim() {
    const ClaimReply reply = must(
        store.claim({.ns = "n", .queues = {"q"}, .owner = "o", .request = std::to_string(++requests), .ttl = 30s}));
    return reply.jobs.empty() ? Holding{} : Holding{reply.jobs.front().job.id, reply.jobs.front().job.fence};
  }
  // Runs `tail`, then the store has never heard of it.
  template <class Tail>
  void lose(GuaranteeClass guarantee, Tail tail) {
    const auto kept = memory.snapshot();
    const StoreTruth truth = checks.truth();
    tail();
    memory.restore(*kept);
    checks.went_back(truth, guarantee);
  }
  std::string broken() const { return violations.empty() ? "nothing" : violations.found().front().promise; }
};

TEST_F(Forgetting, AfterItEveryPromiseHoldsFromTheMomentThatTheStoreIsBackAt) {
  enqueue();
  lose(GuaranteeClass::c, [&] { claim(); });
  checks.compare_all(clock.now());
  clock.advance(1ms);
  EXPECT_NE(claim().fence, 0);
  checks.compare_all(clock.now());
  EXPECT_EQ(broken(), "nothing");
  EXPECT_EQ(tally.of(Count::granted_after_loss), 1);
}

TEST_F(Forgetting, L2_AFenceThatWasToldIsNotGivenAgain) {
  enqueue();
  lose(GuaranteeClass::c, [&] { claim(); });
  claim();  // on a clock that stands still, so with the same fence
  EXPECT_EQ(broken(), "L2");
}

TEST_F(Forgetting, L2_AfterALossRestsOnAWallClockThatWasNotSetBack) {
  enqueue();
  clock.advance(2h);
  lose(GuaranteeClass::c, [&] { claim(); });
  clock.set_wall(clock.wall_now() - 1h);
  claim();
  EXPECT_EQ(broken(), "nothing");
  EXPECT_EQ(tally.of(Count::fences_excused), 1);
}

TEST_F(Forgetting, J1_OfClassBNothingAcknowledgedMayBeMissing) {
  lose(GuaranteeClass::b, [&] { checks.acknowledged({job}, enqueue().ids); });
  EXPECT_EQ(broken(), "J1");
}

TEST_F(Forgetting, J1_OfClassBWhatHadNoAnswerMayBeMissing) {
  lose(GuaranteeClass::b, [&] { enqueue(); });
  EXPECT_EQ(broken(), "nothing");
}

TEST_F(Forgetting, J1_OfClassCTheLostTailMayBeMissingThoughItWasAcknowledged) {
  EnqueueReply reply;
  lose(GuaranteeClass::c, [&] { reply = enqueue(); });
  checks.acknowledged({job}, reply.ids);  // the answer was under way
  EXPECT_EQ(broken(), "nothing");
}

TEST_F(Forgetting, L5_AGrantOfTheLostTailIsTrustedInVain) {
  enqueue();
  Holding held;
  lose(GuaranteeClass::c, [&] { held = claim(); });
  EXPECT_TRUE(checks.is_forgotten(held));
}

TEST_F(Forgetting, L5_AGrantFromBeforeTheLostTailCountsAsEver) {
  enqueue();
  const Holding held = claim();
  lose(GuaranteeClass::c, [&] { clock.advance(1ms); });
  EXPECT_FALSE(checks.is_forgotten(held));
}

TEST_F(Forgetting, L2_ADeliveryWhoseFenceIsGivenAgainWaitsAsItsHolderCounts) {
  enqueue();
  clock.advance(2h);
  const auto later = [&](const Holding& held, Duration retry_in) {
    const Outcome outcome{.kind = OutcomeKind::later, .retry_in = retry_in};
    must(store.settle({.ns = "n", .owner = "o", .settlements = {{held.id, held.fence, outcome}}}));
  };
  Holding first;
  lose(GuaranteeClass::c, [&] {
    later(claim(), 1s);
    clock.advance(1s);
    first = claim();  // its holder counts two
    clock.advance(1s);
    claim();
  });
  clock.set_wall(WallTime{std::chrono::microseconds{first.fence}});
  const Holding again = claim();
  ASSERT_EQ(again, first);
  later(first, 2s);
  EXPECT_EQ(broken(), "nothing");
}

TEST_F(Forgetting, RetriesOfOtherDeliveriesWaitAsTheirBackoffSays) {
  enqueue();
  const Holding held = claim();
  const Outcome outcome{.kind = OutcomeKind::later, .retry_in = 2s};
  must(store.settle({.ns = "n", .owner = "o", .settlements = {{held.id, held.fence, outcome}}}));
  EXPECT_EQ(broken(), "retry");
}

// The same for locks, whose holders hear of a release when they are resumed.
struct ForgettingLocks : testing::Test {
  StackPool stacks;
  Simulation simulation{7, stacks};
  Machine machine{"m", 0s, 0, 0s};
  SimRuntime process{simulation, machine, "p"};
  MemoryStore memory{process};
  Violations violations;
  Tally tally;
  LockChecks checks{"n", memory, violations, tally, {}};
  struct Observer final : StoreObserver {
    explicit Observer(LockChecks& observed) : checks(observed) {}
    void applied(const Applied& applied) override { checks.applied(applied); }
    LockChecks& checks;
  } observer{checks};
  RecordingStore store{process, memory, observer};

  LockHolding acquire(const std::string& owner) {
    const AcquireReply reply =
        must(store.acquire({.ns = "n", .names = {"l"}, .owner = owner, .request = owner, .ttl = 30s}));
    return reply.grants.empty() ? LockHolding{} : LockHolding{"l", owner, reply.grants.front().fence};
  }
  void release(const LockHolding& held) { must(store.release({.ns = "n", .locks = {held}})); }
  std::string broken() const { return violations.empty() ? "nothing" : violations.found().front().promise; }
};

TEST_F(ForgettingLocks, L4_AReleaseThatTheStoreForgotMayBeHeardOfLater) {
  const LockHolding held = acquire("a");
  const auto kept = memory.snapshot();
  const LockTruth truth = checks.truth();
  release(held);
  simulation.run_until(simulation.now() + 1s);
  acquire("b");
  memory.restore(*kept);
  checks.went_back(truth, GuaranteeClass::c);
  checks.says_released(process, held);
  EXPECT_EQ(broken(), "nothing");
}

TEST_F(ForgettingLocks, L4_AHolderThatDidNotReleaseMustNotBeToldSo) {
  const LockHolding held = acquire("a");
  checks.says_released(process, held);
  EXPECT_EQ(broken(), "L4");
}

TEST_F(Forgetting, J6_AnIdThatATidyFoundOldMayBeForgottenThoughTheClockWasSetBackAfterIt) {
  job.key = "k";
  enqueue();
  const Holding held = claim();
  EXPECT_TRUE(store.settle({.ns = "n", .owner = "o", .settlements = {{held.id, held.fence, {}}}}).has_value());
  clock.advance(1min);
  const WallTime before = clock.wall_now();
  NewJob other = job;
  other.key_for = 1h;
  other.id = make_uuid7(WallTime{}, 3, 4);
  must(store.enqueue({.ns = "n", .jobs = {other}}));
  NewJob third = other;
  third.id = make_uuid7(WallTime{}, 5, 6);
  must(store.enqueue({.ns = "n", .jobs = {third}}));  // stands for the other one
  const Holding second = claim();
  EXPECT_TRUE(store.settle({.ns = "n", .owner = "o", .settlements = {{second.id, second.fence, {}}}}).has_value());
  clock.set_wall(before + std::chrono::hours{26});
  must(store.tidy({.ns = "n"}));
  clock.set_wall(before + std::chrono::hours{2});
  must(store.enqueue({.ns = "n", .jobs = {third}}));
  EXPECT_EQ(broken(), "nothing");
}

TEST_F(Forgetting, J8_ARefusalForWantOfFencesWhileThereAreSomeIsFoundOut) {
  enqueue();
  const Result<ClaimReply> refused = fail(Code::refused, "fences are used up");
  const ClaimRequest request{.ns = "n", .queues = {"q"}, .owner = "o", .request = "r", .ttl = 30s};
  checks.applied({clock.now(), clock.wall_now(), ClaimCall{request, refused}});
  EXPECT_EQ(broken(), "J8");
}

}  // namespace
}  // namespace fenceline::sim

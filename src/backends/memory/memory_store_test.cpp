#include "backends/memory/memory_store.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "conformance/conformance.hpp"
#include "support/manual_clock.hpp"

namespace fenceline::test {
namespace {

class MemoryHarness final : public StoreHarness {
 public:
  Store& store() override { return store_; }
  void let_time_pass(Duration duration) override { clock_.advance(duration); }
  WallTime wall() override { return clock_.wall_now(); }
  void set_wall(WallTime to) override { clock_.set_wall(to); }
  bool set_server_clock(Duration by) override {
    clock_.set_server_clock(by);
    return true;
  }

 private:
  ManualClock clock_;
  MemoryStore store_{clock_};
};

std::unique_ptr<StoreHarness> open_memory_harness() { return std::make_unique<MemoryHarness>(); }

EnqueueRequest one_job(std::uint64_t number, std::string queue = "q") {
  return {.ns = "default", .jobs = {{.id = make_uuid7(WallTime{}, number, number), .queue = std::move(queue)}}};
}

TEST(MemoryStore, SaysThatItKeepsNothing) {
  ManualClock clock;
  const StoreProfile profile = MemoryStore(clock).profile();
  EXPECT_EQ(profile.kind, "memory");
  EXPECT_EQ(profile.guarantee, GuaranteeClass::d);
  EXPECT_FALSE(profile.reasons.empty());
}

TEST(MemoryStore, TellsAWatcherOfNewJobsInItsQueuesOnly) {
  ManualClock clock;
  MemoryStore store(clock);
  int calls = 0;
  const auto watch = store.watch({.ns = "default", .queues = {"q", "r"}}, [&] { ++calls; });
  must(store.enqueue(one_job(1, "other")));
  EXPECT_EQ(calls, 0);
  must(store.enqueue(one_job(2)));
  EXPECT_EQ(calls, 1);
  must(store.enqueue(one_job(2)));
  EXPECT_EQ(calls, 1) << "a repeat adds nothing";
}

// A message may arrive long after its sender has gone on: it must not speak of what came later.
TEST(MemoryStore, ALateCopyOfAnEndedCallBeginsNothing) {
  ManualClock clock;
  MemoryStore store(clock);
  must(store.enqueue(one_job(1)));
  const Job job =
      must(store.claim({.ns = "default", .queues = {"q"}, .owner = "a", .request = "1", .ttl = kTtl})).jobs.front().job;
  const BeginEffectRequest begin{
      .ns = "default", .job = job.id, .fence = job.fence, .name = "pay", .digest = "d", .call = "c1"};
  EXPECT_EQ(must(store.begin_effect(begin)).verdict, EffectVerdict::act);
  must(store.finish_effect(
      {.ns = "default", .job = job.id, .fence = job.fence, .name = "pay", .call = "c1", .end = EffectEnd::none}));
  EXPECT_EQ(code_of(store.begin_effect(begin)), Code::refused);
  EXPECT_EQ(must(store.effects({.ns = "default"})).effects.front().state, EffectState::none);
  BeginEffectRequest next = begin;
  next.call = "c2";
  EXPECT_EQ(must(store.begin_effect(next)).verdict, EffectVerdict::act);
}

TEST(MemoryStore, ALateWordOnADoubtSaysNothingOfTheNextOne) {
  ManualClock clock;
  MemoryStore store(clock);
  must(store.enqueue(one_job(1)));
  const auto begun_and_lost = [&](const std::string& call) {
    const ClaimRequest claim{.ns = "default", .queues = {"q"}, .owner = call, .request = call, .ttl = kTtl};
    const Job job = must(store.claim(claim)).jobs.front().job;
    const auto begun = must(store.begin_effect(
        {.ns = "default", .job = job.id, .fence = job.fence, .name = "pay", .digest = "d", .call = call}));
    EXPECT_EQ(begun.verdict, EffectVerdict::act);
    clock.advance(kTtl);
    return job.id;
  };
  ResolveEffectRequest none{
      .ns = "default", .job = begun_and_lost("c1"), .name = "pay", .call = "c1", .act = {"op", "not in their books"}};
  must(store.resolve_effect(none));
  begun_and_lost("c2");
  EXPECT_EQ(code_of(store.resolve_effect(none)), Code::refused);
  none.call = "c2";
  must(store.resolve_effect(none));
}

TEST(MemoryStore, TellsAWatcherOfJobsThatCameBack) {
  ManualClock clock;
  MemoryStore store(clock);
  must(store.enqueue(one_job(1)));
  int calls = 0;
  const auto watch = store.watch({.ns = "default", .queues = {"q"}}, [&] { ++calls; });
  const ClaimRequest first{.ns = "default", .queues = {"q"}, .owner = "a", .request = "1", .ttl = kTtl};
  must(store.claim(first));
  EXPECT_EQ(calls, 0);
  must(store.give_back({.ns = "default", .owner = "a", .request = "1", .ttl = kTtl}));
  EXPECT_EQ(calls, 1);
  ClaimRequest second = first;
  second.request = "2";
  const ClaimedJob claim = must(store.claim(second)).jobs.at(0);
  must(store.settle({.ns = "default",
                     .owner = "a",
                     .settlements = {{claim.job.id, claim.job.fence, {.kind = OutcomeKind::failed}}}}));
  EXPECT_EQ(calls, 2);
}

TEST(MemoryStore, TellsAWatcherOfOrdersWhenADeliveryIsRevokedOrAWorkerOrdered) {
  ManualClock clock;
  MemoryStore store(clock);
  int orders = 0;
  int jobs_alone = 0;
  const auto watch = store.watch({.ns = "default", .queues = {"elsewhere"}, .orders = true}, [&] { ++orders; });
  const auto other = store.watch({.ns = "default", .queues = {"elsewhere"}}, [&] { ++jobs_alone; });
  must(store.enqueue(one_job(1)));
  must(store.enqueue(one_job(2)));
  const ClaimReply claim =
      must(store.claim({.ns = "default", .queues = {"q"}, .owner = "a", .request = "1", .limit = 1, .ttl = kTtl}));
  must(store.cancel({.ns = "default", .ids = {one_job(2).jobs[0].id}, .request = "2", .act = kAct}));
  EXPECT_EQ(orders, 0) << "nobody ran it";
  must(store.cancel({.ns = "default", .ids = {claim.jobs.at(0).job.id}, .request = "3", .act = kAct}));
  EXPECT_EQ(orders, 1);
  must(store.report_worker({.ns = "default", .owner = "a", .queues = {"q"}, .ttl = kTtl}));
  must(store.order_worker({.ns = "default", .owner = "a", .order = WorkerOrder::quiet, .act = kAct}));
  EXPECT_EQ(orders, 2);
  must(store.order_worker({.ns = "default", .owner = "a", .order = WorkerOrder::quiet, .act = kAct}));
  EXPECT_EQ(orders, 2);
  EXPECT_EQ(jobs_alone, 0);
}

TEST(MemoryStore, TellsAWatcherOfSlotsThatBecameFree) {
  ManualClock clock;
  MemoryStore store(clock);
  int calls = 0;
  const auto watch = store.watch({.ns = "default", .queues = {"q"}, .stage = "later"}, [&] { ++calls; });
  EnqueueRequest request = one_job(1);
  request.jobs[0].group = "g";
  must(store.enqueue(request));
  const ClaimedJob claim =
      must(store.claim({.ns = "default", .queues = {"q"}, .owner = "a", .request = "1", .ttl = kTtl})).jobs.at(0);
  EXPECT_EQ(calls, 0);
  must(store.settle({.ns = "default", .owner = "a", .settlements = {{claim.job.id, claim.job.fence, {}}}}));
  EXPECT_EQ(calls, 1) << "the next of its group may be at that stage";
  must(store.set_queue({.ns = "default", .queue = "q", .change = {.limit = 1}, .act = kAct}));
  EXPECT_EQ(calls, 2);
  must(store.pause({.ns = "default", .queue = "q", .act = kAct}));
  EXPECT_EQ(calls, 2);
  must(store.pause({.ns = "default", .queue = "q", .paused = false, .act = kAct}));
  EXPECT_EQ(calls, 3);
}

TEST(MemoryStore, AWatcherMayCallTheStore) {
  ManualClock clock;
  MemoryStore store(clock);
  std::size_t seen = 0;
  const auto watch =
      store.watch({.ns = "default", .queues = {"q"}}, [&] { seen = must(store.jobs({.ns = "default"})).jobs.size(); });
  must(store.enqueue(one_job(1)));
  EXPECT_EQ(seen, 1u);
}

TEST(MemoryStore, IsSilentAfterTheWatchIsGone) {
  ManualClock clock;
  MemoryStore store(clock);
  int calls = 0;
  store.watch({.ns = "default", .queues = {"q"}}, [&] { ++calls; }).reset();
  must(store.enqueue(one_job(1)));
  EXPECT_EQ(calls, 0);
}

TEST(MemoryStore, AWatchThatGoesAwayWaitsForACallUnderWay) {
  ManualClock clock;
  MemoryStore store(clock);
  std::atomic<bool> entered = false;
  std::atomic<bool> may_leave = false;
  std::atomic<bool> left = false;
  auto watch = store.watch({.ns = "default", .queues = {"q"}}, [&] {
    entered = true;
    entered.notify_all();
    may_leave.wait(false);
    left = true;
  });
  std::jthread producer([&] { must(store.enqueue(one_job(1))); });
  entered.wait(false);
  std::jthread release([&] {
    may_leave = true;
    may_leave.notify_all();
  });
  watch.reset();
  EXPECT_TRUE(left);
}

TEST(MemoryStore, ARestoreForgetsAllThatCameAfterTheSnapshotAndNothingElse) {
  ManualClock clock;
  MemoryStore store(clock);
  must(store.enqueue(one_job(1)));
  const auto snapshot = store.snapshot();
  must(store.enqueue(one_job(2)));
  const ClaimRequest claim{.ns = "default", .queues = {"q"}, .owner = "o", .request = "r", .limit = 2, .ttl = kTtl};
  EXPECT_EQ(must(store.claim(claim)).jobs.size(), 2U);
  store.restore(*snapshot);
  const JobsReply listed = must(store.jobs({.ns = "default"}));
  ASSERT_EQ(listed.jobs.size(), 1U);
  EXPECT_EQ(listed.jobs.front().state, JobState::ready);
  EXPECT_EQ(must(store.claim(claim)).jobs.size(), 1U);  // it knows nothing of that request either
}

TEST(MemoryStore, NumbersCanBeginAnywhere) {
  ManualClock clock;
  MemoryStore store(clock, {.order = (std::int64_t{1} << 53), .deliveries = (std::int64_t{1} << 31)});
  must(store.enqueue(one_job(1)));
  must(store.enqueue(one_job(2)));
  EXPECT_EQ(must(store.jobs({.ns = "default", .limit = 1})).next, (std::int64_t{1} << 53) + 1);
  const ClaimReply reply =
      must(store.claim({.ns = "default", .queues = {"q"}, .owner = "o", .request = "r", .ttl = kTtl}));
  EXPECT_EQ(reply.jobs.front().job.deliveries, (std::int64_t{1} << 31) + 1);
}

TEST(MemoryStore, J2_ThreadsThatRaceForJobsNeverGetTheSameOne) {
  ManualClock clock;
  MemoryStore store(clock);
  for (std::uint64_t i = 1; i <= 200; ++i) must(store.enqueue(one_job(i)));
  std::atomic<int> granted = 0;
  {
    std::vector<std::jthread> workers;
    for (int worker = 0; worker < 4; ++worker) {
      workers.emplace_back([&, worker] {
        const std::string owner = "worker-" + std::to_string(worker);
        for (int i = 0; i < 100; ++i) {
          const ClaimReply reply = must(store.claim(
              {.ns = "default", .queues = {"q"}, .owner = owner, .request = std::to_string(i), .ttl = kTtl}));
          granted += static_cast<int>(reply.jobs.size());
        }
      });
    }
  }
  EXPECT_EQ(granted, 200);
  for (const Job& job : must(store.jobs({.ns = "default", .limit = 1000})).jobs) EXPECT_EQ(job.deliveries, 1);
}

}  // namespace
}  // namespace fenceline::test

FENCELINE_CONFORMANCE(Memory, &open_memory_harness);

#include <gtest/gtest.h>

#include "services/queue_rewind.hpp"
#include "store/forwarding_store.hpp"
#include "support/state_fixture.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::must;

using QueueAge = test::StateOnMemory;

TEST_F(QueueAge, AQueueWithoutAWorkerIsNamedAndIsBadWhenItLasts) {
  enqueue({});
  const WallTime since = clock.wall_now();
  pass(30s);
  const Finding alone = one("queue_age");
  EXPECT_EQ(alone.status, FindingStatus::warning);
  EXPECT_EQ(alone.detail, "queue mail has no worker; 1 job is due, the oldest for 30s");
  EXPECT_EQ(alone.remedy, "fenceline work mail -- CMD");
  EXPECT_EQ(alone.since, since);
  pass(11min);
  EXPECT_EQ(one("queue_age").status, FindingStatus::bad);
  report("w-1");
  EXPECT_EQ(one("queue_age").detail,
            "queue mail: the oldest job has been waiting for 11m; 1 job is due, 1 worker at it");
  EXPECT_EQ(one("queue_age").status, FindingStatus::warning);
}

TEST_F(QueueAge, JobsScheduledForLaterAreNotABacklog) {
  enqueue({.delay = 1h});
  EXPECT_EQ(one("queue_age").status, FindingStatus::ok);
}

TEST_F(QueueAge, APausedQueueNamesWhoPausedItAndWhy) {
  enqueue({});
  must(store.pause({.ns = options.ns, .queue = "mail", .paused = true, .act = {"ann", "server moves"}}));
  const WallTime since = clock.wall_now();
  pass(1h);
  const Finding paused = one("queue_age");
  EXPECT_EQ(paused.status, FindingStatus::warning) << "somebody meant it";
  EXPECT_EQ(paused.detail, "queue mail is paused by ann ('server moves'); 1 job is due");
  EXPECT_EQ(paused.remedy, "fenceline queue resume mail");
  EXPECT_EQ(paused.since, since);
  must(store.pause({.ns = options.ns, .queue = "empty", .paused = true, .act = {"ann", ""}}));
  EXPECT_EQ(found("queue_age").size(), 1U) << "nothing waits in the other";
}

TEST_F(QueueAge, QuietWorkersAreNoWorkers) {
  enqueue({});
  report("w-1");
  expect_only({});
  must(store.order_worker({.ns = options.ns, .owner = "w-1", .order = WorkerOrder::quiet, .act = {"ann", "deploy"}}));
  EXPECT_EQ(one("queue_age").remedy, "fenceline workers resume w-1");
}

// The store's clock was an hour ahead: what came then waits for an hour, and nobody meant it to.
TEST_F(QueueAge, JobsEnqueuedWhileTheClockWasAheadAreNamedAndFixedByTheCommand) {
  clock.set_server_clock(1h);
  for (int i = 0; i < 3; ++i) enqueue({});
  enqueue({.delay = 10min});
  report("w-1");
  ASSERT_NE(claim("w-1"), 0);
  const JobId failed = must(store.jobs({.ns = options.ns, .state = JobState::running})).jobs.front().id;
  settle("w-1", failed, must(store.job(options.ns, failed))->fence, {.kind = OutcomeKind::failed, .retry_in = 5s});
  clock.set_server_clock(-1h);
  enqueue({.delay = 2h});
  report("w-1");
  const Finding left_behind = one("queue_age");
  EXPECT_EQ(left_behind.status, FindingStatus::bad);
  EXPECT_EQ(left_behind.detail,
            "queue mail: 3 jobs came or failed while the store's clock was ahead, and wait up to 60m for it");
  EXPECT_EQ(left_behind.remedy, "fenceline queue rewind mail");

  const auto rewound = [&](bool dry_run) {
    return must(rewind_queue(
        store, {.ns = options.ns, .queue = "mail", .dry_run = dry_run, .act = {"ann", "clock"}},
        [&] { return fresh_id(runtime); }, [](const auto& call) { return call(); }, {}));
  };
  EXPECT_EQ(rewound(true).moved, 3);
  EXPECT_EQ(one("queue_age").status, FindingStatus::bad) << "that was a dry run";
  const Rewound plain = rewound(false);
  EXPECT_EQ(plain.moved, 3);
  EXPECT_EQ(plain.delayed, 1) << "nobody pulls forward what its producer delayed";
  EXPECT_EQ(one("queue_age").status, FindingStatus::ok);
  for (int i = 0; i < 3; ++i) EXPECT_NE(claim("w-1"), 0);
  EXPECT_EQ(claim("w-1"), 0) << "the delayed ones wait as they were meant to";
  EXPECT_EQ(rewound(false).moved, 0);
}

using DeadLetters = test::StateOnMemory;

TEST_F(DeadLetters, AreTheDepthOfEachQueueAndAnExample) {
  const JobId first = enqueue({});
  settle("w-1", first, claim("w-1"), {.kind = OutcomeKind::dead, .error = "exit status 65\nand more"});
  const WallTime since = clock.wall_now();
  const JobId second = enqueue({});
  settle("w-1", second, claim("w-1"), {.kind = OutcomeKind::dead});
  const Finding dead = one("dead_letters");
  EXPECT_EQ(dead.status, FindingStatus::warning);
  EXPECT_EQ(dead.detail, "2 dead jobs in queue mail; the first: job " + to_string(first) + ", exit status 65");
  EXPECT_EQ(dead.remedy, "fenceline dead redrive --queue mail --limit 1 --yes");
  EXPECT_EQ(dead.since, since);
  EXPECT_EQ(look().numbers.dead_letters, 2);
}

struct Effects : test::StateOnMemory {
  // A worker died inside the effect, and the next delivery met it.
  JobId in_doubt(NewJob job = {}) {
    const JobId id = enqueue(std::move(job));
    began = clock.wall_now();
    const Fence fence = claim("w-1");
    must(store.begin_effect(
        {.ns = options.ns, .job = id, .fence = fence, .name = "charge", .digest = "d", .call = "c1"}));
    pass(kTtl + 1s);
    const Fence next = claim("w-2");
    EXPECT_EQ(must(store.begin_effect(
                       {.ns = options.ns, .job = id, .fence = next, .name = "charge", .digest = "d", .call = "c2"}))
                  .verdict,
              EffectVerdict::held);
    must(store.stopped({.ns = options.ns, .owner = "w-2", .jobs = {{id, next}}}));
    return id;
  }
  WallTime began;
};

TEST_F(Effects, EffectsInDoubtWaitForAPersonAndTurnBadAfterAWhile) {
  const JobId id = in_doubt();
  const Finding doubt = one("effects_in_doubt");
  EXPECT_EQ(doubt.status, FindingStatus::warning);
  EXPECT_TRUE(doubt.detail.starts_with("effect charge of job " + to_string(id) + ", begun under fence "))
      << doubt.detail;
  EXPECT_TRUE(doubt.detail.ends_with(", may have happened; its job waits for an operator")) << doubt.detail;
  EXPECT_EQ(doubt.remedy,
            "fenceline effects resolve " + to_string(id) + " charge --done  # or --none if it did not happen");
  EXPECT_EQ(doubt.since, began);
  EXPECT_EQ(look().numbers.effects_in_doubt, 1);
  pass(1h);
  EXPECT_EQ(one("effects_in_doubt").status, FindingStatus::bad);
  must(store.resolve_effect({.ns = options.ns, .job = id, .name = "charge", .done = true, .act = {"ann", "saw it"}}));
  EXPECT_EQ(one("effects_in_doubt").status, FindingStatus::ok);
}

using Groups = Effects;

TEST_F(Groups, ThatWaitForAnEffectNameTheHeadTheEffectAndWhoWaits) {
  const JobId head = in_doubt({.group = "acme"});
  const JobId behind = enqueue({.group = "acme"});
  pass(40s);
  const Finding blocked = one("groups_blocked");
  EXPECT_EQ(blocked.status, FindingStatus::warning);
  EXPECT_EQ(blocked.detail, "group acme of queue mail: job " + to_string(behind) + ", due for 40s, waits behind job " +
                                to_string(head) + ", which waits for the effect charge, in doubt");
  EXPECT_EQ(blocked.remedy,
            "fenceline effects resolve " + to_string(head) + " charge --done  # or --none if it did not happen");
  EXPECT_EQ(look().numbers.groups_blocked, 1);
  pass(1h);
  EXPECT_EQ(one("groups_blocked").status, FindingStatus::bad);
}

TEST_F(Groups, BehindALeaseThatRanOutAreBlocked) {
  const JobId head = enqueue({.group = "acme"});
  enqueue({.group = "acme"});
  claim("w-1");
  EXPECT_EQ(one("groups_blocked").status, FindingStatus::ok) << "the head runs: so it should be";
  pass(kTtl + 3s);
  const Finding blocked = one("groups_blocked");
  EXPECT_TRUE(blocked.detail.ends_with("waits behind job " + to_string(head) + ", whose lease expired 3s ago"))
      << blocked.detail;
  EXPECT_EQ(blocked.remedy, "fenceline work mail -- CMD");
}

TEST_F(Groups, BehindAHeadThatIsTriedAgainLaterAreBlocked) {
  const JobId head = enqueue({.group = "acme"});
  enqueue({.group = "acme"});
  settle("w-1", head, claim("w-1"), {.kind = OutcomeKind::failed, .error = "no", .retry_in = 1h});
  EXPECT_EQ(one("groups_blocked").status, FindingStatus::ok) << "nobody waits for long";
  pass(1min);
  const Finding blocked = one("groups_blocked");
  EXPECT_TRUE(blocked.detail.find("waits behind job " + to_string(head) + ", which will be retried at ") !=
              std::string::npos)
      << blocked.detail;
  EXPECT_EQ(blocked.remedy, "fenceline job retry " + to_string(head));
}

TEST_F(Groups, BehindAHeadThatWasDelayedOnPurposeAreExplainedAndNotRunEarly) {
  const JobId head = enqueue({.delay = 24h, .group = "acme"});
  enqueue({.group = "acme"});
  pass(1min);
  const Finding blocked = one("groups_blocked");
  EXPECT_TRUE(blocked.detail.find("waits behind job " + to_string(head) + ", which is due at ") != std::string::npos)
      << blocked.detail;
  EXPECT_EQ(blocked.remedy, "fenceline job explain " + to_string(head));
}

// Counts what is asked of the ready ones: a store may have to walk through them.
struct ReadyAsked final : ForwardingStore {
  using ForwardingStore::ForwardingStore;
  Result<JobsReply> jobs(const JobsRequest& request) override {
    asked += request.state == JobState::ready ? 1 : 0;
    return ForwardingStore::jobs(request);
  }
  int asked = 0;
};

TEST_F(Groups, AreNotLookedForWhereNoHeadCanStandStill) {
  ReadyAsked counted(store);
  enqueue({.group = "acme"});
  enqueue({});
  claim("w-1");
  pass(15s);
  must(look_at_state(runtime, counted, options));
  EXPECT_EQ(counted.asked, 0);
  enqueue({.delay = 1h});
  must(look_at_state(runtime, counted, options));
  EXPECT_EQ(counted.asked, 2) << "one is tried later: it may be a head, or a clock that was ahead left it behind";
}

TEST_F(Groups, ALongQueueNamesOnlyTheHeadOfTheGroup) {
  const JobId head = in_doubt({.group = "acme"});
  EnqueueRequest many{.ns = options.ns};
  for (int i = 0; i < 301; ++i)
    many.jobs.push_back({.id = *parse_uuid(fresh_id(runtime)), .queue = "mail", .group = "acme"});
  must(store.enqueue(many));
  EXPECT_EQ(one("groups_blocked").detail, "group acme of queue mail: all its jobs wait behind job " + to_string(head) +
                                              ", which waits for the effect charge, in doubt");
  EXPECT_TRUE(look().cut);
}

TEST_F(Groups, AGroupWithOnlyAHeadIsNotBlocked) {
  in_doubt({.group = "acme"});
  EXPECT_EQ(one("groups_blocked").status, FindingStatus::ok);
}

}  // namespace
}  // namespace fenceline

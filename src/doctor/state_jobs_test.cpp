#include <gtest/gtest.h>

#include "doctor/text.hpp"
#include "store/forwarding_store.hpp"
#include "support/state_fixture.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::must;

using State = test::StateOnMemory;
using doctor::moment;
using doctor::rough;
using doctor::shell_word;

TEST_F(State, AnEmptyStoreIsHealthyInEveryCheck) {
  const Looked looked = look();
  std::vector<std::string_view> names;
  for (const Finding& finding : looked.findings) {
    EXPECT_EQ(finding.status, FindingStatus::ok) << finding.name << ": " << finding.detail;
    EXPECT_TRUE(finding.remedy.empty() && finding.why.empty() && !finding.since) << finding.name;
    names.push_back(finding.name);
  }
  EXPECT_TRUE(std::ranges::equal(names, kStateChecks));
  EXPECT_EQ(looked.numbers, StateNumbers{});
  EXPECT_FALSE(looked.cut);
}

TEST_F(State, AJobUnderALiveLeaseIsWell) {
  const JobId id = enqueue({});
  const Fence fence = claim("w-1");
  report("w-1", {{id, fence}});
  expect_only({});
  EXPECT_EQ(look().numbers.workers_seen, 1);
}

TEST_F(State, AStaleJobIsNamedWithItsHolderAndWhoCouldTakeItOver) {
  const JobId id = enqueue({});
  const Fence fence = claim("w-1");
  pass(kTtl + 12s);
  const Finding stale = one("stale_jobs");
  EXPECT_EQ(stale.status, FindingStatus::warning) << "a worker may be about to take it over";
  EXPECT_EQ(stale.detail, "job " + to_string(id) + " of queue mail: the lease of w-1 under fence " +
                              std::to_string(fence) + " expired 12s ago, and no worker has taken over");
  EXPECT_EQ(stale.remedy, "fenceline work mail -- CMD");
  EXPECT_EQ(stale.since, clock.wall_now() - 12s);
  EXPECT_FALSE(stale.why.empty());
  EXPECT_EQ(look().numbers.stale_jobs, 1);
  pass(2min);
  EXPECT_EQ(one("stale_jobs").status, FindingStatus::bad) << "nobody comes";
}

TEST_F(State, TheRemedyOfAStaleJobDependsOnWhatBlocksIt) {
  const JobId id = enqueue({});
  claim("w-1");
  pass(kTtl + 1s);
  report("w-2");
  EXPECT_EQ(one("stale_jobs").remedy, "fenceline job explain " + to_string(id)) << "somebody serves the queue";
  must(store.pause({.ns = options.ns, .queue = "mail", .paused = true, .act = {"ann", "server moves"}}));
  EXPECT_EQ(one("stale_jobs").remedy, "fenceline queue resume mail");
}

TEST_F(State, AShortTtlDoesNotMakeAJobBadAtOnce) {
  enqueue({});
  claim("w-1");
  pass(kTtl + 59s);
  EXPECT_EQ(one("stale_jobs").status, FindingStatus::warning);
}

TEST_F(State, AJobThatWasTakenOverTellsFromWhomAndWhen) {
  const JobId id = enqueue({});
  const Fence first = claim("w-1");
  pass(kTtl + 1s);
  const WallTime when = clock.wall_now();
  const Fence second = claim("w-2");
  pass(1s);
  const Finding orphan = one("orphans");
  EXPECT_EQ(orphan.detail, "job " + to_string(id) + " of queue mail was taken over from w-1 (fence " +
                               std::to_string(first) + ") at " + moment(when, clock.wall_now()) +
                               "; w-2 has it under fence " + std::to_string(second));
  EXPECT_EQ(orphan.since, when);
  EXPECT_EQ(orphan.remedy, "fenceline job show " + to_string(id));
  EXPECT_EQ(look().numbers.orphans, 1);
  settle("w-2", id, second, {.kind = OutcomeKind::done});
  expect_only({});
}

TEST_F(State, TwoLossesInARowMakeAPoisonJobIncludingTheCurrentOne) {
  const JobId id = enqueue({});
  const WallTime began = clock.wall_now();
  claim("w-1");
  pass(kTtl + 1s);
  EXPECT_EQ(one("poison_jobs").status, FindingStatus::ok) << "one loss can happen to anybody";
  claim("w-2");
  pass(kTtl + 1s);
  const Finding poison = one("poison_jobs");
  EXPECT_EQ(poison.status, FindingStatus::warning);
  EXPECT_EQ(poison.detail, "job " + to_string(id) + " of queue mail was lost 2 times in a row, last by w-2");
  EXPECT_EQ(poison.remedy, "fenceline job cancel " + to_string(id));
  EXPECT_EQ(poison.since, began);
  claim("w-3");
  EXPECT_EQ(one("poison_jobs").remedy, "fenceline job show " + to_string(id)) << "it runs, perhaps well";
  pass(kTtl + 1s);
  claim("w-4");
  EXPECT_EQ(one("poison_jobs").status, FindingStatus::warning);
  pass(kTtl + 1s);
  EXPECT_EQ(one("poison_jobs").status, FindingStatus::bad) << "the next loss makes it a dead letter";
  EXPECT_EQ(look().numbers.poison_jobs, 1);
}

TEST_F(State, ManyAreTheFirstFewAndANumber) {
  for (int i = 0; i < 8; ++i) {
    enqueue({});
    claim("w-" + std::to_string(i));
  }
  pass(kTtl + 1s);
  const std::vector<Finding> stale = found("stale_jobs");
  ASSERT_EQ(stale.size(), 6U);
  EXPECT_EQ(stale.back().detail, "and 3 more");
  EXPECT_EQ(stale.back().remedy, "fenceline jobs --state running");
  EXPECT_EQ(look().numbers.stale_jobs, 8);
}

TEST_F(State, AnotherNamespaceIsNotLookedAt) {
  enqueue({});
  claim("w-1");
  pass(kTtl + 1s);
  options.ns = "other";
  expect_only({});
}

// The store says no after this many calls of a verb.
struct Away final : ForwardingStore {
  using ForwardingStore::ForwardingStore;
  Result<std::vector<WorkerRow>> workers(const std::string&) override {
    return fail(Code::unavailable, "the store is away");
  }
};

TEST_F(State, AStoreThatDoesNotAnswerIsAnErrorAndNoVerdict) {
  Away away(store);
  EXPECT_EQ(test::code_of(look_at_state(runtime, away, options)), Code::unavailable);
}

// Each page takes a second.
struct Slow final : ForwardingStore {
  Slow(Store& inner, test::ManualClock& moved) : ForwardingStore(inner), clock(moved) {}
  Result<JobsReply> jobs(const JobsRequest& request) override {
    pages += 1;
    clock.advance(1s);
    Result<JobsReply> reply = inner_.jobs(request);
    if (reply && request.state == JobState::running) reply->next = 1;  // it never ends
    return reply;
  }
  test::ManualClock& clock;
  int pages = 0;
};

TEST_F(State, NoFurtherPageIsAskedForWhenItsTimeIsOver) {
  enqueue({});
  claim("w-1");
  Slow slow(store, clock);
  options.budget = 3s;
  const Looked looked = must(look_at_state(runtime, slow, options));
  EXPECT_TRUE(looked.cut);
  EXPECT_EQ(slow.pages, 3);
}

TEST(Words, AreRoughAndCanBePasted) {
  EXPECT_EQ(rough(-5s), "0s");
  EXPECT_EQ(rough(99s), "99s");
  EXPECT_EQ(rough(100s), "1m");
  EXPECT_EQ(rough(99min), "99m");
  EXPECT_EQ(rough(100min), "1h");
  EXPECT_EQ(rough(47h), "47h");
  EXPECT_EQ(rough(48h), "2d");
  const WallTime noon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 16} + 12h;
  EXPECT_EQ(moment(noon + 3min + 11s, noon), "12:03:11Z");
  EXPECT_EQ(moment(noon - 13h, noon), "2026-11-15 23:00:00Z");
  EXPECT_EQ(shell_word("w-1.box:4711"), "w-1.box:4711");
  EXPECT_EQ(shell_word("it's; rm"), "'it'\\''s; rm'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace fenceline

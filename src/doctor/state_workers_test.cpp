#include <gtest/gtest.h>

#include "doctor/text.hpp"
#include "support/state_fixture.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::must;

struct Beliefs : test::StateOnMemory {
  // w-1 was paused past its lease with the job in hand, and w-2 took it over.
  void take_over() {
    id = enqueue({});
    first = claim("w-1");
    report("w-1", {{id, first}});
    pass(kTtl + 1s);
    taken_at = clock.wall_now();
    second = claim("w-2");
    report("w-2", {{id, second}});
  }
  std::string sentence() const {
    return "w-1 believes it holds " + to_string(id) + " under fence " + std::to_string(first) +
           "; the store gave it to w-2 under " + std::to_string(second) + " at " + doctor::moment(taken_at, taken_at);
  }

  JobId id;
  Fence first = 0, second = 0;
  WallTime taken_at;
};

TEST_F(Beliefs, BeliefsOfAPausedWorkerAreComparedWithTheStore) {
  take_over();
  const Finding belief = one("beliefs");
  EXPECT_EQ(belief.detail, sentence());
  EXPECT_EQ(belief.status, FindingStatus::warning) << "it says nothing: perhaps it is dead";
  EXPECT_EQ(belief.since, taken_at);
  EXPECT_EQ(belief.remedy, "ssh box kill -CONT 4711 || fenceline workers forget w-1")
      << "nobody here can tell whether it lives";
  EXPECT_EQ(look().numbers.beliefs_wrong, 1);
  EXPECT_EQ(look().numbers.workers_gone, 1);
}

TEST_F(Beliefs, AStrangeHostNameCannotAddAnOptionOfSshToTheRemedy) {
  for (const char* host : {"-oProxyCommand=touch x", "-oProxyCommand=x", "box;x", ""}) {
    must(store.report_worker({.ns = options.ns,
                              .owner = "w-1",
                              .host = host,
                              .pid = 4711,
                              .version = "1",
                              .queues = {"mail"},
                              .ttl = kTtl}));
    pass(kTtl + 1s);
    EXPECT_EQ(one("workers_gone").remedy, "fenceline workers forget w-1") << host;
  }
}

TEST_F(Beliefs, BeliefsAreFixedByWakingAHangingWorkerAndForgettingADeadOne) {
  take_over();
  options.lives = [](const WorkerRow& row) { return row.report.pid == 4711 ? std::optional(true) : std::nullopt; };
  EXPECT_EQ(one("beliefs").remedy, "kill -CONT 4711");
  options.lives = [](const WorkerRow&) { return std::optional(false); };
  EXPECT_EQ(one("beliefs").remedy, "fenceline workers forget w-1");
  must(store.remove_worker(options.ns, "w-1"));
  expect_only({"orphans"});
}

TEST_F(Beliefs, ThatAreRepeatedAfterTheTakeoverAreBad) {
  take_over();
  pass(1s);
  report("w-1", {{id, first}});
  const Finding belief = one("beliefs");
  EXPECT_EQ(belief.detail, sentence());
  EXPECT_EQ(belief.status, FindingStatus::bad) << "it lives, works, and knows nothing";
  EXPECT_EQ(belief.remedy, "fenceline workers stop w-1");
  report("w-1");
  EXPECT_EQ(one("beliefs").status, FindingStatus::ok);
}

TEST_F(Beliefs, StayWrongAfterTheOtherHasFinished) {
  take_over();
  settle("w-2", id, second, {.kind = OutcomeKind::done});
  report("w-2");
  EXPECT_EQ(one("beliefs").detail, sentence());
}

TEST_F(Beliefs, ThatAreOlderThanTheWorkersOwnWordAreNoFinding) {
  id = enqueue({});
  first = claim("w-1");
  report("w-1", {{id, first}});
  settle("w-1", id, first, {.kind = OutcomeKind::failed, .error = "no"});
  EXPECT_EQ(one("beliefs").status, FindingStatus::ok) << "ready again, under its own fence";
  pass(2h);
  second = claim("w-2");
  report("w-2", {{id, second}});
  EXPECT_EQ(one("beliefs").status, FindingStatus::ok) << "granted anew, after w-1 had said its word";
}

TEST_F(Beliefs, InWhatAnOperatorCancelledAreWrong) {
  id = enqueue({});
  first = claim("w-1");
  report("w-1", {{id, first}});
  must(store.cancel({.ns = options.ns, .ids = {id}, .request = "r", .act = {"ann", "no more"}}));
  const Finding belief = one("beliefs");
  EXPECT_EQ(belief.status, FindingStatus::warning);
  EXPECT_TRUE(belief.detail.starts_with("w-1 believes it holds " + to_string(id) + " under fence " +
                                        std::to_string(first) + "; it is cancelled under "))
      << belief.detail;
}

TEST_F(Beliefs, InALeaseThatRanOutUnderALivingWorkerAreWrong) {
  id = enqueue({});
  first = claim("w-1");
  pass(kTtl + 5s);
  report("w-1", {{id, first}});
  EXPECT_EQ(one("beliefs").detail, "w-1 believes it holds " + to_string(id) + " under fence " + std::to_string(first) +
                                       "; its lease expired 5s ago");
  pass(kTtl + 1s);
  EXPECT_EQ(one("beliefs").status, FindingStatus::ok) << "gone, like its lease: that is a stale job";
  EXPECT_EQ(one("stale_jobs").status, FindingStatus::warning);
}

TEST_F(Beliefs, AreAskedForInManyJobsAtOnce) {
  std::vector<Holding> holding;
  for (int i = 0; i < 50; ++i) {
    const JobId one_more = enqueue({});
    holding.push_back({one_more, claim("w-1")});
  }
  report("w-1", holding);
  pass(kTtl + 1s);
  for (int i = 0; i < 50; ++i) claim("w-2");
  const Looked looked = look();
  EXPECT_EQ(looked.numbers.beliefs_wrong, 20) << "so many histories are asked for";
  EXPECT_TRUE(looked.cut);
}

using WorkersGone = test::StateOnMemory;

TEST_F(WorkersGone, AreToldWithWhatTheyHeld) {
  const JobId id = enqueue({});
  report("w-1", {{id, claim("w-1")}});
  const WallTime seen = clock.wall_now();
  pass(kTtl);
  expect_only({"stale_jobs", "beliefs"});
  pass(15s);
  const Finding gone = one("workers_gone");
  EXPECT_EQ(gone.status, FindingStatus::warning);
  EXPECT_EQ(gone.detail,
            "worker w-1 on box (pid 4711) has not been seen for 45s, longer than its ttl of 30s; it had 1 job");
  EXPECT_EQ(gone.since, seen);
  report("w-1");
  EXPECT_EQ(one("workers_gone").status, FindingStatus::ok);
}

// The store's clock was an hour ahead when it was last seen: by that clock it is seen for an hour to come.
TEST_F(WorkersGone, AreAlsoThoseWhoWereSeenAheadOfTheClockAndNotSince) {
  clock.set_server_clock(1h);
  const JobId id = enqueue({});
  const Fence first = claim("w-1");
  report("w-1", {{id, first}});
  clock.set_server_clock(-1h);
  const Finding gone = one("workers_gone");
  EXPECT_EQ(gone.status, FindingStatus::warning);
  EXPECT_EQ(
      gone.detail,
      "worker w-1 on box (pid 4711) was last seen 60m ahead of the store's clock, and not since the clock was set "
      "back; it had 1 job");
  EXPECT_EQ(gone.remedy, "fenceline workers forget w-1");
  EXPECT_EQ(claim("w-2"), 0);
  pass(kTtl);
  const Fence second = claim("w-2");
  ASSERT_NE(second, 0);
  report("w-2", {{id, second}});
  options.lives = [](const WorkerRow&) { return true; };  // another process has its number by now
  EXPECT_EQ(one("beliefs").remedy, "fenceline workers forget w-1");
  must(store.remove_worker(options.ns, "w-1"));
  EXPECT_EQ(one("beliefs").status, FindingStatus::ok);
  EXPECT_EQ(one("workers_gone").status, FindingStatus::ok);
}

TEST_F(WorkersGone, AreNotThoseWhoReportedSinceTheClockCameBack) {
  clock.set_server_clock(1h);
  report("w-1");
  clock.set_server_clock(-1h);
  report("w-1");
  EXPECT_EQ(one("workers_gone").status, FindingStatus::ok);
}

}  // namespace
}  // namespace fenceline

#include "sim/checks/handler_checks.hpp"

#include <gtest/gtest.h>

#include "backends/memory/memory_store.hpp"
#include "sim/store/recording_store.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTtl = 30s;

struct HandlerChecksTest : testing::Test {
  StackPool stacks;
  Simulation simulation{7, stacks};
  Machine machine{"m", 0s, 0, 0s};
  SimRuntime process{simulation, machine, "p"};
  MemoryStore memory{process};
  Violations violations;
  Tally tally;
  StoreChecks store_checks{"n", memory, violations, tally};
  RecordingStore store{process, memory, store_checks};
  HandlerChecks checks{store_checks, violations, tally, 5s, 20'000};
  std::uint64_t ids = 0;

  void pass(Duration time) { simulation.run_until(simulation.now() + time); }

  Job claimed() {
    const JobId id = make_uuid7(WallTime{}, 0, ++ids);
    EXPECT_TRUE(store.enqueue({.ns = "n", .jobs = {{.id = id, .queue = "q"}}}).has_value());
    return claim();
  }
  Job claim() {
    const auto reply =
        store.claim({.ns = "n", .queues = {"q"}, .owner = "o", .request = std::to_string(++ids), .ttl = kTtl});
    EXPECT_TRUE(reply && reply->jobs.size() == 1);
    const Job job = reply->jobs.front().job;
    checks.logged({Level::info, "lease_acquired", {{"owner", "o"}, {"job", to_string(job.id)}, {"fence", job.fence}}});
    return job;
  }
  Job claimed_and_lost_twice() {
    claimed();
    pass(kTtl);
    claim();
    pass(kTtl);
    return claim();
  }
  std::string found() const {
    return violations.empty() ? "" : violations.found().front().promise + " " + violations.found().front().sentence;
  }
};

TEST_F(HandlerChecksTest, SaysNothingOfAHandlerThatActsUnderItsLease) {
  const Job job = claimed();
  TrustDeadline trust(process.now() + 27s);
  const fenceline::Run run{job, {}, &trust};
  checks.started(process, run);
  pass(20s);
  checks.acts(process, run);
  checks.returned(process, run);
  EXPECT_EQ(found(), "");
}

TEST_F(HandlerChecksTest, L5_SeesAnActAfterTheLease) {
  const Job job = claimed();
  TrustDeadline trust(process.now() + 1h);
  const fenceline::Run run{job, {}, &trust};
  checks.started(process, run);
  pass(kTtl);
  checks.acts(process, run);
  EXPECT_NE(found().find("L5"), std::string::npos);
}

TEST_F(HandlerChecksTest, L5_SeesAStartWithoutTrust) {
  const Job job = claimed();
  pass(10s);
  TrustDeadline trust(process.now());
  checks.started(process, {job, {}, &trust});
  EXPECT_NE(found().find("L5"), std::string::npos);
}

TEST_F(HandlerChecksTest, L5_SeesAHandlerThatWasNotTold) {
  const Job job = claimed();
  TrustDeadline trust(process.now() + 1s);
  pass(10s);
  checks.untold(process, {job, {}, &trust});
  EXPECT_NE(found().find("L5"), std::string::npos);
}

TEST_F(HandlerChecksTest, L5_ExcusesAProcessThatJustWokeFromAPause) {
  const Job job = claimed();
  TrustDeadline trust(process.now() + 1s);
  process.start([&](std::stop_token) { process.sleep_for(1h, {}); });
  process.pause();
  pass(10s);
  process.resume();
  checks.untold(process, {job, {}, &trust});
  EXPECT_EQ(found(), "");
  pass(6s);
  checks.untold(process, {job, {}, &trust});
  EXPECT_NE(found().find("L5"), std::string::npos);
}

TEST_F(HandlerChecksTest, J5_SeesANeighbourOfAJobThatMustRunAlone) {
  const Job lone = claimed_and_lost_twice();
  TrustDeadline trust(process.now() + 27s);
  checks.started(process, {lone, {}, &trust});
  EXPECT_EQ(found(), "");
  const Job other = claimed();
  checks.started(process, {other, {}, &trust});
  EXPECT_NE(found().find("J5"), std::string::npos);
}

TEST_F(HandlerChecksTest, J5_SeesWhatAJobThatMustRunAloneTakesWithIt) {
  const Job lone = claimed_and_lost_twice();
  TrustDeadline trust(process.now() + 27s);
  checks.started(process, {lone, {}, &trust});
  const Job held = claimed();  // never started
  EXPECT_EQ(checks.kills(process, {lone, {}, &trust}), (std::vector<Holding>{{held.id, held.fence}}));
  EXPECT_NE(found().find("J5"), std::string::npos);
}

TEST_F(HandlerChecksTest, J5_CountsOutWhatTheWorkerHadGivenUp) {
  const Job lone = claimed_and_lost_twice();
  TrustDeadline trust(process.now() + 27s);
  checks.started(process, {lone, {}, &trust});
  const Job held = claimed();
  checks.logged({Level::warn, "lease_lost", {{"owner", "o"}, {"job", to_string(held.id)}, {"fence", held.fence}}});
  EXPECT_TRUE(checks.kills(process, {lone, {}, &trust}).empty());
  EXPECT_EQ(found(), "");
}

TEST_F(HandlerChecksTest, ARevokedHandlerMayGoOnUntilItsWorkerHasLearnedOfIt) {
  const Job job = claimed();
  TrustDeadline trust(process.now() + 27s);
  const fenceline::Run run{job, {}, &trust};
  checks.started(process, run);
  EXPECT_TRUE(store.cancel({.ns = "n", .ids = {job.id}, .request = "r", .act = {"a", ""}}).has_value());
  pass(5s);
  checks.acts(process, run);
  EXPECT_EQ(found(), "");
  checks.learned(process, {job.id, job.fence});
  pass(2s);
  checks.acts(process, run);
  EXPECT_NE(found().find("cancel"), std::string::npos);
}

TEST_F(HandlerChecksTest, SeesAWorkerThatDoesNotLearnInTimeWhereNothingIsLost) {
  checks.expect_stops(1s, 2s);
  const Job job = claimed();
  TrustDeadline trust(process.now() + 27s);
  EXPECT_TRUE(store.retry({.ns = "n", .ids = {job.id}, .request = "r", .act = {"a", ""}}).has_value());
  pass(3s);
  checks.acts(process, {job, {}, &trust});
  EXPECT_NE(found().find("cancel"), std::string::npos);
}

TEST_F(HandlerChecksTest, L5_SeesARevokedHandlerThatActsAfterItsSlotIsFree) {
  const Job job = claimed();
  TrustDeadline trust(process.now() + 27s);
  EXPECT_TRUE(store.cancel({.ns = "n", .ids = {job.id}, .request = "r", .act = {"a", ""}}).has_value());
  EXPECT_TRUE(store.stopped({.ns = "n", .owner = "o", .jobs = {{job.id, job.fence}}}).has_value());
  checks.acts(process, {job, {}, &trust});
  EXPECT_NE(found().find("L5"), std::string::npos);
}

TEST_F(HandlerChecksTest, J7_SeesASlotGivenFreeUnderARunningHandler) {
  const Job job = claimed();
  TrustDeadline trust(process.now() + 27s);
  const fenceline::Run run{job, {}, &trust};
  checks.started(process, run);
  checks.said_stopped({.ns = "n", .owner = "o", .jobs = {{job.id, job.fence + 1}}});
  EXPECT_EQ(found(), "");
  checks.said_stopped({.ns = "n", .owner = "o", .jobs = {{job.id, job.fence}}});
  EXPECT_NE(found().find("J7"), std::string::npos);
}

TEST_F(HandlerChecksTest, SeesAnAttemptThatGoesOnPastItsTime) {
  const Job job = claimed();
  TrustDeadline trust(process.now() + 27s);
  checks.overdue(process, {job, {}, &trust});
  EXPECT_NE(found().find("timeout"), std::string::npos);
}

}  // namespace
}  // namespace fenceline::sim

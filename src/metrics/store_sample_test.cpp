#include "metrics/store_sample.hpp"

#include "support/hand_runtime.hpp"
#include "support/metrics_fixture.hpp"

namespace fenceline::metrics::test {
namespace {

using std::chrono::seconds;

// Counts how often it is examined, and says what it is told to.
class ExaminedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<Finding> findings;
  bool away = false;
  std::optional<Code> examination_fails;
  int examined = 0;

  Result<std::vector<Finding>> examine() override {
    ++examined;
    if (examination_fails) return fail(*examination_fails, "no");
    return findings;
  }
  Result<std::vector<QueueRow>> queues(const std::string& ns) override {
    if (away) return fail(Code::unavailable, "away");
    return inner_.queues(ns);
  }
};

struct Sampled : Metered {
  fenceline::test::HandRuntime runtime{clock};
  ExaminedStore examined{memory};
  Metrics told{{.version = "1", .store = "memory", .queues = {"mail", "print"}, .checks = check_names()}, clock};
  StoreSample sample{runtime, told, examined, {.queues = {"mail", "print"}}};
};

TEST_F(Sampled, DepthsAndAgesAreThoseOfTheQueuesAndOtherIsTheRest) {
  enqueue();
  enqueue();
  enqueue(kAttemptsMaxDefault, "scan");
  clock.advance(seconds{30});
  enqueue(kAttemptsMaxDefault, "fax");
  claim();
  clock.advance(seconds{5});
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::jobs, {"mail", "running"}), 2);
  EXPECT_EQ(told.value(Family::jobs, {"mail", "ready"}), 0);
  EXPECT_EQ(told.value(Family::jobs, {"other", "ready"}), 2) << "scan and fax";
  EXPECT_EQ(told.value(Family::oldest_ready_seconds, {"other"}), 35);
  EXPECT_EQ(told.value(Family::oldest_ready_seconds, {"mail"}), 0);
  EXPECT_EQ(told.value(Family::oldest_ready_seconds, {"print"}), 0);
}

TEST_F(Sampled, AQueueThatIsEmptyAgainIsAtZeroAgain) {
  enqueue();
  clock.advance(seconds{30});
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::jobs, {"mail", "ready"}), 1);
  EXPECT_EQ(told.value(Family::oldest_ready_seconds, {"mail"}), 30);
  settle(claim(), OutcomeKind::done);
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::jobs, {"mail", "ready"}), 0);
  EXPECT_EQ(told.value(Family::jobs, {"mail", "done"}), 1);
  EXPECT_EQ(told.value(Family::oldest_ready_seconds, {"mail"}), 0);
}

TEST_F(Sampled, AJobWhoseLeaseRanOutIsStaleAndFound) {
  enqueue();
  claim();
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::stale_jobs), 0);
  EXPECT_EQ(told.value(Family::finding, {"stale_jobs"}), 0);
  clock.advance(seconds{60});
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::stale_jobs), 1);
  EXPECT_GT(told.value(Family::finding, {"stale_jobs"}), 0);
}

TEST_F(Sampled, WorkersAreSeenOrGone) {
  must(memory.report_worker({.ns = "default", .owner = "w-1", .host = "h", .queues = {"mail"}, .ttl = seconds{10}}));
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::workers, {"seen"}), 1);
  clock.advance(seconds{60});
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::workers, {"seen"}), 0);
  EXPECT_EQ(told.value(Family::workers, {"gone"}), 1);
}

TEST_F(Sampled, LocksWhoseHoldersDiedAreDebt) {
  must(memory.acquire({.ns = "default", .names = {"deploy"}, .owner = "a", .request = "a", .ttl = seconds{10}}));
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::lock_debt), 0);
  clock.advance(seconds{60});
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::lock_debt), 1);
}

TEST_F(Sampled, TheWorstFindingOfAStoreCountsAndItIsExaminedOnceAMinute) {
  examined.findings = {{"wal_size", FindingStatus::ok, "", ""},
                       {"wal_size", FindingStatus::bad, "", ""},
                       {"of_tomorrow", FindingStatus::warning, "", ""}};
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::finding, {"wal_size"}), 2);
  EXPECT_EQ(told.value(Family::finding, {"other"}), 1);
  examined.findings = {{"wal_size", FindingStatus::ok, "", ""}};
  clock.advance(seconds{59});
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(examined.examined, 1);
  EXPECT_EQ(told.value(Family::finding, {"wal_size"}), 2);
  clock.advance(seconds{1});
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(examined.examined, 2);
  EXPECT_EQ(told.value(Family::finding, {"wal_size"}), 0);
  EXPECT_EQ(told.value(Family::finding, {"other"}), 0) << "nobody says so any more";
}

TEST_F(Sampled, AnExaminationThatIsNotAllowedIsFoundAndRepeatedOnceAMinuteAndTheSampleIsGood) {
  examined.examination_fails = Code::denied;
  ASSERT_TRUE(sample.take());
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(examined.examined, 1);
  EXPECT_EQ(told.value(Family::finding, {"other"}), 1);
  examined.examination_fails = Code::unavailable;
  clock.advance(seconds{60});
  EXPECT_FALSE(sample.take());
  EXPECT_EQ(told.value(Family::finding, {"store_away"}), 2);
  examined.examination_fails.reset();
  ASSERT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::finding, {"other"}), 0);
}

TEST_F(Sampled, OtherFindingsCountToo) {
  StoreSample more{runtime, told, examined, {.more = [](Store&) {
                     return std::vector<Finding>{{"config", FindingStatus::warning, "", ""}};
                   }}};
  ASSERT_TRUE(more.take());
  EXPECT_EQ(told.value(Family::finding, {"config"}), 1);
}

TEST_F(Sampled, WhileTheStoreIsAwayGaugesStayAndThatIsFound) {
  enqueue();
  ASSERT_TRUE(sample.take());
  examined.away = true;
  EXPECT_FALSE(sample.take());
  EXPECT_EQ(told.value(Family::finding, {"store_away"}), 2);
  EXPECT_EQ(told.value(Family::jobs, {"mail", "ready"}), 1);
  examined.away = false;
  EXPECT_TRUE(sample.take());
  EXPECT_EQ(told.value(Family::finding, {"store_away"}), 0);
}

}  // namespace
}  // namespace fenceline::metrics::test

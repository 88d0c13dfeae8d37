// What every store promises about the list of workers.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

WorkerReport registry_report_of(const std::string& owner) {
  return {.ns = "default",
          .owner = owner,
          .host = "host \"1\"",
          .pid = 4'194'304,
          .version = "0.1.0",
          .queues = {"q", "r"},
          .stage = "s",
          .concurrency = 4,
          .ttl = kTtl};
}

TEST_P(RegistryConformance, AWorkerIsListedAsItReported) {
  const WallTime now = wall();
  WorkerReport report = registry_report_of("a");
  report.holding = {{new_id(), 17}, {new_id(), kFenceMax}};
  must(store().report_worker(report));
  const std::vector<WorkerRow> rows = must(store().workers("default"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].report, report);
  EXPECT_EQ(rows[0].started_at, now);
  EXPECT_EQ(rows[0].seen_at, now);
}

TEST_P(RegistryConformance, AReportRenewsTheRowAndKeepsItsStart) {
  const WallTime start = wall();
  WorkerReport report = registry_report_of("a");
  must(store().report_worker(report));
  let_time_pass(10s);
  report.holding = {{new_id(), 1}};
  report.concurrency = 1;
  must(store().report_worker(report));
  const std::vector<WorkerRow> rows = must(store().workers("default"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].report, report);
  EXPECT_EQ(rows[0].started_at, start);
  EXPECT_EQ(rows[0].seen_at, start + 10s);
}

TEST_P(RegistryConformance, TheStoreTellsHowLongAWorkerWasNotSeen) {
  must(store().report_worker(registry_report_of("a")));
  let_time_pass(10s);
  must(store().report_worker(registry_report_of("b")));
  let_time_pass(1s);
  const std::vector<WorkerRow> rows = must(store().workers("default"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].unseen, 11s);
  EXPECT_EQ(rows[1].unseen, 1s);
}

TEST_P(RegistryConformance, WorkersAreListedByStartThenOwner) {
  must(store().report_worker(registry_report_of("z")));
  let_time_pass(1s);
  must(store().report_worker(registry_report_of("b")));
  must(store().report_worker(registry_report_of("a")));
  must(store().report_worker(registry_report_of("z")));
  std::vector<std::string> owners;
  for (const WorkerRow& row : must(store().workers("default"))) owners.push_back(row.report.owner);
  EXPECT_EQ(owners, (std::vector<std::string>{"z", "a", "b"}));
}

TEST_P(RegistryConformance, ARemovedWorkerIsGoneAndTheOthersStay) {
  must(store().report_worker(registry_report_of("a")));
  must(store().report_worker(registry_report_of("b")));
  must(store().remove_worker("default", "a"));
  must(store().remove_worker("default", "a"));
  must(store().remove_worker("default", "unknown"));
  const std::vector<WorkerRow> rows = must(store().workers("default"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].report.owner, "b");
}

TEST_P(RegistryConformance, AWorkerThatWasNotSeenForADayIsForgottenByTheNextReport) {
  must(store().report_worker(registry_report_of("dead")));
  let_time_pass(1h);
  must(store().report_worker(registry_report_of("quiet")));
  let_time_pass(kWorkerForgottenAfter - 1h);
  EXPECT_EQ(must(store().workers("default")).size(), 2u);
  must(store().report_worker(registry_report_of("new")));
  std::vector<std::string> owners;
  for (const WorkerRow& row : must(store().workers("default"))) owners.push_back(row.report.owner);
  EXPECT_EQ(owners, (std::vector<std::string>{"quiet", "new"}));
}

TEST_P(RegistryConformance, WorkersOfAnotherNamespaceAreNotSeen) {
  must(store().report_worker(registry_report_of("a")));
  EXPECT_TRUE(must(store().workers("other")).empty());
  must(store().remove_worker("other", "a"));
  EXPECT_EQ(must(store().workers("default")).size(), 1u);
}

TEST_P(RegistryConformance, ARowDecidesNothingAboutALease) {
  added(new_job());
  const ClaimedJob claim = claimed_by("a");
  WorkerReport liar = registry_report_of("b");
  liar.holding = {holding_of(claim)};
  must(store().report_worker(liar));
  must(store().remove_worker("default", "a"));
  EXPECT_EQ(extended("b", holding_of(claim)), "other_owner");
  EXPECT_EQ(extended("a", holding_of(claim)), "");
}

TEST_P(RegistryConformance, InvalidReportsChangeNothing) {
  const auto refused = [&](auto spoil) {
    WorkerReport report = registry_report_of("a");
    spoil(report);
    EXPECT_EQ(code_of(store().report_worker(report)), Code::invalid);
  };
  refused([](WorkerReport& r) { r.ns = "a/b"; });
  refused([](WorkerReport& r) { r.owner = ""; });
  refused([](WorkerReport& r) { r.queues = {}; });
  refused([](WorkerReport& r) { r.ttl = 0s; });
  EXPECT_EQ(code_of(store().workers("")), Code::invalid);
  EXPECT_EQ(code_of(store().remove_worker("", "a")), Code::invalid);
  EXPECT_TRUE(must(store().workers("default")).empty());
}

}  // namespace
}  // namespace fenceline::test

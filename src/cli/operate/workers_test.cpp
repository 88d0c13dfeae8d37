#include "cli/operate/workers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/host.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

WorkerRow this_process(Duration unseen) {
  WorkerRow row;
  row.report.host = host_name();
  row.report.pid = ::getpid();
  row.unseen = unseen;
  return row;
}

TEST(Workers, AProcessThatIsYoungerThanTheLastSignOfAWorkerHasOnlyItsNumber) {
  EXPECT_EQ(lives_here(this_process(0s)), true);
  EXPECT_EQ(lives_here(this_process(24h * 3650)), false);
  WorkerRow elsewhere = this_process(0s);
  elsewhere.report.host += "-other";
  EXPECT_EQ(lives_here(elsewhere), std::nullopt);
}

Job run_by(const std::string& owner, std::uint8_t number, Duration left) {
  Job job;
  job.id.bytes.back() = number;
  job.state = JobState::running;
  job.owner = owner;
  job.fence = number;
  job.lease_left = left;
  return job;
}

TEST(Workers, RunningJobsComeFromTheStoreAndNotFromTheLastReport) {
  WorkerRow row = this_process(0s);
  row.report.owner = "w-1";
  row.report.holding = {{JobId{}, 7}, {JobId{}, 8}, {JobId{}, 9}};
  const RunningByOwner running =
      running_by_owner({run_by("w-1", 1, 5s), run_by("w-2", 2, 5s), run_by("w-1", 3, -1s), run_by("w-1", 4, 1s)});
  ASSERT_EQ(runs_of(row, running).size(), 2u) << "a lease that ran out is not a run";
  EXPECT_EQ(runs_of(row, running)[1].fence, 4);
  row.report.owner = "w-3";
  EXPECT_TRUE(runs_of(row, running).empty());
  row.report.owner = "w-2";
  const Table table = worker_table({row}, running);
  EXPECT_EQ(table.columns.back().name, "running");
  EXPECT_EQ(table.rows[0].back().text, "1");
  EXPECT_NE(
      worker_json(row, running).find("\"running\":[{\"job\":\"00000000-0000-0000-0000-000000000002\",\"fence\":2}]"),
      std::string::npos);
}

TEST(Workers, AProcessThatRunsIsNotStopped) { EXPECT_FALSE(stopped_here(host_name(), ::getpid(), 0s)); }

}  // namespace
}  // namespace fenceline::cli

#include "cli/frame/terminal_log.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

const std::string kFirst = "0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10";
const std::string kSecond = "0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d11";
constexpr WallTime kBegin{1'700'000'000s};

LogEvent about_job(const std::string& name, const std::string& job, const std::string& outcome = "") {
  return {Level::info, name, {{"job", job}, {"queue", "mail"}, {"outcome", outcome}}};
}

TEST(WorkCounts, CountsWhatRunsAndHowItEnded) {
  WorkCounts counts;
  EXPECT_EQ(counts.text(), "0 running, 0 done");
  counts.count(about_job("execution_started", kFirst), kBegin);
  counts.count(about_job("execution_started", kSecond), kBegin);
  EXPECT_EQ(counts.text(), "2 running, 0 done");
  counts.count(about_job("execution_ended", kFirst, "done"), kBegin);
  counts.count(about_job("job_settled", kFirst, "done"), kBegin);
  counts.count(about_job("execution_ended", kSecond, "failed"), kBegin);
  counts.count(about_job("job_settled", kSecond, "failed"), kBegin);
  EXPECT_EQ(counts.text(), "0 running, 1 done, 1 failed");
  counts.count(about_job("job_settled", kSecond, "failed"), kBegin);
  counts.count({Level::warn, "jobs_buried", {{"jobs", 1}}}, kBegin);
  counts.count(about_job("job_settled", kFirst, "later"), kBegin);
  counts.count(about_job("lease_lost", kFirst), kBegin);
  counts.count(about_job("stale_write_refused", kFirst), kBegin);
  EXPECT_EQ(counts.text(), "0 running, 1 done, 2 failed, 1 dead, 1 postponed, 1 leases lost, 1 late writes refused");
}

TEST(WorkCounts, AnItemThatMovedOnIsNotDoneAndAnEntryConditionIsNotAJob) {
  WorkCounts counts;
  LogEvent moved = about_job("job_settled", kFirst, "done");
  moved.fields.emplace_back("moved_to", "review");
  counts.count(moved, kBegin);
  EXPECT_EQ(counts.text(), "0 running, 0 done, 1 moved on");
  LogEvent check = about_job("execution_started", kSecond);
  check.fields.emplace_back("entry_of", "publish");
  counts.count(check, kBegin);
  EXPECT_EQ(counts.text(), "0 running, 0 done, 1 moved on");
}

TEST(WorkCounts, AJobThatRunsForLongIsToldOfOnceWithTheTimeItStarted) {
  WorkCounts counts;
  counts.count(about_job("execution_started", kFirst), kBegin);
  counts.count(about_job("execution_started", kSecond), kBegin + 1s);
  EXPECT_TRUE(counts.newly_long(kBegin + 1900ms).empty());
  const auto first = counts.newly_long(kBegin + 2s);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].line.subject, "mail 0c6f9d10");
  EXPECT_EQ(first[0].at, kBegin);
  counts.count(about_job("execution_ended", kSecond), kBegin + 2500ms);
  EXPECT_TRUE(counts.newly_long(kBegin + 10s).empty());
}

}  // namespace
}  // namespace fenceline::cli

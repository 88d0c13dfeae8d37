#include "drills/metrics_scrape.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

const std::string kText =
    "# HELP fenceline_jobs Jobs.\n# TYPE fenceline_jobs gauge\n"
    "fenceline_jobs{queue=\"a } b\",state=\"dead\"} 3\nfenceline_jobs{queue=\"mail\",state=\"dead\"} "
    "4\nfenceline_jobs{queue=\"mail\",state=\"ready\"} 7\n"
    "# TYPE fenceline_fail_open_total counter\nfenceline_fail_open_total 2 1700000000000\n"
    "# TYPE fenceline_lock_wait_seconds histogram\nfenceline_lock_wait_seconds_bucket{le=\"+Inf\"} "
    "5\nfenceline_lock_wait_seconds_sum 1.5e-05\nfenceline_lock_wait_seconds_count 5\n";

TEST(MetricsScrape, SumsTheSeriesThatASelectorNames) {
  const Result<Scrape> read = parse_scrape(kText);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->sum("fenceline_jobs"), 14);
  EXPECT_EQ(read->sum("fenceline_jobs{state=\"dead\"}"), 7);
  EXPECT_EQ(read->sum("fenceline_fail_open_total"), 2);
  EXPECT_EQ(read->sum("fenceline_lock_wait_seconds"), 5);
  EXPECT_EQ(read->sum("fenceline_job"), std::nullopt);
  EXPECT_EQ(read->sum("fenceline_jobs{state=\"lost\"}"), std::nullopt);
}

TEST(MetricsScrape, KnowsWhatOnlyGrows) {
  const Result<Scrape> read = parse_scrape(kText);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_FALSE(read->only_grows("fenceline_jobs{queue=\"mail\",state=\"dead\"}"));
  EXPECT_TRUE(read->only_grows("fenceline_fail_open_total"));
  EXPECT_TRUE(read->only_grows("fenceline_lock_wait_seconds_bucket{le=\"+Inf\"}"));
  EXPECT_TRUE(read->only_grows("fenceline_lock_wait_seconds_sum"));
}

TEST(MetricsScrape, NamesALineThatIsNotASample) {
  for (const char* line : {"fenceline_jobs", "fenceline_jobs x", "fenceline_jobs{queue=\"a} 3", "<html>"}) {
    const Result<Scrape> read = parse_scrape(std::string("# a comment\n") + line + "\n");
    ASSERT_FALSE(read) << line;
    EXPECT_NE(read.error().message.find(line), std::string::npos) << read.error().message;
  }
}

TEST(MetricsScrape, ReportsThatThereIsNoListener) {
  const Result<Scrape> read = scrape("127.0.0.1:1");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::unavailable);
}

}  // namespace
}  // namespace fenceline::cli

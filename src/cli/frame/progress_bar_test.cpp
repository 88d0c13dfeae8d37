#include "cli/frame/progress_bar.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

TEST(ProgressBar, ShowsPercentAndTimeLeftIfTheSizeIsKnown) {
  EXPECT_EQ(progress_text("jobs", 1500, 0.25, 3s), "[#####...............]  25%  1500 jobs, 500/s, 9s left");
  EXPECT_EQ(progress_text("jobs", 10, 0.5, 200s), "[##########..........]  50%  10 jobs, 0/s, 3m 20s left");
  EXPECT_EQ(progress_text("jobs", 10, 0.5, 7500s), "[##########..........]  50%  10 jobs, 0/s, 2h 5m left");
  EXPECT_EQ(progress_text("jobs", 2000, 1.0, 4s), "[####################] 100%  2000 jobs, 500/s");
}

TEST(ProgressBar, ShowsCountAndRateIfTheSizeIsUnknown) {
  EXPECT_EQ(progress_text("jobs", 1500, std::nullopt, 3s), "1500 jobs, 500/s");
  EXPECT_EQ(progress_text("jobs", 0, std::nullopt, 0s), "0 jobs, 0/s");
}

TEST(ProgressBar, NothingItShowsBreaksALineOf80Columns) {
  EXPECT_LT(progress_text("jobs", 9'000'000'000'000, 0.000001, 1000000s).size(), 80U);
  EXPECT_EQ(progress_text("jobs", 1, 7.0, 1s).substr(0, 28), "[####################] 100% ");
}

}  // namespace
}  // namespace fenceline::cli

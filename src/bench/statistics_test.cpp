#include "bench/statistics.hpp"

#include <gtest/gtest.h>

namespace fenceline::bench {
namespace {

TEST(Statistics, TheMedianIsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median_of({}), 0);
}

TEST(Statistics, ASpreadHasTheEndsOfTheSeries) {
  const Spread spread = spread_of({5, 1, 9});
  EXPECT_EQ(spread.low, 1);
  EXPECT_EQ(spread.median, 5);
  EXPECT_EQ(spread.high, 9);
}

TEST(Statistics, APercentileIsOneOfTheValues) {
  std::vector<double> series;
  for (int i = 1; i <= 100; ++i) series.push_back(i);
  EXPECT_EQ(percentile(series, 0.5), 50);
  EXPECT_EQ(percentile(series, 0.99), 99);
  EXPECT_EQ(percentile(series, 1), 100);
  EXPECT_EQ(percentile({7}, 0), 7);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

TEST(Statistics, JainsIndexIsOneForEvenSharesAndOneNthForOneHavingAll) {
  EXPECT_DOUBLE_EQ(jain_index({5, 5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(jain_index({20, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index({0, 0}), 1);
}

}  // namespace
}  // namespace fenceline::bench

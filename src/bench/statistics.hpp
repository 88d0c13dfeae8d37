// The few numbers that a series of measurements is told by.
#pragma once

#include <vector>

namespace fenceline::bench {

// Middle and ends of a series.
struct Spread {
  double low = 0;
  double median = 0;
  double high = 0;
};
// The median of an even number is the mean of the two in the middle. All zero for an empty series.
Spread spread_of(std::vector<double> series);
double median_of(const std::vector<double>& series);

// The smallest value that at least `share` (0 to 1) of the series does not exceed. 0 for an empty series.
double percentile(std::vector<double> series, double share);

// Jain's index of how evenly something was shared: 1 is even, 1/n is one having all. 1 if there was nothing.
double jain_index(const std::vector<double>& shares);

}  // namespace fenceline::bench

#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace fenceline::bench {

Spread spread_of(std::vector<double> series) {
  if (series.empty()) return {};
  std::sort(series.begin(), series.end());
  const std::size_t middle = series.size() / 2;
  const double median = series.size() % 2 == 1 ? series[middle] : (series[middle - 1] + series[middle]) / 2;
  return {series.front(), median, series.back()};
}

double median_of(const std::vector<double>& series) { return spread_of(series).median; }

double percentile(std::vector<double> series, double share) {
  if (series.empty()) return 0;
  std::sort(series.begin(), series.end());
  const auto rank =
      static_cast<std::size_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(series.size())));
  return series[std::max<std::size_t>(rank, 1) - 1];
}

double jain_index(const std::vector<double>& shares) {
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 1;
}

}  // namespace fenceline::bench

#include "backends/sqlite/seq_ranges.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace fenceline::sqlite {
namespace {

TEST(SeqRanges, PackedNumbersComeBackInTheirOrder) {
  const std::vector<std::vector<std::int64_t>> cases{
      {}, {1}, {1, 2, 3}, {7, 8, 3, 4, 1}, {5, 5}, {std::int64_t{1} << 60, 2, 3, (std::int64_t{1} << 53) + 1}};
  for (const auto& seqs : cases) EXPECT_EQ(unpack_ranges(pack_ranges(seqs)), seqs);
}

TEST(SeqRanges, AThousandNeighboursAreAFewBytes) {
  std::vector<std::int64_t> seqs(1000);
  std::iota(seqs.begin(), seqs.end(), 1'000'001);
  EXPECT_LE(pack_ranges(seqs).size(), 6U);
  EXPECT_EQ(unpack_ranges(pack_ranges(seqs)), seqs);
}

TEST(SeqRanges, ARangeEndsWhereANumberIsMissing) {
  EXPECT_EQ(ranges_of({1, 2, 4, 3}), (std::vector<SeqRange>{{1, 2}, {4, 4}, {3, 3}}));
}

}  // namespace
}  // namespace fenceline::sqlite

#include "cli/jobs/batch_id.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

std::string hex(const std::array<std::uint8_t, 16>& bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

// The first half of what sha256sum prints.
TEST(BatchId, TheHashIsTheFirstHalfOfSha256) {
  EXPECT_EQ(hex(hash128("")), "e3b0c44298fc1c149afbf4c8996fb924");
  EXPECT_EQ(hex(hash128("abc")), "ba7816bf8f01cfea414140de5dae2223");
  EXPECT_EQ(hex(hash128("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039");
  EXPECT_EQ(hex(hash128(std::string(1'000'000, 'a'))), "cdc76e5c9914fb9281a1c7e284d73e67");
}

// Ids of batches are in people's stores: another rule would enqueue their files twice.
TEST(BatchId, StaysAsItIsForEver) {
  const WallTime first_seen{1'794'740'627'158'974us};
  EXPECT_EQ(to_string(batch_id(first_seen, "nightly", 1)), "01a1dee0-a6d6-7f3d-ab54-0bb858827a76");
  EXPECT_EQ(to_string(batch_id(first_seen, "nightly", 2)), "01a1dee0-a6d6-7f42-a2b8-241d32276fb7");
}

TEST(BatchId, ABatchUnderWayEndsADayAfterItsNameWasFirstSeen) {
  const WallTime first_seen{1'794'740'627'158'974us};
  EXPECT_TRUE(batch_goes_on(first_seen, first_seen + 24h));
  EXPECT_FALSE(batch_goes_on(first_seen, first_seen + 24h + 1us));
}

TEST(BatchId, NoTwoLinesOfTwoBatchesShareAnId) {
  std::set<Uuid> ids;
  for (const char* name : {"a", "a1", "b"}) {
    for (int line = 1; line <= 5000; ++line) ids.insert(batch_id(WallTime{}, name, line));
  }
  EXPECT_EQ(ids.size(), 15'000U);
}

}  // namespace
}  // namespace fenceline::cli

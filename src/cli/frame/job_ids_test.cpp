#include "cli/frame/job_ids.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

TEST(JobIds, AShortIdIsTheEndOfTheId) {
  const JobId id = *parse_uuid("0198F3C1-7a3e-7bbd-9f51-3a2f0c6f9d10");
  EXPECT_EQ(short_id(id), "0c6f9d10");
  EXPECT_EQ(id_cell(id).text, "0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10");
  EXPECT_EQ(id_cell(id).brief, "0c6f9d10");
}

TEST(JobIds, IdsInATextAreShortenedAndTheRestStays) {
  EXPECT_EQ(with_short_ids("0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10 review -> publish"), "0c6f9d10 review -> publish");
  EXPECT_EQ(with_short_ids("of 0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10"), "of 0c6f9d10");
  EXPECT_EQ(with_short_ids("queue mail"), "queue mail");
  EXPECT_EQ(with_short_ids(""), "");
}

}  // namespace
}  // namespace fenceline::cli

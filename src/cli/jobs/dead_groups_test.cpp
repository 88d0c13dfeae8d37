#include "cli/jobs/dead_groups.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

Job dead_of(std::string error, std::uint8_t number = 1, Duration at = 1s, std::string queue = "mail") {
  Job job;
  job.id.bytes.back() = number;
  job.queue = std::move(queue);
  job.state = JobState::dead;
  job.error = std::move(error);
  job.finished_at = WallTime{at};
  return job;
}

TEST(DeadGroups, WhatDiffersFromJobToJobIsLeftOut) {
  EXPECT_EQ(error_kind(dead_of("order 12345: timeout after 1203 ms")), "order *: timeout after * ms");
  EXPECT_EQ(error_kind(dead_of("job 0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10 not found")), "job * not found");
  EXPECT_EQ(error_kind(dead_of("at 0x7ffdeadbee")), "at *");
  EXPECT_EQ(error_kind(dead_of("first line\n  second line")), "first line second line");
}

TEST(DeadGroups, ShortNumbersTellKindsApart) {
  EXPECT_EQ(error_kind(dead_of("exit status 3")), "exit status 3");
  EXPECT_EQ(error_kind(dead_of("HTTP 503: try later")), "HTTP 503: try later");
  EXPECT_EQ(error_kind(dead_of("utf8 is not latin1")), "utf8 is not latin1");
}

TEST(DeadGroups, AJobWithoutAnErrorSaysHowItDied) {
  Job job = dead_of("");
  EXPECT_EQ(error_kind(job), "no error text");
  job.losses_in_row = 5;
  EXPECT_EQ(error_kind(job), "its worker was lost 5 times in a row");
  job.exit_status = 7;
  EXPECT_EQ(error_kind(job), "exit status 7");
}

TEST(DeadGroups, TheLargestComesFirstWithItsNewestJobAsTheExample) {
  DeadGroups groups;
  groups.add(dead_of("one", 1, 10s));
  groups.add(dead_of("many 1111", 2, 30s));
  groups.add(dead_of("many 2222", 3, 20s));
  groups.add(dead_of("many 3333", 4, 40s, "other"));
  const std::vector<DeadGroup> found = groups.groups();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].error, "many *");
  EXPECT_EQ(found[0].count, 2);
  EXPECT_EQ(found[0].example.bytes.back(), 2);
  EXPECT_EQ(found[0].newest_at, WallTime{30s});
  EXPECT_EQ(found[0].oldest_at, WallTime{20s});
  EXPECT_EQ(found[1].queue, "mail");
  EXPECT_EQ(found[2].queue, "other") << "queues are groups apart";

  const std::string table = render_columns(dead_groups_table(found, WallTime{90s}), 80, false);
  EXPECT_EQ(table,
            "jobs  queue  newest  example   error\n"
            "   2  mail      60s  00000002  many *\n"
            "   1  mail      80s  00000001  one\n"
            "   1  other     50s  00000004  many *\n");
  const auto json = nlohmann::json::parse(dead_groups_json(groups, true));
  EXPECT_EQ(json["jobs"], 4);
  EXPECT_EQ(json["groups"][0]["jobs"], 2);
  EXPECT_EQ(json["groups"][0]["example"], "00000000-0000-0000-0000-000000000002");
}

TEST(DeadGroups, TheNumberOfGroupsIsBounded) {
  DeadGroups groups;
  std::string text;
  for (std::size_t i = 0; i < DeadGroups::kGroupsMost + 5; ++i) {
    text.clear();
    for (std::size_t rest = i + 1; rest > 0; rest /= 20) text += static_cast<char>('g' + rest % 20);
    groups.add(dead_of(text));
  }
  EXPECT_EQ(groups.groups().size(), DeadGroups::kGroupsMost);
  EXPECT_EQ(groups.others(), 5);
  EXPECT_EQ(groups.total(), static_cast<std::int64_t>(DeadGroups::kGroupsMost) + 5);
}

}  // namespace
}  // namespace fenceline::cli

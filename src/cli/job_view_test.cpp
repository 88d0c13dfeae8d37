#include "cli/job_view.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

Job job() {
  Job out;
  out.queue = "mail";
  out.state = JobState::done;
  out.payload = "{ \"n\": 12345678901234567890.10 }";
  out.fence = kFenceMax;
  out.owner = "w";
  out.lease_left = -1ms;
  out.result = "ok";
  out.created_at = WallTime{1'700'000'000'000'000us};
  return out;
}

TEST(JobView, HasTheFieldsThatScriptsRelyOn) {
  const auto json = nlohmann::ordered_json::parse(job_json(job(), {}));
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"id", "queue", "stage", "state", "priority", "created_at", "run_at", "finished_at",
                                             "attempts_max", "fence", "owner", "lease_left_ms", "deliveries", "failures", "losses",
                                             "losses_in_row", "laters", "error"}));
  EXPECT_EQ(json["fence"], kFenceMax);
  EXPECT_EQ(json["lease_left_ms"], -1);
  EXPECT_TRUE(json["finished_at"].is_null());
  EXPECT_EQ(json["created_at"], "2023-11-14T22:13:20.000000Z");
}

TEST(JobView, PayloadAndResultShowOnRequestOnly) {
  EXPECT_EQ(job_json(job(), {}).find("12345678901234567890"), std::string::npos);
  const std::string shown = job_json(job(), {.result = true, .payload = true});
  EXPECT_NE(shown.find(",\"result\":\"ok\",\"payload\":{\"n\":12345678901234567890.10}}"), std::string::npos) << shown;
  for (const std::vector<Cell>& row : job_table({job()}).rows) {
    for (const Cell& cell : row) EXPECT_EQ(cell.text.find("1234567890"), std::string::npos);
  }
}

TEST(JobView, AResultThatIsNotTextIsBase64) {
  Job foreign = job();
  foreign.result = "\xff\xfe";
  EXPECT_EQ(nlohmann::json::parse(job_json(foreign, {.result = true}))["result"]["base64"], "//4=");
}

TEST(JobView, EveryRowHasACellForEveryColumn) {
  const Table table = job_table({job(), job()});
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
}

}  // namespace
}  // namespace fenceline::cli

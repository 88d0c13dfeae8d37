#include "cli/jobs/job_view.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

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
  EXPECT_EQ(
      names,
      (std::vector<std::string>{
          "id",          "queue",         "stage",     "state",       "priority",      "created_at",     "run_at",
          "finished_at", "attempts_max",  "fence",     "owner",       "lease_left_ms", "deliveries",     "failures",
          "losses",      "losses_in_row", "laters",    "duration_ms", "progress",      "tags",           "key",
          "key_for_ms",  "group",         "limit_key", "timeout_ms",  "backoff_ms",    "backoff_max_ms", "traceparent",
          "exit_status", "error"}));
  EXPECT_EQ(json["fence"], kFenceMax);
  EXPECT_EQ(json["lease_left_ms"], -1);
  EXPECT_TRUE(json["finished_at"].is_null());
  EXPECT_EQ(json["created_at"], "2023-11-14T22:13:20.000000Z");
}

TEST(JobView, PayloadAndResultShowOnRequestOnly) {
  EXPECT_EQ(job_json(job(), {}).find("12345678901234567890"), std::string::npos);
  const std::string shown = job_json(job(), {.result = true, .payload = true});
  EXPECT_NE(shown.find(",\"result\":\"ok\",\"payload\":{\"n\":12345678901234567890.10}}"), std::string::npos) << shown;
  for (const std::vector<Cell>& row : job_table({job()}, WallTime{}).rows) {
    for (const Cell& cell : row) EXPECT_EQ(cell.text.find("1234567890"), std::string::npos);
  }
}

TEST(JobView, AResultThatIsNotTextIsBase64) {
  Job foreign = job();
  foreign.result = "\xff\xfe";
  EXPECT_EQ(nlohmann::json::parse(job_json(foreign, {.result = true}))["result"]["base64"], "//4=");
}

TEST(JobView, EveryDeliveryHasALineOfItsOwn) {
  const std::vector<Attempt> attempts{
      {.delivery = 1,
       .fence = 7,
       .owner = "w",
       .started_at = WallTime{1'700'000'000s},
       .ended_at = WallTime{1'700'000'002s},
       .end = AttemptEnd::failed,
       .exit_status = 3,
       .error = "no route"},
      {.delivery = 2, .fence = 8, .owner = "w", .started_at = WallTime{1'700'000'100s}}};
  const Table card = job_card(job(), attempts, {.result = true});
  std::map<std::string, std::string> fields;
  for (const auto& row : card.rows) fields[row[0].text] = row[1].text;
  EXPECT_EQ(fields["attempt 1"], "failed after 2s, from 2023-11-14T22:13:20.000000Z, fence 7, by w: no route");
  const std::string shown = render_columns(card, 80, false, false);
  EXPECT_NE(shown.find("failed after 2s, from 2023-11-14T22:13:20Z: no route\n"), std::string::npos) << shown;
  EXPECT_EQ(fields["attempt 2"], "running, from 2023-11-14T22:15:00.000000Z, fence 8, by w");
  EXPECT_EQ(fields["result"], "ok");
  const auto json = nlohmann::json::parse(attempts_json(attempts));
  EXPECT_EQ(json[0]["exit_status"], 3);
  EXPECT_EQ(json[1]["end"], "running");
  EXPECT_TRUE(json[1]["ended_at"].is_null());
}

TEST(JobView, AnErrorFromBeforeAJobSucceededDoesNotLookLikeItsOutcome) {
  Job late = job();
  late.error = "no route";
  const std::vector<Attempt> attempts{{.delivery = 1, .end = AttemptEnd::failed, .error = "no route"},
                                      {.delivery = 2, .end = AttemptEnd::done}};
  std::map<std::string, std::string> fields;
  for (const auto& row : job_card(late, attempts, {}).rows) fields[row[0].text] = row[1].text;
  EXPECT_EQ(fields["error"], "");
  EXPECT_EQ(fields["last_error"], "(attempt 1, before it succeeded) no route");
  const std::string list = render_columns(job_table({late}, WallTime{}), 120, false);
  EXPECT_NE(list.find("earlier: no route"), std::string::npos) << list;
  late.state = JobState::dead;
  fields.clear();
  for (const auto& row : job_card(late, attempts, {}).rows) fields[row[0].text] = row[1].text;
  EXPECT_EQ(fields["error"], "no route");
  EXPECT_FALSE(fields.contains("last_error"));
}

TEST(JobView, EveryRowHasACellForEveryColumn) {
  const Table table = job_table({job(), job()}, WallTime{});
  for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
}

Job running_job() {
  Job out = job();
  out.id = *parse_uuid("0198f3c1-7a3e-7bbd-9f51-3a2f0c6f9d10");
  out.state = JobState::running;
  out.owner = "web-3-8812-4f2a";
  out.ran_for = 95s;
  out.failures = 2;
  out.progress = Progress{40, "page 12 of 30"};
  out.error = "smtp: 451 greylisted\n  try again in a few minutes, said the server of the recipient";
  return out;
}

TEST(JobView, AListHasAgeAndDurationAt80ColumnsAndNeverWraps) {
  Job other = running_job();
  other.queue = std::string(128, 'q');
  const Table table = job_table({running_job(), other}, running_job().created_at + 5min);
  const std::string text = render_columns(table, 80, false);
  EXPECT_TRUE(text.starts_with("id        queue"));
  EXPECT_NE(text.find("state    age  duration  failures  error"), std::string::npos) << text;
  EXPECT_NE(text.find("0c6f9d10  mail"), std::string::npos) << text;
  EXPECT_NE(text.find("running   5m       95s         2  smtp: 451"), std::string::npos) << text;
  EXPECT_EQ(text.find("holder"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(JobView, AListHasProgressAndHolderAt100Columns) {
  const std::string text =
      render_columns(job_table({running_job(), job()}, running_job().created_at + 5min), 100, false);
  EXPECT_NE(text.find("progress"), std::string::npos) << text;
  EXPECT_NE(text.find("40% page"), std::string::npos) << text;
  EXPECT_NE(text.find("web-3-88"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(JobView, OnlyARunningJobHasAHolder) {
  const Table table = job_table({job()}, WallTime{});
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& name = table.columns[i].name;
    if (name != "holder" && name != "owner") continue;
    EXPECT_EQ(table.rows[0][i].text, name == "owner" ? "w" : "");
  }
}

}  // namespace
}  // namespace fenceline::cli

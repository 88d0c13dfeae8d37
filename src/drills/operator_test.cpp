#include "drills/operator.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "drills/operator_rules.hpp"

namespace fenceline::cli {
namespace {

OperatorFault named_by(const std::string& check, const std::string& alert = "") {
  return {.name = check, .what = "", .metric = "", .check = check, .command = "", .bring_about = {}, .alert = alert};
}

TEST(DrillOperator, AlertAndRunbookAreCalledByTheCheck) {
  EXPECT_EQ(alert_of(named_by("stale_jobs")), "FencelineStaleJobs");
  EXPECT_EQ(runbook_of(named_by("stale_jobs")), "stale-jobs.md");
  EXPECT_EQ(runbook_of(named_by("orphans", "FencelineLeasesLost")), "leases-lost.md");
  EXPECT_EQ(runbook_of(named_by("schema", "FencelineStoreFindingBad")), "store-finding.md");
}

TEST(DrillOperator, ARemedyIsAsPromisedWordByWord) {
  EXPECT_TRUE(is_as_promised("fenceline work QUEUE -- CMD", "fenceline work mail -- CMD"));
  EXPECT_TRUE(is_as_promised("kill -CONT PID", "kill -CONT 4711"));
  EXPECT_TRUE(is_as_promised("psql -c ...", "psql -c 'alter system reset fsync'"));
  EXPECT_TRUE(is_as_promised("redis-cli ... CONFIG SET maxmemory BYTES",
                             "redis-cli -h 127.0.0.1 -p 1 CONFIG SET maxmemory 2000"));
  EXPECT_FALSE(
      is_as_promised("redis-cli ... CONFIG SET maxmemory BYTES", "redis-cli -h 127.0.0.1 CONFIG SET appendonly yes"));
  EXPECT_FALSE(is_as_promised("fenceline work QUEUE -- CMD", "fenceline job explain 17"));
  EXPECT_FALSE(is_as_promised("fenceline work QUEUE -- CMD", "fenceline work mail"));
  EXPECT_FALSE(is_as_promised("fenceline queue resume QUEUE", "fenceline queue resume mail --yes"));
  EXPECT_FALSE(is_as_promised("fenceline queue resume QUEUE", ""));
}

TEST(DrillOperator, EveryFaultHasANameOfItsOwnAndAnAlertThatThereIs) {
  std::string rules;
  for (const RuleFile& file : alert_rules()) rules += file.text;
  std::set<std::string> names;
  for (const OperatorFault& fault : operator_faults()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_NE(rules.find("alert: " + alert_of(fault) + "\n"), std::string::npos)
        << fault.name << ": there is no rule " << alert_of(fault);
    EXPECT_TRUE(fault.metric.starts_with("fenceline_")) << fault.name;
    EXPECT_FALSE(fault.what.empty() || fault.command.empty() || !fault.bring_about) << fault.name;
  }
}

// The two scrapes of a process, as promtool is told of them.
std::map<std::string, std::string> told_of(const std::string& ages = "") {
  Scrape before;
  before.types = {
      {"fenceline_deaths_total", "counter"}, {"fenceline_depth", "gauge"}, {"fenceline_age_seconds", "gauge"}};
  before.series = {{"fenceline_deaths_total", 1},
                   {"fenceline_depth{queue=\"a\"}", 2},
                   {"fenceline_age_seconds", 0},
                   {"process_start_time_seconds", 1.7e9}};
  Scrape during = before;
  during.series = {{"fenceline_deaths_total", 4},
                   {"fenceline_depth{queue=\"a\"}", 0.25},
                   {"fenceline_depth{queue=\"b\"}", 5},
                   {"fenceline_age_seconds", 3},
                   {"process_start_time_seconds", 1.7e9}};
  const nlohmann::json test =
      nlohmann::json::parse(rule_test({.rules_path = "r.yml", .alert = "FencelineX", .ages = ages}, before, during));
  std::map<std::string, std::string> values;
  for (const nlohmann::json& series : test["tests"][0]["input_series"]) values[series["series"]] = series["values"];
  return values;
}

TEST(DrillOperatorRules, ACounterKeepsGrowingAndAGaugeStays) {
  const auto values = told_of();
  EXPECT_EQ(values.at("fenceline_deaths_total{instance=\"drill\",job=\"fenceline\"}"), "1x119 4+3x90");
  EXPECT_EQ(values.at("fenceline_depth{queue=\"a\",instance=\"drill\",job=\"fenceline\"}"), "2x119 0.25+0x90");
  EXPECT_EQ(values.at("fenceline_depth{queue=\"b\",instance=\"drill\",job=\"fenceline\"}"), "_x120 5+0x90");
  EXPECT_EQ(values.at("fenceline_age_seconds{instance=\"drill\",job=\"fenceline\"}"), "0x119 3+0x90");
  EXPECT_EQ(values.at("process_start_time_seconds{instance=\"drill\",job=\"fenceline\"}"), "-86400x119 -86400+0x90");
}

TEST(DrillOperatorRules, AProcessThatIsGoneIsNotScraped) {
  Scrape before;
  before.series = {{"fenceline_build_info", 1}};
  const nlohmann::json test =
      nlohmann::json::parse(rule_test({.rules_path = "r.yml", .alert = "FencelineX"}, before, {}));
  EXPECT_EQ(test["tests"][0]["input_series"][0]["values"], "1x119 0+0x90");
  EXPECT_EQ(test["tests"][0]["input_series"][2]["values"], "1x119");
}

TEST(DrillOperatorRules, AnAgeGrowsWithTheFault) {
  EXPECT_EQ(told_of("fenceline_age_seconds").at("fenceline_age_seconds{instance=\"drill\",job=\"fenceline\"}"),
            "0x119 3+60x90");
}

}  // namespace
}  // namespace fenceline::cli

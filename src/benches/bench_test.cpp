// What a bench says of its numbers. That it runs at all is shown by `fenceline bench --quick` in script/test.
#include "benches/bench.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

double number(const BenchResult& result, const std::string& name) {
  for (const auto& [known, value] : result.more) {
    if (known == name) return value;
  }
  ADD_FAILURE() << "no number " << name;
  return 0;
}

// Ours takes twice the time and four times the CPU; the machine is slow in the second round, for both.
const BenchSides kSides{.ours = {{1000, 2s, 800ms}, {1000, 20s, 800ms}, {1000, 2s, 800ms}},
                        .raw = {{1000, 1s, 200ms}, {1000, 10s, 200ms}, {1000, 1s, 200ms}},
                        .raw_set = {}};

TEST(BenchComparison, TakesTheRatioRoundByRoundSoThatASlowMomentMeetsBothSides) {
  const BenchResult result = compare_sides("drain", kSides);
  EXPECT_DOUBLE_EQ(*result.rate, 500);
  EXPECT_DOUBLE_EQ(*result.raw_rate, 1000);
  EXPECT_DOUBLE_EQ(*result.ratio, 0.5);
  EXPECT_DOUBLE_EQ(number(result, "ratio_low"), 0.5);
  EXPECT_DOUBLE_EQ(number(result, "ratio_high"), 0.5);
}

TEST(BenchComparison, SaysWhatShareOfOurCpuTimeTheRawLibraryNeeds) {
  const BenchResult result = compare_sides("drain", kSides);
  EXPECT_DOUBLE_EQ(number(result, "cpu_ratio"), 0.25);
  EXPECT_DOUBLE_EQ(number(result, "cpu_us"), 800);
  EXPECT_DOUBLE_EQ(number(result, "raw_cpu_us"), 200);
}

TEST(BenchMarks, AreMetAtTheirLimit) {
  EXPECT_TRUE((BenchMark{"ratio", 0.6, BenchMark::Bound::at_least, 0.6}).met());
  EXPECT_FALSE((BenchMark{"ratio", 0.59, BenchMark::Bound::at_least, 0.6}).met());
  EXPECT_TRUE((BenchMark{"p99_ms", 60, BenchMark::Bound::at_most, 60}).met());
  EXPECT_FALSE((BenchMark{"p99_ms", 60.1, BenchMark::Bound::at_most, 60}).met());
}

TEST(BenchReport, HasTheShapeThatScriptsRelyOn) {
  BenchResult latency{.name = "start_latency"};
  latency.p50_ms = 1.5;
  latency.p99_ms = 61;
  latency.must("p99_ms", 61, BenchMark::Bound::at_most, 60);
  const std::string text = bench_json("sqlite:x.db", "full",
                                      {compare_sides("drain", kSides),
                                       latency,
                                       {.name = "held_horizon", .skipped = "none here"},
                                       {.name = "backlog", .failed = "no answer"}});
  const nlohmann::json json = nlohmann::json::parse(text);
  EXPECT_EQ(json["store"], "sqlite:x.db");
  ASSERT_EQ(json["results"].size(), 4U);
  const nlohmann::json& drain = json["results"][0];
  EXPECT_EQ(drain["name"], "drain");
  EXPECT_EQ(drain["rate"], 500.0);
  EXPECT_EQ(drain["raw_rate"], 1000.0);
  EXPECT_EQ(drain["ratio"], 0.5);
  EXPECT_TRUE(drain["p50_ms"].is_null());
  EXPECT_EQ(json["results"][1]["p99_ms"], 61.0);
  EXPECT_EQ(json["results"][1]["marks"][0]["met"], false);
  EXPECT_EQ(json["results"][2]["skipped"], "none here");
  EXPECT_EQ(json["results"][3]["failed"], "no answer");
}

std::vector<BenchResult> some_results() {
  BenchResult latency{.name = "start_latency"};
  latency.p50_ms = 1.5;
  latency.p99_ms = 61;
  latency.must("p99_ms", 61, BenchMark::Bound::at_most, 60);
  return {compare_sides("drain", kSides), latency, {.name = "backlog", .failed = "no answer"}};
}

TEST(BenchReport, IsTablesThatFit80Columns) {
  std::string text;
  for (const Table& table : bench_tables(some_results())) text += render_columns(table, 80, false) + "\n";
  EXPECT_TRUE(text.starts_with("measure  jobs_per_s  raw_per_s  of_raw ")) << text;
  EXPECT_NE(text.find("\nstart_latency  p99_ms   61.0  at most 60.0  missed\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nbacklog  failed  no answer\n"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(BenchReport, APlotHasABarForEachRateAndLatency) {
  EXPECT_EQ(bench_plot(some_results(), 50),
            "drain          ours  ######### 500/s\n"
            "               raw   ################## 1000/s\n"
            "start_latency  p50   1.50ms\n"
            "               p99   ################## 61.0ms\n"
            "\nEach measure has its own scale.\n");
}

}  // namespace
}  // namespace fenceline::cli

#include "metrics/textfile.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "metrics/metrics.hpp"
#include "runtime/thread_runtime.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"

namespace fenceline::metrics {
namespace {

using fenceline::test::code_of;
using fenceline::test::must;

constexpr std::string_view kFirst =
    "# HELP up 1 if it answers\n# TYPE up gauge\nup 0\n"
    "# HELP runs_total runs\n# TYPE runs_total counter\nruns_total{class=\"a b\"} 2\n"
    "# HELP wait how long\n# TYPE wait histogram\nwait_bucket{le=\"0.5\"} 1\nwait_bucket{le=\"+Inf\"} 2\nwait_sum "
    "1.5\nwait_count 2\n";

TEST(Textfile, CountersAndHistogramsAddUpAndGaugesAreTheLastRuns) {
  constexpr std::string_view kSecond =
      "# HELP up 1 if it answers\n# TYPE up gauge\nup 1\n"
      "# HELP runs_total runs\n# TYPE runs_total counter\nruns_total{class=\"c\"} 1\n"
      "# HELP wait how long\n# TYPE wait histogram\nwait_bucket{le=\"0.5\"} 0\nwait_bucket{le=\"+Inf\"} "
      "1\nwait_sum 0.25\nwait_count 1\n";
  const std::string sum = added_up(kFirst, kSecond);
  EXPECT_EQ(sum,
            "# HELP up 1 if it answers\n# TYPE up gauge\nup 1\n"
            "# HELP runs_total runs\n# TYPE runs_total counter\nruns_total{class=\"c\"} 1\nruns_total{class=\"a "
            "b\"} 2\n"
            "# HELP wait how long\n# TYPE wait histogram\nwait_bucket{le=\"0.5\"} 1\nwait_bucket{le=\"+Inf\"} "
            "3\nwait_sum 1.75\nwait_count 3\n");
  EXPECT_EQ(added_up("", kFirst), kFirst);
  EXPECT_EQ(added_up("something else", kFirst), kFirst);
}

TEST(Textfile, IsReplacedWholeAndNothingElseIsLeftInItsFolder) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("textfile-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "locks.prom").string();
  ThreadRuntime runtime;
  must(add_to_textfile(runtime, path, kFirst));
  must(add_to_textfile(runtime, path, kFirst));
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_NE(text.str().find("runs_total{class=\"a b\"} 4\n"), std::string::npos) << text.str();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 1);
  EXPECT_EQ(code_of(check_textfile((folder / "locks.txt").string())), Code::invalid);
  EXPECT_EQ(code_of(check_textfile((folder / "no" / "locks.prom").string())), Code::not_found);
  EXPECT_EQ(code_of(check_textfile(path)), std::nullopt);
  std::filesystem::remove_all(folder);
}

TEST(Textfile, ARunHasItsCountersAndNoGaugesThatOnlyALookAtTheStoreKnows) {
  const fenceline::test::ManualClock clock;
  Metrics metrics({.version = "1", .store = "sqlite", .lock_class = "nightly", .lock_names = {"backup"}}, clock);
  metrics.observe(Family::lock_wait_seconds, {metrics.lock_class("item"), "backup"}, 0.5);
  metrics.observe(Family::lock_wait_seconds, {metrics.lock_class("item"), "unknown"}, 0.5);
  const std::string text = metrics.run_text();
  EXPECT_NE(text.find("fenceline_lock_wait_seconds_count{class=\"nightly\",lock=\"backup\"} 1"), std::string::npos);
  EXPECT_NE(text.find("fenceline_lock_wait_seconds_count{class=\"nightly\",lock=\"other\"} 1"), std::string::npos);
  EXPECT_NE(text.find("fenceline_build_info"), std::string::npos);
  EXPECT_EQ(text.find("fenceline_oldest_ready_seconds"), std::string::npos);
}

}  // namespace
}  // namespace fenceline::metrics

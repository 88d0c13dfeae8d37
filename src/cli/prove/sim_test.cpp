#include <gtest/gtest.h>

#include "cli/frame/signals.hpp"
#include "cli/prove/commands.hpp"
#include "runtime/thread_runtime.hpp"

namespace fenceline::cli {
namespace {

struct SimCommand : testing::Test {
  ThreadRuntime runtime;
  Invocation invocation;
  SimCommand() { invocation.runtime = &runtime; }

  // The exit code, and what was written to stdout.
  int run(std::string& output) {
    testing::internal::CaptureStdout();
    const Result<int> code = sim_command().run(invocation);
    output = testing::internal::GetCapturedStdout();
    if (!code) output = code.error().message;
    return code ? *code : exit_code(code.error());
  }
};

TEST_F(SimCommand, AnUnknownScenarioIsAUsageErrorThatNamesThoseThatExist) {
  invocation.options["--scenario"] = {"rain"};
  std::string output;
  EXPECT_EQ(run(output), kExitUsage);
  EXPECT_NE(output.find("lease-expiry, job-storm"), std::string::npos) << output;
}

TEST_F(SimCommand, ATraceNeedsItsSeed) {
  invocation.options["--trace"] = {""};
  std::string output;
  EXPECT_EQ(run(output), kExitUsage);
}

TEST_F(SimCommand, OneSeedAndManyExcludeEachOther) {
  invocation.options["--seed"] = {"1"};
  invocation.options["--seeds"] = {"2"};
  std::string output;
  EXPECT_EQ(run(output), kExitUsage);
}

TEST_F(SimCommand, ASeedWithoutAViolationExitsWithZero) {
  invocation.options["--scenario"] = {"job-storm"};
  invocation.options["--seed"] = {"8841"};
  invocation.json = true;
  std::string output;
  EXPECT_EQ(run(output), kExitOk) << output;
}

TEST_F(SimCommand, AShrunkPlanBelongsToOneScenarioAndOneSeed) {
  invocation.options["--shrunk"] = {"jobs=2"};
  std::string output;
  EXPECT_EQ(run(output), kExitUsage);
  invocation.options["--scenario"] = {"job-storm"};
  EXPECT_EQ(run(output), kExitUsage);
  invocation.options["--seed"] = {"8841"};
  EXPECT_EQ(run(output), kExitOk) << output;
}

TEST_F(SimCommand, AShrunkPlanThatCannotBeReadIsAUsageErrorThatNamesIt) {
  invocation.options["--scenario"] = {"job-storm"};
  invocation.options["--seed"] = {"8841"};
  invocation.options["--shrunk"] = {"jobs=2,rain=1"};
  std::string output;
  EXPECT_EQ(run(output), kExitUsage);
  EXPECT_NE(output.find("'rain'"), std::string::npos) << output;
}

TEST_F(SimCommand, TheTraceOfAShrunkPlanIsShorter) {
  invocation.options["--scenario"] = {"job-storm"};
  invocation.options["--seed"] = {"8841"};
  invocation.options["--trace"] = {""};
  std::string whole;
  EXPECT_EQ(run(whole), kExitOk);
  invocation.options["--shrunk"] = {"jobs=1,hosts=1,storm_ms=100,on=nothing"};
  std::string shrunk;
  EXPECT_EQ(run(shrunk), kExitOk);
  EXPECT_LT(shrunk.size() * 10, whole.size());
}

TEST_F(SimCommand, AStopEndsItWithoutAVerdict) {
  std::stop_source stop;
  stop.request_stop();
  invocation.stop = stop.get_token();
  invocation.options["--seeds"] = {"1000000"};
  std::string output;
  EXPECT_EQ(run(output), interrupted_exit()) << output;
  EXPECT_EQ(output, "");
}

}  // namespace
}  // namespace fenceline::cli

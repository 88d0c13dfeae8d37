#include "cli/operate/workers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/host.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

WorkerRow this_process(Duration unseen) {
  WorkerRow row;
  row.report.host = host_name();
  row.report.pid = ::getpid();
  row.unseen = unseen;
  return row;
}

TEST(Workers, AProcessThatIsYoungerThanTheLastSignOfAWorkerHasOnlyItsNumber) {
  EXPECT_EQ(lives_here(this_process(0s)), true);
  EXPECT_EQ(lives_here(this_process(24h * 3650)), false);
  WorkerRow elsewhere = this_process(0s);
  elsewhere.report.host += "-other";
  EXPECT_EQ(lives_here(elsewhere), std::nullopt);
}

TEST(Workers, AProcessThatRunsIsNotStopped) { EXPECT_FALSE(stopped_here(host_name(), ::getpid(), 0s)); }

}  // namespace
}  // namespace fenceline::cli

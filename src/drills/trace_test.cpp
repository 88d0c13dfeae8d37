#include "drills/trace.hpp"

#include <gtest/gtest.h>

namespace fenceline::cli {
namespace {

std::vector<TraceEvent> good_trace() {
  return {
      {.event = "lease_acquired", .who = "A", .pid = 1, .fence = 10},
      {.event = "execution_started", .who = "A", .pid = 1, .fence = 10},
      {.event = "lease_acquired", .who = "B", .pid = 2, .fence = 20, .forced = true},
      {.event = "execution_started", .who = "B", .pid = 2, .fence = 20},
      {.event = "stale_write_refused",
       .who = "A",
       .pid = 1,
       .stale_fence = 10,
       .current_fence = 20,
       .reason = "superseded"},
      {.event = "worker_exit", .who = "A", .pid = 1, .status = "stale"},
      {.event = "worker_exit", .who = "B", .pid = 2, .status = "success"},
  };
}

TEST(DrillTrace, AcceptsTheRaceAsItShouldGo) { EXPECT_EQ(fault_of(good_trace()), ""); }

TEST(DrillTrace, FindsAnAcceptedLateWrite) {
  std::vector<TraceEvent> trace = good_trace();
  trace[5].status = "success";
  EXPECT_NE(fault_of(trace), "");
  trace = good_trace();
  trace.erase(trace.begin() + 4);
  EXPECT_NE(fault_of(trace), "");
}

TEST(DrillTrace, FindsAFenceThatDidNotGrowAndAGrantThatWasNoTakeover) {
  std::vector<TraceEvent> trace = good_trace();
  trace[2].fence = trace[3].fence = trace[4].current_fence = 10;
  EXPECT_NE(fault_of(trace).find("L2"), std::string::npos);
  trace = good_trace();
  trace[2].forced = false;
  EXPECT_NE(fault_of(trace), "");
}

TEST(DrillTrace, FindsAWrongOrderAndASingleProcess) {
  std::vector<TraceEvent> trace = good_trace();
  std::swap(trace[2], trace[4]);
  EXPECT_NE(fault_of(trace), "");
  trace = good_trace();
  for (TraceEvent& event : trace) event.pid = 1;
  EXPECT_NE(fault_of(trace), "");
}

TEST(DrillTrace, SurvivesTheWayThroughAPipe) {
  for (const TraceEvent& event : good_trace()) {
    const TraceEvent back = parse_trace_event(to_json(event));
    EXPECT_EQ(to_json(back), to_json(event));
  }
  EXPECT_EQ(parse_trace_event("not json").event, "");
}

TEST(DrillTrace, ALineForPeopleSaysWhoDidWhatUnderWhichFence) {
  const std::int64_t pid = 4194304;
  const std::int64_t fence = 9007199254740991;
  const TraceEvent claims{.event = "lease_acquired", .who = "A", .pid = pid, .fence = fence};
  const TraceEvent takes_over{.event = "lease_acquired", .who = "B", .pid = pid, .fence = fence, .forced = true};
  const TraceEvent starts{.event = "execution_started", .who = "A", .pid = pid, .fence = fence};
  const TraceEvent refused{.event = "stale_write_refused", .who = "A", .pid = pid, .stale_fence = fence};
  const TraceEvent exits{.event = "worker_exit", .who = "B", .pid = pid, .status = "success"};
  EXPECT_EQ(to_line(claims), "A  pid 4194304  claims the job under fence 9007199254740991");
  EXPECT_EQ(to_line(takes_over), "B  pid 4194304  takes the job over under fence 9007199254740991");
  EXPECT_EQ(to_line(starts), "A  pid 4194304  starts the handler");
  EXPECT_EQ(to_line(refused), "A  pid 4194304  writes late: refused, fence 9007199254740991 is stale");
  EXPECT_EQ(to_line(exits), "B  pid 4194304  exits: success");
  for (const TraceEvent& event : {claims, takes_over, starts, refused, exits}) EXPECT_LE(to_line(event).size(), 80U);
}

}  // namespace
}  // namespace fenceline::cli

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

}  // namespace
}  // namespace fenceline::cli

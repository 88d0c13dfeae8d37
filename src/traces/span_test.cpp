#include "traces/span.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/thread_runtime.hpp"

namespace fenceline::traces {
namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kSpan = "b7ad6b7169203331";

TEST(Traceparent, IsReadAsW3CWritesIt) {
  EXPECT_EQ(parse_traceparent("00-" + kTrace + "-" + kSpan + "-01"), (Context{kTrace, kSpan, true}));
  EXPECT_EQ(parse_traceparent("00-" + kTrace + "-" + kSpan + "-00"), (Context{kTrace, kSpan, false}));
  EXPECT_EQ(parse_traceparent("00-" + kTrace + "-" + kSpan + "-03"), (Context{kTrace, kSpan, true}));
  EXPECT_EQ(parse_traceparent("cc-" + kTrace + "-" + kSpan + "-01-later"), (Context{kTrace, kSpan, true}));
  EXPECT_EQ(to_traceparent({kTrace, kSpan, true}), "00-" + kTrace + "-" + kSpan + "-01");
  EXPECT_EQ(to_traceparent({kTrace, kSpan, false}), "00-" + kTrace + "-" + kSpan + "-00");
}

TEST(Traceparent, WhatIsNoneIsNone) {
  const std::string zeros(32, '0');
  for (const std::string& text : {std::string(), "00-" + kTrace + "-" + kSpan, "ff-" + kTrace + "-" + kSpan + "-01",
                                  "00-" + zeros + "-" + kSpan + "-01", "00-" + kTrace + "-" + zeros.substr(16) + "-01",
                                  "00-" + kTrace + "-" + kSpan + "-0x", "00-" + kTrace + "-" + kSpan + "-01-more",
                                  "00_" + kTrace + "-" + kSpan + "-01",
                                  "00-" + std::string("0AF7651916CD43DD8448EB211C80319C") + "-" + kSpan + "-01"})
    EXPECT_EQ(parse_traceparent(text), std::nullopt) << text;
}

TEST(Traceparent, ANewOneStaysInItsTraceOrBeginsOne) {
  ThreadRuntime runtime;
  const Context child = new_context(runtime, Context{kTrace, kSpan, true});
  EXPECT_EQ(child.trace_id, kTrace);
  EXPECT_NE(child.span_id, kSpan);
  const Context root = new_context(runtime, std::nullopt);
  EXPECT_NE(root.trace_id, new_context(runtime, std::nullopt).trace_id);
  EXPECT_EQ(parse_traceparent(to_traceparent(root)), root);
}

TEST(Traceparent, TheNextDeliveryCanNameTheOneBefore) {
  const JobId job = make_uuid7(WallTime{}, 1, 2);
  const Context parent{kTrace, kSpan, true};
  EXPECT_EQ(run_context(job, 1, parent), run_context(job, 1, parent));
  EXPECT_NE(run_context(job, 1, parent).span_id, run_context(job, 2, parent).span_id);
  EXPECT_NE(run_context(job, 1, parent).span_id, run_context(make_uuid7(WallTime{}, 1, 3), 1, parent).span_id);
  std::string id = to_string(job);
  std::erase(id, '-');
  EXPECT_EQ(run_context(job, 1, std::nullopt).trace_id, id);
  EXPECT_EQ(parse_traceparent(to_traceparent(run_context(job, 1, std::nullopt))), run_context(job, 1, std::nullopt));
}

}  // namespace
}  // namespace fenceline::traces

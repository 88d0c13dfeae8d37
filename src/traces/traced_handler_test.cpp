#include "traces/traced_handler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "runtime/thread_runtime.hpp"

namespace fenceline::traces {
namespace {

using namespace std::chrono_literals;
using Delivered = ::fenceline::Run;  // gtest has a Run of its own

class Kept final : public SpanSink {
 public:
  void ended(Span span) override { spans.push_back(std::move(span)); }
  std::vector<Span> spans;
};

class Does final : public Handler {
 public:
  explicit Does(std::function<RunResult(const Delivered&)> act) : act_(std::move(act)) {}
  RunResult run(const Delivered& run) override { return act_(run); }

 private:
  std::function<RunResult(const Delivered&)> act_;
};

class TracedRun : public testing::Test {
 protected:
  Job job() const {
    Job job;
    job.id = make_uuid7(WallTime{}, 1, 2);
    job.queue = "mail";
    job.fence = 42;
    job.deliveries = 1;
    job.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    return job;
  }
  RunResult run(const Job& job, const std::function<RunResult(const Delivered&)>& act) {
    Does inner(act);
    TracedHandler handler(runtime_, kept_, "shop", inner);
    TrustDeadline trust(runtime_.now() + 1h);
    return handler.run({.job = job, .stop = stop_.get_token(), .trust = &trust});
  }
  const AttributeValue& attribute(const Span& span, const std::string& name) const {
    const auto found = std::ranges::find(span.attributes, name, &Attributes::value_type::first);
    if (found == span.attributes.end()) throw std::runtime_error("no attribute " + name);
    return found->second;
  }

  ThreadRuntime runtime_;
  Kept kept_;
  std::stop_source stop_;
};

TEST_F(TracedRun, HangsBelowTheJobsContextAndTheHandlersBelowIt) {
  std::string seen;
  run(job(), [&](const Delivered& run) {
    seen = run.job.traceparent;
    return RunResult{};
  });
  ASSERT_EQ(kept_.spans.size(), 1u);
  const Span& span = kept_.spans[0];
  EXPECT_EQ(span.context.trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(span.parent_id, "b7ad6b7169203331");
  EXPECT_EQ(seen, to_traceparent(span.context));
  EXPECT_EQ(span.name, "run mail");
  EXPECT_EQ(span.error, std::nullopt);
  EXPECT_TRUE(span.links.empty());
  EXPECT_GE(span.ended, span.started);
  EXPECT_EQ(attribute(span, "messaging.message.id"), AttributeValue(to_string(job().id)));
  EXPECT_EQ(attribute(span, "fenceline.fence"), AttributeValue(std::int64_t{42}));
  EXPECT_EQ(attribute(span, "fenceline.outcome"), AttributeValue("done"));
}

TEST_F(TracedRun, AFailureIsAnErrorThatKeepsWhatTheHandlerSaidToItself) {
  run(job(), [](const Delivered&) {
    return RunResult{.kind = OutcomeKind::failed, .error = "exit status 3: the card is 4111", .exit_status = 3};
  });
  EXPECT_EQ(kept_.spans.at(0).error, "failed, exit status 3");
  EXPECT_THROW(run(job(), [](const Delivered&) -> RunResult { throw std::runtime_error("the card is 4111"); }),
               std::runtime_error);
  EXPECT_EQ(kept_.spans.at(1).error, "failed");
  run(job(), [](const Delivered&) { return RunResult{.kind = OutcomeKind::later}; });
  EXPECT_EQ(kept_.spans.at(2).error, std::nullopt);
  stop_.request_stop();
  run(job(), [](const Delivered&) { return RunResult{.kind = OutcomeKind::failed}; });
  EXPECT_EQ(attribute(kept_.spans.at(3), "fenceline.outcome"), AttributeValue("given_back"));
  EXPECT_EQ(kept_.spans.at(3).error, std::nullopt) << "it was told to end";
}

TEST_F(TracedRun, ATakeoverNamesTheDeliveryThatItTookOver) {
  Job again = job();
  run(again, [](const Delivered&) { return RunResult{}; });
  again.deliveries = 2;
  again.losses_in_row = 1;
  run(again, [](const Delivered&) { return RunResult{}; });
  const Span& taken = kept_.spans.at(1);
  ASSERT_EQ(taken.links.size(), 1u);
  EXPECT_EQ(taken.links[0].span_id, kept_.spans[0].context.span_id);
  EXPECT_EQ(taken.links[0].attributes.at(0).second, AttributeValue("taken_over_from"));
  EXPECT_NE(taken.context.span_id, kept_.spans[0].context.span_id);
  EXPECT_EQ(taken.parent_id, kept_.spans[0].parent_id);
}

TEST_F(TracedRun, ATraceThatIsNotWantedIsPassedOnUntouched) {
  Job unwanted = job();
  unwanted.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
  std::string seen;
  run(unwanted, [&](const Delivered& run) {
    seen = run.job.traceparent;
    return RunResult{};
  });
  EXPECT_EQ(seen, unwanted.traceparent);
  EXPECT_TRUE(kept_.spans.empty());
}

}  // namespace
}  // namespace fenceline::traces

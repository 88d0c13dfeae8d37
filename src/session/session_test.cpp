// How a session puts its parts together: what is around what, and that each part sees what the others do.
#include "session/session.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/memory/memory_store.hpp"
#include "history/format/event_reader.hpp"
#include "runtime/thread_runtime.hpp"
#include "services/stage_store.hpp"
#include "session/handler_chain.hpp"
#include "session/measurement.hpp"
#include "store/forwarding_store.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using history::Event;
using history::Kind;
using history::Verb;

// Each look at the clock takes a microsecond, so that whoever looks first and last has seen the longest time.
class TickingRuntime final : public Runtime {
 public:
  Instant now() const override {
    clock_.advance(1us);
    return clock_.now();
  }
  WallTime wall_now() const override { return clock_.wall_now(); }
  std::string boot_id() const override { return clock_.boot_id(); }
  std::uint64_t random() override { return ++random_; }
  bool sleep_until(Instant when, std::stop_token) override {
    clock_.advance(when - clock_.now());
    return true;
  }
  Task spawn(std::string, std::function<void(std::stop_token)>) override { return {}; }
  std::unique_ptr<fenceline::Event> make_event() override { return nullptr; }

 private:
  mutable ManualClock clock_;
  std::uint64_t random_ = 0;
};

struct Spans final : traces::SpanSink {
  explicit Spans(std::vector<traces::Span>& all) : all_(all) {}
  void ended(traces::Span span) override { all_.push_back(std::move(span)); }
  std::vector<traces::Span>& all_;
};

// Loses the answer to all tries of an enqueue but the last; meanwhile somebody applies a pipeline to the queue.
class ChangingStore final : public ForwardingStore {
 public:
  ChangingStore(Store& inner, int losses, std::function<void()> change)
      : ForwardingStore(inner), losses_(losses), change_(std::move(change)) {}
  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    Result<EnqueueReply> reply = inner_.enqueue(request);
    if (losses_-- == 0) return reply;
    change_();
    return fail(Code::in_doubt, "the answer was lost");
  }

 private:
  int losses_;
  std::function<void()> change_;
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "session-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SessionTest() override { std::filesystem::remove_all(folder_); }

  std::string history() const { return folder_ + "/history"; }
  std::vector<Event> events() const {
    std::ifstream in(history());
    std::stringstream text;
    text << in.rdbuf();
    std::vector<Event> found;
    history::EventReader reader("history", [&](Event event, std::int64_t) { found.push_back(std::move(event)); });
    must(reader.feed(text.str()));
    return found;
  }
  std::string counted(const Session& session) { return session.measurement()->counted().text(runtime_.now()); }
  static double number(const std::string& text, const std::string& name) {
    const std::size_t at = text.find(name + " ");
    return at == std::string::npos ? std::nan("") : std::stod(text.substr(at + name.size() + 1));
  }
  NewJob job(std::string stage = "") {
    return {.id = make_uuid7(WallTime{1s}, 1, ++jobs_made_), .queue = "q", .stage = std::move(stage), .payload = "1"};
  }

  std::string folder_;
  ManualClock clock_;
  TickingRuntime runtime_;
  MemoryStore store_{clock_};
  std::uint64_t jobs_made_ = 0;
};

TEST_F(SessionTest, TheHistoryIsNextToTheStoreAndTheMetricsAreAroundIt) {
  const Session session = must(Session::over(runtime_, null_log_sink(), store_,
                                             {.history = history(), .metrics = MeasureOptions{.queues = {"q"}}}));
  must(session.enqueue({job()}));
  const std::vector<Event> seen = events();
  ASSERT_EQ(seen.size(), 3U);  // the recorder's own line, the call and its answer
  ASSERT_EQ(seen[1].verb, Verb::enqueue);
  ASSERT_EQ(seen[2].kind, Kind::ok);
  const std::int64_t recorded = seen[2].at - seen[1].at;
  const double measured =
      std::round(1e6 * number(counted(session), "fenceline_store_call_seconds_sum{verb=\"enqueue\"}"));
  EXPECT_GT(measured, static_cast<double>(recorded)) << "what a caller waits for includes what is written down";
}

TEST_F(SessionTest, AStagesNameIsResolvedBeforeAnythingIsRecorded) {
  must(store_.put_pipeline({.ns = "default",
                            .name = "q",
                            .spec = pipeline_text({.name = "q", .stages = {{.name = "draft"}, {.name = "print"}}}),
                            .revision = 0,
                            .act = {.actor = "ana", .reason = ""}}));
  const Session session = must(Session::over(runtime_, null_log_sink(), store_, {.history = history()}));
  must(session.enqueue({job("draft")}));
  EXPECT_EQ(code_of(session.enqueue({job("print")})), Code::conflict) << "an item begins at the first stage";
  EXPECT_EQ(code_of(session.enqueue({job("prnit")})), Code::invalid);
  int enqueues = 0;
  for (const Event& event : events()) {
    if (event.verb != Verb::enqueue) continue;
    ++enqueues;
    EXPECT_EQ(event.jobs.front().stage, "") << "as the store has it";
  }
  EXPECT_EQ(enqueues, 1);
}

TEST_F(SessionTest, J1_ARepeatIsNotJudgedByAPipelineThatCameAfterTheFirstTry) {
  bool applied = false;
  ChangingStore store(store_, 5, [&] {
    if (!std::exchange(applied, true))
      must(store_.put_pipeline({.ns = "default",
                                .name = "q",
                                .spec = pipeline_text({.name = "q", .stages = {{.name = "draft"}, {.name = "print"}}}),
                                .revision = 0,
                                .act = {.actor = "ana", .reason = ""}}));
  });
  const Session session = must(Session::over(runtime_, null_log_sink(), store, {}));
  const NewJob added = job("print");
  EXPECT_EQ(must(session.enqueue({added})).ids, std::vector{added.id}) << "the first try added it";
  EXPECT_TRUE(applied);
}

TEST_F(SessionTest, CountsTheSameWithAHistoryAndWithoutOne) {
  for (const std::string& file : {std::string(), history()}) {
    const Session session = must(
        Session::over(runtime_, null_log_sink(), store_, {.history = file, .metrics = MeasureOptions{.queues = {}}}));
    must(session.enqueue({job()}));
    must(session->jobs({.ns = "default"}));
    const std::string text = counted(session);
    EXPECT_EQ(number(text, "fenceline_store_call_seconds_count{verb=\"enqueue\"}"), 1) << file;
  }
}

TEST_F(SessionTest, PartsThatWereNotRequestedAreAbsent) {
  const Session session = must(Session::over(runtime_, null_log_sink(), store_, {}));
  EXPECT_EQ(&session.store(), &store_) << "nothing stands between";
  EXPECT_EQ(&*session, &session.store());
  EXPECT_EQ(session.recorder(), nullptr);
  EXPECT_EQ(session.spans(), nullptr);
  EXPECT_EQ(session.measurement(), nullptr);
  EXPECT_EQ(session.metrics_text(), "");
}

TEST_F(SessionTest, AnEnqueueHasASpanThatItsJobsCarryOn) {
  std::vector<traces::Span> spans;
  const Session session =
      must(Session::over(runtime_, null_log_sink(), store_, {.spans = std::make_unique<Spans>(spans)}));
  const JobId id = must(session.enqueue({job()})).ids.front();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].name, "enqueue q");
  EXPECT_EQ(must(store_.job("default", id))->traceparent, traces::to_traceparent(spans[0].context));
}

TEST_F(SessionTest, ASessionBesideAnotherWritesItsOwnHistoryAndCountsWithIt) {
  const Session session =
      must(Session::over(runtime_, null_log_sink(), store_, {.metrics = MeasureOptions{.queues = {}}}));
  must(session.enqueue({job()}));
  {
    const Session recorded = must(session.recorded_in(history()));
    must(recorded.enqueue({job()}));
  }
  must(session.enqueue({job()}));
  EXPECT_EQ(events().size(), 3U);
  EXPECT_EQ(number(counted(session), "fenceline_store_call_seconds_count{verb=\"enqueue\"}"), 3);
}

struct Worked final : Handler {
  RunResult run(const Run&) override { return {}; }
};

TEST_F(SessionTest, AHandlerIsWrittenDownTracedAndCountedInThatOrder) {
  Worked work;
  std::vector<traces::Span> spans;
  const Session session = must(Session::over(
      runtime_, null_log_sink(), store_,
      {.history = history(), .metrics = MeasureOptions{.queues = {}}, .spans = std::make_unique<Spans>(spans)}));
  const Job claimed{.id = make_uuid7(WallTime{1s}, 1, 1), .queue = "q", .fence = 7};
  TrustDeadline trust(Instant::max());
  const fenceline::Run run{.job = claimed, .stop = {}, .trust = &trust};
  const HandlerChain chain(session, work);
  EXPECT_EQ(chain.outermost().run(run).kind, OutcomeKind::done);
  const std::vector<Event> seen = events();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[1].kind, Kind::started);
  EXPECT_EQ(seen[2].kind, Kind::ended);
  ASSERT_EQ(spans.size(), 1U);
  const std::int64_t recorded = seen[2].at - seen[1].at;
  const std::int64_t traced = Duration(spans[0].ended - spans[0].started).count();
  const double measured = std::round(1e6 * number(counted(session), "fenceline_job_run_seconds_sum{queue=\"other\"}"));
  EXPECT_GT(traced, recorded);
  EXPECT_GT(measured, static_cast<double>(traced));

  const HandlerChain check(session, work, ChainFor::checks);
  check.outermost().run(run);
  EXPECT_EQ(events().size(), 5U) << "a gate's check is written down";
  EXPECT_EQ(spans.size(), 1U) << "and is not one of the worker's jobs";
  EXPECT_EQ(number(counted(session), "fenceline_job_run_seconds_count{queue=\"other\"}"), 1);
}

}  // namespace
}  // namespace fenceline::test

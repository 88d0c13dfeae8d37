// What a history holds of the calls of a process, and that a kill leaves it whole.
#include "history/history_store.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <tuple>

#include "backends/memory/memory_store.hpp"
#include "history/format/event_reader.hpp"
#include "history/history_file.hpp"
#include "model/pipeline.hpp"
#include "runtime/thread_runtime.hpp"
#include "support/hand_runtime.hpp"
#include "support/manual_clock.hpp"

namespace fenceline::history {
namespace {

using namespace std::chrono_literals;
using test::ManualClock;

struct Lines final : Sink {
  void write(std::string line) override { events.push_back(*parse_line(line)); }
  std::vector<Event> events;
};

// Answers one error to everything.
struct BadStore final : ForwardingStore {
  using ForwardingStore::ForwardingStore;
  Code code = Code::unavailable;
  Result<TidyReply> tidy(const TidyRequest&) override { return fail(code, "bad"); }
};

JobId id(std::uint8_t last) {
  JobId made;
  made.bytes[15] = last;
  return made;
}

TEST(HistoryStore, WritesALineBeforeEachCallAndOneAfterIt) {
  ManualClock clock;
  MemoryStore memory(clock);
  Lines lines;
  Recorder recorder(clock, lines,
                    {.by = "w", .store = "memory", .guarantee = 'D', .store_clock = clock.boot_id(), .whole = true});
  HistoryStore store(recorder, memory);
  ASSERT_TRUE(store.enqueue({.ns = "n", .jobs = {{.id = id(1), .queue = "q", .payload = "{}", .key = "k"}}}));
  const Result<ClaimReply> claimed =
      store.claim({.ns = "n", .queues = {"q"}, .owner = "a", .request = "r", .limit = 2, .ttl = 10s});
  ASSERT_TRUE(claimed);
  ASSERT_EQ(claimed->jobs.size(), 1U);
  const Fence fence = claimed->jobs.front().job.fence;
  ASSERT_TRUE(store.settle({.ns = "n", .owner = "b", .settlements = {{.id = id(1), .fence = fence, .outcome = {}}}}));

  ASSERT_EQ(lines.events.size(), 7U);
  EXPECT_EQ(lines.events[0].kind, Kind::recorder);
  EXPECT_EQ(lines.events[0].guarantee, "D");
  EXPECT_EQ(lines.events[1].verb, Verb::enqueue);
  EXPECT_EQ(lines.events[1].jobs.front().key, "k");
  EXPECT_EQ(lines.events[2].ids, std::vector<std::string>{to_string(id(1))});
  EXPECT_EQ(lines.events[3].owner, "a");
  EXPECT_EQ(lines.events[3].limit, 2);
  EXPECT_EQ(lines.events[4].kind, Kind::ok);
  EXPECT_EQ(lines.events[4].n, lines.events[3].n);
  EXPECT_EQ(lines.events[4].jobs.front().fence, fence);
  EXPECT_EQ(lines.events[4].jobs.front().left, 10'000'000);
  EXPECT_EQ(lines.events[5].jobs.front().outcome, "done");
  ASSERT_EQ(lines.events[6].refused.size(), 1U);
  EXPECT_EQ(lines.events[6].refused.front().reason, "other_owner");
}

TEST(HistoryStore, WritesWhatACheckerNeedsOfEffects) {
  ManualClock clock;
  MemoryStore memory(clock);
  Lines lines;
  Recorder recorder(clock, lines, {.by = "w"});
  HistoryStore store(recorder, memory);
  ASSERT_TRUE(store.enqueue({.ns = "n", .jobs = {{.id = id(1), .queue = "q"}}}));
  const Fence fence =
      store.claim({.ns = "n", .queues = {"q"}, .owner = "a", .request = "r", .ttl = 10s})->jobs.front().job.fence;
  lines.events.clear();
  BeginEffectRequest begin{.ns = "n",
                           .job = id(1),
                           .fence = fence,
                           .name = "pay",
                           .digest = "ten",
                           .call = "c1",
                           .in_doubt = InDoubt::probe};
  ASSERT_TRUE(store.begin_effect(begin));
  ASSERT_TRUE(
      store.finish_effect({.ns = "n", .job = id(1), .fence = fence, .name = "pay", .call = "c1", .result = "secret"}));
  begin.call = "c2";
  ASSERT_TRUE(store.begin_effect(begin));
  begin.fence = fence - 1;
  ASSERT_TRUE(store.begin_effect(begin));
  ASSERT_TRUE(
      store.resolve_effect({.ns = "n", .job = id(1), .name = "pay", .call = "c1", .done = true, .act = {"op", "why"}}));
  ASSERT_TRUE(store.raise_floor({.ns = "n", .floor = 7, .act = {"op", "why"}}));

  ASSERT_EQ(lines.events.size(), 12U);
  const Event& first = lines.events[0];
  EXPECT_EQ(std::tie(first.name, first.request, first.digest, first.policy),
            std::make_tuple("pay", "c1", "ten", "probe"));
  EXPECT_EQ(first.jobs.front().fence, fence);
  EXPECT_EQ(lines.events[1].verdict, "act");
  EXPECT_EQ(lines.events[2].end, "done");
  EXPECT_EQ(lines.events[5].verdict, "done");
  EXPECT_EQ(lines.events[5].result, lines.events[2].result);
  EXPECT_NE(lines.events[5].result, "secret");
  EXPECT_EQ(lines.events[7].verdict, "lost");
  EXPECT_EQ(lines.events[7].refused.front().reason, "superseded");
  EXPECT_EQ(lines.events[8].end, "done");
  EXPECT_EQ(lines.events[8].request, "c1");
  EXPECT_EQ(lines.events[10].floor, 7);
}

TEST(HistoryStore, WritesWhatACheckerNeedsOfLocks) {
  ManualClock clock;
  MemoryStore memory(clock);
  Lines lines;
  Recorder recorder(clock, lines, {.by = "w"});
  HistoryStore store(recorder, memory);
  AcquireRequest request{.ns = "n", .names = {"deploy"}, .owner = "a", .request = "r", .ttl = 10s};
  const Fence fence = store.acquire(request)->grants.front().fence;
  ASSERT_TRUE(store.renew({.ns = "n", .locks = {{"deploy", "a", fence}, {"deploy", "b", fence}}, .ttl = 10s}));
  ASSERT_TRUE(store.withdraw({.ns = "n", .names = {"deploy"}, .owner = "b", .request = "r2", .ttl = 10s}));
  const Result<BreakReply> broken =
      store.break_lock({.ns = "n", .resource = "deploy", .only = fence, .request = "x", .act = {"op", "why"}});
  ASSERT_TRUE(broken);
  ASSERT_TRUE(store.release({.ns = "n", .locks = {{"deploy", "a", fence}}}));
  request = {.ns = "n", .names = {"sweep"}, .owner = "c", .request = "r3", .ttl = 10s, .to_its_end = true};
  ASSERT_TRUE(store.acquire(request));
  recorder.lock_work(Kind::ended, "a", "deploy", fence, "lost");

  ASSERT_EQ(lines.events.size(), 14U);
  EXPECT_EQ(std::tie(lines.events[1].verb, lines.events[1].owner, lines.events[1].request),
            std::make_tuple(Verb::acquire, "a", "r"));
  EXPECT_EQ(lines.events[1].locks.front().id, "deploy");
  EXPECT_EQ(lines.events[1].ttl, 10'000'000);
  EXPECT_EQ(lines.events[2].locks.front().fence, fence);
  EXPECT_EQ(lines.events[2].left, 10'000'000);
  EXPECT_EQ(lines.events[3].locks[1].holder, "b");
  ASSERT_EQ(lines.events[4].refused.size(), 1U);
  EXPECT_EQ(lines.events[4].refused.front().reason, "other_owner");
  EXPECT_EQ(lines.events[5].verb, Verb::withdraw);
  EXPECT_EQ(lines.events[7].locks.front().fence, fence);
  EXPECT_EQ(lines.events[8].locks.front().fence, broken->current);
  EXPECT_EQ(lines.events[10].refused.front().current, broken->current);
  EXPECT_TRUE(lines.events[11].to_its_end);
  EXPECT_EQ(lines.events[13].locks.front().outcome, "lost");
}

TEST(HistoryStore, WritesEachStepOfASchedule) {
  ManualClock clock;
  MemoryStore memory(clock);
  Lines lines;
  Recorder recorder(clock, lines, {.by = "w"});
  HistoryStore store(recorder, memory);
  const Result<ChangeScheduleReply> put =
      store.change_schedule({.ns = "n", .name = "s", .spec = "{}", .request = "r", .owner = "o", .act = {"ana", ""}});
  ASSERT_TRUE(put);
  const WallTime begin = put->schedule.resolved_to;
  clock.advance(3s);
  const TickStep step{.schedule = "s",
                      .revision = put->schedule.revision,
                      .from = begin,
                      .to = begin + 3s,
                      .fired = {{begin + 3s, {.id = id(1), .queue = "q"}}},
                      .skipped = {{begin + 1s, begin + 2s, 2, "missed"}}};
  const TickStep other{.schedule = "t",
                       .revision = 1,
                       .from = begin,
                       .to = begin + 3s,
                       .fired = {{begin + 3s, {.id = id(2), .queue = "q"}}},
                       .skipped = {}};
  ASSERT_TRUE(store.step_ticks({.ns = "n", .steps = {step, other}, .request = "r2", .owner = "o"}));
  ASSERT_TRUE(store.change_schedule({.ns = "n",
                                     .name = "s",
                                     .change = ScheduleChange::rewind,
                                     .revision = step.revision,
                                     .to = begin,
                                     .from = begin + 3s,
                                     .request = "r3",
                                     .owner = "o",
                                     .act = {"ana", ""}}));
  TickStep again = step;
  again.revision += 1;
  again.fired.front().job.id = id(3);
  ASSERT_TRUE(store.change_schedule({.ns = "n",
                                     .name = "s",
                                     .change = ScheduleChange::pause,
                                     .revision = again.revision,
                                     .step = again,
                                     .request = "r4",
                                     .owner = "o",
                                     .act = {"ana", ""}}));

  const std::int64_t from = begin.time_since_epoch().count();
  ASSERT_EQ(lines.events.size(), 17U);
  EXPECT_EQ(std::tie(lines.events[1].verb, lines.events[1].name, lines.events[1].change, lines.events[1].request),
            std::make_tuple(Verb::change_schedule, "s", "put", "r"));
  EXPECT_EQ(std::tie(lines.events[2].stands, lines.events[2].revision), std::make_tuple(from, step.revision));
  const Event& asked = lines.events[3];
  EXPECT_EQ(std::tie(asked.verb, asked.name, asked.revision, asked.from, asked.to),
            std::make_tuple(Verb::step_ticks, "s", step.revision, from, from + 3'000'000));
  EXPECT_EQ(asked.ticks, (std::vector<JobPart>{{.id = to_string(id(1)), .tick = from + 3'000'000}}));
  EXPECT_EQ(asked.skipped,
            (std::vector<JobPart>{{.id = "missed", .tick = from + 1'000'000, .last = from + 2'000'000, .count = 2}}));
  EXPECT_EQ(lines.events[4].verb, Verb::enqueue);
  EXPECT_EQ(lines.events[5].name, "t");
  EXPECT_EQ(std::tie(lines.events[7].n, lines.events[7].kind, lines.events[7].stands, lines.events[7].wall),
            std::make_tuple(asked.n, Kind::ok, from + 3'000'000, from + 3'000'000));
  EXPECT_EQ(lines.events[8].ids, std::vector<std::string>{to_string(id(1))});
  EXPECT_EQ(std::tie(lines.events[9].kind, lines.events[9].code), std::make_tuple(Kind::fail, "not_found"));
  EXPECT_EQ(lines.events[10].kind, Kind::fail);
  EXPECT_EQ(std::tie(lines.events[11].change, lines.events[11].from, lines.events[11].to),
            std::make_tuple("rewind", from + 3'000'000, from));
  EXPECT_EQ(lines.events[13].change, "pause");
  EXPECT_EQ(lines.events[15].refused, (std::vector<JobPart>{{.id = to_string(id(3)), .tick = from + 3'000'000}}));
  EXPECT_EQ(lines.events[16].kind, Kind::fail) << "it had fired";
}

TEST(HistoryStore, WritesWhatACheckerNeedsOfPipelines) {
  ManualClock clock;
  MemoryStore memory(clock);
  Lines lines;
  Recorder recorder(clock, lines, {.by = "w"});
  HistoryStore store(recorder, memory);
  PipelineSpec spec{.name = "q", .stages = {{.name = "write"}, {.name = "review"}, {.name = "ship"}}};
  spec.stages[1].entry = {
      .kind = EntryKind::approval, .count = 2, .by = {"ana", "bo"}, .within = 1h, .then = EntryEnd::approve};
  spec.stages[2].entry = {.kind = EntryKind::check, .command = {"look"}};
  ASSERT_TRUE(store.put_pipeline({.ns = "n", .name = "q", .spec = pipeline_text(spec), .act = {"ana", ""}}));
  ASSERT_TRUE(store.pipelines("n"));
  ASSERT_TRUE(store.pipelines("n"));
  ASSERT_TRUE(store.enqueue({.ns = "n", .jobs = {{.id = id(1), .queue = "q"}}}));
  const Fence fence =
      store.claim({.ns = "n", .queues = {"q"}, .owner = "a", .request = "r", .ttl = 10s})->jobs.front().job.fence;
  lines.events.erase(lines.events.begin() + 5, lines.events.end());
  const ItemChange advance{.id = id(1),
                           .record = "{}",
                           .fence = fence,
                           .place = Placement{.stage = "gate:review", .state = JobState::waiting},
                           .act = "item_advanced"};
  ASSERT_TRUE(
      store.change_items({.ns = "n", .owner = "a", .request = "r1", .changes = {advance}, .act = {"worker", ""}}));
  const ItemChange approval{.id = id(1), .record = "{}", .only = JobState::ready, .act = "item_approved"};
  ASSERT_TRUE(store.change_items({.ns = "n", .request = "r2", .changes = {approval}, .act = {"ana", ""}}));

  ASSERT_EQ(lines.events.size(), 9U);
  const std::vector<JobPart> stages{{.id = "write"},
                                    {.id = "review", .count = 2, .gate = "approval", .then = "approve"},
                                    {.id = "ship", .gate = "check"}};
  for (const std::size_t line : {1U, 3U}) {
    EXPECT_EQ(lines.events[line].verb, line == 1 ? Verb::put_pipeline : Verb::see_pipeline);
    EXPECT_EQ(lines.events[line].stages, stages);
    EXPECT_EQ(lines.events[line].people,
              (std::vector<JobPart>{{.id = "ana", .stage = "review"}, {.id = "bo", .stage = "review"}}));
    EXPECT_EQ(lines.events[line + 1].revision, 1);
  }
  EXPECT_EQ(std::tie(lines.events[5].verb, lines.events[5].owner, lines.events[5].request),
            std::make_tuple(Verb::change_items, "a", "r1"));
  EXPECT_EQ(lines.events[5].jobs, (std::vector<JobPart>{{.id = to_string(id(1)),
                                                         .stage = "gate:review",
                                                         .fence = fence,
                                                         .outcome = "done",
                                                         .state = "waiting",
                                                         .fresh = true,
                                                         .act = "item_advanced"}}));
  EXPECT_TRUE(lines.events[6].refused.empty());
  EXPECT_EQ(lines.events[7].owner, "ana");
  EXPECT_EQ(lines.events[7].jobs,
            (std::vector<JobPart>{{.id = to_string(id(1)), .only = "ready", .act = "item_approved"}}));
  EXPECT_EQ(lines.events[8].refused,
            (std::vector<JobPart>{{.id = to_string(id(1)), .reason = "state", .current = fence, .revision = 1}}));
}

TEST(HistoryStore, WhatDidNotHappenFailsAndWhatMayHaveIsUnknown) {
  ManualClock clock;
  MemoryStore memory(clock);
  BadStore bad(memory);
  Lines lines;
  Recorder recorder(clock, lines, {.by = "w"});
  HistoryStore store(recorder, bad);
  for (const Code code : {Code::unavailable, Code::refused, Code::in_doubt, Code::broken}) {
    bad.code = code;
    EXPECT_FALSE(store.tidy({.ns = "n"}));
  }
  ASSERT_EQ(lines.events.size(), 9U);
  EXPECT_EQ(lines.events[2].kind, Kind::fail);
  EXPECT_EQ(lines.events[2].code, "unavailable");
  EXPECT_EQ(lines.events[4].kind, Kind::fail);
  EXPECT_EQ(lines.events[6].kind, Kind::unknown);
  EXPECT_EQ(lines.events[8].kind, Kind::unknown);
}

TEST(HistoryStore, TheSamePayloadHasTheSameDigestHoweverItIsSpelled) {
  EXPECT_EQ(json_digest(R"({"a":1,"b":[1.0]})"), json_digest(R"({ "b":[1], "a":1e0})"));
  EXPECT_NE(json_digest(R"({"a":1})"), json_digest(R"({"a":2})"));
}

class HistoryFileTest : public testing::Test {
 protected:
  ThreadRuntime runtime_;
  std::string path_ = testing::TempDir() + "history-" + std::to_string(::getpid()) + ".jsonl";
  void SetUp() override { ::unlink(path_.c_str()); }
  void TearDown() override { ::unlink(path_.c_str()); }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(path_).rdbuf();
    return out.str();
  }
};

TEST_F(HistoryFileTest, SeveralProcessesAddWholeLinesAndAKillLeavesThem) {
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ManualClock clock;
      Result<std::unique_ptr<HistoryFile>> file = HistoryFile::open(path_, runtime_, Log(null_log_sink()));
      if (!file) ::_exit(1);
      Recorder recorder(clock, **file, {.by = "w" + std::to_string(i)});
      for (int n = 0; n < 300; ++n)
        recorder.invoke({.verb = Verb::tidy, .ns = std::string(static_cast<std::size_t>(n), 'n')});
      ::kill(::getpid(), SIGKILL);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
  std::int64_t events = 0;
  EventReader reader("f", [&](Event, std::int64_t) { ++events; });
  const Result<void> fed = reader.feed(text());
  ASSERT_TRUE(fed) << fed.error().message;
  ASSERT_TRUE(reader.end());
  EXPECT_FALSE(reader.torn());
  EXPECT_EQ(events, kProcesses * 301);
}

// A write is seen page by page by who looks at the file meanwhile.
TEST_F(HistoryFileTest, AHalfLineThatAnotherProcessIsWritingIsWaitedFor) {
  for (const std::string_view first : {R"({"e":"rec)", R"({"e":"recorder","by":"w)"}) {
    std::ofstream(path_) << first;
    ManualClock clock;
    test::HandRuntime runtime(clock);
    int looks = 0;
    runtime.while_sleeping = [&] {
      if (++looks == 3) std::ofstream(path_, std::ios::app) << "order\"}\n";
    };
    const Result<std::unique_ptr<HistoryFile>> file = HistoryFile::open(path_, runtime, Log(null_log_sink()));
    EXPECT_TRUE(file) << file.error().message;
    EXPECT_EQ(looks, 3);
  }
}

TEST_F(HistoryFileTest, NothingIsAddedToWhatIsNoHistoryOrIsTorn) {
  std::ofstream(path_) << "my diary\n";
  EXPECT_EQ(HistoryFile::open(path_, runtime_, Log(null_log_sink())).error().code, Code::invalid);
  std::ofstream(path_) << R"({"e":"recorder","by":"w)";
  EXPECT_EQ(HistoryFile::open(path_, runtime_, Log(null_log_sink())).error().code, Code::invalid);
  EXPECT_EQ(HistoryFile::open(path_ + "/no/such/folder", runtime_, Log(null_log_sink())).error().code, Code::broken);
}

}  // namespace
}  // namespace fenceline::history

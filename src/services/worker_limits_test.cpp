// What a worker does beside claiming and settling: timeouts, strictness, notes, retention, the words at the end.
#include <gtest/gtest.h>

#include <atomic>

#include "services/worker.hpp"
#include "support/worker_fixture.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using namespace test;

TEST_F(WorkerOnMemory, AnAttemptPastItsTimeoutIsToldAndHasFailed) {
  const JobId id = enqueue({.attempts_max = 1, .timeout = 1s});
  const Instant before = runtime.now();  // its time runs from a moment before the handler does
  const WorkReport report = must(work([&](const Delivered& run) {
    const RunResult result = wait_for_stop(run, runtime);
    EXPECT_GE(runtime.now(), before + 1s);
    EXPECT_EQ(run.trust->cut(), Cut::timed_out);
    return result;
  }));
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(job(id).state, JobState::dead);
  EXPECT_EQ(job(id).error, "timed out after 1s: told to stop");
  EXPECT_EQ(job(id).losses, 0);
  EXPECT_EQ(events.field("handler_told_to_stop", "why"), "timed_out");
}

TEST_F(WorkerOnMemory, J8_TheJobOfAFunctionThatHangsPastItsTimeoutIsTakenOver) {
  const JobId id = enqueue({.timeout = 1s});
  options.concurrency = 2;
  options.strict = true;
  std::atomic<bool> ended{false};
  options.end_process = [&] { ended = true; };
  std::atomic<int> runs{0};
  const WorkReport report = must(work([&](const Delivered&) {
    if (runs++ > 0) return RunResult{.result = "whole"};
    EXPECT_TRUE(eventually([&] { return job(id).state == JobState::done; }));
    EXPECT_TRUE(eventually([&] { return ended.load(); }));  // it works on without its lease
    return RunResult{.result = "stale"};
  }));
  EXPECT_EQ(events.count("handler_ignores_stop"), 2);
  EXPECT_EQ(report.lost, 1);
  EXPECT_EQ(job(id).deliveries, 2);
  EXPECT_EQ(job(id).result, "whole");
}

TEST_F(WorkerOnMemory, WithStrictAHandlerThatWorksOnWithoutItsLeaseEndsTheProcess) {
  enqueue(1);
  std::atomic<int> refusals{0};
  store.on_extend = [&](const ExtendRequest& request) -> std::optional<ExtendReply> {
    if (refusals++ > 0) return std::nullopt;
    return ExtendReply{.refused = {{request.jobs.front().id, request.jobs.front().fence, request.jobs.front().fence + 1,
                                    Reason::superseded}}};
  };
  std::atomic<bool> ended{false};
  options.strict = true;
  options.end_process = [&] { ended = true; };
  std::atomic<int> runs{0};
  must(work([&](const Delivered& run) {
    if (runs++ > 0) return RunResult{};
    EXPECT_FALSE(runtime.sleep_for(1h, run.stop));
    EXPECT_FALSE(ended);  // it has a grace
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
    return RunResult{};
  }));
  EXPECT_TRUE(ended);
  EXPECT_EQ(events.count("handler_ignores_stop"), 1);
}

TEST_F(WorkerOnMemory, WithoutStrictItIsOnlyLogged) {
  enqueue(1);
  std::atomic<int> refusals{0};
  store.on_extend = [&](const ExtendRequest& request) -> std::optional<ExtendReply> {
    if (refusals++ > 0) return std::nullopt;
    return ExtendReply{.refused = {{request.jobs.front().id, request.jobs.front().fence, request.jobs.front().fence + 1,
                                    Reason::superseded}}};
  };
  options.end_process = [] { FAIL() << "nobody asked for that"; };
  std::atomic<int> runs{0};
  must(work([&](const Delivered&) {
    if (runs++ == 0) {
      EXPECT_TRUE(eventually([&] { return events.count("handler_ignores_stop") > 0; }));
    }
    return RunResult{};
  }));
}

TEST_F(WorkerOnMemory, WhatAHandlerSaysIsInTheStoreBeforeItsOutcome) {
  const JobId id = enqueue(1).front();
  std::string seen;
  store.before = [&](const std::string& verb, int call) -> std::optional<Error> {
    if (verb == "settle" && call == 0) seen = logged(id);
    return std::nullopt;
  };
  must(work([&](const Delivered& run) {
    run.log("one\n");
    run.progress(40, "page 4");
    run.log("two\n");
    return RunResult{};
  }));
  EXPECT_EQ(seen, "one\ntwo\n");
  EXPECT_EQ(job(id).progress, (Progress{.percent = 40, .note = "page 4"}));
}

TEST_F(WorkerOnMemory, LogsAreWholeAndInOrderThoughRepliesGetLost) {
  const JobId id = enqueue(1).front();
  store.after = [](const std::string& verb, int call) {
    return verb == "record" && call < 2 ? std::optional(Error{Code::in_doubt, "reply lost"}) : std::nullopt;
  };
  store.before = [](const std::string& verb, int call) {
    return verb == "record" && call == 2 ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  must(work([&](const Delivered& run) {
    run.log("one\n");
    EXPECT_TRUE(eventually([&] { return store.calls("record") == 1; }));
    run.log("two\n");
    EXPECT_TRUE(eventually([&] { return store.calls("record") == 2; }));
    run.log("three\n");
    return RunResult{};
  }));
  EXPECT_EQ(logged(id), "one\ntwo\nthree\n");  // the last bytes came after the outcome, which did not wait for them
  EXPECT_EQ(job(id).state, JobState::done);
}

TEST_F(WorkerOnMemory, AStoreThatTakesNoNotesStopsNoWork) {
  const JobId id = enqueue(1).front();
  store.before = [](const std::string& verb, int) {
    return verb == "record" ? std::optional(Error{Code::refused, "not here"}) : std::nullopt;
  };
  must(work([&](const Delivered& run) {
    run.log("one\n");
    return RunResult{};
  }));
  EXPECT_EQ(events.count("notes_dropped"), 1);
  EXPECT_EQ(job(id).state, JobState::done);
}

TEST_F(WorkerOnMemory, J3_NothingIsRecordedForALostDelivery) {
  const JobId id = enqueue(1).front();
  options.ttl = 30s;
  must(work([&](const Delivered& run) {
    cancel(id);
    wait_for_stop(run, runtime);
    run.log("from the grave\n");
    run.progress(99);
    return RunResult{};
  }));
  EXPECT_EQ(store.calls("record"), 0);
  EXPECT_EQ(logged(id), "");
}

TEST_F(WorkerOnMemory, TidiesNowAndThenAndOnlyLogsWhatFails) {
  enqueue(1);
  options.tidy_every = 20ms;
  store.before = [](const std::string& verb, int call) {
    return verb == "tidy" && call == 0 ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  must(work([&](const Delivered&) {
    EXPECT_TRUE(eventually([&] { return store.calls("tidy") > 3; }));
    return RunResult{};
  }));
  EXPECT_EQ(events.count("tidy_failed"), 1);
  EXPECT_EQ(events.field("worker_exit", "status"), "success");
}

TEST_F(WorkerOnMemory, TidiesNothingIfToldSo) {
  enqueue(1);
  options.tidy_every = 0s;
  must(work(done));
  EXPECT_EQ(store.calls("tidy"), 0);
}

TEST_F(WorkerOnMemory, TellsHowManyJobsAreBlockedAtTheEndOfADrain) {
  enqueue(2);
  must(store.pause({.ns = "default", .queue = "mail", .paused = true, .act = {"ana", "holiday"}}));
  const WorkReport report = must(work(done));
  EXPECT_EQ(report.done, 0);
  EXPECT_EQ(report.blocked, 2);
}

TEST_F(WorkerOnMemory, J7_AGroupOfManyIsWorkedOffWithoutPauses) {
  for (int i = 0; i < 20; ++i) enqueue({.group = "g"});
  options.concurrency = 4;
  options.prefetch = 4;
  const Instant started = runtime.now();
  EXPECT_EQ(must(work(done)).done, 20);
  EXPECT_LT(runtime.now() - started, 5s);  // an idle worker pauses for a second after each empty claim
}

}  // namespace
}  // namespace fenceline

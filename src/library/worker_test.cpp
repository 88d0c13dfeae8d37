// The public worker: runs, starts, stops, and is ended by its destructor.
#include "fenceline/worker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

#include "library/testing.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::must;
using WorkerOnSqlite = test::ClientFixture;

const HandlerFunction kDone = [](const fenceline::Run&) { return RunResult::done(); };

TEST_F(WorkerOnSqlite, RunsUntilNothingIsLeftAndOnlyOnce) {
  must(client->enqueue_many("q", {"1", "2"}));
  Worker worker(*client, {.queues = {"q"}, .drain = true}, kDone);
  EXPECT_EQ(must(worker.run()).done, 2);
  EXPECT_EQ(code_of(worker.run()), Code::refused);
  EXPECT_EQ(code_of(worker.start()), Code::refused);
  EXPECT_EQ(code_of(worker.join()), Code::refused);
}

TEST_F(WorkerOnSqlite, StartedItWorksBesideUntilItIsStopped) {
  Worker worker(*client, {.queues = {"q"}, .concurrency = 1}, kDone);
  EXPECT_EQ(code_of(worker.join()), Code::refused);
  must(worker.start());
  EXPECT_EQ(code_of(worker.start()), Code::refused);
  const JobId id = must(client->enqueue("q", "1"));
  EXPECT_EQ(must(client->wait(id, 30s)).state, JobState::done);
  worker.stop();
  worker.stop();
  EXPECT_EQ(must(worker.join()).done, 1);
  EXPECT_EQ(must(worker.join()).done, 1);
}

TEST_F(WorkerOnSqlite, AWaitWithoutAnEndWaitsForTheJob) {
  const JobId id = must(client->enqueue("q", "1"));
  Worker worker(*client, {.queues = {"q"}, .concurrency = 1}, kDone);
  must(worker.start());
  EXPECT_EQ(must(client->wait(id, Duration::max())).state, JobState::done);
}

TEST_F(WorkerOnSqlite, AStopLetsARunningHandlerFinish) {
  const JobId id = must(client->enqueue("q", "1"));
  std::binary_semaphore runs(0), may_end(0);
  Worker worker(*client, {.queues = {"q"}, .concurrency = 1}, [&](const fenceline::Run& run) {
    runs.release();
    may_end.acquire();
    return RunResult::done(run.stop.stop_requested() ? "told" : "finished");
  });
  must(worker.start());
  runs.acquire();
  worker.stop();
  may_end.release();
  EXPECT_EQ(must(worker.join()).done, 1);
  EXPECT_EQ(must(client->job(id))->result, "finished");
}

TEST_F(WorkerOnSqlite, ItsDestructorEndsItAndAMovedOneWorksOn) {
  std::atomic<int> ran = 0;
  const JobId id = must(client->enqueue("q", "1"));
  {
    Worker first(*client, {.queues = {"q"}, .concurrency = 1}, [&](const fenceline::Run&) {
      ran += 1;
      return RunResult::done();
    });
    must(first.start());
    const Worker second = std::move(first);
    must(client->wait(id, 30s));
  }
  must(client->enqueue("q", "2"));
  EXPECT_EQ(ran, 1);
}

TEST_F(WorkerOnSqlite, StoppedBeforeItsStartItClaimsNothing) {
  must(client->enqueue("q", "1"));
  Worker worker(*client, {.queues = {"q"}}, kDone);
  worker.stop();
  EXPECT_EQ(must(worker.run()).claimed, 0);
}

TEST_F(WorkerOnSqlite, RunAndJoinReportInvalidOptions) {
  EXPECT_EQ(code_of(Worker(*client, {}, kDone).run()), Code::invalid);
  Worker worker(*client, {.queues = {"q"}, .ttl = 1ms}, kDone);
  must(worker.start());
  EXPECT_EQ(code_of(worker.join()), Code::invalid);
}

TEST_F(WorkerOnSqlite, AResultDecidesHowTheJobEnds) {
  const auto after = [&](const RunResult& result) {
    const std::string queue(to_string(result.kind));
    const JobId id = must(client->enqueue(queue, "1", {.attempts_max = 1}));
    must(client->work({.queues = {queue}, .drain = true}, [&](const fenceline::Run&) { return result; }));
    return must(client->job(id)).value();
  };
  EXPECT_EQ(after(RunResult::done("r")).result, "r");
  const Job dead = after(RunResult::dead("no such customer"));
  EXPECT_EQ(dead.state, JobState::dead);
  EXPECT_EQ(dead.error, "no such customer");
  const Job failed = after(RunResult::failed("no network"));
  EXPECT_EQ(failed.failures, 1);
  EXPECT_EQ(failed.error, "no network");
}

TEST_F(WorkerOnSqlite, LaterRetriesAfterTheGivenTimeAndDoesNotCountAsAFailure) {
  const auto waits = [&](std::optional<Duration> in) {
    const JobId id = must(client->enqueue("later", "1"));
    const WallTime before = must(client->job(id))->created_at;
    must(client->work({.queues = {"later"}, .drain = true},
                      [&](const fenceline::Run&) { return RunResult::later(in); }));
    const Job job = must(client->job(id)).value();
    EXPECT_EQ(job.laters, 1);
    EXPECT_EQ(job.failures, 0);
    EXPECT_EQ(job.state, JobState::ready);
    return job.run_at - before;
  };
  EXPECT_GE(waits(2h), 2h);
  EXPECT_LT(waits(2h), 3h);
  EXPECT_LT(waits(std::nullopt), 1min);
  EXPECT_LE(waits(24h * 10'000), 24h * 367) << "out of range it is cut, not refused";
}

}  // namespace
}  // namespace fenceline

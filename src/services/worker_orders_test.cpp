// What operators want of a worker while it works: cancel, retry, quiet, stop.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "services/worker.hpp"
#include "support/worker_fixture.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using namespace test;

class WorkerUnderOrders : public WorkerOnMemory {
 protected:
  // Long, so that no renewal tells what the orders tell.
  WorkerUnderOrders() { options.ttl = 30s; }
};

TEST_F(WorkerUnderOrders, J7_ACancelledHandlerKeepsItsSlotUntilItHasReturned) {
  const JobId first = enqueue({.group = "g"});
  const JobId second = enqueue({.group = "g"});
  options.concurrency = 2;
  std::atomic<bool> first_runs{false};
  std::atomic<bool> beside{false};
  const WorkReport report = must(work([&](const Delivered& run) {
    if (run.job.id == second) {
      beside = first_runs.load();
      return RunResult{};
    }
    first_runs = true;
    const Instant cancelled_at = runtime.now();
    cancel(first);
    const RunResult result = wait_for_stop(run, runtime);
    EXPECT_LT(runtime.now() - cancelled_at, 1s);
    EXPECT_EQ(run.trust->cut(), Cut::revoked);
    EXPECT_LT(run.trust->until(), cancelled_at + 1s);
    runtime.sleep_for(200ms, {});  // it takes its time
    first_runs = false;
    return result;
  }));
  EXPECT_FALSE(beside);
  EXPECT_EQ(job(first).state, JobState::cancelled);
  EXPECT_EQ(job(second).state, JobState::done);
  EXPECT_EQ(report.revoked, 1);
  EXPECT_EQ(report.lost + report.refused, 0);
  EXPECT_EQ(report.done, 1);
  EXPECT_EQ(events.field("lease_lost", "why"), "revoked");
  EXPECT_EQ(events.count("delivery_stopped"), 1);
  EXPECT_EQ(store.calls("settle"), 1);  // nothing was sent for the first
  EXPECT_EQ(events.field("worker_exit", "status"), "success");
}

// A call of an effect that cannot tell how it ended.
void begin_and_doubt(Store& store, const Delivered& run) {
  must(store.begin_effect({.ns = "default",
                           .job = run.job.id,
                           .fence = run.job.fence,
                           .name = "pay",
                           .digest = "d",
                           .call = "c",
                           .actor = "here",
                           .dead_call = {}}));
  must(store.finish_effect({.ns = "default",
                            .job = run.job.id,
                            .fence = run.job.fence,
                            .name = "pay",
                            .call = "c",
                            .end = EffectEnd::held,
                            .result = {},
                            .exit_status = {}}));
}

TEST_F(WorkerUnderOrders, J7_AHandlerWhoseJobIsMadeToWaitIsToldAndKeepsItsSlotUntilItHasReturned) {
  must(store.set_queue({.ns = "default", .queue = "mail", .change = {.limit = 1}, .act = {"ana", ""}}));
  const JobId first = enqueue(NewJob{});
  const JobId second = enqueue(NewJob{});
  options.concurrency = 2;
  std::atomic<bool> first_runs{false};
  std::atomic<bool> beside{false};
  const WorkReport report = must(work([&](const Delivered& run) {
    if (run.job.id == second) {
      beside = first_runs.load();
      return RunResult{};
    }
    first_runs = true;
    begin_and_doubt(store, run);
    const Instant held_at = runtime.now();
    const RunResult result = wait_for_stop(run, runtime);
    EXPECT_LT(runtime.now() - held_at, 5s);
    runtime.sleep_for(200ms, {});  // it takes its time
    first_runs = false;
    return result;
  }));
  EXPECT_FALSE(beside);
  EXPECT_EQ(job(first).state, JobState::waiting);
  EXPECT_EQ(job(second).state, JobState::done);
  EXPECT_EQ(report.waiting, 1);
  EXPECT_EQ(report.revoked + report.lost + report.refused, 0);
  EXPECT_EQ(events.count("delivery_held"), 1);
  EXPECT_EQ(events.count("delivery_stopped"), 1);
  EXPECT_EQ(must(store.facts("default", first))->slot_left, std::nullopt);
}

TEST_F(WorkerUnderOrders, J7_TheSlotOfAHandlerThatReturnedFromAHeldEffectIsFreeAtOnce) {
  const JobId id = enqueue(NewJob{});
  const Instant began = runtime.now();
  const WorkReport report = must(work([&](const Delivered& run) {
    begin_and_doubt(store, run);
    return RunResult{.kind = OutcomeKind::failed, .error = "exit status 76"};
  }));
  EXPECT_LT(runtime.now() - began, options.ttl / 2);
  EXPECT_EQ(must(store.facts("default", id))->slot_left, std::nullopt);
  EXPECT_EQ(report.waiting, 1);
  EXPECT_EQ(report.revoked + report.refused, 0);
  EXPECT_EQ(events.count("delivery_held"), 1);
  EXPECT_EQ(events.count("delivery_stopped"), 1);
}

TEST_F(WorkerUnderOrders, AFullWorkerClaimsNothingWhileACancelledHandlerRuns) {
  const JobId first = enqueue(NewJob{});
  const JobId second = enqueue(NewJob{});
  std::atomic<bool> first_runs{false};
  must(work([&](const Delivered& run) {
    if (run.job.id == first) {
      first_runs = true;
      cancel(first);
      wait_for_stop(run, runtime);
      runtime.sleep_for(100ms, {});
      EXPECT_EQ(job(second).state, JobState::ready);
      first_runs = false;
    } else {
      EXPECT_FALSE(first_runs);
    }
    return RunResult{};
  }));
  EXPECT_EQ(job(second).state, JobState::done);
}

TEST_F(WorkerUnderOrders, ThatADeliveryHasStoppedIsSaidUntilTheStoreKnows) {
  const JobId id = enqueue(NewJob{});
  store.before = [](const std::string& verb, int call) {
    return verb == "stopped" && call == 0 ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  store.after = [](const std::string& verb, int call) {
    return verb == "stopped" && call == 1 ? std::optional(Error{Code::in_doubt, "reply lost"}) : std::nullopt;
  };
  must(work([&](const Delivered& run) {
    cancel(id);
    return wait_for_stop(run, runtime);
  }));
  EXPECT_EQ(store.calls("stopped"), 3);
  EXPECT_EQ(events.count("delivery_stopped"), 1);
  EXPECT_EQ(must(store.facts("default", id))->slot_left, std::nullopt);
}

TEST_F(WorkerUnderOrders, WhatAHandlerSaidBeforeItWasCancelledIsKept) {
  const JobId id = enqueue(NewJob{});
  must(work([&](const Delivered& run) {
    run.log("one\n");
    runtime.sleep_for(200ms, {});
    run.log("two\n");
    run.progress(50, "half");
    runtime.sleep_for(700ms, {});
    cancel(id);
    run.log("too late\n");
    return wait_for_stop(run, runtime);
  }));
  EXPECT_EQ(logged(id), "one\ntwo\n");
  EXPECT_EQ(job(id).progress.value_or(Progress{}).percent, 50);
}

TEST_F(WorkerUnderOrders, J8_AnOrderThatIsTakenBackUnheardDelaysNoJob) {
  std::atomic<bool> told{false};
  store.orders_wake_up = false;
  store.before = [&](const std::string& verb, int) -> std::optional<Error> {
    if (verb == "claim" && !told.exchange(true)) {
      enqueue(NewJob{});
      order(WorkerOrder::quiet);
    }
    return std::nullopt;
  };
  store.after = [&](const std::string& verb, int call) -> std::optional<Error> {
    if (verb == "claim" && call == 0) order(WorkerOrder::work);
    return std::nullopt;
  };
  options.drain = false;
  std::stop_source stop;
  const Instant begun = runtime.now();
  EXPECT_EQ(must(work([&](const Delivered&) { return stop.request_stop(), RunResult{}; }, stop.get_token())).done, 1);
  EXPECT_LT(runtime.now() - begun, 900ms) << "the next claim would have been due in a second";
}

TEST_F(WorkerUnderOrders, J3_ACancelBeforeTheEndCountsAndFreesItsSlotAtOnce) {
  const JobId id = enqueue(NewJob{});
  const WorkReport report = must(work([&](const Delivered&) {
    cancel(id);
    return RunResult{.result = "too late"};
  }));
  EXPECT_EQ(job(id).state, JobState::cancelled);
  EXPECT_EQ(job(id).result, "");
  EXPECT_EQ(report.done, 0);
  EXPECT_EQ(must(store.facts("default", id))->slot_left, std::nullopt);
}

TEST_F(WorkerUnderOrders, J3_ACancelAfterTheEndIsRefused) {
  const JobId id = enqueue(NewJob{});
  EXPECT_EQ(must(work(done)).done, 1);
  ASSERT_EQ(cancel(id).refused.size(), 1u);
  EXPECT_EQ(job(id).state, JobState::done);
}

TEST_F(WorkerUnderOrders, ARetryOfARunningJobEndsItAndRunsItAgain) {
  const JobId id = enqueue(NewJob{});
  std::atomic<int> runs{0};
  must(work([&](const Delivered& run) {
    if (runs++ == 0) {
      retry(id);
      return wait_for_stop(run, runtime);
    }
    return RunResult{.result = "again"};
  }));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(job(id).result, "again");
  EXPECT_EQ(job(id).failures + job(id).losses, 0);
}

TEST_F(WorkerUnderOrders, WhatWasRevokedBeforeItsClaimWasAnsweredIsNotStarted) {
  const JobId id = enqueue(NewJob{});
  store.after = [&](const std::string& verb, int call) -> std::optional<Error> {
    if (verb != "claim" || call > 0) return std::nullopt;
    cancel(id);
    EXPECT_TRUE(eventually([&] { return store.calls("stopped") > 0; }));
    return std::nullopt;
  };
  std::atomic<int> runs{0};
  const WorkReport report = must(work([&](const Delivered&) {
    ++runs;
    return RunResult{};
  }));
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(report.revoked, 1);
  EXPECT_EQ(job(id).state, JobState::cancelled);
}

TEST_F(WorkerUnderOrders, ACancelIsLearntFromARefusedRenewalWhileOrdersAreAway) {
  options.ttl = 1s;
  const JobId id = enqueue(NewJob{});
  std::atomic<bool> away{true};
  store.before = [&](const std::string& verb, int) {
    return verb == "orders" && away ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  must(work([&](const Delivered& run) {
    cancel(id);
    const RunResult result = wait_for_stop(run, runtime);
    away = false;
    return result;
  }));
  EXPECT_EQ(job(id).state, JobState::cancelled);
  EXPECT_EQ(events.field("stale_write_refused", "verb"), "extend");
}

TEST_F(WorkerUnderOrders, AQuietWorkerClaimsNothingUntilItShallWorkAgain) {
  options.drain = false;
  std::stop_source stop;
  const JobId first = enqueue(NewJob{});
  JobId second;
  Task boss = runtime.spawn("operator", [&](std::stop_token) {
    EXPECT_TRUE(eventually([&] { return job(first).state == JobState::running; }));
    order(WorkerOrder::quiet);
    EXPECT_TRUE(eventually([&] { return events.field("worker_ordered", "order") == "quiet"; }));
    EXPECT_TRUE(eventually([&] { return job(first).state == JobState::done; }));  // what it has, it finishes
    second = enqueue(NewJob{});
    runtime.sleep_for(200ms, {});
    EXPECT_EQ(job(second).state, JobState::ready);
    order(WorkerOrder::work);
    EXPECT_TRUE(eventually([&] { return job(second).state == JobState::done; }));
    stop.request_stop();
  });
  must(work(
      [&](const Delivered& run) {
        if (run.job.id == first) {
          EXPECT_TRUE(eventually([&] { return events.count("worker_ordered") > 0; }));
        }
        return RunResult{};
      },
      stop.get_token()));
  EXPECT_EQ(events.count("worker_ordered"), 2);
}

TEST_F(WorkerUnderOrders, AnOrderToStopIsAGracefulStop) {
  options.drain = false;
  options.prefetch = 2;
  const JobId first = enqueue(NewJob{});
  const JobId second = enqueue(NewJob{});
  const WorkReport report = must(work([&](const Delivered&) {
    order(WorkerOrder::stop);
    EXPECT_TRUE(eventually([&] { return events.count("worker_draining") > 0; }));
    return RunResult{};
  }));
  EXPECT_EQ(report.done, 1);
  EXPECT_EQ(job(first).state, JobState::done);
  EXPECT_EQ(job(second).state, JobState::ready);
  EXPECT_EQ(job(second).losses, 0);
  EXPECT_EQ(events.field("worker_exit", "status"), "success");
}

TEST_F(WorkerUnderOrders, AnIdleWorkerAsksForOrdersRarely) {
  options.drain = false;
  std::stop_source stop;
  Task stopper = runtime.spawn("stopper", [&](std::stop_token) {
    EXPECT_TRUE(eventually([&] { return store.calls("orders") > 0; }));
    runtime.sleep_for(1200ms, {});
    stop.request_stop();
  });
  must(work(done, stop.get_token()));
  EXPECT_LE(store.calls("orders"), 2);
}

TEST_F(WorkerUnderOrders, ACancelIsFeltWithoutAWakeUpThoughTheLastJobEndedDuringTheClaim) {
  store.orders_wake_up = false;
  options.concurrency = 2;
  const JobId first = enqueue(NewJob{});
  JobId second;
  std::mutex mutex;  // of `second`
  std::atomic<bool> claimed{false};
  const auto second_is_claimed = [&] {
    const std::lock_guard lock(mutex);
    return second != JobId{} && job(second).state == JobState::running;
  };
  store.after = [&](const std::string& verb, int) -> std::optional<Error> {
    if (verb != "claim" || claimed || !second_is_claimed()) return std::nullopt;
    claimed = true;
    EXPECT_TRUE(eventually([&] { return job(first).state == JobState::done; }));
    runtime.sleep_for(options.orders_every + 100ms, {});  // now a worker that holds nothing will not ask for seconds
    return std::nullopt;
  };
  must(work([&](const Delivered& run) {
    if (run.job.id == first) {
      {
        const std::lock_guard lock(mutex);
        second = enqueue(NewJob{});
      }
      EXPECT_TRUE(eventually([&] { return claimed.load(); }));
      return RunResult{};
    }
    const Instant cancelled_at = runtime.now();
    cancel(second);
    const RunResult result = wait_for_stop(run, runtime);
    EXPECT_LT(runtime.now() - cancelled_at, 2s);
    return result;
  }));
  EXPECT_EQ(job(second).state, JobState::cancelled);
}

TEST_F(WorkerUnderOrders, AStoreThatCannotSayWhatOperatorsWantStopsNoWork) {
  enqueue(NewJob{});
  store.before = [](const std::string& verb, int) {
    return verb == "orders" ? std::optional(Error{Code::refused, "not here"}) : std::nullopt;
  };
  // A worker that is done before it ever asked hears of no trouble either.
  EXPECT_EQ(must(work([&](const fenceline::Run&) {
              EXPECT_TRUE(eventually([&] { return events.count("orders_failed") > 0; }));
              return RunResult{};
            })).done,
            1);
  EXPECT_EQ(events.count("orders_failed"), 1);
}

}  // namespace
}  // namespace fenceline

#include "services/worker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <utility>

#include "model/trust.hpp"
#include "support/manual_clock.hpp"
#include "support/worker_fixture.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using namespace test;

TEST_F(WorkerOnMemory, RunsEveryJobOnceAndEndsWhenNothingIsLeft) {
  const std::vector<JobId> ids = enqueue(50);
  options.concurrency = 4;
  options.prefetch = 4;
  const WorkReport report = must(work(done));
  EXPECT_EQ(report.done, 50);
  EXPECT_EQ(report.claimed, 50);
  for (const JobId& id : ids) {
    EXPECT_EQ(job(id).state, JobState::done);
    EXPECT_EQ(job(id).result, "\"ok\"");
    EXPECT_EQ(job(id).deliveries, 1);
  }
  EXPECT_EQ(events.count("execution_started"), 50);
  EXPECT_EQ(events.count("job_settled"), 50);
  EXPECT_EQ(events.field("worker_exit", "status"), "success");
  EXPECT_TRUE(must(store.workers("default")).empty());
}

TEST_F(WorkerOnMemory, ClaimsAndSettlesInBatches) {
  enqueue(60);
  options.concurrency = 30;
  options.prefetch = 30;
  must(work(done));
  EXPECT_LE(store.calls("claim"), 10);
}

TEST_F(WorkerOnMemory, WhatAHandlerThrowsCountsAsFailed) {
  const JobId id = enqueue(1, 1).front();
  const WorkReport report = must(work([](const Delivered&) -> RunResult { throw std::runtime_error("no paper"); }));
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(job(id).state, JobState::dead);
  EXPECT_EQ(job(id).error, "handler threw: no paper");
}

TEST_F(WorkerOnMemory, AFailureIsLoggedWithItsReasonAndWhatComesNext) {
  const JobId id = enqueue({.attempts_max = 3, .backoff = {1h, 1h}});
  const WorkReport report = must(work([](const Delivered&) {
    return RunResult{.kind = OutcomeKind::failed, .error = "exit status 3: no paper", .exit_status = 3};
  }));
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(report.dead, 0);
  EXPECT_EQ(events.field("job_settled", "job"), to_string(id));
  EXPECT_EQ(events.field("job_settled", "queue"), "mail");
  EXPECT_EQ(events.field("job_settled", "outcome"), "failed");
  EXPECT_EQ(events.field("job_settled", "error"), "exit status 3: no paper");
  EXPECT_EQ(events.number("job_settled", "exit_status"), 3);
  EXPECT_EQ(events.number("job_settled", "attempt"), 1);
  EXPECT_EQ(events.number("job_settled", "attempts_max"), 3);
  EXPECT_EQ(events.number("job_settled", "attempts_left"), 2);
  EXPECT_GE(events.number("job_settled", "duration_us").value_or(-1), 0);
  EXPECT_GE(events.number("job_settled", "retry_in_us").value_or(-1), 0);
  EXPECT_EQ(events.field("job_settled", "next_try").size(), std::string("2026-11-15T10:00:00Z").size());
  EXPECT_EQ(events.count("job_dead"), 0);
}

TEST_F(WorkerOnMemory, AJobThatDiesIsAWarningOfItsOwn) {
  enqueue(1, 1);
  enqueue(1, 5);
  const WorkReport report = must(work([](const Delivered& run) {
    return run.job.attempts_max == 1 ? RunResult{.kind = OutcomeKind::failed, .error = "last"}
                                     : RunResult{.kind = OutcomeKind::dead, .error = "at once"};
  }));
  EXPECT_EQ(report.failed, 2);
  EXPECT_EQ(report.dead, 2);
  EXPECT_EQ(events.count("job_settled"), 2);
  ASSERT_EQ(events.count("job_dead"), 2);
  std::map<std::string, std::string> why;
  for (const LogEvent& event : events.all("job_dead")) {
    EXPECT_EQ(event.level, Level::warn);
    why[EventList::text_of(event, "error")] = EventList::text_of(event, "why");
  }
  EXPECT_EQ(why["last"], "no_attempts_left");
  EXPECT_EQ(why["at once"], "by_its_handler");
  EXPECT_EQ(events.number("job_dead", "attempts_left"), 0);
}

TEST_F(WorkerOnMemory, JobsThatItsClaimBuriesCountAsDeadAndAreAWarning) {
  store.on_claimed = [first = true](ClaimReply& reply) mutable { reply.buried = std::exchange(first, false) ? 2 : 0; };
  EXPECT_EQ(must(work(done)).dead, 2);
  ASSERT_EQ(events.count("jobs_buried"), 1);
  EXPECT_EQ(events.all("jobs_buried").front().level, Level::warn);
  EXPECT_EQ(events.number("jobs_buried", "jobs"), 2);
}

TEST_F(WorkerOnMemory, TellsHowManyJobsLieAheadAtTheEndOfADrain) {
  enqueue(1);
  const WorkReport report = must(work([](const Delivered&) { return RunResult{.kind = OutcomeKind::later}; }));
  EXPECT_EQ(report.later, 1);
  EXPECT_EQ(report.ahead, 1);
}

TEST_F(WorkerOnMemory, IsListedWithWhatItHoldsWhileItWorks) {
  const JobId id = enqueue(1).front();
  options.host = "here";
  options.pid = 42;
  std::vector<WorkerRow> rows;
  must(work([&](const Delivered& run) {
    // The report that names the job is the next one, a third of the ttl later.
    for (int i = 0; i < 100; ++i) {
      rows = must(store.workers("default"));
      if (!rows.empty() && !rows.front().report.holding.empty()) break;
      runtime.sleep_for(20ms, run.stop);
    }
    return RunResult{};
  }));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.front().report.pid, 42);
  ASSERT_EQ(rows.front().report.holding.size(), 1u);
  EXPECT_EQ(rows.front().report.holding.front().id, id);
}

TEST_F(WorkerOnMemory, RenewsALeaseForAsLongAsItsHandlerRuns) {
  const JobId id = enqueue(1).front();
  options.ttl = 2s;
  const WorkReport report = must(work([&](const Delivered& run) {
    EXPECT_TRUE(runtime.sleep_for(2200ms, run.stop));
    return RunResult{};
  }));
  EXPECT_EQ(report.done, 1);
  EXPECT_EQ(report.lost, 0);
  EXPECT_EQ(job(id).deliveries, 1);
  EXPECT_GE(store.calls("extend"), 2);
}

TEST_F(WorkerOnMemory, AGracefulStopCostsNoJobAnything) {
  const std::vector<JobId> ids = enqueue(4);
  options.drain = false;
  options.prefetch = 3;
  options.drain_grace = 0s;
  std::stop_source stop;
  const WorkReport report = must(work(
      [&](const Delivered& run) {
        stop.request_stop();
        return wait_for_stop(run, runtime);
      },
      stop.get_token()));
  EXPECT_EQ(report.given_back, 4);
  for (const JobId& id : ids) {
    EXPECT_EQ(job(id).state, JobState::ready);
    EXPECT_EQ(job(id).failures + job(id).losses, 0);
  }
  EXPECT_EQ(events.count("worker_draining"), 1);
  EXPECT_EQ(events.field("worker_exit", "status"), "success");
}

TEST_F(WorkerOnMemory, AGracefulStopLetsARunningHandlerFinishWithinTheGrace) {
  const JobId id = enqueue(1).front();
  options.drain = false;
  std::stop_source stop;
  bool told = false;
  const WorkReport report = must(work(
      [&](const Delivered& run) {
        stop.request_stop();
        told = !runtime.sleep_for(1200ms, run.stop);  // longer than the ttl: renewed while it drains
        return RunResult{};
      },
      stop.get_token()));
  EXPECT_FALSE(told);
  EXPECT_EQ(report.done, 1);
  EXPECT_EQ(job(id).state, JobState::done);
}

TEST_F(WorkerOnMemory, J5_FiveLostRepliesToClaimsDeadLetterNobody) {
  const std::vector<JobId> ids = enqueue(3);
  options.concurrency = 3;
  store.after = [](const std::string& verb, int call) {
    return verb == "claim" && call < 5 ? std::optional(Error{Code::in_doubt, "reply lost"}) : std::nullopt;
  };
  EXPECT_EQ(must(work(done)).done, 3);
  EXPECT_GT(store.calls("claim"), 5);
  for (const JobId& id : ids) {
    EXPECT_EQ(job(id).state, JobState::done);
    EXPECT_EQ(job(id).losses, 0);
  }
}

// What is left is told to the send that was answered. Counted from an earlier one, the wait would be taken off twice,
// and a lease that is good would not be worth starting.
TEST_F(WorkerOnMemory, L5_TrustInARepeatedClaimCountsFromTheSendThatWasAnswered) {
  enqueue(1);
  Duration left{};
  store.on_claimed = [&](const ClaimReply& reply) {
    if (!reply.jobs.empty()) left = reply.jobs.front().left;
  };
  Instant doubted_at{};
  store.after = [&](const std::string& verb, int call) {
    if (verb != "claim" || call > 0) return std::optional<Error>();
    doubted_at = runtime.now();
    return std::optional(Error{Code::in_doubt, "reply lost"});
  };
  Instant trusted{};
  must(work([&](const Delivered& run) {
    trusted = run.trust->lease_until();
    return RunResult{};
  }));
  EXPECT_GE(trusted, doubted_at + left - LeaseTimes::of(options.ttl).margin);
}

TEST_F(WorkerOnMemory, J8_AJobFetchedAheadOfAHandlerThatTakesLongIsLeftToAnother) {
  enqueue(2);
  options.prefetch = 1;
  options.drain = false;
  std::stop_source stop;
  const WorkReport report = must(work(
      [&](const Delivered& run) {
        for (int i = 0; i < 1000; ++i) {
          const auto free = must(store.claim({.ns = "default",
                                              .queues = {"mail"},
                                              .owner = "another",
                                              .request = "another-" + std::to_string(i),
                                              .limit = 1,
                                              .ttl = 30s,
                                              .timeout = 1s}));
          if (!free.jobs.empty()) break;
          runtime.sleep_for(10ms, run.stop);
        }
        stop.request_stop();
        return RunResult{};
      },
      stop.get_token()));
  EXPECT_EQ(report.done, 1);
  EXPECT_EQ(report.given_back, 1);
}

TEST_F(WorkerOnMemory, AClaimWhoseReplyWasLostIsRepeatedAndGrantsTheSame) {
  const JobId id = enqueue(1).front();
  store.after = [](const std::string& verb, int call) {
    return verb == "claim" && call == 0 ? std::optional(Error{Code::in_doubt, "reply lost"}) : std::nullopt;
  };
  EXPECT_EQ(must(work(done)).done, 1);
  EXPECT_EQ(job(id).deliveries, 1);
  EXPECT_EQ(events.count("claim_in_doubt"), 1);
  EXPECT_EQ(store.calls("give_back"), 0);
}

TEST_F(WorkerOnMemory, AClaimThatStaysInDoubtIsGivenBackAtNoCost) {
  const JobId id = enqueue(1).front();
  store.after = [](const std::string& verb, int call) {
    return verb == "claim" && call < 3 ? std::optional(Error{Code::in_doubt, "reply lost"}) : std::nullopt;
  };
  store.before = [](const std::string& verb, int call) {
    return verb == "give_back" && call == 0 ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  EXPECT_EQ(must(work(done)).done, 1);
  EXPECT_EQ(store.calls("give_back"), 2);
  EXPECT_EQ(events.count("claim_given_back"), 1);
  EXPECT_EQ(job(id).losses, 0);
  EXPECT_EQ(job(id).deliveries, 2);
}

TEST_F(WorkerOnMemory, J3_AnOutcomeWhoseReplyWasLostIsSentAgainAndCountsOnce) {
  const JobId id = enqueue(1).front();
  store.after = [](const std::string& verb, int call) {
    return verb == "settle" && call < 2 ? std::optional(Error{Code::in_doubt, "reply lost"}) : std::nullopt;
  };
  EXPECT_EQ(must(work(done)).done, 1);
  EXPECT_EQ(store.calls("settle"), 3);
  EXPECT_EQ(events.count("job_settled"), 1);
  EXPECT_EQ(events.count("stale_write_refused"), 0);
  EXPECT_EQ(job(id).state, JobState::done);
}

TEST_F(WorkerOnMemory, AStoreThatIsAwayIsWaitedForAndLoggedOnce) {
  enqueue(1);
  store.before = [](const std::string& verb, int call) {
    return verb == "claim" && call < 3 ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  // A draining worker would ask for the backlog too, and hear that the store is there.
  options.drain = false;
  std::stop_source stop;
  EXPECT_EQ(must(work(
                     [&](const Delivered&) {
                       stop.request_stop();
                       return RunResult{};
                     },
                     stop.get_token()))
                .done,
            1);
  EXPECT_EQ(events.count("store_unavailable"), 1);
  EXPECT_EQ(events.count("store_back"), 1);
  EXPECT_EQ(events.count("claim_in_doubt"), 0);
}

TEST_F(WorkerOnMemory, ABrokenStoreEndsTheWorkerWithItsError) {
  store.before = [](const std::string& verb, int) {
    return verb == "claim" ? std::optional(Error{Code::broken, "disk failed"}) : std::nullopt;
  };
  const Result<WorkReport> report = work(done);
  EXPECT_EQ(test::code_of(report), Code::broken);
  EXPECT_EQ(events.field("worker_exit", "status"), "failed");
}

TEST_F(WorkerOnMemory, L4_ARefusedRenewalStopsTheHandlerAndItsOutcomeIsNotSent) {
  const JobId id = enqueue(1).front();
  std::atomic<bool> refuse{true};
  store.on_extend = [&](const ExtendRequest& request) -> std::optional<ExtendReply> {
    if (!refuse.exchange(false)) return std::nullopt;
    return ExtendReply{.refused = {{request.jobs.front().id, request.jobs.front().fence, request.jobs.front().fence + 1,
                                    Reason::superseded}}};
  };
  std::atomic<int> runs{0};
  const WorkReport report = must(work([&](const Delivered& run) {
    if (runs++ == 0) {
      EXPECT_FALSE(runtime.sleep_for(1h, run.stop));
    }
    return RunResult{.result = std::to_string(runs)};
  }));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(job(id).result, "2");
  EXPECT_EQ(report.done, 1);
  EXPECT_EQ(report.takeovers, 1);
  EXPECT_EQ(events.count("stale_write_refused"), 1);
  EXPECT_EQ(events.field("stale_write_refused", "verb"), "extend");
  EXPECT_EQ(events.field("stale_write_refused", "reason"), "superseded");
  EXPECT_EQ(events.count("lease_lost"), 1);
  EXPECT_EQ(events.field("worker_exit", "status"), "stale");
}

TEST_F(WorkerOnMemory, L5_AHandlerIsToldToStopBeforeItsTrustEnds) {
  options.ttl = 2s;
  const JobId id = enqueue(1).front();
  store.before = [](const std::string& verb, int) {
    return verb == "extend" ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  std::atomic<int> runs{0};
  must(work([&](const Delivered& run) {
    if (runs++ > 0) return RunResult{};
    const RunResult result = wait_for_stop(run, runtime);
    EXPECT_LT(runtime.now(), run.trust->until());
    EXPECT_GE(runtime.now(), stop_work_at(run.trust->until(), LeaseTimes::of(2s)));
    return result;
  }));
  EXPECT_GE(events.count("renewal_failed"), 1);
  EXPECT_LE(events.count("renewal_failed"), kRenewalTries);
  EXPECT_EQ(events.field("handler_told_to_stop", "why"), "lease_not_renewed");
  EXPECT_EQ(job(id).failures, 0);  // the stop was not its fault
  EXPECT_EQ(job(id).losses, 0);    // it was given back in time
  EXPECT_EQ(job(id).state, JobState::done);
}

TEST_F(WorkerOnMemory, J3_AHandlerThatIgnoresItsStopHasItsLateOutcomeKeptBack) {
  const JobId id = enqueue(1).front();
  store.before = [](const std::string& verb, int call) {
    return verb == "extend" && call < 3 ? std::optional(Error{Code::unavailable, "away"}) : std::nullopt;
  };
  std::atomic<int> runs{0};
  const WorkReport report = must(work([&](const Delivered&) {
    if (runs++ == 0) runtime.sleep_for(1100ms, {});
    return RunResult{.result = std::to_string(runs)};
  }));
  EXPECT_EQ(job(id).result, "2");
  EXPECT_EQ(job(id).losses, 1);
  EXPECT_EQ(report.lost, 1);
  EXPECT_EQ(events.field("lease_lost", "why"), "trust_ended");
  EXPECT_EQ(events.count("job_settled"), 1);
}

TEST_F(WorkerOnMemory, AnEnqueueWakesAnIdleWorker) {
  options.drain = false;
  std::stop_source stop;
  Task producer = runtime.spawn("producer", [&](std::stop_token) {
    while (store.calls("claim") == 0) runtime.sleep_for(1ms, {});
    enqueue(1);
  });
  must(work(
      [&](const Delivered&) {
        stop.request_stop();
        return RunResult{};
      },
      stop.get_token()));
  // The first found nothing, the second was woken: the pause between two is a second.
  EXPECT_LE(store.calls("claim"), 3);
}

TEST_F(WorkerOnMemory, ServesItsQueuesInTurn) {
  enqueue(20, kAttemptsMaxDefault, "mail");
  enqueue(20, kAttemptsMaxDefault, "print");
  options.queues = {"mail", "print"};
  std::vector<std::string> served;
  must(work([&](const Delivered& run) {
    served.push_back(run.job.queue);
    return RunResult{};
  }));
  EXPECT_NE(served[0], served[1]);
  EXPECT_NE(served[1], served[2]);
}

TEST_F(WorkerOnMemory, RefusesOptionsThatCannotBeMeant) {
  options.concurrency = 0;
  EXPECT_EQ(test::code_of(work(done)), Code::invalid);
  options.concurrency = 1;
  options.queues.clear();
  EXPECT_EQ(test::code_of(work(done)), Code::invalid);
}

TEST(WorkerAlone, J5_AJobThatKilledTwoWorkersRunsWithNothingBesideIt) {
  ThreadRuntime runtime;
  test::ManualClock clock;
  MemoryStore store(clock);
  const auto enqueue = [&](int count) {
    EnqueueRequest request{.ns = "default"};
    for (int i = 0; i < count; ++i)
      request.jobs.push_back(
          {.id = make_uuid7(runtime.wall_now(), runtime.random(), runtime.random()), .queue = "mail"});
    must(store.enqueue(request));
    return request.jobs.front().id;
  };
  const JobId killer = enqueue(1);
  for (const std::string owner : {"first", "second"}) {
    must(store.claim({.ns = "default", .queues = {"mail"}, .owner = owner, .request = owner, .ttl = 1s}));
    clock.advance(2s);
  }
  enqueue(20);
  std::atomic<int> running{0};
  std::atomic<int> beside{-1};
  HandlerOf handler([&](const Delivered& run) {
    ++running;
    if (run.job.id == killer) {
      beside = running - 1;
      runtime.sleep_for(50ms, run.stop);
      beside = std::max(beside.load(), running - 1);
    }
    --running;
    return RunResult{};
  });
  EventList events;
  const WorkerOptions options{.queues = {"mail"}, .concurrency = 4, .prefetch = 4, .ttl = 30s, .drain = true};
  EXPECT_EQ(must(JobWorker(runtime, Log(events), store, handler, options).run({})).done, 21);
  EXPECT_EQ(beside, 0);
}

TEST(WorkerAlone, J8_AJobThatMustRunAloneDoesNotStarveBehindALimitWhileOtherWorkGoesOn) {
  ThreadRuntime runtime;
  test::ManualClock clock;
  MemoryStore store(clock);
  const auto enqueue = [&](const std::string& queue) {
    const JobId id = make_uuid7(runtime.wall_now(), runtime.random(), runtime.random());
    must(store.enqueue({.ns = "default", .jobs = {{.id = id, .queue = queue}}}));
    return id;
  };
  const auto pause = [&](bool paused) {
    must(store.pause({.ns = "default", .queue = "narrow", .paused = paused, .act = {"ana", ""}}));
  };
  must(store.set_queue({.ns = "default", .queue = "narrow", .change = {.limit = 1}, .act = {"ana", ""}}));
  const JobId killer = enqueue("narrow");
  for (const std::string owner : {"first", "second"}) {
    must(store.claim({.ns = "default", .queues = {"narrow"}, .owner = owner, .request = owner, .ttl = 1s}));
    clock.advance(2s);
  }
  must(store.claim({.ns = "default", .queues = {"narrow"}, .owner = "third", .request = "third", .ttl = 1s}));
  must(store.give_back({.ns = "default", .owner = "third", .request = "third", .ttl = 1s}));
  pause(true);  // until the worker holds something
  for (const std::string queue : {"narrow", "narrow", "narrow"}) enqueue(queue);
  for (int i = 0; i < 12; ++i) enqueue("wide");
  constexpr int kEnough = 600;  // more than ten seconds of work
  std::atomic<int> wide{0};
  std::atomic<bool> alone_ran{false};
  HandlerOf handler([&](const Delivered& run) {
    if (run.job.id == killer) {
      EXPECT_LT(wide, kEnough) << "it came only when there was nothing else to do";
      alone_ran = true;
      return RunResult{};
    }
    if (run.job.queue == "wide" && wide++ == 0) pause(false);
    runtime.sleep_for(run.job.queue == "wide" ? 40ms : 300ms,
                      run.stop);  // so that most claims find the narrow one full
    if (!alone_ran && wide < kEnough) enqueue(run.job.queue);
    return RunResult{};
  });
  EventList events;
  // With a stock, so that it is never empty by chance.
  const WorkerOptions options{.queues = {"narrow", "wide"}, .concurrency = 3, .prefetch = 4, .ttl = 1s, .drain = true};
  must(JobWorker(runtime, Log(events), store, handler, options).run({}));
  EXPECT_TRUE(alone_ran);
}

}  // namespace
}  // namespace fenceline

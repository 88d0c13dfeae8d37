#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "fenceline/fenceline.hpp"
#include "library/testing.hpp"
#include "session/open_store.hpp"
#include "support/results.hpp"
#include "support/scripted_http.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::must;

using ClientOnSqlite = test::ClientFixture;

TEST_F(ClientOnSqlite, CountsWhatItDoesIfItIsAskedTo) {
  EXPECT_EQ(client->metrics_text(), "");
  Client counted =
      must(Client::open({.store = "sqlite:" + folder + "/client.db", .metrics = true, .metrics_queues = {"mail"}}));
  EXPECT_NE(counted.metrics_text().find("fenceline_deliveries_total{queue=\"mail\"} 0\n"), std::string::npos);
  must(counted.enqueue("mail", "null"));
  must(counted.work({.queues = {"mail"}, .drain = true},
                    [](const fenceline::Run&) { return RunResult{.kind = OutcomeKind::done}; }));
  must(counted.lock("deploy", {}, [](const HeldLock&) {}));
  const std::string text = counted.metrics_text();
  for (const char* line : {"fenceline_deliveries_total{queue=\"mail\"} 1\n",
                           "fenceline_outcomes_total{outcome=\"done\",queue=\"mail\"} 1\n",
                           "fenceline_job_run_seconds_count{queue=\"mail\"} 1\n",
                           "fenceline_lock_hold_seconds_count{class=\"item\",lock=\"other\"} 1\n",
                           "fenceline_build_info{store=\"sqlite\","})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST_F(ClientOnSqlite, TellsACollectorWhatItEnqueuedAndRan) {
  test::ScriptedHttp collector([](const test::HttpAsked&) {
    return std::string("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}");
  });
  {
    Client traced = must(Client::open(
        {.store = "sqlite:" + folder + "/client.db", .traces = collector.url(""), .traces_service = "shop"}));
    must(traced.enqueue("mail", "null"));
    must(traced.work({.queues = {"mail"}, .drain = true}, [](const fenceline::Run&) { return RunResult{}; }));
  }
  std::string told;
  for (const test::HttpAsked& asked : collector.asked()) {
    EXPECT_EQ(asked.target, "/v1/traces");
    told += asked.body;
  }
  for (const char* words : {"\"enqueue mail\"", "\"run mail\"", "\"shop\""})
    EXPECT_NE(told.find(words), std::string::npos) << words << told;
  EXPECT_EQ(code_of(Client::open({.store = "sqlite:" + folder + "/client.db", .traces = "collector"})), Code::invalid);
}

TEST_F(ClientOnSqlite, J6_AnEnqueueAnswersWithTheJobThatHasTheKey) {
  const JobId first = must(client->enqueue("mail", R"({"to": "ana", "n": 1})", {.key = "k"}));
  EXPECT_EQ(must(client->enqueue("mail", R"({"n": 1, "to": "ana"})", {.key = "k"})), first);
  EXPECT_EQ(code_of(client->enqueue("mail", R"({"to": "ben"})", {.key = "k"})), Code::conflict);
  EXPECT_NE(must(client->enqueue("mail", R"({"to": "ben"})")), first);
}

TEST_F(ClientOnSqlite, AScheduleThatIsPutAgainIsLeftAloneAndCanBeRunByHand) {
  ScheduleSpec nightly;
  nightly.cron = "30 2 * * *";
  nightly.zone = "Europe/Berlin";
  nightly.queue = "reports";
  EXPECT_EQ(must(client->schedules().put("nightly", nightly)).outcome, PutOutcome::added);
  EXPECT_EQ(must(client->schedules().put("nightly", nightly)).outcome, PutOutcome::same);
  EXPECT_EQ(must(client->job(must(client->schedules().run("nightly")))).value().queue, "reports");
  must(client->schedules().remove("nightly"));
  EXPECT_EQ(code_of(client->schedules().pause("nightly")), Code::not_found);
}

// ready -> review -> publish (approval), applied by a person.
struct ClientOnPipeline : ClientOnSqlite {
  ClientOnPipeline() {
    PipelineSpec spec{.name = "docs", .stages = {{.name = "ready"}, {.name = "review"}, {.name = "publish"}}};
    spec.stages[1].attempts = 1;
    spec.stages[2].entry = {.kind = EntryKind::approval};
    must(client->pipelines().apply(spec, false, ana));
  }

  std::vector<std::string> work(const std::string& stage) {
    std::vector<std::string> seen;
    must(client->work({.queues = {"docs"}, .stage = stage, .concurrency = 1, .drain = true},
                      [&](const fenceline::Run& run) {
                        seen.push_back(run.job.stage);
                        return RunResult{};
                      }));
    return seen;
  }

  const Act ana{.actor = "ana", .reason = "fine"};
};

TEST_F(ClientOnPipeline, P1_AFunctionMovesItsItemsThroughTheStagesAndTheirEntries) {
  const JobId id = must(client->enqueue("docs", "1"));
  EXPECT_EQ(work(""), std::vector<std::string>{"ready"});
  EXPECT_EQ(must(client->job(id)).value().stage, "review") << "not done: it has passed one stage of three";
  EXPECT_EQ(work("publish"), std::vector<std::string>{});
  EXPECT_EQ(work("review"), std::vector<std::string>{"review"});
  EXPECT_EQ(work("publish"), std::vector<std::string>{}) << "nobody approved";
  must(client->items().approve(id, {}, ana));
  EXPECT_EQ(work("publish"), std::vector<std::string>{"publish"});
  EXPECT_EQ(must(client->job(id)).value().state, JobState::done);
}

TEST_F(ClientOnPipeline, AFunctionWorksAsTheStageSays) {
  const JobId id = must(client->enqueue("docs", "1"));
  work("ready");
  must(client->work({.queues = {"docs"}, .stage = "review", .drain = true},
                    [&](const fenceline::Run&) { return RunResult{.kind = OutcomeKind::failed, .error = "no"}; }));
  EXPECT_EQ(must(client->job(id)).value().state, JobState::dead) << "attempts = 1";
  const auto none = [](const fenceline::Run&) { return RunResult{}; };
  EXPECT_EQ(code_of(client->work({.queues = {"docs"}, .stage = "pubish", .drain = true}, none)), Code::invalid);
  EXPECT_EQ(code_of(client->work({.queues = {"docs"}, .stage = "gate:publish", .drain = true}, none)), Code::invalid)
      << "the wait for an entry condition is not a stage";
  EXPECT_EQ(code_of(client->work({.queues = {"docs"}, .drain = true, .history = folder + "/history"}, none)),
            std::nullopt)
      << "it knows moves";
}

TEST_F(ClientOnPipeline, J8_WhatNamesTheFirstStageIsWorkedOn) {
  must(client->enqueue("docs", "1", {.stage = "ready"}));
  ScheduleSpec nightly;
  nightly.cron = "30 2 * * *";
  nightly.queue = "docs";
  nightly.stage = "ready";
  must(client->schedules().put("nightly", nightly));
  must(client->schedules().run("nightly"));
  EXPECT_EQ(work("ready").size(), 2U);
}

TEST_F(ClientOnSqlite, AJobCarriesAllThatWasSaidOfIt) {
  const WallTime at = WallTime{Duration{4'000'000'000'000'000}};
  const Job job = must(client->job(must(client->enqueue("mail", "1",
                                                        {.stage = "s",
                                                         .priority = 3,
                                                         .at = at,
                                                         .attempts_max = 4,
                                                         .backoff = {.first = 2s, .most = 3s},
                                                         .timeout = 5min,
                                                         .key = "k",
                                                         .key_for = 1h,
                                                         .group = "g",
                                                         .limit_key = "l",
                                                         .tags = {"b", "a", "b"}}))))
                      .value();
  EXPECT_EQ(job.stage, "s");
  EXPECT_EQ(job.priority, 3);
  EXPECT_EQ(job.run_at, at);
  EXPECT_EQ(job.attempts_max, 4);
  EXPECT_EQ(job.backoff, (Backoff{.first = 2s, .most = 3s}));
  EXPECT_EQ(job.timeout, 5min);
  EXPECT_EQ(job.key, "k");
  EXPECT_EQ(job.key_for, 1h);
  EXPECT_EQ(job.group, "g");
  EXPECT_EQ(job.limit_key, "l");
  EXPECT_EQ(job.tags, (std::vector<std::string>{"a", "b"}));
}

TEST_F(ClientOnSqlite, InvalidRequestsAreRefused) {
  EXPECT_EQ(code_of(client->enqueue("mail", "1", {.timeout = 1ms})), Code::invalid);
  EXPECT_EQ(code_of(client->enqueue("mail", "1", {.delay = 1s, .at = WallTime{}})), Code::invalid);
  EXPECT_EQ(code_of(client->enqueue("mail", "1", {.key_for = 1h})), Code::invalid);
}

TEST_F(ClientOnSqlite, ACancelledJobIsNotWorkedOnUntilItIsRetried) {
  const JobId id = must(client->enqueue("mail", "1"));
  must(client->cancel(id, "not needed"));
  must(client->cancel(id));  // it is as asked for
  EXPECT_EQ(must(client->job(id))->state, JobState::cancelled);
  must(client->retry(id));
  EXPECT_EQ(
      must(client->work({.queues = {"mail"}, .drain = true}, [](const fenceline::Run&) { return RunResult{}; })).done,
      1);
  EXPECT_EQ(code_of(client->cancel(id)), Code::refused);
  EXPECT_EQ(code_of(client->retry(id)), Code::refused);
  EXPECT_EQ(code_of(client->cancel(JobId{})), Code::not_found);
}

TEST_F(ClientOnSqlite, J6_ARetryOntoATakenKeySaysWhoHasIt) {
  const JobId first = must(client->enqueue("mail", "1", {.key = "k"}));
  must(client->cancel(first));
  const JobId second = must(client->enqueue("mail", "2", {.key = "k"}));
  const Result<void> retried = client->retry(first);
  EXPECT_EQ(code_of(retried), Code::conflict);
  EXPECT_NE(retried.error().message.find(to_string(second)), std::string::npos) << retried.error().message;
}

TEST_F(ClientOnSqlite, AHandlerLearnsOfACancelWithinASecond) {
  const JobId id = must(client->enqueue("mail", "1"));
  std::atomic<bool> told{false};
  const WorkReport report = must(client->work({.queues = {"mail"}, .drain = true}, [&](const fenceline::Run& run) {
    must(client->cancel(id));
    // Waiting for another job that never finishes is a way to wait for the stop.
    const JobId other = must(client->enqueue("other", "1"));
    told = code_of(client->wait(other, 1s, run.stop)) == Code::held && run.stop.stop_requested();
    return RunResult{};
  }));
  EXPECT_TRUE(told);
  EXPECT_EQ(report.revoked, 1);
  EXPECT_EQ(must(client->job(id))->state, JobState::cancelled);
}

TEST_F(ClientOnSqlite, WaitsForTheEndOfAJob) {
  const JobId id = must(client->enqueue("mail", "1"));
  EXPECT_EQ(code_of(client->wait(id, 20ms)), Code::held);
  EXPECT_EQ(code_of(client->wait(JobId{}, 1s)), Code::not_found);
  must(client->work({.queues = {"mail"}, .drain = true}, [](const fenceline::Run& run) {
    run.progress(50, "half");
    return RunResult{.result = "whole"};
  }));
  const Job job = must(client->wait(id, 1s));
  EXPECT_EQ(job.result, "whole");
  EXPECT_EQ(job.progress, (Progress{.percent = 50, .note = "half"}));
}

TEST(StoreUrl, MeansTheSameFileInAnyFolder) {
  EXPECT_EQ(from_any_folder("sqlite:/var/lib/x.db"), "sqlite:/var/lib/x.db");
  EXPECT_EQ(from_any_folder("sqlite:x.db"), "sqlite:" + (std::filesystem::current_path() / "x.db").string());
  EXPECT_EQ(from_any_folder("other:x"), "other:x");
}

TEST(StoreUrl, MeansTheSameServerWithoutTheEnvironment) {
  ::unsetenv("DATABASE_URL");
  EXPECT_EQ(from_any_folder("postgres:"), "postgres:");
  ::setenv("DATABASE_URL", "postgres://ann@h/app", 1);
  EXPECT_EQ(from_any_folder("postgres:"), "postgres://ann@h/app");
  ::unsetenv("DATABASE_URL");
}

TEST(StoreUrl, AnErrorShowsNoMoreThanAKindOfStore) {
  for (const char* url : {"host=db password=s3cret", "mysql://ann:s3cret@h/app", "redis:s3cret"}) {
    const Result<void> checked = check_store_url(url);
    ASSERT_EQ(code_of(checked), Code::invalid);
    EXPECT_EQ(checked.error().message.find("s3cret"), std::string::npos) << checked.error().message;
  }
}

}  // namespace
}  // namespace fenceline

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

#include "fenceline/sim.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

// Pays ten for each job, one way or another.
struct Till {
  int paid = 0;
  std::set<JobId> receipts;

  RunResult pay_and_hope(const Run&, Here& here) {
    paid += 10;
    here.work(2s);
    return {};
  }
  RunResult pay_once(const Run& run, Here& here) {
    if (receipts.insert(run.job.id).second) paid += 10;
    here.work(2s);
    return {};
  }
};

Trial trial_of(Till& till, RunResult (Till::*handler)(const Run&, Here&), Conditions weather) {
  return {.jobs = std::vector<TrialJob>(5),
          .handler = [&till, handler](const Run& run, Here& here) { return (till.*handler)(run, here); },
          .weather = weather,
          .begin = [&till] { till = {}; },
          .check = [&till](const TrialStory& story) -> std::string {
            const int owed = 10 * static_cast<int>(story.jobs.size());
            return till.paid == owed ? ""
                                     : "paid " + std::to_string(till.paid) + " in place of " + std::to_string(owed);
          }};
}

TEST(Trial, AHandlerThatPaysTwiceIsCaught) {
  Till till;
  const Result<TrialReport> report = try_handler(trial_of(till, &Till::pay_and_hope, Conditions::rough()));
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->held());
  EXPECT_LT(report->seeds, 100U);
  const TrialStory& story = report->failed.front();
  EXPECT_NE(story.wrong.front().find("in place of 50"), std::string::npos) << story.wrong.front();
  EXPECT_GT(story.deliveries.size(), story.jobs.size());
}

TEST(Trial, ItsTwinThatPaysOnceHolds) {
  Till till;
  const Result<TrialReport> report = try_handler(trial_of(till, &Till::pay_once, Conditions::rough()));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->held()) << report->failed.front().wrong.front();
  EXPECT_EQ(report->seeds, 100U);
  EXPECT_GT(report->deliveries_again, 0);
  EXPECT_GT(report->faults, 0);
}

// The cure: the payment is an effect of its job, whatever befalls the worker between intent, payment and record.
TEST(Trial, E1_APaymentThroughTheLedgerIsMadeOnceAtATillThatKnowsKeys) {
  std::set<std::string> keys;
  int paid = 0;
  Trial trial{.jobs = std::vector<TrialJob>(5),
              .handler = [&](const fenceline::Run& run, Here& here) -> RunResult {
                const auto pay = [&](const EffectCall& call) {
                  if (keys.insert(call.key).second) paid += 10;
                  here.work(1s);  // many a worker dies here
                  return EffectReport::done("receipt");
                };
                const Result<std::string> receipt =
                    run.effect("pay", run.job.payload, pay, {.in_doubt = InDoubt::repeat});
                return receipt ? RunResult{.result = *receipt}
                               : RunResult{.kind = OutcomeKind::failed, .error = receipt.error().message};
              },
              .weather = Conditions::rough(),
              .seeds = 30,
              .begin = [&] { keys.clear(), paid = 0; },
              .check = [&](const TrialStory& story) -> std::string {
                return paid == 10 * static_cast<int>(story.jobs.size()) ? "" : "paid " + std::to_string(paid);
              }};
  const Result<TrialReport> report = try_handler(trial);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->held()) << report->failed.front().wrong.front();
  EXPECT_GT(report->deliveries_again, 0);
}

TEST(Trial, E1_AtATillThatKnowsNothingAnOperatorDecides) {
  std::set<JobId> paid;
  int twice = 0;
  int asked = 0;
  Trial trial{.jobs = std::vector<TrialJob>(5),
              .handler = [&](const fenceline::Run& run, Here& here) -> RunResult {
                const auto pay = [&](const EffectCall&) {
                  if (!paid.insert(run.job.id).second) twice += 1;
                  here.work(1s);
                  return EffectReport::done("receipt");
                };
                const Result<std::string> receipt = run.effect("pay", run.job.payload, pay);
                return receipt ? RunResult{.result = *receipt}
                               : RunResult{.kind = OutcomeKind::failed, .error = receipt.error().message};
              },
              .weather = Conditions::rough(),
              .seeds = 30,
              .begin = [&] { paid.clear(); },
              .books = [&](const Effect& effect) -> std::optional<std::string> {
                asked += 1;
                return paid.contains(effect.job) ? std::optional<std::string>("receipt") : std::nullopt;
              },
              .check = [&](const TrialStory& story) -> std::string {
                return twice == 0 && paid.size() == story.jobs.size()
                           ? ""
                           : "paid " + std::to_string(paid.size()) + ", twice " + std::to_string(twice);
              }};
  const Result<TrialReport> report = try_handler(trial);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->held()) << report->failed.front().wrong.front();
  EXPECT_GT(asked, 0);
}

TEST(Trial, InFineWeatherEachJobIsDeliveredOnce) {
  Till till;
  const Result<TrialReport> report = try_handler(trial_of(till, &Till::pay_and_hope, {}));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->held());
  EXPECT_EQ(report->deliveries, 500);
  EXPECT_EQ(report->deliveries_again, 0);
}

TEST(Trial, TheSameSeedTellsTheSameStory) {
  Till till;
  Trial trial = trial_of(till, &Till::pay_and_hope, Conditions::rough());
  const Result<TrialReport> first = try_handler(trial);
  ASSERT_TRUE(first && !first->held());
  trial.first_seed = first->failed.front().seed;
  trial.seeds = 1;
  trial.trace = true;
  const Result<TrialReport> again = try_handler(trial);
  ASSERT_TRUE(again && !again->held());
  EXPECT_EQ(again->failed.front().wrong, first->failed.front().wrong);
  EXPECT_EQ(again->failed.front().deliveries.size(), first->failed.front().deliveries.size());
  EXPECT_FALSE(again->failed.front().trace.empty());
}

TEST(Trial, TellsHowEachDeliveryEnded) {
  std::map<std::string, int> ends;
  const Result<TrialReport> report = try_handler({.jobs = std::vector<TrialJob>(20),
                                                  .handler = [](const fenceline::Run&, Here& here) -> RunResult {
                                                    here.work(5s);
                                                    if (here.random() % 4 == 0) throw std::runtime_error("no luck");
                                                    if (here.random() % 4 == 0)
                                                      return {.kind = OutcomeKind::failed, .error = "again"};
                                                    return {.result = "well"};
                                                  },
                                                  .weather = Conditions::rough(),
                                                  .seeds = 10,
                                                  .check = [&](const TrialStory& story) -> std::string {
                                                    for (const TrialDelivery& one : story.deliveries)
                                                      ends[one.end] += 1;
                                                    for (const Job& job : story.jobs) {
                                                      if (job.state == JobState::done && job.result != "well")
                                                        return "a result is lost";
                                                    }
                                                    return "";
                                                  }});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->held()) << report->failed.front().wrong.front();
  for (const char* end : {"done", "failed", "threw", "killed"}) EXPECT_GT(ends[end], 0) << end;
}

TEST(Trial, AJobThatNeverEndsIsTold) {
  const Result<TrialReport> report =
      try_handler({.jobs = {{}},
                   .handler = [](const fenceline::Run&, Here&) { return RunResult{.kind = OutcomeKind::later}; },
                   .weather = {.lasts = 1min},
                   .seeds = 1});
  ASSERT_TRUE(report && !report->held());
  EXPECT_EQ(report->failed.front().wrong.front().substr(0, 3), "J8:");
}

TEST(Trial, WhatIsNoTrialIsInvalid) {
  const auto handler = [](const fenceline::Run&, Here&) { return RunResult{}; };
  for (const Trial& trial :
       {Trial{.jobs = {{}}}, Trial{.handler = handler}, Trial{.jobs = {{.payload = "{"}}, .handler = handler},
        Trial{.jobs = {{}}, .handler = handler, .workers = 0}, Trial{.jobs = {{}}, .handler = handler, .ttl = 1ms},
        Trial{.jobs = {{}}, .handler = handler, .weather = {.lost_replies = 2}}}) {
    const Result<TrialReport> report = try_handler(trial);
    EXPECT_TRUE(!report && report.error().code == Code::invalid);
  }
}

}  // namespace
}  // namespace fenceline::sim

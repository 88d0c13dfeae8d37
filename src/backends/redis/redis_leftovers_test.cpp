// After a long stream of everything that a store can be asked, all jobs are ended and forgotten: then no index may have
// kept anything of them.
#include <gtest/gtest.h>

#include <set>

#include "backends/memory/memory_store.hpp"
#include "backends/redis/store_testing.hpp"
#include "conformance/differential.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

const Act kLeftoversAct{"ann", "the end"};

class RedisLeftovers : public testing::TestWithParam<bool> {
 protected:
  void cancel_all(const std::string& ns) {
    for (const JobState state : {JobState::ready, JobState::running, JobState::waiting}) {
      for (;;) {
        ActRequest request{.ns = ns, .request = "end", .act = kLeftoversAct};
        for (const Job& job : must(store_->jobs({.ns = ns, .state = state, .limit = 1000})).jobs)
          request.ids.push_back(job.id);
        if (request.ids.empty()) break;
        ASSERT_TRUE(must(store_->cancel(request)).refused.empty());
      }
    }
  }
  void end_all(const std::string& ns) {
    for (const QueueRow& row : must(store_->queues(ns))) {
      must(store_->pause({.ns = ns, .queue = row.queue, .paused = false, .act = kLeftoversAct}));
      const QueueChange change{
          .limit = 0, .limit_per_key = 0, .keep_done = kKeepDoneDefault, .keep_dead = kKeepDeadDefault};
      must(store_->set_queue({.ns = ns, .queue = row.queue, .change = change, .act = kLeftoversAct}));
    }
    cancel_all(ns);
    clock_.advance(25h);
    for (const Effect& effect : must(store_->effects({.ns = ns, .job = {}, .in_doubt = true, .limit = 1000})).effects)
      must(store_->resolve_effect(
          {.ns = ns, .job = effect.job, .name = effect.name, .call = {}, .result = {}, .act = kLeftoversAct}));
    for (const ScheduleRow& row :
         must(store_->schedules({.ns = ns, .names = {}, .changed_after = {}, .after = ""})).schedules) {
      ChangeScheduleRequest request{.ns = ns,
                                    .name = row.name,
                                    .change = ScheduleChange::remove,
                                    .revision = row.revision,
                                    .step = {},
                                    .spec = "",
                                    .kept = {},
                                    .job = {},
                                    .request = "end",
                                    .owner = "ann"};
      request.act = kLeftoversAct;
      must(store_->change_schedule(request));
    }
    for (const PipelineRow& row : must(store_->pipelines(ns)))
      must(store_->put_pipeline(
          {.ns = ns, .name = row.name, .spec = "", .revision = row.revision, .act = kLeftoversAct}));
    for (const WorkerRow& row : must(store_->workers(ns))) must(store_->remove_worker(ns, row.report.owner));
    clock_.advance(400 * 24h);
    for (int step = 0; step < 1000; ++step) {
      if (!must(store_->tidy({.ns = ns, .limit = 100})).more) break;
    }
    EXPECT_TRUE(must(store_->jobs({.ns = ns})).jobs.empty()) << ns;
    EXPECT_TRUE(must(store_->queues(ns)).empty()) << ns;
    EXPECT_TRUE(must(store_->effects({.ns = ns, .job = {}})).effects.empty()) << ns;
  }
  // "{one}:open:q/:0" is "open:q/:0".
  std::set<std::string> keys_left() {
    redis::test::Admin admin(runtime_);
    std::set<std::string> left;
    for (const redis::Value& key : admin(redis::Command("KEYS").arg(keys_.prefix() + ":*")).items) {
      const std::size_t end = key.text.find("}:");
      left.insert(key.text.substr(end == std::string::npos ? keys_.prefix().size() + 1 : end + 2));
    }
    return left;
  }

  ThreadRuntime runtime_;
  ManualClock clock_;
  RedisKeys keys_{"leftovers"};
  std::unique_ptr<RedisStore> store_ = keys_.open(runtime_, clock_);
};

TEST_P(RedisLeftovers, AllThatJobsHadGoesWithThem) {
  MemoryStore oracle(clock_);
  const DifferentialReport report = run_differential(
      oracle, *store_, clock_, {.seed = 11, .operations = GetParam() ? 600 : 3'000, .alike = GetParam()});
  EXPECT_FALSE(report.difference) << *report.difference;
  for (const std::string ns : {"one", "two"}) end_all(ns);
  // The last numbers that were given, revisions of names that may come again, and what people did. Answers to claims
  // and withdrawals go by the server's own clock, which a test does not move.
  const std::set<std::string> allowed{"layout",      "floor",         "spaces",         "fence",         "order",
                                      "order_first", "effect_number", "batch_number",   "waiters_place", "wall",
                                      "last",        "trail",         "schedules_last", "pipelines_gone"};
  std::string more;
  for (const std::string& key : keys_left()) {
    if (!allowed.contains(key) && !key.starts_with("claim:") && !key.starts_with("withdrawn:")) more += key + "\n";
  }
  EXPECT_EQ(more, "");
}

INSTANTIATE_TEST_SUITE_P(OfAStream, RedisLeftovers, testing::Values(false, true),
                         [](const auto& one) { return one.param ? "OfPlainJobs" : "OfAllKinds"; });

}  // namespace
}  // namespace fenceline::test

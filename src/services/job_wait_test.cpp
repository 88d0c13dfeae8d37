// Waiting for a job on the memory store; a second task does what others do meanwhile.
#include "services/job_wait.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "backends/memory/memory_store.hpp"
#include "runtime/thread_runtime.hpp"
#include "store/forwarding_store.hpp"
#include "support/results.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class Road final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::atomic<int> away = 0;  // looks that are not answered
  std::atomic<int> looks = 0;
  std::atomic<int> watches = 0;

  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override {
    ++looks;
    if (away > 0 && away-- > 0) return fail(Code::unavailable, "the store is away");
    return inner_.job(ns, id);
  }
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override {
    ++watches;
    return inner_.watch(request, std::move(on_change));
  }
};

class JobWait : public testing::Test {
 protected:
  JobWait() {
    id_ = make_uuid7(runtime_.wall_now(), 1, 2);
    must(memory_.enqueue({.ns = "default", .jobs = {{.id = id_, .queue = "q", .payload = "1"}}}));
  }
  void cancel() {
    must(memory_.cancel({.ns = "default", .ids = {id_}, .request = "r", .only = {}, .act = {.actor = "ana"}}));
  }
  Result<std::optional<Job>> wait(Duration how_long, std::function<void(const Result<Job>&)> looked = {},
                                  const std::stop_token& stop = {}) {
    return wait_until_finished(
        runtime_, road_, id_, {.ns = "default", .until = runtime_.now() + how_long, .looked = std::move(looked)}, stop);
  }

  ThreadRuntime runtime_;
  MemoryStore memory_{runtime_};
  Road road_{memory_};
  JobId id_{};
};

TEST_F(JobWait, AFinishedJobComesAtOnceThoughTheTimeIsOver) {
  cancel();
  const std::optional<Job> job = must(wait(0s));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, JobState::cancelled);
  EXPECT_EQ(road_.looks, 1);
  EXPECT_EQ(road_.watches, 0);
}

TEST_F(JobWait, EndsWithTheJob) {
  const Task other = runtime_.spawn("other", [&](std::stop_token stop) {
    runtime_.sleep_for(100ms, stop);
    cancel();
  });
  const std::optional<Job> job = must(wait(60s));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, JobState::cancelled);
  EXPECT_EQ(road_.watches, 1) << "one watch for the whole wait";
}

TEST_F(JobWait, AStoreThatIsAwayIsWaitedFor) {
  road_.away = 2;
  int failed = 0;
  const Task other = runtime_.spawn("other", [&](std::stop_token) { cancel(); });
  ASSERT_TRUE(must(wait(60s, [&](const Result<Job>& job) { failed += job ? 0 : 1; })));
  EXPECT_EQ(failed, 2);
}

TEST_F(JobWait, ItsTimeAndAStopAreKept) {
  std::vector<JobState> seen;
  EXPECT_FALSE(must(wait(30ms, [&](const Result<Job>& job) { seen.push_back(job->state); })));
  EXPECT_EQ(seen.front(), JobState::ready);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(must(wait(60s, {}, stop.get_token())));
}

TEST_F(JobWait, WhatIsNotThereIsNotWaitedFor) {
  id_ = JobId{};
  EXPECT_EQ(code_of(wait(60s)), Code::not_found);
  EXPECT_EQ(road_.looks, 1);
}

}  // namespace
}  // namespace fenceline::test

#include "cli/sure_enqueue.hpp"

#include <gtest/gtest.h>

#include "backends/memory/memory_store.hpp"
#include "runtime/thread_runtime.hpp"

namespace fenceline::cli {
namespace {

// Carries out every enqueue, and loses the first answers.
class Forgetful final : public JobStore {
 public:
  Forgetful(JobStore& store, std::vector<Code> answers) : store_(store), answers_(std::move(answers)) {}

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    Result<EnqueueReply> reply = store_.enqueue(request);
    const std::size_t n = calls++;
    if (n < answers_.size()) return fail(answers_[n], "lost");
    return reply;
  }
  Result<ClaimReply> claim(const ClaimRequest& request) override { return store_.claim(request); }
  Result<void> give_back(const GiveBackRequest& request) override { return store_.give_back(request); }
  Result<ExtendReply> extend(const ExtendRequest& request) override { return store_.extend(request); }
  Result<SettleReply> settle(const SettleRequest& request) override { return store_.settle(request); }
  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override { return store_.job(ns, id); }
  Result<JobsReply> jobs(const JobsRequest& request) override { return store_.jobs(request); }
  Result<BacklogReply> backlog(const BacklogRequest& request) override { return store_.backlog(request); }

  std::size_t calls = 0;

 private:
  JobStore& store_;
  std::vector<Code> answers_;
};

class SureEnqueue : public testing::Test {
 protected:
  Result<EnqueueReply> enqueue(Forgetful& store, const std::stop_token& stop = {}) {
    const EnqueueRequest request{.ns = "default", .jobs = {{.id = make_uuid7(runtime_.wall_now(), 1, 2), .queue = "q"}}};
    return sure_enqueue(runtime_, store, request, stop);
  }
  std::size_t jobs() { return memory_.jobs({.ns = "default"})->jobs.size(); }

  ThreadRuntime runtime_;
  MemoryStore memory_{runtime_};
};

TEST_F(SureEnqueue, J1_ALostAnswerIsAskedForAgainAndAddsNothing) {
  Forgetful store(memory_, {Code::in_doubt});
  const Result<EnqueueReply> reply = enqueue(store);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->existing, 0) << "our own first try is no one else's job";
  EXPECT_EQ(store.calls, 2U);
  EXPECT_EQ(jobs(), 1U);
}

TEST_F(SureEnqueue, WhatDidNotHappenIsNotRepeated) {
  Forgetful store(memory_, {Code::unavailable});
  EXPECT_EQ(enqueue(store).error().code, Code::unavailable);
  EXPECT_EQ(store.calls, 1U);
}

TEST_F(SureEnqueue, AStopEndsTheRepeatsAndTheDoubtStays) {
  Forgetful store(memory_, {Code::in_doubt, Code::unavailable});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(enqueue(store, stop.get_token()).error().code, Code::in_doubt);
  EXPECT_EQ(store.calls, 1U) << "it goes on after a stop";
}

TEST_F(SureEnqueue, UnavailableAfterADoubtIsAskedAgain) {
  Forgetful store(memory_, {Code::in_doubt, Code::unavailable});
  const Result<EnqueueReply> reply = enqueue(store);
  ASSERT_TRUE(reply) << "it was asked again and answered";
  EXPECT_EQ(store.calls, 3U);
  EXPECT_EQ(jobs(), 1U);
}

}  // namespace
}  // namespace fenceline::cli

#include "cli/jobs/sure_enqueue.hpp"

#include <gtest/gtest.h>

#include "backends/memory/memory_store.hpp"
#include "runtime/thread_runtime.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::cli {
namespace {

// Carries out every enqueue, and loses the first answers.
class Forgetful final : public ForwardingStore {
 public:
  Forgetful(Store& store, std::vector<Code> answers) : ForwardingStore(store), answers_(std::move(answers)) {}

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    Result<EnqueueReply> reply = inner_.enqueue(request);
    const std::size_t n = calls++;
    if (n < answers_.size()) return fail(answers_[n], "lost");
    return reply;
  }

  std::size_t calls = 0;

 private:
  std::vector<Code> answers_;
};

class SureEnqueue : public testing::Test {
 protected:
  Result<EnqueueReply> enqueue(Forgetful& store, const std::stop_token& stop = {}) {
    const EnqueueRequest request{.ns = "default",
                                 .jobs = {{.id = make_uuid7(runtime_.wall_now(), 1, 2), .queue = "q"}}};
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

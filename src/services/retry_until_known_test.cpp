// Each test writes the answers of a store down; time is the test's.
#include "services/retry_until_known.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/memory/memory_store.hpp"
#include "runtime/thread_runtime.hpp"
#include "store/forwarding_store.hpp"
#include "support/hand_runtime.hpp"
#include "support/results.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

// Does every enqueue that `lands`, and answers what is written down for it.
class ScriptedStore final : public ForwardingStore {
 public:
  struct Answer {
    std::optional<Code> code;  // none: what the store says
    bool lands = true;
  };

  ScriptedStore(Store& store, std::vector<Answer> answers) : ForwardingStore(store), answers_(std::move(answers)) {}

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    const Answer answer = calls < answers_.size() ? answers_[calls] : Answer{};
    ++calls;
    Result<EnqueueReply> reply = answer.lands ? inner_.enqueue(request) : EnqueueReply{};
    if (answer.code) return fail(*answer.code, "as written down");
    return reply;
  }

  std::size_t calls = 0;

 private:
  std::vector<Answer> answers_;
};

class RetryUntilKnown : public testing::Test {
 protected:
  // What a call with these answers ends with; empty: well.
  std::optional<Code> last_of(std::vector<ScriptedStore::Answer> answers, const std::stop_token& stop = {}) {
    ScriptedStore store(memory_, std::move(answers));
    reply_ = enqueue_until_known(runtime_, stop, store, request());
    calls_ = store.calls;
    return code_of(reply_);
  }
  EnqueueRequest request() {
    return {.ns = "default", .jobs = {{.id = make_uuid7(runtime_.wall_now(), 1, ++jobs_made_), .queue = "q"}}};
  }
  std::size_t jobs() { return memory_.jobs({.ns = "default"})->jobs.size(); }

  ManualClock clock_;
  HandRuntime runtime_{clock_};
  MemoryStore memory_{clock_};
  Result<EnqueueReply> reply_;
  std::size_t calls_ = 0;
  std::uint64_t jobs_made_ = 0;
};

const ScriptedStore::Answer kDoubt{Code::in_doubt};  // it landed, and the answer was lost

TEST_F(RetryUntilKnown, J1_ALostAnswerIsAskedForAgainAndAddsNothing) {
  EXPECT_EQ(last_of({kDoubt}), std::nullopt);
  EXPECT_EQ(reply_->existing, 0) << "our own first try is no one else's job";
  EXPECT_EQ(calls_, 2U);
  EXPECT_EQ(jobs(), 1U);
}

TEST_F(RetryUntilKnown, WhatDidNotHappenIsNotRepeated) {
  for (const Code code : {Code::unavailable, Code::full, Code::invalid, Code::denied, Code::refused, Code::conflict}) {
    EXPECT_EQ(last_of({{code, false}}), code);
    EXPECT_EQ(calls_, 1U);
    EXPECT_EQ(reply_.error().message, "as written down");
  }
}

TEST_F(RetryUntilKnown, FullAfterADoubtDoesNotSayThatNothingChanged) {
  const ScriptedStore::Answer full{Code::full, false};
  EXPECT_EQ(last_of({kDoubt, full, full, full, full, full}), Code::in_doubt);
  EXPECT_EQ(calls_, 6U);
  EXPECT_EQ(jobs(), 1U) << "the first try had landed";
  EXPECT_NE(reply_.error().message.find("as written down; an earlier attempt got no reply"), std::string::npos)
      << reply_.error().message;
}

TEST_F(RetryUntilKnown, FullAfterADoubtIsAskedAgain) {
  EXPECT_EQ(last_of({kDoubt, {Code::full, false}}), std::nullopt);
  EXPECT_EQ(calls_, 3U);
  EXPECT_EQ(jobs(), 1U);
}

TEST_F(RetryUntilKnown, UnavailableAfterADoubtDoesNotSayThatNothingChanged) {
  const ScriptedStore::Answer away{Code::unavailable, false};
  EXPECT_EQ(last_of({kDoubt, away, away, away, away, away}), Code::in_doubt);
  EXPECT_EQ(calls_, 6U);
}

TEST_F(RetryUntilKnown, UnavailableAfterADoubtIsAskedAgain) {
  EXPECT_EQ(last_of({kDoubt, {Code::unavailable, false}}), std::nullopt);
  EXPECT_EQ(calls_, 3U);
  EXPECT_EQ(jobs(), 1U);
}

TEST_F(RetryUntilKnown, WhatIsNotAllowedAnyMoreAfterADoubtIsInDoubtAndNotAskedAgain) {
  for (const Code code : {Code::invalid, Code::denied, Code::refused}) {
    EXPECT_EQ(last_of({kDoubt, {code, false}}), Code::in_doubt);
    EXPECT_EQ(calls_, 2U) << to_string(code);
  }
}

TEST_F(RetryUntilKnown, WhatAStoreDecidesAfterADoubtIsKnown) {
  for (const Code code : {Code::held, Code::lost, Code::not_found, Code::conflict, Code::broken}) {
    EXPECT_EQ(last_of({kDoubt, {code, false}}), code);
    EXPECT_EQ(calls_, 2U) << to_string(code);
  }
}

TEST_F(RetryUntilKnown, TheFirstRepeatComesAtOnceAndThePausesDouble) {
  const Instant began = runtime_.now();
  EXPECT_EQ(last_of({kDoubt, kDoubt, kDoubt, kDoubt, kDoubt, kDoubt, kDoubt}), Code::in_doubt);
  EXPECT_EQ(calls_, 6U);
  EXPECT_EQ(runtime_.now() - began, 200ms + 400ms + 800ms + 1600ms);
}

TEST_F(RetryUntilKnown, APolicySaysHowOften) {
  int calls = 0;
  bool doubted = false;
  const Result<void> reply = retry_until_known(
      runtime_, {},
      [&]() -> Result<void> {
        ++calls;
        return fail(Code::in_doubt, "no answer");
      },
      {.repeats = 2, .pause = 0ms}, &doubted);
  EXPECT_EQ(code_of(reply), Code::in_doubt);
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(doubted);
}

// HandRuntime's sleeps do not end early.
TEST(RetryUntilKnownStopped, AStopEndsTheRepeatsAndTheDoubtStays) {
  ThreadRuntime runtime;
  MemoryStore memory(runtime);
  std::stop_source stop;
  ScriptedStore store(memory, {{Code::in_doubt}, {Code::full, false}});
  const auto ask = [&] {
    return code_of(
        enqueue_until_known(runtime, stop.get_token(), store,
                            {.ns = "default", .jobs = {{.id = make_uuid7(runtime.wall_now(), 1, 2), .queue = "q"}}}));
  };
  stop.request_stop();
  EXPECT_EQ(ask(), Code::in_doubt);
  EXPECT_EQ(store.calls, 1U) << "it goes on after a stop";
}

TEST(RetryUntilKnownStopped, AStopBetweenTwoRepeatsLeavesTheDoubt) {
  ThreadRuntime runtime;
  std::stop_source stop;
  int calls = 0;
  const Result<void> reply = retry_until_known(runtime, stop.get_token(), [&]() -> Result<void> {
    if (++calls == 1) return fail(Code::in_doubt, "no answer");
    stop.request_stop();
    return fail(Code::full, "no room");
  });
  EXPECT_EQ(code_of(reply), Code::in_doubt);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace fenceline::test

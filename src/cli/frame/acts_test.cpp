#include "cli/frame/acts.hpp"

#include <gtest/gtest.h>

#include "runtime/thread_runtime.hpp"

namespace fenceline::cli {
namespace {

class Acts : public testing::Test {
 protected:
  Acts() { invocation_.runtime = &runtime_; }

  // A call that answers with these codes, then well.
  Result<int> call(const std::vector<Code>& answers) {
    calls_ = 0;
    return sure(invocation_, [&]() -> Result<int> {
      const std::size_t n = calls_++;
      if (n < answers.size()) return fail(answers[n], "no");
      return 7;
    });
  }

  ThreadRuntime runtime_;
  Invocation invocation_;
  std::size_t calls_ = 0;
};

TEST_F(Acts, AnAnswerInDoubtIsAskedForAgain) {
  EXPECT_EQ(call({Code::in_doubt, Code::in_doubt}), 7);
  EXPECT_EQ(calls_, 3U);
}

TEST_F(Acts, AClearNoIsNotRepeated) {
  EXPECT_EQ(call({Code::refused}).error().code, Code::refused);
  EXPECT_EQ(calls_, 1U);
}

TEST_F(Acts, AfterADoubtNotReachedIsStillADoubt) {
  EXPECT_EQ(call({Code::in_doubt, Code::unavailable}), 7) << "and is asked for again";
  EXPECT_EQ(call(std::vector<Code>(1, Code::unavailable)).error().code, Code::unavailable);
}

}  // namespace
}  // namespace fenceline::cli

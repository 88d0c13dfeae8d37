#include "services/executor.hpp"

#include <gtest/gtest.h>

#include "base/utf8.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

TEST(Outcome, AHandlerThatWeStoppedIsGivenBackUnlessItFinished) {
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::failed}, {}, Stopped::for_us, 1).kind, OutcomeKind::given_back);
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::failed}, {}, Stopped::no, 1).kind, OutcomeKind::failed);
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::done}, {}, Stopped::for_us, 1).kind, OutcomeKind::done);
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::dead}, {}, Stopped::for_us, 1).kind, OutcomeKind::dead);
}

TEST(Outcome, AnAttemptThatTimedOutHasFailedUnlessItsHandlerSaysBetter) {
  Job job;
  job.timeout = 5min;
  const Outcome failed = outcome_of({.kind = OutcomeKind::failed, .error = "told to stop"}, job, Stopped::timed_out, 1);
  EXPECT_EQ(failed.kind, OutcomeKind::failed);
  EXPECT_EQ(failed.error, "timed out after 5m: told to stop");
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::given_back}, job, Stopped::timed_out, 1).error, "timed out after 5m");
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::given_back}, job, Stopped::timed_out, 1).kind, OutcomeKind::failed);
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::done}, job, Stopped::timed_out, 1).kind, OutcomeKind::done);
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::dead}, job, Stopped::timed_out, 1).kind, OutcomeKind::dead);
}

TEST(Outcome, CarriesTheExitStatusOfACommand) {
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::failed, .exit_status = 3}, {}, Stopped::no, 1).exit_status, 3);
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::done, .exit_status = 0}, {}, Stopped::no, 1).exit_status, 0);
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::done}, {}, Stopped::no, 1).exit_status, std::nullopt);
}

TEST(Outcome, CarriesNoExitStatusThatAStoreWouldRefuse) {
  for (const int status : {-1, 256, 1000}) {
    for (const OutcomeKind kind : {OutcomeKind::done, OutcomeKind::failed, OutcomeKind::dead, OutcomeKind::later}) {
      const Outcome outcome = outcome_of({.kind = kind, .exit_status = status}, {}, Stopped::no, 1);
      EXPECT_EQ(outcome.kind, kind);
      EXPECT_EQ(outcome.exit_status, std::nullopt) << status;
    }
  }
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::failed, .exit_status = 255}, {}, Stopped::no, 1).exit_status, 255);
}

TEST(Outcome, IsNeverLargerThanAStoreTakes) {
  const Outcome large = outcome_of({.result = std::string(kResultBytesMax + 1, 'x')}, {}, Stopped::no, 1);
  EXPECT_EQ(large.kind, OutcomeKind::done) << "it is cut, and no failure";
  EXPECT_EQ(large.result, std::string(kResultBytesMax, 'x'));
  EXPECT_EQ(outcome_of({.result = std::string(kResultBytesMax, 'x')}, {}, Stopped::no, 1).kind, OutcomeKind::done);
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::dead, .error = std::string(5000, 'x')}, {}, Stopped::no, 1).error.size(),
            kErrorBytesMax);
}

TEST(Outcome, ALargeResultIsCutBetweenLetters) {
  for (const std::string letter : {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    for (std::size_t before = 0; before < letter.size(); ++before) {
      std::string text(kResultBytesMax - letter.size() + before, 'x');
      text += letter + letter;
      cut_result(text);
      EXPECT_TRUE(is_valid_utf8(text)) << letter << " " << before;
      EXPECT_GT(text.size(), kResultBytesMax - letter.size());
    }
  }
}

TEST(Outcome, ARetryWaitsLongerTheOftenerItFailed) {
  Job job;
  job.laters = 2;
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::later}, job, Stopped::no, 1).retry_in, later_delay(2));
  job.failures = 3;
  job.backoff = {.first = 10ms, .most = 50ms};
  EXPECT_EQ(outcome_of({.kind = OutcomeKind::failed}, job, Stopped::no, 12345).retry_in,
            retry_delay(job.backoff, 3, 12345));
}

}  // namespace
}  // namespace fenceline

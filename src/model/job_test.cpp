#include "model/job.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/utf8.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{1'700'000'000s};

Job running_job() {
  Job job;
  job.queue = "q";
  job.state = JobState::running;
  job.created_at = job.run_at = kNow - 1h;
  job.fence = 42;
  job.owner = "a";
  job.deliveries = 3;
  return job;
}

TEST(Name, LettersDigitsAndAFewMarksAreAllowed) {
  for (const std::string name : {"q", "Q9", "0", "mail.out", "a_b-c:d", "default"})
    EXPECT_TRUE(check_name("queue", name)) << name;
  EXPECT_TRUE(check_name("queue", std::string(kNameBytesMax, 'q')));
}

TEST(Name, EverythingElseIsRefusedInOnePrintableLine) {
  for (const std::string& name :
       {std::string(), std::string("q\0", 2), std::string("\0", 1), std::string("q\nr"), std::string("../q"),
        std::string(".."), std::string("."), std::string("-q"), std::string(":q"), std::string("_q"),
        std::string("a/b"), std::string("a b"), std::string("\xc3\xa9"), std::string("q\xff"), std::string("q;--"),
        std::string("q'"), std::string(129, 'q'), std::string(10'240, 'q')}) {
    const Result<void> checked = check_name("queue", name);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, Code::invalid);
    EXPECT_TRUE(checked.error().message.starts_with("queue "));
    EXPECT_LT(checked.error().message.size(), 300u);
    EXPECT_TRUE(is_valid_utf8(checked.error().message)) << "letters that are not ASCII are echoed as typed";
    for (const char c : checked.error().message) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
}

TEST(JobState, NamesAreReadAsTheyAreWritten) {
  for (const JobState state :
       {JobState::ready, JobState::running, JobState::waiting, JobState::done, JobState::dead, JobState::cancelled}) {
    EXPECT_EQ(parse_job_state(to_string(state)), state);
  }
  EXPECT_FALSE(parse_job_state("Ready"));
  EXPECT_FALSE(parse_job_state(""));
  EXPECT_TRUE(is_finished(JobState::done) && is_finished(JobState::dead) && is_finished(JobState::cancelled));
  EXPECT_FALSE(is_finished(JobState::ready) || is_finished(JobState::running) || is_finished(JobState::waiting));
}

TEST(RetryDelay, IsFullJitterOverOneSecondDoublingToAnHour) {
  for (std::int64_t failures = 0; failures < 15; ++failures) {
    const Duration most = std::min<Duration>(1h, 1s * (std::int64_t{1} << failures));
    EXPECT_EQ(retry_delay({}, failures, 0), 0s);
    EXPECT_EQ(retry_delay({}, failures, static_cast<std::uint64_t>(most.count())), most);
    EXPECT_EQ(retry_delay({}, failures, static_cast<std::uint64_t>(most.count()) + 1), 0s);
  }
}

TEST(RetryDelay, NeverLeavesItsBounds) {
  for (const std::int64_t failures : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{19}, std::int64_t{20},
                                      std::int64_t{63}, std::int64_t{64}, std::numeric_limits<std::int64_t>::max()}) {
    for (const std::uint64_t random :
         {std::uint64_t{0}, std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
      EXPECT_GE(retry_delay({}, failures, random), 0s);
      EXPECT_LE(retry_delay({}, failures, random), 1h);
    }
  }
}

TEST(RetryDelay, FollowsTheBackoffOfTheJob) {
  const Backoff backoff{10ms, 70ms};
  const auto longest = [&](std::int64_t failures) {
    Duration most{0};
    for (std::uint64_t random = 0; random <= 80'000; random += 5)
      most = std::max(most, retry_delay(backoff, failures, random));
    return most;
  };
  EXPECT_EQ(longest(0), 10ms);
  EXPECT_EQ(longest(1), 20ms);
  EXPECT_EQ(longest(2), 40ms);
  EXPECT_EQ(longest(3), 70ms);
  EXPECT_EQ(longest(30), 70ms);
}

TEST(RetryDelay, ABackoffOfNothingIsAtOnceHoweverOftenItFailed) {
  EXPECT_EQ(retry_delay({0s, 0s}, std::numeric_limits<std::int64_t>::max(), 7), 0s);
  EXPECT_EQ(retry_delay({0s, 1h}, std::numeric_limits<std::int64_t>::max(), 7), 0s);
}

TEST(LaterDelay, IsOneSecondDoublingToAMinute) {
  EXPECT_EQ(later_delay(0), 1s);
  EXPECT_EQ(later_delay(1), 2s);
  EXPECT_EQ(later_delay(5), 32s);
  EXPECT_EQ(later_delay(6), 1min);
  EXPECT_EQ(later_delay(std::numeric_limits<std::int64_t>::max()), 1min);
}

TEST(Settled, DoneKeepsTheResultAndFinishes) {
  const Job done =
      settled(running_job(), {.kind = OutcomeKind::done, .result = "r", .error = "ignored", .retry_in = 9s}, kNow);
  EXPECT_EQ(done.state, JobState::done);
  EXPECT_EQ(done.result, "r");
  EXPECT_EQ(done.error, "");
  EXPECT_EQ(done.finished_at, kNow);
  EXPECT_EQ(done.run_at, kNow - 1h);
  EXPECT_EQ(done.last_outcome, OutcomeKind::done);
  EXPECT_EQ(done.fence, 42);
  EXPECT_EQ(done.owner, "a");
}

TEST(Settled, FailedUsesUpAnAttemptAndComesAgainLater) {
  const Job failed = settled(running_job(), {.kind = OutcomeKind::failed, .error = "e", .retry_in = 9s}, kNow);
  EXPECT_EQ(failed.state, JobState::ready);
  EXPECT_EQ(failed.failures, 1);
  EXPECT_EQ(failed.error, "e");
  EXPECT_EQ(failed.run_at, kNow + 9s);
  EXPECT_FALSE(failed.finished_at);
}

TEST(Settled, TheLastFailureIsTheEnd) {
  Job job = running_job();
  job.attempts_max = 2;
  job.failures = 1;
  const Job dead = settled(job, {.kind = OutcomeKind::failed, .error = "e", .retry_in = 9s}, kNow);
  EXPECT_EQ(dead.state, JobState::dead);
  EXPECT_EQ(dead.failures, 2);
  EXPECT_EQ(dead.finished_at, kNow);
  EXPECT_EQ(dead.last_outcome, OutcomeKind::failed);
}

TEST(Settled, DeadIsTheEndAtOnce) {
  const Job dead = settled(running_job(), {.kind = OutcomeKind::dead, .error = "e"}, kNow);
  EXPECT_EQ(dead.state, JobState::dead);
  EXPECT_EQ(dead.finished_at, kNow);
  EXPECT_EQ(dead.error, "e");
}

TEST(Settled, J5_LaterAndGivenBackCostNothing) {
  const Job later = settled(running_job(), {.kind = OutcomeKind::later, .retry_in = 9s}, kNow);
  EXPECT_EQ(later.state, JobState::ready);
  EXPECT_EQ(later.run_at, kNow + 9s);
  EXPECT_EQ(later.laters, 1);
  EXPECT_EQ(later.failures + later.losses, 0);
  const Job back = settled(running_job(), {.kind = OutcomeKind::given_back, .retry_in = 9s}, kNow);
  EXPECT_EQ(back.state, JobState::ready);
  EXPECT_EQ(back.run_at, kNow - 1h);
  EXPECT_EQ(back.failures + back.losses + back.laters, 0);
}

TEST(Settled, J5_AnOutcomeEndsARowOfLossesAndGivingBackDoesNot) {
  Job job = running_job();
  job.losses = job.losses_in_row = 3;
  for (const OutcomeKind kind : {OutcomeKind::done, OutcomeKind::failed, OutcomeKind::dead, OutcomeKind::later}) {
    EXPECT_EQ(settled(job, {.kind = kind}, kNow).losses_in_row, 0);
    EXPECT_EQ(settled(job, {.kind = kind}, kNow).losses, 3);
  }
  EXPECT_EQ(settled(job, {.kind = OutcomeKind::given_back}, kNow).losses_in_row, 3);
}

TEST(LostDelivery, J5_TheFifthInARowIsTheEnd) {
  Job job = running_job();
  for (int i = 1; i <= 4; ++i) {
    job = lost_delivery(job, kNow);
    EXPECT_EQ(job.losses, i);
    EXPECT_EQ(job.losses_in_row, i);
    EXPECT_EQ(job.state, JobState::running);
    EXPECT_FALSE(job.finished_at);
  }
  job = lost_delivery(job, kNow);
  EXPECT_EQ(job.state, JobState::dead);
  EXPECT_EQ(job.finished_at, kNow);
  EXPECT_NE(job.error, "");
  EXPECT_EQ(job.failures, 0);
  EXPECT_EQ(job.deliveries, 3);
}

TEST(LostDelivery, J5_LossesThatAreNotInARowDoNotEndAJob) {
  Job job = running_job();
  job.losses = 100;
  job.losses_in_row = 0;
  EXPECT_EQ(lost_delivery(job, kNow).state, JobState::running);
}

TEST(MustRunAlone, J5_FromTheSecondLossInARow) {
  EXPECT_FALSE(must_run_alone(0));
  EXPECT_FALSE(must_run_alone(1));
  EXPECT_TRUE(must_run_alone(2));
  EXPECT_TRUE(must_run_alone(4));
}

TEST(NewJob, NumbersHaveTheirRanges) {
  const NewJob good{.queue = "q"};
  EXPECT_TRUE(check_new_job(good));
  const auto refused = [&](auto spoil) {
    NewJob job = good;
    spoil(job);
    const Result<void> checked = check_new_job(job);
    return !checked && checked.error().code == Code::invalid;
  };
  EXPECT_TRUE(refused([](NewJob& job) { job.queue = ""; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.stage = "../"; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.priority = 1001; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.priority = -1001; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.attempts_max = 0; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.attempts_max = 1001; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.delay = -1us; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.delay = std::chrono::days{366} + 1us; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.payload = ""; }));
  EXPECT_FALSE(refused([](NewJob& job) { job.delay = std::chrono::days{366}; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.timeout = 999ms; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.timeout = -1s; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.timeout = std::chrono::days{30} + 1us; }));
  EXPECT_FALSE(refused([](NewJob& job) { job.timeout = 1s; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.backoff = {-1us, 1s}; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.backoff = {2s, 1s}; }));
  EXPECT_TRUE(refused([](NewJob& job) { job.backoff.most = std::chrono::days{7} + 1us; }));
  EXPECT_FALSE(refused([](NewJob& job) { job.backoff = {0s, 0s}; }));
}

TEST(NewJob, HasADelayOrATimeNotBoth) {
  const auto accepted = [](Duration delay, std::optional<WallTime> at) {
    return check_new_job({.queue = "q", .delay = delay, .at = at}).has_value();
  };
  EXPECT_TRUE(accepted(0s, kNow));
  EXPECT_TRUE(accepted(0s, WallTime{}));
  EXPECT_TRUE(accepted(0s, kRunAtMost));
  EXPECT_FALSE(accepted(1s, kNow));
  EXPECT_FALSE(accepted(0s, kRunAtMost + 1us));
  EXPECT_FALSE(accepted(0s, WallTime{} - 1us));
}

TEST(NewJob, KeysAndTagsHaveTheirBounds) {
  const auto accepted = [](auto change) {
    NewJob job{.queue = "q"};
    change(job);
    return check_new_job(job).has_value();
  };
  const std::string longest(kKeyBytesMax, 'k');
  const std::string too_long(kKeyBytesMax + 1, 'k');
  EXPECT_TRUE(accepted([&](NewJob& job) { job.key = job.group = job.limit_key = longest; }));
  EXPECT_FALSE(accepted([&](NewJob& job) { job.key = too_long; }));
  EXPECT_FALSE(accepted([&](NewJob& job) { job.group = too_long; }));
  EXPECT_FALSE(accepted([&](NewJob& job) { job.limit_key = too_long; }));
  EXPECT_FALSE(accepted([](NewJob& job) { job.key_for = 1s; })) << "a key time without a key";
  EXPECT_FALSE(accepted([](NewJob& job) { job.key = "k", job.key_for = -1s; }));
  EXPECT_FALSE(accepted([](NewJob& job) { job.key = "k", job.key_for = std::chrono::days{366} + 1us; }));
  EXPECT_TRUE(accepted([](NewJob& job) { job.key = "k", job.key_for = std::chrono::days{366}; }));
  EXPECT_TRUE(accepted([](NewJob& job) { job.tags = {"a", "b c"}; }));
  EXPECT_FALSE(accepted([](NewJob& job) { job.tags = {"b", "a"}; }));
  EXPECT_FALSE(accepted([](NewJob& job) { job.tags = {"a", "a"}; }));
  EXPECT_FALSE(accepted([](NewJob& job) { job.tags = {""}; }));
  const auto tags = [](std::size_t count) {
    std::vector<std::string> some;
    for (std::size_t i = 0; i < count; ++i) some.emplace_back(1, static_cast<char>('a' + i));
    return some;
  };
  EXPECT_TRUE(accepted([&](NewJob& job) { job.tags = tags(kTagsMax); }));
  EXPECT_FALSE(accepted([&](NewJob& job) { job.tags = tags(kTagsMax + 1); }));
  EXPECT_TRUE(
      accepted([](NewJob& job) { job.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"; }));
  EXPECT_FALSE(accepted([](NewJob& job) { job.traceparent = "00-0af7"; }));
}

TEST(Key, IsUtf8WithoutControlCharacters) {
  for (const std::string key : {"k", "a b", "g/1", "\xc3\xa9", "../x", "'"}) EXPECT_TRUE(check_key("key", key)) << key;
  for (const std::string& key : {std::string(), std::string("a\nb"), std::string("a\0b", 3), std::string("\x7f"),
                                 std::string("\xff"), std::string("\xc3")}) {
    const Result<void> checked = check_key("key", key);
    ASSERT_FALSE(checked) << key;
    EXPECT_EQ(checked.error().code, Code::invalid);
    for (const char c : checked.error().message) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  }
}

TEST(AttemptEnd, IsThatOfTheOutcome) {
  for (const OutcomeKind kind :
       {OutcomeKind::done, OutcomeKind::failed, OutcomeKind::dead, OutcomeKind::later, OutcomeKind::given_back})
    EXPECT_EQ(to_string(attempt_end(kind)), to_string(kind));
  EXPECT_EQ(to_string(AttemptEnd::running), "running");
  EXPECT_EQ(to_string(AttemptEnd::lost), "lost");
  EXPECT_EQ(to_string(AttemptEnd::cancelled), "cancelled");
  EXPECT_EQ(to_string(AttemptEnd::retried), "retried");
}

}  // namespace
}  // namespace fenceline

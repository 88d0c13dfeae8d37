#include "runtime/thread_runtime.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <set>

namespace fenceline {
namespace {

using namespace std::chrono_literals;

constexpr Duration kNever = 1h;  // a test that gets here has hung
constexpr Duration kSoon = 5s;   // far more than a busy machine needs, far less than kNever

TEST(BootClock, ReadsTheBoottimeOffsetOfATimeNamespace) {
  EXPECT_EQ(parse_boottime_offset("monotonic           0         0\nboottime       -3600 500000000\n"), -3600s + 500ms);
  EXPECT_EQ(parse_boottime_offset("1 5 0\n7 6 0\n"), 6s);
  EXPECT_EQ(parse_boottime_offset(""), 0s);
}

TEST(BootClock, ShowsAnInstantToTheKernelInItsOwnTerms) {
  const BootClock clock;
  std::timespec before{};
  ASSERT_EQ(::clock_gettime(CLOCK_BOOTTIME, &before), 0);
  const std::timespec shown = clock.as_boottime(clock.now());
  EXPECT_GE(std::make_pair(shown.tv_sec, shown.tv_nsec + 1000), std::make_pair(before.tv_sec, before.tv_nsec));
  EXPECT_LE(shown.tv_sec - before.tv_sec, 5);
  const Instant now = clock.now();
  EXPECT_EQ(clock.as_boottime(now + 10s).tv_sec, clock.as_boottime(now).tv_sec + 10);
}

TEST(ThreadRuntime, NamesTheBootItsInstantsBelongTo) {
  EXPECT_EQ(ThreadRuntime().boot_id().size(), 36u);
  EXPECT_EQ(ThreadRuntime().boot_id(), ThreadRuntime().boot_id());
}

TEST(ThreadRuntime, GivesChanceThatDoesNotRepeat) {
  ThreadRuntime runtime;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(runtime.random());
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(ThreadRuntime, AForkedChildHasItsOwnChance) {
  ThreadRuntime runtime;
  runtime.random();
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t number = runtime.random();
    ::_exit(::write(pipe[1], &number, sizeof number) == sizeof number ? 0 : 1);
  }
  const std::uint64_t ours = runtime.random();
  std::uint64_t theirs = 0;
  EXPECT_EQ(::read(pipe[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
  EXPECT_NE(ours, theirs);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(ThreadRuntime, SleepsUntilTheDeadlineAndNotLess) {
  ThreadRuntime runtime;
  const Instant until = runtime.now() + 20ms;
  EXPECT_TRUE(runtime.sleep_until(until, {}));
  EXPECT_GE(runtime.now(), until);
}

TEST(ThreadRuntime, AStopEndsASleepAtOnce) {
  ThreadRuntime runtime;
  std::stop_source stop;
  const Instant began = runtime.now();
  Task stopper = runtime.spawn("stopper", [&](std::stop_token) { stop.request_stop(); });
  EXPECT_FALSE(runtime.sleep_for(kNever, stop.get_token()));
  EXPECT_FALSE(runtime.sleep_for(kNever, stop.get_token()));
  EXPECT_LT(runtime.now() - began, kSoon);
}

TEST(ThreadRuntime, AnEventNotifiedBeforeTheWaitIsNotMissed) {
  ThreadRuntime runtime;
  const std::unique_ptr<Event> event = runtime.make_event();
  event->notify();
  EXPECT_TRUE(event->wait_until(runtime.now() + kNever));
}

TEST(ThreadRuntime, OneWaitConsumesAnEvent) {
  ThreadRuntime runtime;
  const std::unique_ptr<Event> event = runtime.make_event();
  event->notify();
  event->notify();
  EXPECT_TRUE(event->wait_until(runtime.now() + kNever));
  EXPECT_FALSE(event->wait_until(runtime.now() + 5ms));
}

TEST(ThreadRuntime, AnEventWakesItsWaiter) {
  ThreadRuntime runtime;
  const std::unique_ptr<Event> there = runtime.make_event();
  const std::unique_ptr<Event> back = runtime.make_event();
  Task echo = runtime.spawn("echo", [&](std::stop_token) {
    for (int i = 0; i < 100; ++i) {
      if (there->wait_until(runtime.now() + kNever)) back->notify();
    }
  });
  const Instant began = runtime.now();
  for (int i = 0; i < 100; ++i) {
    there->notify();
    ASSERT_TRUE(back->wait_until(runtime.now() + kNever));
  }
  EXPECT_LT(runtime.now() - began, kSoon);
}

TEST(ThreadRuntime, OneNotificationWakesOneOfSeveralWaiters) {
  ThreadRuntime runtime;
  const std::unique_ptr<Event> event = runtime.make_event();
  std::atomic<int> woken{0};
  {
    const Instant until = runtime.now() + 50ms;
    auto wait = [&](std::stop_token) { woken += event->wait_until(until) ? 1 : 0; };
    Task first = runtime.spawn("first", wait);
    Task second = runtime.spawn("second", wait);
    event->notify();
  }
  EXPECT_EQ(woken, 1);
}

TEST(ThreadRuntime, ATaskIsStoppedAndJoinedWhenItsHandleGoes) {
  ThreadRuntime runtime;
  std::atomic<bool> ended{false};
  const Instant began = runtime.now();
  {
    const Task task = runtime.spawn("sleeper", [&](std::stop_token stop) {
      runtime.sleep_for(kNever, std::move(stop));
      ended = true;
    });
  }
  EXPECT_TRUE(ended);
  EXPECT_LT(runtime.now() - began, kSoon);
}

TEST(ThreadRuntime, JoinWaitsWithoutAskingForTheEnd) {
  ThreadRuntime runtime;
  bool slept = false;
  Task task = runtime.spawn("sleeper", [&](std::stop_token stop) { slept = runtime.sleep_for(10ms, std::move(stop)); });
  task.join();
  EXPECT_TRUE(slept);
  task.join();  // a second one has nothing to wait for
}

TEST(ThreadRuntime, ATaskCarriesItsName) {
  ThreadRuntime runtime;
  std::string name(16, '\0');
  runtime
      .spawn("a-name-that-is-too-long",
             [&](std::stop_token) { ::pthread_getname_np(::pthread_self(), name.data(), name.size()); })
      .join();
  EXPECT_STREQ(name.c_str(), "a-name-that-is-");
}

}  // namespace
}  // namespace fenceline

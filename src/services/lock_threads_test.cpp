// Lock clients on real threads and the real clock: what virtual time cannot show, a race of ours, shows here (and to
// the thread sanitizer).
#include <gtest/gtest.h>

#include <set>

#include "backends/memory/memory_store.hpp"
#include "runtime/thread_runtime.hpp"
#include "services/lock_client.hpp"
#include "support/results.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct LockThreads : testing::Test {
  ThreadRuntime runtime;
  MemoryStore store{runtime};

  void threads(int count, const std::function<void(int)>& body) {
    std::vector<Task> tasks;
    for (int i = 0; i < count; ++i) tasks.push_back(runtime.spawn("test", [&body, i](std::stop_token) { body(i); }));
    for (Task& task : tasks) task.join();
  }
};

TEST_F(LockThreads, ThreadsOfTwoProcessesAreNeverInsideTogether) {
  LockClient one(make_lock_parts(runtime, Log(null_log_sink()), store, {.place = "one"}));
  LockClient two(make_lock_parts(runtime, Log(null_log_sink()), store, {.place = "two"}));
  std::int64_t inside = 0;  // no atomic: the lock alone guards it
  std::vector<Fence> fences;
  threads(8, [&](int i) {
    for (int n = 0; n < 25; ++n) {
      must((i % 2 == 0 ? one : two).with({.names = {"deploy"}, .ttl = 1min, .wait = 5min}, [&](const HeldLock& held) {
        inside += 1;
        fences.push_back(held.fence());
      }));
    }
  });
  EXPECT_EQ(inside, 200);
  EXPECT_TRUE(std::ranges::is_sorted(fences, std::less_equal<>{})) << "each is larger than the one before";
  EXPECT_EQ(one.counts().acquired + two.counts().acquired, 200);
}

TEST_F(LockThreads, HoldersOfMostKindsComeAndGoTogether) {
  LockClient locks(make_lock_parts(runtime, Log(null_log_sink()), store, {}));
  std::atomic<int> had = 0;
  threads(8, [&](int i) {
    for (int n = 0; n < 20; ++n) {
      LockOptions options{.names = {"a"}, .ttl = 1min, .wait = 5min};
      if (i % 4 == 1) options.mode = LockMode::shared;
      if (i % 4 == 2) options.names = {"a", "b"};
      if (i % 4 == 3) options = {.names = {"pool"}, .slots = 2, .ttl = 1min, .wait = 5min};
      HeldLock held = must(locks.acquire(options));
      HeldLock again = must(held.enter());
      EXPECT_TRUE(again.held());
      must(held.release());
      if (n == 10 && i == 0) runtime.sleep_for(300ms, {});  // long enough to be looked after
      must(again.release());
      had += 1;
    }
  });
  EXPECT_EQ(had, 160);
  EXPECT_EQ(locks.counts().released, 160);
}

TEST_F(LockThreads, ABreakIsNoticedWithinASecond) {
  LockClient locks(make_lock_parts(runtime, Log(null_log_sink()), store, {}));
  Task breaker = runtime.spawn("test", [&](std::stop_token) {
    runtime.sleep_for(500ms, {});
    must(store.break_lock({.ns = "default", .resource = "deploy", .request = "1", .act = {"ana", "stuck"}}));
  });
  const Instant began = runtime.now();
  const Result<void> ran = locks.with({.names = {"deploy"}, .ttl = 10min}, [&](const HeldLock& held) {
    EXPECT_FALSE(runtime.sleep_for(1min, held.stop()));
  });
  EXPECT_EQ(code_of(ran), Code::lost);
  EXPECT_LT(runtime.now() - began, 20s)
      << "a second, and what a busy machine takes; without the hint it would be minutes";
}

TEST_F(LockThreads, AWaitIsCancelledAtOnce) {
  LockClient one(make_lock_parts(runtime, Log(null_log_sink()), store, {}));
  LockClient two(make_lock_parts(runtime, Log(null_log_sink()), store, {}));
  HeldLock held = must(one.acquire({.names = {"deploy"}, .ttl = 10min}));
  std::stop_source stop;
  const auto wait = [&](LockClient& locks) {
    EXPECT_EQ(code_of(locks.acquire({.names = {"deploy"}, .wait = 1h}, stop.get_token())), Code::held);
  };
  Task here = runtime.spawn("test", [&](std::stop_token) { wait(one); });
  Task there = runtime.spawn("test", [&](std::stop_token) { wait(two); });
  runtime.sleep_for(100ms, {});
  stop.request_stop();
  here.join();
  there.join();
  must(held.release());
  EXPECT_EQ(must(store.lock("default", "deploy"))->waiters_count, 0);
}

}  // namespace
}  // namespace fenceline::test

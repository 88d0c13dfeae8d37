// Threads of one process take turns among themselves first.
#include "services/lock_turns.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "support/lock_fixture.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct LockTurnsTest : LocksInVirtualTime {
  // Starts fibers of one process, a millisecond apart, and waits for them.
  void fibers(Process& process, int count, const std::function<void(int)>& body) {
    std::vector<Task> tasks;
    for (int i = 0; i < count; ++i) {
      tasks.push_back(process.runtime.spawn("fiber", [&body, i](std::stop_token) { body(i); }));
      sleep(process, 1ms);
    }
    for (Task& task : tasks) task.join();
  }
};

TEST_F(LockTurnsTest, SixtyFourFibersOnOneNameAreOneWaiterAtTheStore) {
  start(b, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire({.names = {"deploy"}}));
    sleep(b, 5s);
    must(held.release());
  });
  std::vector<int> order;
  std::int64_t most = 0;
  start(a, [&](LockClient& locks) {
    sleep(a, 10ms);
    fibers(a, 64, [&](int i) {
      HeldLock held = must(locks.acquire({.names = {"deploy"}, .wait = 10min}));
      order.push_back(i);
      sleep(a, 10ms);
      must(held.release());
    });
  });
  for (Duration when = 1ms; when < 10s; when += 7ms)
    simulation.at(at(when), [&] { most = std::max(most, waiters("deploy")); });
  run(20min);
  EXPECT_EQ(most, 1);
  ASSERT_EQ(order.size(), 64u);
  EXPECT_TRUE(std::ranges::is_sorted(order)) << "in the order in which they came";
}

TEST_F(LockTurnsTest, FiftyProcessesHandALockAroundInTurnWithFewRequestsAndNoPause) {
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<std::vector<Instant>> had(50);
  Instant last{};
  for (std::size_t i = 0; i < had.size(); ++i) {
    processes.push_back(std::make_unique<Process>(*this, "p" + std::to_string(i)));
    start(*processes.back(), [&, i](LockClient& locks) {
      for (int n = 0; n < 4; ++n) {
        HeldLock held = must(locks.acquire({.names = {"deploy"}, .wait = 10min}));
        had[i].push_back(now());
        sleep(*processes[i], 20ms);
        must(held.release());
        last = now();
      }
    });
  }
  run(10min);
  std::vector<Instant> rounds(4);
  int asked = 0;
  for (std::size_t i = 0; i < had.size(); ++i) {
    ASSERT_EQ(had[i].size(), 4u);
    asked += processes[i]->road.count("acquire");
    for (std::size_t n = 0; n < 4; ++n) rounds[n] = std::max(rounds[n], had[i][n]);
  }
  // Each had its turn before anybody had the turn after the next.
  for (std::size_t i = 0; i < had.size(); ++i) {
    for (std::size_t n = 2; n < 4; ++n) EXPECT_GE(had[i][n], rounds[n - 2]);
  }
  EXPECT_LE(last, at(200 * 20ms + 500ms));
  EXPECT_LE(asked, 200 * 6);
  RecordProperty("asked", asked);
}

TEST_F(LockTurnsTest, ProcessesTakeTurnsThoughOneHasManyThreads) {
  std::map<std::string, std::vector<Instant>> had;
  const auto contend = [&](Process& process, int count, int times) {
    start(process, [&, count, times](LockClient& locks) {
      fibers(process, count, [&](int) {
        for (int n = 0; n < times; ++n) {
          HeldLock held = must(locks.acquire({.names = {"deploy"}, .wait = 10min}));
          had[process.place].push_back(now());
          sleep(process, 10ms);
          must(held.release());
        }
      });
    });
  };
  contend(a, 20, 5);
  contend(b, 1, 50);
  run(10min);
  ASSERT_EQ(had["a"].size(), 100u);
  ASSERT_EQ(had["b"].size(), 50u);
  // While both wanted it, neither had it twice in a row for long.
  EXPECT_LT(had["b"].back(), had["a"].back());
  const auto before = std::ranges::count_if(had["a"], [&](Instant when) { return when < had["b"].back(); });
  EXPECT_LE(before, 60);
}

TEST_F(LockTurnsTest, OneThatDoesNotWaitIsToldAtOnceThatAThreadOfItsProcessHasIt) {
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire({.names = {"deploy"}}));
    EXPECT_EQ(code_of(locks.acquire({.names = {"deploy"}})), Code::held);
    EXPECT_EQ(now(), at(0s));
    must(held.release());
  });
  run(1min);
  EXPECT_EQ(a.road.count("acquire"), 1);
}

TEST_F(LockTurnsTest, OneThatDoesNotWaitStillAwaitsTheAnswerOfTheOneBeforeIt) {
  a.road.reply_takes = 500ms;
  std::vector<int> had;
  start(a, [&](LockClient& locks) {
    fibers(a, 2, [&](int i) {
      Result<HeldLock> held = locks.acquire({.names = {"deploy"}, .mode = LockMode::shared});
      if (!held) return;
      had.push_back(i);
      must(held->release());
    });
  });
  run(1min);
  EXPECT_EQ(had, (std::vector{0, 1}));
}

TEST_F(LockTurnsTest, AWaitInTheProcessEndsWithItsTimeAndWithAStop) {
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire({.names = {"deploy"}}));
    fibers(a, 1, [&](int) {
      EXPECT_EQ(code_of(locks.acquire({.names = {"deploy"}, .wait = 2s})), Code::held);
      EXPECT_EQ(now(), at(2s));
    });
    std::stop_source stop;
    Task waiter = a.runtime.spawn("fiber", [&](std::stop_token) {
      EXPECT_EQ(code_of(locks.acquire({.names = {"deploy"}, .wait = 1h}, stop.get_token())), Code::held);
      EXPECT_EQ(now(), at(5s));
    });
    a.runtime.sleep_until(at(5s), {});
    stop.request_stop();
    waiter.join();
    must(held.release());
    must(must(locks.acquire({.names = {"deploy"}})).release());
  });
  run(2min);
}

TEST_F(LockTurnsTest, SeveralNamesAtOnceNeverWaitForEachOther) {
  int had = 0;
  start(a, [&](LockClient& locks) {
    fibers(a, 12, [&](int i) {
      const std::vector<std::vector<std::string>> sets{{"x", "y"}, {"y", "z"}, {"z", "x"}};
      for (int n = 0; n < 10; ++n) {
        HeldLock held = must(locks.acquire({.names = sets[static_cast<std::size_t>(i + n) % 3], .wait = 10min}));
        sleep(a, 1ms);
        had += 1;
        must(held.release());
      }
    });
  });
  run(10min);
  EXPECT_EQ(had, 120);
}

TEST_F(LockTurnsTest, OneThatWaitsForSeveralNamesDoesNotKeepTheFreeOnesFromItsProcess) {
  start(b, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire({.names = {"y"}}));
    sleep(b, 10min);
    must(held.release());
  });
  std::vector<std::string> had;
  start(a, [&](LockClient& locks) {
    sleep(a, 10ms);
    Task both = a.runtime.spawn("fiber", [&](std::stop_token) {
      HeldLock held = must(locks.acquire({.names = {"x", "y"}, .wait = 1h}));
      had.push_back("both");
      sleep(a, 1min);
      must(held.release());
    });
    sleep(a, 1s);
    fibers(a, 3, [&](int) {
      HeldLock held = must(locks.acquire({.names = {"x"}, .wait = 1min}));
      had.push_back("x");
      sleep(a, 1s);
      must(held.release());
    });
    EXPECT_LE(now(), at(1min));
    both.join();
  });
  run(1h);
  EXPECT_EQ(had, (std::vector<std::string>{"x", "x", "x", "both"}));
}

TEST_F(LockTurnsTest, ALostHolderKeepsItsTurnUntilItLetsGoOfItsHandle) {
  start(a, [&](LockClient& locks) {
    HeldLock held = must(locks.acquire({.names = {"deploy"}}));
    sleep(a, 1s);
    break_lock("deploy");
    sleep(a, 1s);
    EXPECT_TRUE(held.lost());
    EXPECT_EQ(code_of(locks.acquire({.names = {"deploy"}})), Code::held)
        << "what it left half done in this process is not touched";
    EXPECT_EQ(code_of(held.release()), Code::lost);
    must(must(locks.acquire({.names = {"deploy"}})).release());
  });
  run(1min);
}

}  // namespace
}  // namespace fenceline::test

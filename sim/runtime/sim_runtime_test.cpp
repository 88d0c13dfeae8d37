#include "sim/runtime/sim_runtime.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

constexpr Instant at(Duration since_start) { return Instant{since_start}; }

struct SimRuntimeTest : testing::Test {
  StackPool stacks;
  Simulation simulation{1, stacks};
  Machine machine{"m", 0s, 0, 0s};
  SimRuntime process{simulation, machine, "p"};
  std::vector<std::string> seen;

  void run_for(Duration duration) { simulation.run_until(simulation.now() + duration); }
};

TEST_F(SimRuntimeTest, ASleepTakesVirtualTimeOnly) {
  process.start([&](std::stop_token stop) {
    EXPECT_TRUE(process.sleep_for(100h, stop));
    EXPECT_EQ(process.now(), at(100h));
    seen.push_back("woke");
  });
  simulation.run_until(Instant::max());
  EXPECT_EQ(seen, std::vector<std::string>{"woke"});
  EXPECT_EQ(simulation.now(), at(100h));
}

TEST_F(SimRuntimeTest, AStopEndsASleepAtOnce) {
  process.start([&](std::stop_token) {
    Task sleeper = process.spawn("sleeper", [&](std::stop_token stop) {
      EXPECT_FALSE(process.sleep_for(1h, stop));
      EXPECT_EQ(process.now(), at(1s));
    });
    process.sleep_for(1s, {});
  });
  simulation.run_until(Instant::max());
  EXPECT_EQ(simulation.now(), at(1s));
  EXPECT_FALSE(process.alive());
}

TEST_F(SimRuntimeTest, ANotificationIsKeptForTheNextWaitAndConsumedByIt) {
  process.start([&](std::stop_token) {
    const auto event = process.make_event();
    event->notify();
    event->notify();
    EXPECT_TRUE(event->wait_until(process.now()));
    EXPECT_FALSE(event->wait_until(process.now() + 1s));
    EXPECT_EQ(process.now(), at(1s));
  });
  simulation.run_until(Instant::max());
  EXPECT_FALSE(process.alive());
}

TEST_F(SimRuntimeTest, ANotificationWakesOneWaiter) {
  int woken = 0;
  process.start([&](std::stop_token) {
    const auto event = process.make_event();
    const auto wait = [&](std::stop_token) { woken += event->wait_until(process.now() + 10s) ? 1 : 0; };
    Task first = process.spawn("first", wait);
    Task second = process.spawn("second", wait);
    process.sleep_for(1s, {});
    event->notify();
    process.sleep_for(1s, {});
    EXPECT_EQ(woken, 1);
    first.join();
    second.join();
  });
  simulation.run_until(Instant::max());
  EXPECT_EQ(woken, 1);
}

TEST_F(SimRuntimeTest, AStopCallbackMayNotifyAcrossFibers) {
  process.start([&](std::stop_token stop) {
    const auto event = process.make_event();
    const std::stop_callback wake(stop, [&] { event->notify(); });
    EXPECT_TRUE(event->wait_until(process.now() + 1h));
    EXPECT_EQ(process.now(), at(5s));
    seen.push_back("stopped");
  });
  simulation.after(5s, [&] { process.terminate(); });
  simulation.run_until(Instant::max());
  EXPECT_EQ(seen.size(), 1U);
}

TEST_F(SimRuntimeTest, ATaskIsStoppedAndJoinedWhenItsHandleGoes) {
  process.start([&](std::stop_token) {
    {
      Task task = process.spawn("task", [&](std::stop_token stop) {
        process.sleep_for(1h, stop);
        process.sleep_for(2s, {});  // takes a while to end
        seen.push_back("task");
      });
      process.sleep_for(1s, {});
    }
    seen.push_back("main");
    EXPECT_EQ(process.now(), at(3s));
  });
  simulation.run_until(Instant::max());
  EXPECT_EQ(seen, (std::vector<std::string>{"task", "main"}));
}

TEST_F(SimRuntimeTest, ExceptionsOfSeveralFibersDoNotMix) {
  process.start([&](std::stop_token) {
    const auto thrower = [&](std::string name, Duration pause) {
      return [this, name, pause](std::stop_token) {
        try {
          throw std::runtime_error(name);
        } catch (const std::runtime_error&) {
          process.sleep_for(pause, {});  // another fiber throws and catches meanwhile
          try {
            throw;
          } catch (const std::runtime_error& error) {
            seen.emplace_back(error.what());
          }
        }
      };
    };
    Task slow = process.spawn("slow", thrower("slow", 3s));
    Task fast = process.spawn("fast", thrower("fast", 1s));
    slow.join();
    fast.join();
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
  simulation.run_until(Instant::max());
  EXPECT_EQ(seen, (std::vector<std::string>{"fast", "slow"}));
}

TEST_F(SimRuntimeTest, AHandleThatGoesInAnExceptionStillJoins) {
  process.start([&](std::stop_token) {
    try {
      Task task = process.spawn("task", [&](std::stop_token stop) {
        process.sleep_for(1h, stop);
        process.sleep_for(1s, {});
        seen.push_back("joined");
      });
      process.sleep_for(1s, {});
      throw std::runtime_error("leave");
    } catch (const std::runtime_error&) {
      seen.push_back("caught");
    }
  });
  simulation.run_until(Instant::max());
  EXPECT_EQ(seen, (std::vector<std::string>{"joined", "caught"}));
}

struct Note {
  std::vector<std::string>& seen;
  std::string text;
  ~Note() { seen.push_back(text); }
};

TEST_F(SimRuntimeTest, AKillUnwindsTheNewestFiberFirstAndRunsNothingElse) {
  bool ended = false;
  process.start(
      [&](std::stop_token) {
        const Note mine{seen, "main gone"};
        Task task = process.spawn("task", [&](std::stop_token) {
          const Note its{seen, "task gone"};
          process.sleep_for(1h, {});
          seen.push_back("never");
        });
        task.join();
        seen.push_back("never");
      },
      [&](ProcessEnd end) { ended = end == ProcessEnd::killed; });
  simulation.after(1s, [&] { process.kill(); });
  simulation.run_until(Instant::max());
  EXPECT_EQ(seen, (std::vector<std::string>{"task gone", "main gone"}));
  EXPECT_TRUE(ended);
  EXPECT_LE(simulation.now(), at(1h));
}

TEST_F(SimRuntimeTest, AFiberThatKillsItsOwnProcessDoesNotGoOn) {
  process.start([&](std::stop_token) {
    Task task = process.spawn("task", [&](std::stop_token) {
      process.kill();
      seen.push_back("never");
    });
    process.sleep_for(1h, {});
    seen.push_back("never");
  });
  run_for(2h);
  EXPECT_TRUE(seen.empty());
  EXPECT_TRUE(process.dead());
}

TEST_F(SimRuntimeTest, ACatchAllDoesNotKeepADeadProcessGoing) {
  process.start([&](std::stop_token) {
    try {
      process.sleep_for(1h, {});
    } catch (...) {
      seen.push_back("caught");
    }
    process.sleep_for(1h, {});
    seen.push_back("never");
  });
  simulation.after(1s, [&] { process.kill(); });
  run_for(3h);
  EXPECT_EQ(seen, std::vector<std::string>{"caught"});
}

TEST_F(SimRuntimeTest, AKillInsideAJoiningDestructorUnwinds) {
  process.start([&](std::stop_token) {
    const Note mine{seen, "main gone"};
    {
      Task task = process.spawn("task", [&](std::stop_token) { process.sleep_for(1h, {}); });
    }
    process.sleep_for(1s, {});
    seen.push_back("never");
  });
  simulation.after(1s, [&] { process.kill(); });
  run_for(3h);
  EXPECT_EQ(seen, std::vector<std::string>{"main gone"});
}

TEST_F(SimRuntimeTest, APausedProcessRunsNothingAndThenGoesOn) {
  process.start([&](std::stop_token) {
    process.sleep_for(2s, {});
    seen.push_back("woke");
    EXPECT_EQ(process.now(), at(61s));  // its clock went on
  });
  simulation.after(1s, [&] { process.pause(); });
  simulation.after(61s, [&] { process.resume(); });
  run_for(60s);
  EXPECT_TRUE(seen.empty());
  run_for(2s);
  EXPECT_EQ(seen.size(), 1U);
}

TEST_F(SimRuntimeTest, AKillFindsAProcessInItsPause) {
  process.start([&](std::stop_token) {
    const Note mine{seen, "gone"};
    process.sleep_for(2s, {});
  });
  simulation.after(1s, [&] { process.pause(); });
  simulation.after(5s, [&] { process.kill(); });
  run_for(10s);
  EXPECT_EQ(seen, std::vector<std::string>{"gone"});
}

TEST_F(SimRuntimeTest, TwoIncarnationsLiveAtOnce) {
  SimRuntime next(simulation, machine, "p2");
  process.start([&](std::stop_token) {
    process.sleep_for(2s, {});
    seen.push_back("old");
  });
  simulation.after(1s, [&] { process.pause(); });
  simulation.after(2s, [&] {
    next.start([&](std::stop_token) {
      next.sleep_for(1s, {});
      seen.push_back("new");
    });
  });
  simulation.after(9s, [&] { process.resume(); });
  run_for(10s);
  EXPECT_EQ(seen, (std::vector<std::string>{"new", "old"}));
}

TEST_F(SimRuntimeTest, AStepHookCanKillAtEveryStep) {
  for (int fatal_step = 1; fatal_step <= 4; ++fatal_step) {
    SimRuntime victim(simulation, machine, "victim");
    int steps = 0;
    victim.on_step([&](SimRuntime& self) {
      if (++steps == fatal_step) self.kill();
    });
    victim.start([&](std::stop_token) {
      const auto event = victim.make_event();
      Task task = victim.spawn("task", [&](std::stop_token) { event->notify(); });
      event->wait_until(victim.now() + 1s);
      victim.sleep_for(1s, {});
      task.join();
      victim.sleep_for(1s, {});
    });
    run_for(10s);
    EXPECT_TRUE(victim.dead()) << "step " << fatal_step;
    EXPECT_EQ(steps, fatal_step);
  }
}

TEST(Machine, TellsTimeWithItsOwnOffsetRateAndWallClock) {
  Machine slow("slow", 100s, -20'000, 5min);
  EXPECT_EQ(slow.local(Instant{}), Instant{100s});
  EXPECT_EQ(slow.local(Instant{1000s}), Instant{1080s});
  const WallTime before = slow.wall(Instant{10s});
  slow.jump_wall(-1h);
  EXPECT_EQ(slow.wall(Instant{10s}), before - 1h);
  EXPECT_EQ(slow.local(Instant{1000s}), Instant{1080s});
}

TEST(Machine, FindsTheFirstMomentOfALocalTime) {
  for (const std::int64_t ppm : {-200'000, -20'000, -1, 0, 1, 333, 20'000, 200'000}) {
    const Machine machine("m", 7s, ppm, 0s);
    for (const std::int64_t micros : {7'000'001, 7'000'003, 8'123'457, 100'000'000, 2'000'000'007}) {
      const Instant local{Duration{micros}};
      const Instant found = machine.true_time(local);
      EXPECT_GE(machine.local(found), local);
      EXPECT_LT(machine.local(found - Duration{1}), local) << ppm << " " << micros;
    }
  }
  EXPECT_EQ(Machine("m", 0s, 5, 0s).true_time(Instant::max()), Instant::max());
}

TEST(Random, IsTheSameInEveryBuild) {
  Random random(8841);
  const std::uint64_t first = random.next();
  EXPECT_EQ(first, Random(8841).next());
  EXPECT_NE(first, random.next());
  Random other(1);
  EXPECT_EQ(other.next(), 12966619160104079557ULL);
}

// What two processes and the scheduler do, as text.
std::string story_of(std::uint64_t seed) {
  StackPool stacks;
  Simulation simulation(seed, stacks, true);
  Machine machine("m", 0s, 1000, 0s);
  SimRuntime a(simulation, machine, "a");
  SimRuntime b(simulation, machine, "b");
  for (SimRuntime* process : {&a, &b}) {
    process->start([&simulation, process](std::stop_token) {
      for (int i = 0; i < 20; ++i) {
        process->sleep_for(Duration{static_cast<std::int64_t>(process->random() % 3)}, {});
        simulation.trace().write(simulation.now(), process->name(), std::to_string(process->random() % 100));
      }
    });
  }
  simulation.run_until(Instant::max());
  return simulation.trace().text();
}

TEST(Simulation, TheSameSeedTellsTheSameStory) {
  EXPECT_EQ(story_of(7), story_of(7));
  EXPECT_NE(story_of(7), story_of(8));
}

}  // namespace
}  // namespace fenceline::sim

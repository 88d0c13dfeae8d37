// The words of runtime/runtime.hpp, on both runtimes: what holds under virtual time must hold on threads.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>

#include "runtime/thread_runtime.hpp"
#include "sim/runtime/sim_runtime.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

void on_threads(const std::function<void(Runtime&)>& body) {
  ThreadRuntime runtime;
  body(runtime);
}

void on_fibers(const std::function<void(Runtime&)>& body) {
  StackPool stacks;
  Simulation simulation(1, stacks);
  Machine machine("m", 5s, 300, 0s);
  SimRuntime runtime(simulation, machine, "p");
  runtime.start([&](std::stop_token) { body(runtime); });
  simulation.run_until(Instant::max());
  EXPECT_FALSE(runtime.alive()) << "it waits for ever";
}

struct Kind {
  std::string name;
  void (*run)(const std::function<void(Runtime&)>&);
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class RuntimeContract : public testing::TestWithParam<Kind> {
 protected:
  void run(const std::function<void(Runtime&)>& body) { GetParam().run(body); }
};

TEST_P(RuntimeContract, ASleepEndsAtItsTime) {
  run([](Runtime& runtime) {
    const Instant when = runtime.now() + 3ms;
    EXPECT_TRUE(runtime.sleep_until(when, {}));
    EXPECT_GE(runtime.now(), when);
    EXPECT_TRUE(runtime.sleep_until(when, {})) << "a time that has passed";
  });
}

TEST_P(RuntimeContract, AStopThatCameBeforeTheSleepWins) {
  run([](Runtime& runtime) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(runtime.sleep_until(runtime.now() + 1h, stop.get_token()));
    EXPECT_FALSE(runtime.sleep_until(runtime.now(), stop.get_token()));
  });
}

TEST_P(RuntimeContract, ANotificationWaitsForItsWaiterAndIsUsedUp) {
  run([](Runtime& runtime) {
    const auto event = runtime.make_event();
    event->notify();
    event->notify();
    EXPECT_TRUE(event->wait_until(runtime.now())) << "also when the time has passed";
    EXPECT_FALSE(event->wait_until(runtime.now()));
    EXPECT_FALSE(event->wait_until(runtime.now() + 2ms));
  });
}

TEST_P(RuntimeContract, ANotificationFromATaskEndsAWait) {
  run([](Runtime& runtime) {
    const auto event = runtime.make_event();
    Task task = runtime.spawn("notifier", [&](std::stop_token) { event->notify(); });
    EXPECT_TRUE(event->wait_until(runtime.now() + 1h));
  });
}

TEST_P(RuntimeContract, OneWakesAndPassesItOn) {
  run([](Runtime& runtime) {
    const auto event = runtime.make_event();
    std::atomic<int> woken = 0;
    const auto wait = [&](std::stop_token) {
      if (!event->wait_until(runtime.now() + 1h)) return;
      ++woken;
      event->notify();
    };
    Task first = runtime.spawn("first", wait);
    Task second = runtime.spawn("second", wait);
    event->notify();
    first.join();
    second.join();
    EXPECT_EQ(woken, 2);
  });
}

TEST_P(RuntimeContract, AHandleThatGoesAsksToStopAndJoins) {
  run([](Runtime& runtime) {
    std::atomic<bool> stopped = false;
    {
      Task task = runtime.spawn("sleeper", [&](std::stop_token stop) { stopped = !runtime.sleep_for(1h, stop); });
    }
    EXPECT_TRUE(stopped);
  });
}

TEST_P(RuntimeContract, AJoinWaitsWithoutAskingToStop) {
  run([](Runtime& runtime) {
    std::atomic<bool> slept = false;
    Task task = runtime.spawn("sleeper", [&](std::stop_token stop) { slept = runtime.sleep_for(3ms, stop); });
    task.join();
    EXPECT_TRUE(slept);
    task.join();  // again: at once
  });
}

TEST_P(RuntimeContract, AStopRequestReachesTheBodyWhileTheHandleStays) {
  run([](Runtime& runtime) {
    std::atomic<bool> stopped = false;
    Task task = runtime.spawn("sleeper", [&](std::stop_token stop) { stopped = !runtime.sleep_for(1h, stop); });
    task.request_stop();
    task.join();
    EXPECT_TRUE(stopped);
  });
}

INSTANTIATE_TEST_SUITE_P(Both, RuntimeContract, testing::Values(Kind{"Threads", on_threads}, Kind{"Fibers", on_fibers}),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace fenceline::sim

#include "cli/frame/service.hpp"

#include <unistd.h>

#include <cstdlib>

#include "sim/runtime/sim_runtime.hpp"
#include "support/manager_socket.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

class EventNames final : public LogSink {
 public:
  void write(const LogEvent& event) override { names.push_back(event.name); }
  std::vector<std::string> names;
};

// A manager that wants a sign of life every minute, and a service that waits for ten seconds at most in one call:
// patience ends after half a minute.
struct Served {
  void run(const std::function<void(Runtime&, Service&)>& body) {
    const std::string place = "@fenceline-cli-" + std::to_string(::getpid());
    manager.emplace(place);
    ::setenv("NOTIFY_SOCKET", place.c_str(), 1);
    ::setenv("WATCHDOG_USEC", "60000000", 1);
    sim::StackPool stacks;
    sim::Simulation simulation(1, stacks);
    sim::Machine machine("m", 5s, 0, 0s);
    sim::SimRuntime runtime(simulation, machine, "p");
    runtime.start([&](std::stop_token stop) {
      Service service(runtime, Log(log), std::move(stop), 10s);
      body(runtime, service);
    });
    simulation.run_until(Instant::max());
    EXPECT_FALSE(runtime.alive());
  }
  void forget() const {
    while (manager->heard() != "(nothing)") {
    }
  }

  EventNames log;
  std::optional<test::Manager> manager;
};

TEST(Service, AThreadThatContinuesIsSeenAtOnceAndNotHalfAWatchdogLater) {
  Served served;
  served.run([&](Runtime& runtime, Service& service) {
    const Task attending = service.attend([] { return "works"; });
    runtime.sleep_for(61s, {});  // not by the watched one: as one that was stopped
    EXPECT_EQ(served.log.names, std::vector<std::string>{"thread_hangs"});
    served.forget();
    runtime.sleep_for(5s, {});
    EXPECT_EQ(served.manager->heard(), "(nothing)") << "it hangs still";
    (void)service.runtime().now();
    runtime.sleep_for(2s, {});
    EXPECT_EQ(served.manager->heard(), "WATCHDOG=1");
    EXPECT_EQ(served.log.names.size(), 1u) << "said once";
  });
}

TEST(Service, AWaitBeforeTheWatchStartsDoesNotCountAsHanging) {
  Served served;
  served.run([&](Runtime& runtime, Service& service) {
    runtime.sleep_for(10min, {});  // for a store, say
    const Task attending = service.attend([] { return "works"; });
    runtime.sleep_for(1s, {});
    EXPECT_EQ(served.manager->heard(), "STATUS=works");
    EXPECT_EQ(served.manager->heard(), "WATCHDOG=1");
    EXPECT_TRUE(served.log.names.empty());
  });
}

}  // namespace
}  // namespace fenceline::cli

#include "runtime/service_manager.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>

#include "support/manager_socket.hpp"

namespace fenceline {
namespace {

using test::Manager;

TEST(ServiceManager, HearsDatagramsAtAPath) {
  const std::string path = testing::TempDir() + "notify-" + std::to_string(::getpid());
  {
    const Manager manager(path);
    const Result<ServiceManager> service = ServiceManager::open(path);
    ASSERT_TRUE(service);
    EXPECT_TRUE(service->tell("READY=1\nSTATUS=works"));
    EXPECT_EQ(manager.heard(), "READY=1\nSTATUS=works");
  }
  std::filesystem::remove(path);
}

TEST(ServiceManager, HearsDatagramsInTheAbstractNamespace) {
  const std::string place = "@fenceline-test-" + std::to_string(::getpid());
  const Manager manager(place);
  const Result<ServiceManager> service = ServiceManager::open(place);
  ASSERT_TRUE(service);
  EXPECT_TRUE(service->tell("STOPPING=1"));
  EXPECT_EQ(manager.heard(), "STOPPING=1");
}

TEST(ServiceManager, AManagerThatIsGoneOrDoesNotListenIsNoTrouble) {
  const Result<ServiceManager> gone = ServiceManager::open("@fenceline-nobody-" + std::to_string(::getpid()));
  ASSERT_TRUE(gone);
  EXPECT_FALSE(gone->tell("READY=1"));
  const std::string place = "@fenceline-deaf-" + std::to_string(::getpid());
  const Manager deaf(place);
  const Result<ServiceManager> service = ServiceManager::open(place);
  ASSERT_TRUE(service);
  int taken = 0;
  while (taken < 100'000 && service->tell("WATCHDOG=1")) ++taken;
  EXPECT_LT(taken, 100'000);  // its queue was full, and nobody waited
}

TEST(ServiceManager, APlaceThatCannotBeIsRefused) {
  for (const std::string& place :
       {std::string(), std::string("@"), std::string("relative"), "/" + std::string(200, 'x')})
    EXPECT_FALSE(ServiceManager::open(place)) << place;
}

TEST(ServiceManager, TheWatchdogAsksTheProcessThatItNames) {
  EXPECT_EQ(watchdog_of("2000000", std::nullopt, 7), std::chrono::seconds{2});
  EXPECT_EQ(watchdog_of("2000000", "7", 7), std::chrono::seconds{2});
  EXPECT_EQ(watchdog_of("2000000", "8", 7), std::nullopt);
  EXPECT_EQ(watchdog_of(std::nullopt, "7", 7), std::nullopt);
  for (const char* bad : {"", "0", "-5", "soon", "5s"})
    EXPECT_EQ(watchdog_of(bad, std::nullopt, 7), std::nullopt) << bad;
}

}  // namespace
}  // namespace fenceline

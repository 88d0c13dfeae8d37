// Long-running commands under a service manager: a real socket hears what systemd would.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

constexpr int kPatience = 30'000;  // milliseconds: a test that gets here has failed

class Manager {
 public:
  explicit Manager(std::string place)
      : place_(std::move(place)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    place_.copy(address.sun_path, place_.size());
    if (place_[0] == '@') address.sun_path[0] = '\0';
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place_.size())),
              0);
  }
  ~Manager() { ::close(socket_); }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  Setting setting(const std::string& watchdog = "400000") const {
    return {.env = {{"NOTIFY_SOCKET", place_}, {"WATCHDOG_USEC", watchdog}}};
  }

  // The next one, waited for so long; empty: none came.
  std::string next(int milliseconds = kPatience) {
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, milliseconds) <= 0) return {};
    std::array<char, 4096> words{};
    const ssize_t length = ::recv(socket_, words.data(), words.size(), 0);
    return length <= 0 ? std::string() : std::string(words.data(), static_cast<std::size_t>(length));
  }
  // Whether one with these words comes, whatever else does meanwhile.
  bool hears(const std::string& words) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{kPatience};
    for (std::string one = next(); !one.empty() && std::chrono::steady_clock::now() < until; one = next()) {
      if (one.find(words) != std::string::npos) return true;
    }
    return false;
  }
  void forget() {
    while (!next(0).empty()) {
    }
  }

 private:
  std::string place_;
  int socket_;
};

bool service_is_stopped(const Running& process) {
  return eventually([&] {
    const std::string stat = Workplace::read("/proc/" + std::to_string(process.pid()) + "/stat");
    const std::size_t end = stat.rfind(')');
    return end != std::string::npos && stat.substr(end + 2, 1) == "T";
  });
}

TEST(Service, AWorkerSaysWhenItIsReadyThatItLivesAndThatItStops) {
  const Workplace place;
  Manager manager(place.file("notify").string());
  const auto worker = place.start({"work", "mail", "--", "true"}, manager.setting());
  ASSERT_TRUE(manager.hears("READY=1"));
  EXPECT_EQ(answer(place, {"workers", "list"})["workers"].size(), 1u);  // the store knew of it before
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  EXPECT_EQ(place.fenceline({"enqueue", "mail"}).status, 0);
  EXPECT_TRUE(manager.hears("STATUS=1 claimed, 1 settled"));
  worker->signal(SIGTERM);
  EXPECT_TRUE(manager.hears("STOPPING=1"));
  EXPECT_EQ(worker->wait().status, 0);
}

TEST(Service, AStoppedWorkerGivesNoSignOfLifeUntilItGoesOn) {
  const Workplace place;
  Manager manager("@fenceline-e2e-" + std::to_string(::getpid()));
  const auto worker = place.start({"work", "mail", "--", "true"}, manager.setting());
  ASSERT_TRUE(manager.hears("READY=1"));
  ASSERT_TRUE(manager.hears("WATCHDOG=1"));
  worker->signal(SIGSTOP);
  ASSERT_TRUE(service_is_stopped(*worker));
  manager.forget();
  EXPECT_EQ(manager.next(1'500), "");
  worker->signal(SIGCONT);
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
}

TEST(Service, AWorkerWhoseStoreIsAwayLivesAndSaysWhatItWaitsFor) {
  const Workplace place;
  Manager manager(place.file("notify").string());
  const auto worker = place.start({"work", "mail", "--ttl", "1s", "--", "true"}, manager.setting());
  ASSERT_TRUE(manager.hears("READY=1"));
  {
    // Somebody has the file to himself, and keeps it.
    Running holder({"sqlite3", "fenceline.db"}, {}, place.folder(), true);
    holder.feed(".timeout 20000\nBEGIN EXCLUSIVE;\n.shell touch held\n");
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(place.file("held")); }));
    EXPECT_TRUE(manager.hears("waiting for the store"));
    EXPECT_TRUE(manager.hears("WATCHDOG=1"));
    EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  }
  EXPECT_TRUE(manager.hears("STATUS=0 claimed, 0 settled"));
}

TEST(Service, WhatAWorkerRunsCannotSpeakForIt) {
  const Workplace place;
  Manager manager(place.file("notify").string());
  ASSERT_EQ(place.fenceline({"enqueue", "mail"}).status, 0);
  const Ended ended = place.fenceline({"work", "mail", "--drain", "--", "sh", "-c", "env > seen"}, manager.setting());
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::string seen = Workplace::read(place.file("seen"));
  EXPECT_NE(seen.find("FENCELINE_JOB="), std::string::npos) << seen;
  EXPECT_EQ(seen.find("NOTIFY_SOCKET"), std::string::npos);
  EXPECT_EQ(seen.find("WATCHDOG_USEC"), std::string::npos);
  EXPECT_TRUE(manager.hears("STOPPING=1"));  // it ended by itself
}

TEST(Service, AWatchdogOfAnotherProcessIsNotOurs) {
  const Workplace place;
  Manager manager(place.file("notify").string());
  Setting setting = manager.setting();
  setting.env["WATCHDOG_PID"] = "1";
  const auto worker = place.start({"work", "mail", "--", "true"}, setting);
  ASSERT_TRUE(manager.hears("READY=1"));
  worker->signal(SIGTERM);
  for (std::string one = manager.next(); one.find("STOPPING=1") == std::string::npos; one = manager.next()) {
    ASSERT_NE(one, "");
    EXPECT_EQ(one.find("WATCHDOG"), std::string::npos);
  }
}

TEST(Service, ACandidateIsReadyWhenItCampaignsAndSaysWhatItLeads) {
  const Workplace place;
  Manager manager(place.file("notify").string());
  const auto leader = place.start({"elect", "primary", "--", "sleep", "60"}, manager.setting());
  EXPECT_TRUE(manager.hears("READY=1"));
  EXPECT_TRUE(manager.hears("STATUS=leads primary, term "));
  EXPECT_TRUE(manager.hears("WATCHDOG=1"));
  leader->signal(SIGTERM);
  EXPECT_TRUE(manager.hears("STOPPING=1"));
  EXPECT_EQ(leader->wait().status, 128 + SIGTERM);
}

TEST(Service, ASocketThatCannotBeIsNoReasonNotToWork) {
  const Workplace place;
  const Ended ended =
      place.fenceline({"work", "mail", "--drain", "--", "true"}, {.env = {{"NOTIFY_SOCKET", "nowhere"}}});
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.err.find("service_manager_unknown"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace fenceline::e2e

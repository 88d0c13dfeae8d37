// Locks as a program uses them, on SQLite.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "fenceline/fenceline.hpp"
#include "runtime/thread_runtime.hpp"
#include "support/results.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::must;

class ClientLocks : public testing::Test {
 protected:
  ClientLocks() {
    std::string pattern = (std::filesystem::temp_directory_path() / "locks-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    client.emplace(open());
  }
  ~ClientLocks() override {
    client.reset();
    std::filesystem::remove_all(folder);
  }
  Client open() { return must(Client::open({.store = "sqlite:" + folder + "/locks.db"})); }

  std::string folder;
  std::optional<Client> client;
  ThreadRuntime runtime;
};

TEST_F(ClientLocks, ALockIsHeldWhileItsFunctionRunsAndHasAFence) {
  Fence first = 0;
  must(client->lock("deploy", {.ttl = 30s}, [&](const HeldLock& held) {
    first = held.fence();
    EXPECT_TRUE(held.held());
    Client other = open();
    const Result<HeldLock> second = other.acquire_lock("deploy");
    ASSERT_EQ(code_of(second), Code::held);
    EXPECT_NE(second.error().message.find("lock deploy is held by "), std::string::npos) << second.error().message;
  }));
  HeldLock again = must(client->acquire_lock("deploy", {.ttl = 30s}));
  EXPECT_GT(again.fence(), first);
  must(again.release());
  EXPECT_EQ(client->locks().counts().released, 2);
}

TEST_F(ClientLocks, ThreadsOfTwoClientsAreNeverInsideTogether) {
  Client other = open();
  std::int64_t inside = 0;  // no atomic: the lock alone guards it
  std::vector<Task> tasks;
  for (int i = 0; i < 6; ++i) {
    tasks.push_back(runtime.spawn("test", [&, i](std::stop_token) {
      for (int n = 0; n < 5; ++n)
        must((i % 2 == 0 ? *client : other).lock("deploy", {.ttl = 1min, .wait = 5min}, [&](const HeldLock&) {
          inside += 1;
        }));
    }));
  }
  for (Task& task : tasks) task.join();
  EXPECT_EQ(inside, 30);
}

TEST_F(ClientLocks, AnInvalidLockIsRefusedInOneLine) {
  EXPECT_EQ(code_of(client->acquire_lock("{a}")), Code::invalid);
  EXPECT_EQ(code_of(client->acquire_lock("a", {.ttl = 500ms})), Code::invalid);
  EXPECT_EQ(code_of(client->acquire_lock("a", {.names = {"a"}})), Code::invalid);
}

TEST_F(ClientLocks, AnElectionIsServedAndKnown) {
  Election election(client->locks(), {.name = "leader"});
  EXPECT_EQ(must(election.serve([&](const Term& term) { EXPECT_EQ(must(election.leader())->term, term.number); }, {})),
            TermEnd::stepped_down);
  EXPECT_FALSE(must(election.leader()));
}

}  // namespace
}  // namespace fenceline

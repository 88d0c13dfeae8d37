#include "runtime/actor.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/child_process.hpp"
#include "runtime/thread_runtime.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;

// As that process itself would say it.
std::string actor_of_child(const Clock& clock, pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  std::string rest = stat.substr(stat.rfind(')') + 2);
  for (int i = 0; i < 19; ++i) rest.erase(0, rest.find(' ') + 1);
  std::string text = this_actor(clock);
  const std::size_t first = text.find('/');
  const std::size_t third = text.find('/', text.find('/', first + 1) + 1);
  return text.replace(first, third - first, "/" + std::to_string(pid) + "/" + rest.substr(0, rest.find(' ')));
}

TEST(Actor, ThisProcessLives) {
  const ThreadRuntime runtime;
  EXPECT_EQ(wait_for_actor(runtime, this_actor(runtime), runtime.now(), {}), ActorLife::lives);
}

TEST(Actor, AProcessIsWaitedForUntilItEndsAndIsGoneBeforeItIsReaped) {
  const ThreadRuntime runtime;
  const ChildProcess child = spawn_child({.program = "sleep", .arguments = {"sleep", "1000"}}).value();
  const std::string actor = actor_of_child(runtime, child.pid);
  EXPECT_EQ(wait_for_actor(runtime, actor, runtime.now() + 5ms, {}), ActorLife::lives);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(wait_for_actor(runtime, actor, runtime.now() + 1h, stop.get_token()), ActorLife::lives);
  ::kill(child.pid, SIGKILL);
  EXPECT_EQ(wait_for_actor(runtime, actor, runtime.now() + 10s, {}), ActorLife::gone);
  reap(child);
  EXPECT_EQ(wait_for_actor(runtime, actor, runtime.now() + 10s, {}), ActorLife::gone);
}

TEST(Actor, ANumberThatAnotherProcessHasNowIsNotTakenForIt) {
  const ThreadRuntime runtime;
  std::string text = this_actor(runtime);
  const std::size_t start = text.find('/', text.find('/') + 1) + 1;
  text.replace(start, text.find('/', start) - start, "12");
  EXPECT_EQ(wait_for_actor(runtime, text, runtime.now() + 10s, {}), ActorLife::gone);
}

// A user other than root under a /proc that shows everybody only their own. In a child process, so that nothing of it
// stays.
TEST(Actor, OneThatProcHidesIsNotTakenForDead) {
  constexpr int kCannotHide = 100;
  constexpr uid_t kNobody = 65534;
  const ThreadRuntime runtime;
  const std::string actor = this_actor(runtime);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool hidden = ::unshare(CLONE_NEWNS) == 0 &&
                        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        ::mount("proc", "/proc", "proc", 0, "hidepid=2") == 0 && ::setgid(kNobody) == 0 &&
                        ::setuid(kNobody) == 0 && ::access(("/proc/" + std::to_string(::getppid())).c_str(), F_OK) != 0;
    if (!hidden) ::_exit(kCannotHide);
    ::_exit(static_cast<int>(wait_for_actor(runtime, actor, runtime.now(), {})));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotHide) GTEST_SKIP() << "only root may hide processes";
  EXPECT_EQ(static_cast<ActorLife>(WEXITSTATUS(status)), ActorLife::unknown);
}

TEST(Actor, OfAnotherMachineNothingIsKnown) {
  const ThreadRuntime runtime;
  for (const std::string& text :
       {std::string(), std::string("worker 7"), "x" + this_actor(runtime), this_actor(runtime) + "x"})
    EXPECT_EQ(wait_for_actor(runtime, text, runtime.now() + 10s, {}), ActorLife::unknown) << text;
}

}  // namespace
}  // namespace fenceline

// `fenceline lock` as somebody at a terminal meets it: Ctrl-C, Ctrl-Z and fg, in an interactive shell.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "jobs.hpp"

namespace fenceline::e2e {
namespace {

// An interactive shell at a terminal of its own, which has its own session.
class Terminal {
 public:
  explicit Terminal(const Workplace& place) {
    std::vector<std::string> env{"PATH=" + std::string(std::getenv("PATH")), "PS1=", "TERM=dumb"};
    for (const auto& [name, value] : place.env()) env.push_back(name + "=" + value);
    std::vector<char*> words;
    for (std::string& word : env) words.push_back(word.data());
    words.push_back(nullptr);
    const std::string folder = place.folder().string();
    shell_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (shell_ == 0) {
      if (::chdir(folder.c_str()) == 0) ::execle("/bin/sh", "sh", "-i", nullptr, words.data());
      ::_exit(127);
    }
    EXPECT_GT(shell_, 0);
    ::fcntl(terminal_, F_SETFD, FD_CLOEXEC);
    ::fcntl(terminal_, F_SETFL, O_NONBLOCK);
  }
  // Hangs up, as a closed window does.
  ~Terminal() {
    ::close(terminal_);
    ::kill(shell_, SIGKILL);
    ::waitpid(shell_, nullptr, 0);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& text) {
    EXPECT_EQ(::write(terminal_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // What it shows, so that it never waits for us; and for a test that fails.
  std::string shows() {
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = ::read(terminal_, buffer.data(), buffer.size())) > 0;)
      shown_.append(buffer.data(), static_cast<std::size_t>(count));
    return shown_;
  }
  bool comes(const std::filesystem::path& file) {
    return eventually([&] { return shows(), !Workplace::read(file).empty(); });
  }

 private:
  int terminal_ = -1;
  pid_t shell_ = -1;
  std::string shown_;
};

// Its state (R, S, T, Z), 0 if it is gone; and its parent.
struct Process {
  char state = 0;
  std::string parent;
};
Process look_at(const std::string& pid) {
  const std::string stat = Workplace::read("/proc/" + pid + "/stat");
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream rest(stat.substr(end + 1));
  Process process;
  rest >> process.state >> process.parent;
  return process;
}
bool is_stopped(const std::string& pid) {
  return eventually([&] { return look_at(pid).state == 'T'; });
}
bool is_gone(const std::string& pid) {
  return eventually([&] { return std::string(1, look_at(pid).state).find_first_of("RSDT") == std::string::npos; });
}

std::string content(const Workplace& place, const std::string& name) {
  return trimmed(Workplace::read(place.file(name)));
}
Json shown(const Workplace& place, const std::string& resource) { return answer(place, {"locks", "show", resource}); }

TEST(LockTerminal, CtrlCReachesTheCommandOnceAndItsStatusIsPassedOn) {
  const Workplace place;
  Terminal terminal(place);
  place.write("command",
              "trap 'echo x >> told; echo > enough' INT; echo x > begun; while ! [ -e enough ]; do sleep 0.02; done; "
              "sleep 0.2; exit 9\n");
  terminal.type(program() + " lock deploy -- sh command; echo $? > status\n");
  ASSERT_TRUE(terminal.comes(place.file("begun"))) << terminal.shows();
  terminal.type("\x03");
  ASSERT_TRUE(terminal.comes(place.file("status"))) << terminal.shows();
  EXPECT_EQ(content(place, "status"), "9");
  EXPECT_EQ(content(place, "told"), "x") << "once";
  EXPECT_EQ(shown(place, "deploy")["state"], "free");
}

TEST(LockTerminal, ACommandThatDiesOfCtrlCIsStatus130AndTheLockIsFree) {
  const Workplace place;
  Terminal terminal(place);
  terminal.type(program() + " lock deploy -- sh -c 'echo x > begun; exec sleep 60'; echo $? > status\n");
  ASSERT_TRUE(terminal.comes(place.file("begun"))) << terminal.shows();
  terminal.type("\x03");
  ASSERT_TRUE(terminal.comes(place.file("status"))) << terminal.shows();
  EXPECT_EQ(content(place, "status"), "130");
  EXPECT_EQ(shown(place, "deploy")["state"], "free");
}

TEST(LockTerminal, CtrlZStopsBothAndFgContinuesThem) {
  const Workplace place;
  Terminal terminal(place);
  place.write("command", "echo $PPID > guardian; echo $$ > child; read line; echo \"$line\" > got; exit 4\n");
  terminal.type(program() + " lock deploy --ttl 10m -- sh command\n");
  ASSERT_TRUE(terminal.comes(place.file("child"))) << terminal.shows();
  const std::string child = content(place, "child");
  const std::string guardian = content(place, "guardian");
  const std::string lock = look_at(guardian).parent;
  terminal.type("\x1a");
  EXPECT_TRUE(is_stopped(child)) << terminal.shows();
  EXPECT_TRUE(is_stopped(lock)) << terminal.shows();
  EXPECT_NE(look_at(guardian).state, 'T') << "it watches the lease";
  EXPECT_EQ(shown(place, "deploy")["state"], "held");
  terminal.type("fg; echo $? > status\n");
  EXPECT_TRUE(eventually([&] { return look_at(child).state != 'T'; })) << terminal.shows();
  terminal.type("hello\n");
  ASSERT_TRUE(terminal.comes(place.file("status"))) << terminal.shows();
  EXPECT_EQ(content(place, "got"), "hello") << "it reads from the terminal again";
  EXPECT_EQ(content(place, "status"), "4");
  EXPECT_EQ(shown(place, "deploy")["state"], "free");
}

TEST(LockTerminal, L5_WhatIsStoppedForLongerThanItsLeaseIsEndedBeforeAnotherHasTheLock) {
  const Workplace place;
  Terminal terminal(place);
  place.write("command",
              "echo $PPID > guardian; echo $$ > child; while :; do date +%s%N > beat.new; mv beat.new beat; sleep "
              "0.01; done\n");
  terminal.type(program() + " lock deploy --ttl 4s -- sh command\n");
  ASSERT_TRUE(terminal.comes(place.file("beat"))) << terminal.shows();
  const std::string child = content(place, "child");
  terminal.type("\x1a");
  EXPECT_TRUE(is_stopped(look_at(content(place, "guardian")).parent)) << terminal.shows();
  const Ended next = place.fenceline({"lock", "deploy", "--wait", "40s", "--", "cat", "/proc/" + child + "/stat"});
  EXPECT_NE(next.status, 75) << next.err;
  EXPECT_TRUE(next.out.empty() || has(next.out, ") Z ")) << "it was there, and fg would have let it work: " << next.out;
  EXPECT_TRUE(is_gone(child));
  terminal.type("fg; echo $? > status\n");
  ASSERT_TRUE(terminal.comes(place.file("status"))) << terminal.shows();
  EXPECT_EQ(content(place, "status"), "76");
  EXPECT_TRUE(has(terminal.shows(), "lock deploy was lost")) << terminal.shows();
}

}  // namespace
}  // namespace fenceline::e2e

// For the tests of gates: a folder of their own, and processes that do something in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace fenceline {

class GatePlace {
 public:
  GatePlace()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("fenceline-gates-" + std::to_string(::getpid()) + "-" + std::to_string(++count_))) {
    std::filesystem::create_directories(folder_);
  }
  ~GatePlace() { std::filesystem::remove_all(folder_); }
  GatePlace(const GatePlace&) = delete;
  GatePlace& operator=(const GatePlace&) = delete;

  std::string file(const std::string& name = "report") const { return (folder_ / name).string(); }
  std::string read(const std::string& name = "report") const {
    std::ifstream in(folder_ / name, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  // How many files lie in it.
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

 private:
  static inline int count_ = 0;
  std::filesystem::path folder_;
};

// A process that runs `body` and exits with what it returns. Killed and reaped if the test leaves it behind.
class GateProcess {
 public:
  explicit GateProcess(const std::function<int()>& body) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(body());
  }
  ~GateProcess() {
    if (pid_ > 0 && !over_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  GateProcess(const GateProcess&) = delete;
  GateProcess& operator=(const GateProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  // Returns when it has stopped itself.
  void wait_for_its_stop() const {
    int status = 0;
    ASSERT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
    ASSERT_TRUE(WIFSTOPPED(status));
  }
  // Its exit status, or 128 + the signal.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    over_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
  bool over_ = false;
};

}  // namespace fenceline

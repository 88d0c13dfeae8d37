// For tests of what a process leaves behind that was killed or stopped.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace fenceline::test {

// A child process that says when it is ready and then does not end by itself.
class Child {
 public:
  template <class Body>
  explicit Child(Body body) {
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ready[0]);
      body();
      [[maybe_unused]] const ssize_t told = ::write(ready[1], "r", 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    is_ready_ = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }
  ~Child() {
    if (pid_ > 0) end(SIGKILL);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  bool is_ready() const { return is_ready_; }  // false: it died first
  void stop() {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
  }
  int end(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  bool is_ready_ = false;
};

}  // namespace fenceline::test

#include "runtime/thread_runtime.hpp"

#include <pthread.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.hpp"

namespace fenceline {
namespace {

constexpr std::size_t kThreadNameMax = 15;  // of the kernel

class ThreadEvent final : public Event {
 public:
  explicit ThreadEvent(const Clock& clock) : clock_(clock) {}

  void notify() override {
    // Under the mutex, so that a waiter that wakes and destroys this event does so after us.
    const std::lock_guard lock(mutex_);
    notified_ = true;
    condition_.notify_one();
  }

  bool wait_until(Instant when) override {
    std::unique_lock lock(mutex_);
    while (!notified_) {
      const Duration left = when - clock_.now();
      if (left <= Duration{0}) return false;
      condition_.wait_for(lock, std::min(left, kWaitSlice));
    }
    notified_ = false;
    return true;
  }

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable condition_;
  bool notified_ = false;
};

class ThreadBody final : public Task::Body {
 public:
  ThreadBody(std::string name, std::function<void(std::stop_token)> body)
      : thread_([name = std::move(name), body = std::move(body)](std::stop_token stop) {
          ::pthread_setname_np(::pthread_self(), name.substr(0, kThreadNameMax).c_str());
          body(std::move(stop));
        }) {}

  void request_stop() override { thread_.request_stop(); }
  void join() override {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::jthread thread_;
};

}  // namespace

// A system call for each number was a seventh of the cost of an enqueue, so a thread asks for some of them. A child of
// a fork must not give out what its parent does.
std::uint64_t ThreadRuntime::random() {
  struct Stock {
    std::array<std::uint64_t, 32> numbers;  // at most 256 bytes come whole, whatever signals do
    std::size_t left = 0;
    int forks = 0;
  };
  static std::atomic<int> forks{0};  // between this process and the first
  [[maybe_unused]] static const int noticed = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  thread_local Stock stock;
  if (stock.left == 0 || stock.forks != forks) {
    ssize_t got = 0;
    do {
      got = ::getrandom(stock.numbers.data(), sizeof stock.numbers, 0);
    } while (got < 0 && errno == EINTR);
    check(got == sizeof stock.numbers, "the system gives random numbers");
    stock.left = stock.numbers.size();
    stock.forks = forks;
  }
  return std::exchange(stock.numbers[--stock.left], 0);
}

bool ThreadRuntime::sleep_until(Instant when, std::stop_token stop) {
  if (stop.stop_requested()) return false;
  ThreadEvent stopped(clock_);
  const std::stop_callback wake(stop, [&stopped] { stopped.notify(); });
  return !stopped.wait_until(when);
}

Task ThreadRuntime::spawn(std::string name, std::function<void(std::stop_token)> body) {
  return Task(std::make_unique<ThreadBody>(std::move(name), std::move(body)));
}

std::unique_ptr<Event> ThreadRuntime::make_event() { return std::make_unique<ThreadEvent>(clock_); }

}  // namespace fenceline

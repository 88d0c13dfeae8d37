// One line of execution on a stack of its own, switched by hand. It runs only inside resume(), on the thread
// that calls it, which must always be the same one.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cstdint>
#include <functional>

#include "sim/runtime/stack_pool.hpp"

namespace fenceline::sim {

class Fiber {
 public:
  // `body` must not throw.
  Fiber(StackPool& stacks, std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // Must be finished, or never have started.
  ~Fiber();

  // Runs the body until it suspends or ends. Not from inside a fiber.
  void resume();
  // Back to whoever resumed. Only from inside this fiber.
  void suspend();

  bool started() const { return started_; }
  bool finished() const { return finished_; }

 private:
  static void enter(unsigned high, unsigned low);
  void run();
  void switch_here();
  void switch_back();

  StackPool& stacks_;
  Stack stack_;
  std::function<void()> body_;
  ucontext_t start_{};
  // A switch by these makes no system call, as one by contexts would for the signal mask. The sanitizers know only
  // those.
  jmp_buf here_;
  jmp_buf resumer_;
  ucontext_t here_context_{};
  ucontext_t resumer_context_{};
  bool started_ = false;
  bool finished_ = false;
  // What the C++ runtime keeps for each thread about exceptions under way: each fiber has its own.
  std::array<std::byte, 16> exceptions_{};
  // For the sanitizers, which must be told of every change of stack.
  void* own_fake_stack_ = nullptr;
  const void* resumer_bottom_ = nullptr;
  std::size_t resumer_size_ = 0;
  void* thread_sanitizer_fiber_ = nullptr;
  void* thread_sanitizer_resumer_ = nullptr;
};

}  // namespace fenceline::sim

#include "sim/runtime/fiber.hpp"

#include <cxxabi.h>

#include <cstring>
#include <utility>

#include "base/check.hpp"

#if defined(__has_feature)
#define FENCELINE_HAS_FEATURE(name) __has_feature(name)
#else
#define FENCELINE_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || FENCELINE_HAS_FEATURE(address_sanitizer)
#define FENCELINE_ADDRESS_SANITIZER 1
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__) || FENCELINE_HAS_FEATURE(thread_sanitizer)
#define FENCELINE_THREAD_SANITIZER 1
#include <sanitizer/tsan_interface.h>
#endif

namespace fenceline::sim {
namespace {

void start_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* bottom,
                  [[maybe_unused]] std::size_t size, [[maybe_unused]] void* thread_sanitizer_fiber) {
#ifdef FENCELINE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(fake_stack, bottom, size);
#endif
#ifdef FENCELINE_THREAD_SANITIZER
  __tsan_switch_to_fiber(thread_sanitizer_fiber, 0);
#endif
}

void finish_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** bottom,
                   [[maybe_unused]] std::size_t* size) {
#ifdef FENCELINE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake_stack, bottom, size);
#endif
}

}  // namespace

Fiber::Fiber(StackPool& stacks, std::function<void()> body)
    : stacks_(stacks), stack_(stacks.take()), body_(std::move(body)) {
  check(::getcontext(&start_) == 0, "getcontext failed");
  start_.uc_stack.ss_sp = stack_.bottom;
  start_.uc_stack.ss_size = stack_.size;
  start_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  // makecontext takes a function without arguments and passes ints: a pointer goes in two halves.
  ::makecontext(&start_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
#ifdef FENCELINE_THREAD_SANITIZER
  thread_sanitizer_fiber_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  check(!started_ || finished_, "a fiber went away with work on its stack");
#ifdef FENCELINE_THREAD_SANITIZER
  __tsan_destroy_fiber(thread_sanitizer_fiber_);
#endif
  stacks_.give(stack_);
}

void Fiber::enter(unsigned high, unsigned low) {
  reinterpret_cast<Fiber*>((static_cast<std::uintptr_t>(high) << 32) | low)->run();
}

void Fiber::run() {
  finish_switch(nullptr, &resumer_bottom_, &resumer_size_);
  body_();
  body_ = nullptr;  // what it captured goes away on the stack it lived on
  finished_ = true;
  start_switch(nullptr, resumer_bottom_, resumer_size_, thread_sanitizer_resumer_);
  switch_back();
  check(false, "a finished fiber went on");
}

#if defined(FENCELINE_ADDRESS_SANITIZER) || defined(FENCELINE_THREAD_SANITIZER)

void Fiber::switch_here() {
  ::swapcontext(&resumer_context_, std::exchange(started_, true) ? &here_context_ : &start_);
}

void Fiber::switch_back() { ::swapcontext(&here_context_, &resumer_context_); }

#else

void Fiber::switch_here() {
  if (::_setjmp(resumer_) != 0) return;
  if (!std::exchange(started_, true)) ::setcontext(&start_);
  ::_longjmp(here_, 1);
}

void Fiber::switch_back() {
  if (::_setjmp(here_) == 0) ::_longjmp(resumer_, 1);
}

#endif

void Fiber::resume() {
  check(!finished_, "a finished fiber was resumed");
  std::array<std::byte, 16> resumer_exceptions;
  static_assert(sizeof(void*) + sizeof(unsigned) <= sizeof resumer_exceptions);
  void* globals = abi::__cxa_get_globals();
  std::memcpy(resumer_exceptions.data(), globals, resumer_exceptions.size());
  std::memcpy(globals, exceptions_.data(), exceptions_.size());
#ifdef FENCELINE_THREAD_SANITIZER
  thread_sanitizer_resumer_ = __tsan_get_current_fiber();
#endif
  void* fake_stack = nullptr;
  start_switch(&fake_stack, stack_.bottom, stack_.size, thread_sanitizer_fiber_);
  switch_here();
  finish_switch(fake_stack, nullptr, nullptr);
  std::memcpy(exceptions_.data(), globals, exceptions_.size());
  std::memcpy(globals, resumer_exceptions.data(), resumer_exceptions.size());
}

void Fiber::suspend() {
  start_switch(&own_fake_stack_, resumer_bottom_, resumer_size_, thread_sanitizer_resumer_);
  switch_back();
  finish_switch(own_fake_stack_, &resumer_bottom_, &resumer_size_);
}

}  // namespace fenceline::sim

#include "sim/runtime/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.hpp"

namespace fenceline::sim {
namespace {

// Memory is touched only as deep as a fiber goes; sanitizers make frames several times larger.
constexpr std::size_t kUsableBytes = 512 * 1024;

}  // namespace

StackPool::~StackPool() {
  for (const Stack& stack : free_) ::munmap(stack.mapping, stack.mapping_size);
}

Stack StackPool::take() {
  if (!free_.empty()) {
    const Stack stack = free_.back();
    free_.pop_back();
    return stack;
  }
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  Stack stack;
  stack.mapping_size = kUsableBytes + page;
  stack.mapping =
      ::mmap(nullptr, stack.mapping_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(stack.mapping != MAP_FAILED, "no memory for a fiber's stack");
  check(::mprotect(stack.mapping, page, PROT_NONE) == 0, "no guard page below a fiber's stack");
  stack.bottom = static_cast<std::byte*>(stack.mapping) + page;
  stack.size = kUsableBytes;
  return stack;
}

void StackPool::give(Stack stack) { free_.push_back(stack); }

}  // namespace fenceline::sim

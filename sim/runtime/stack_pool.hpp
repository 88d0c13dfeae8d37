// Stacks for fibers, kept for the next one: a run of a seed makes thousands of short fibers.
#pragma once

#include <cstddef>
#include <vector>

namespace fenceline::sim {

// Below the usable bytes lies a page that may not be touched, so that an overflow stops the process instead
// of writing into a neighbour.
struct Stack {
  void* mapping = nullptr;
  std::size_t mapping_size = 0;
  void* bottom = nullptr;  // lowest usable address
  std::size_t size = 0;
};

// For one thread: simulations that run one after another share it.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  Stack take();
  void give(Stack stack);

 private:
  std::vector<Stack> free_;
};

}  // namespace fenceline::sim

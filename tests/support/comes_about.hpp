// For hints, which come on a thread of the store's own, soon.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace fenceline::test {

inline bool comes_about(const std::function<bool()>& what) {
  for (int i = 0; i < 10'000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return false;
}

}  // namespace fenceline::test

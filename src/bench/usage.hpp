// What processes cost: CPU time and memory, as the operating system counts them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/time.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::bench {

// Of this process with all its threads, in the kernel and outside.
Duration own_cpu_time();

// Of another process with all its threads that are alive. Empty if it is gone.
std::optional<Duration> cpu_time_of(pid_t pid);

// The most memory a process had resident since it was started, in bytes. Empty if it is gone.
std::optional<std::int64_t> peak_memory_of(pid_t pid);

// What a stretch of work cost.
struct Cost {
  std::int64_t jobs = 0;
  Duration wall{};
  Duration cpu{};

  Cost& operator+=(const Cost& other) {
    jobs += other.jobs;
    wall += other.wall;
    cpu += other.cpu;
    return *this;
  }
  double rate() const {
    return wall.count() > 0 ? static_cast<double>(jobs) * 1e6 / static_cast<double>(wall.count()) : 0;
  }
  double cpu_per_job() const {
    return jobs > 0 ? static_cast<double>(cpu.count()) / static_cast<double>(jobs) : 0;
  }  // microseconds
};

// Starts when it is made.
class Stopwatch {
 public:
  explicit Stopwatch(const Runtime& runtime) : runtime_(runtime), began_(runtime.now()), cpu_(own_cpu_time()) {}

  Cost stop(std::int64_t jobs) const { return {jobs, runtime_.now() - began_, own_cpu_time() - cpu_}; }

 private:
  const Runtime& runtime_;
  Instant began_;
  Duration cpu_;
};

}  // namespace fenceline::bench

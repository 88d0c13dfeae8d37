#include "bench/usage.hpp"

#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.hpp"

namespace fenceline::bench {
namespace {

Duration of_timeval(const timeval& time) {
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

}  // namespace

Duration own_cpu_time() {
  rusage usage{};
  check(::getrusage(RUSAGE_SELF, &usage) == 0, "a process may ask for its own usage");
  return of_timeval(usage.ru_utime) + of_timeval(usage.ru_stime);
}

std::optional<Duration> cpu_time_of(pid_t pid) {
  // Nanoseconds of each thread: /proc/PID/stat counts in hundredths of a second, which is too coarse for an idle one.
  std::error_code gone;
  std::optional<Duration> sum;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(thread.path() / "schedstat");
    std::int64_t nanoseconds = 0;
    if (file >> nanoseconds) sum = sum.value_or(Duration{0}) + Duration{nanoseconds / 1000};
  }
  return sum;
}

std::optional<std::int64_t> peak_memory_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

}  // namespace fenceline::bench

#include "runtime/boot_clock.hpp"

#include <fstream>
#include <iterator>
#include <sstream>

#include "base/check.hpp"

namespace fenceline {
namespace {

// A kernel without time namespaces has no such file; its offset is zero.
std::string read_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Duration read_clock(clockid_t clock) {
  std::timespec time{};
  check(::clock_gettime(clock, &time) == 0, "the system clock can be read");
  return std::chrono::duration_cast<Duration>(std::chrono::seconds{time.tv_sec} +
                                              std::chrono::nanoseconds{time.tv_nsec});
}

}  // namespace

Duration parse_boottime_offset(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string name;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  while (lines >> name >> seconds >> nanoseconds) {
    // Kernels have written the clock as its name and as its number.
    if (name == "boottime" || name == "7") {
      return std::chrono::duration_cast<Duration>(std::chrono::seconds{seconds} +
                                                  std::chrono::nanoseconds{nanoseconds});
    }
  }
  return Duration{0};
}

BootClock::BootClock()
    : offset_(parse_boottime_offset(read_text("/proc/self/timens_offsets"))),
      boot_id_(read_text("/proc/sys/kernel/random/boot_id")) {
  while (!boot_id_.empty() && boot_id_.back() == '\n') boot_id_.pop_back();
  check(!boot_id_.empty(), "/proc/sys/kernel/random/boot_id can be read");
}

Instant BootClock::now() const { return Instant{read_clock(CLOCK_BOOTTIME) - offset_}; }

WallTime BootClock::wall_now() const { return WallTime{read_clock(CLOCK_REALTIME)}; }

std::timespec BootClock::as_boottime(Instant when) const {
  const Duration shown = when.time_since_epoch() + offset_;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(shown);
  std::timespec time{};
  time.tv_sec = seconds.count();
  time.tv_nsec = std::chrono::nanoseconds{shown - seconds}.count();
  return time;
}

}  // namespace fenceline

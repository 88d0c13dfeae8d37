#include "base/crash_point.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace fenceline {
namespace detail {
std::atomic<int> crash_point_armed{0};
namespace {
std::atomic<int> meetings_left{0};
std::string mark_path;
}  // namespace

void crash_point_met(CrashPoint point) {
  if (crash_point_armed.load() != 1 + static_cast<int>(point)) return;
  if (meetings_left.fetch_sub(1) != 1) return;
  if (!mark_path.empty()) {
    const int mark = ::open(mark_path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (mark < 0) return;
    ::close(mark);
  }
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}
}  // namespace detail

const std::vector<CrashPointInfo>& crash_points() {
  static const std::vector<CrashPointInfo> points{
#define FENCELINE_CRASH_POINT_INFO(name, meaning) {CrashPoint::name, #name, meaning},
      FENCELINE_CRASH_POINTS(FENCELINE_CRASH_POINT_INFO)
#undef FENCELINE_CRASH_POINT_INFO
  };
  return points;
}

std::optional<CrashPoint> find_crash_point(std::string_view name) {
  for (const CrashPointInfo& info : crash_points()) {
    if (info.name == name) return info.point;
  }
  return std::nullopt;
}

void arm_crash_point(CrashPoint point, int nth, std::string mark) {
  detail::mark_path = std::move(mark);
  detail::meetings_left.store(nth);
  detail::crash_point_armed.store(1 + static_cast<int>(point));
}

}  // namespace fenceline

// The operating system's clocks as a Clock. CLOCK_BOOTTIME goes on in suspend; a time namespace shows it with
// an offset, which is taken out again, so that all processes of one machine agree on an Instant.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "runtime/clock.hpp"

namespace fenceline {

class BootClock final : public Clock {
 public:
  BootClock();

  Instant now() const override;
  WallTime wall_now() const override;
  std::string boot_id() const override { return boot_id_; }

  // `when` as this process's own CLOCK_BOOTTIME shows it: for timerfd_settime() and the like.
  std::timespec as_boottime(Instant when) const;

 private:
  Duration offset_;
  std::string boot_id_;
};

// The offset of CLOCK_BOOTTIME in the text of /proc/self/timens_offsets; zero where it names none.
Duration parse_boottime_offset(std::string_view text);

}  // namespace fenceline

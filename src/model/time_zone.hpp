// Time zones by the tz database of this machine: which names there are, and when their clocks are changed. What was
// read of a zone stays for the life of the process.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace fenceline {

// A time between two changes of the clocks of a zone.
struct Stretch {
  std::chrono::sys_seconds begin, end;  // end is the next one's begin
  std::chrono::seconds offset{0};       // east of UTC
  std::chrono::local_seconds shown;  // what the clocks had come to before it: later than what they show at `begin` if
                                     // that is repeated, earlier if some is left out

  std::chrono::local_seconds local(std::chrono::sys_seconds at) const {
    return std::chrono::local_seconds{at.time_since_epoch() + offset};
  }
  std::chrono::sys_seconds instant(std::chrono::local_seconds at) const {
    return std::chrono::sys_seconds{at.time_since_epoch() - offset};
  }
};

class TimeZone {
 public:
  // An IANA name: "Europe/Berlin", "UTC". Errors: invalid, with the nearest name.
  static Result<TimeZone> find(std::string_view name);

  // The stretch that holds a moment of the years 1900 to 2299; what is earlier or later counts as these.
  Stretch at(std::chrono::sys_seconds moment) const;

 private:
  struct Rules;
  explicit TimeZone(std::shared_ptr<const Rules> rules);
  std::shared_ptr<const Rules> rules_;
};

// A plain IANA name that the tz database of this machine knows. Errors: invalid: "unknown time zone 'Europe/Berln'; did
// you mean Europe/Berlin?"
Result<void> check_zone(std::string_view name);

// "2026-03-29T03:00:00+02:00", "…Z" in UTC and where the zone is unknown; six digits of a second if it is no whole one.
std::string local_text(WallTime at, std::string_view zone);

}  // namespace fenceline

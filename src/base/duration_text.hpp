// Durations as people write them: `30s`, `1.5s`, `1h30m`. Units are `ms s m h d`, from largest to smallest, each
// at most once; only the last number may have a decimal fraction, and all must be exact in microseconds. A sign, a
// space and a bare number are refused: a guessed unit has caused real outages.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace fenceline {

struct DurationRange {
  Duration least;
  Duration most;
};

inline constexpr DurationRange kTtlRange{std::chrono::seconds{1}, std::chrono::hours{24}};
inline constexpr DurationRange kDelayRange{Duration{0}, std::chrono::days{366}};
inline constexpr DurationRange kWaitRange{Duration{0}, std::chrono::hours{24}};
inline constexpr DurationRange kTimeoutRange{std::chrono::seconds{1}, std::chrono::days{30}};
inline constexpr DurationRange kBackoffRange{Duration{0}, std::chrono::days{7}};
inline constexpr DurationRange kKeepRange{std::chrono::hours{24},
                                          std::chrono::days{3660}};  // retention: repeats of a day must meet their job

// Errors: invalid, with the text, the reason and what is allowed.
Result<Duration> parse_duration(std::string_view text, DurationRange allowed);

// `what` begins the message. Errors: invalid.
Result<void> check_duration(std::string_view what, Duration value, DurationRange allowed);

// The shortest exact form: "30s", "90m", "1500ms"; microseconds are rounded to the next millisecond.
std::string format_duration(Duration duration);

}  // namespace fenceline

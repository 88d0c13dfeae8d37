// A moment as people write it: RFC 3339, or the time of this machine's zone.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace fenceline::cli {

// "2026-11-15T10:00:00Z", "2026-11-15T12:00:00.5+02:00" or, in the zone of this machine, "2026-11-15 12:00[:30]". A
// local time that a change of the clocks leaves out is refused; of one that comes twice, the first is meant. Years 1970
// to 2199. Errors: invalid, with what is wrong and how to write it.
Result<WallTime> parse_time(std::string_view text);

// The same, or how long ago, up to 3660 days: "90m", "2d". `now` is this machine's clock.
Result<WallTime> parse_when(std::string_view text, WallTime now);

}  // namespace fenceline::cli

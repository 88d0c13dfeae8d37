// The times that a clock on the wall shows and a cron expression names, as if every day had 24 hours. What a zone does
// to its clocks is tick_rule.hpp's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "model/cron.hpp"

namespace fenceline {

using CivilTime = std::chrono::local_seconds;

// The first and the last match in [from, to), and how many there are; the cost grows with the months between.
std::optional<CivilTime> first_match(const Cron& cron, CivilTime from, CivilTime to);
std::optional<CivilTime> last_match(const Cron& cron, CivilTime from, CivilTime to);
std::int64_t count_matches(const Cron& cron, CivilTime from, CivilTime to);

}  // namespace fenceline

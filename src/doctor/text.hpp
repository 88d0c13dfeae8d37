// The words of findings: times, numbers and commands, as people read and paste them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "store/store_findings.hpp"

namespace fenceline::doctor {

// The largest unit that leaves two digits or more, rounded down: "45s", "12m", "30h", "4d". Less than a second is "0s".
std::string rough(Duration duration);

// "12:03:11Z", or with its day if that is not the day of `now`: "2026-11-15 12:03:11Z".
std::string moment(WallTime at, WallTime now);

// "1 job", "3 jobs".
std::string counted(std::int64_t number, std::string_view thing);

using fenceline::shell_word;

}  // namespace fenceline::doctor

// What several stores look at alike for `fenceline doctor`, and how they word it. A finding that is not ok says why it
// matters and which command mends it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace fenceline {

// "512.0 KiB", "1.2 MiB", "3.4 GiB".
std::string in_units(std::int64_t bytes);

// One word of a shell, whatever it holds: quoted if need be.
std::string shell_word(std::string_view text);

// For what must not be done unseen: pasted, it only looks; what mends is a comment behind it, for whoever has looked.
std::string look_then(const std::string& look, const std::string& act);

// For what no line of a shell does safely: the page with the steps of a restore.
inline constexpr const char* kRestoreSteps = "see docs/runbooks/store-finding.md#from-a-backup";

// What a crash can take now. Below what it was when the store was opened, it is a warning: somebody has changed the
// server since.
Finding class_finding(const StoreProfile& now, const StoreProfile& opened, const std::string& remedy);

// The server's is the store's clock; this machine's only shows whether one of them is wrong. Asked and answered on this
// machine.
Finding clock_finding(WallTime server, WallTime asked, WallTime answered, const std::string& remedy);

// Of some small calls, one after the other.
Finding round_trip_finding(std::vector<Duration> took, const std::string& remedy);

}  // namespace fenceline

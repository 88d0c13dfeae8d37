// What people type who come from another program, and the command that does it here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fenceline::cli {

struct Habit {
  std::string_view typed;               // "retry", "jobs list"
  std::vector<std::string_view> meant;  // commands, the likeliest first
};

const std::vector<Habit>& habits();

// "did you mean 'jobs', 'top' or 'doctor'?" for one or two words that are no command; empty if they mean nothing.
std::optional<std::string> meant_by(std::string_view typed);

}  // namespace fenceline::cli

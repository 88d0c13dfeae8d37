// Text of others, made fit to be shown or used.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fenceline {

constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The letters of ASCII; what else there is stays.
std::string lower_case(std::string_view text);

// The beginning of what may be anything, fit for one line.
std::string shown_briefly(std::string_view text);

// Without control characters: each run of them is one blank, at the ends none.
std::string one_line(std::string_view text);

// With what %XX stands for; nothing if one of them is not whole.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace fenceline

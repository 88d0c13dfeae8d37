// Text of others, made fit to be shown or used.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fenceline {

// Without control characters: each run of them is one blank, at the ends none.
std::string one_line(std::string_view text);

// With what %XX stands for; nothing if one of them is not whole.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace fenceline

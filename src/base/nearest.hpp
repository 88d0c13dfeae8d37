// "did you mean": the name that was probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fenceline {

// How many letters must be changed, added, left out or swapped with a neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `names` if it is near enough to be a slip; the first of several.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace fenceline

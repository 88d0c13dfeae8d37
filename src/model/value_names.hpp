// Values that are kept and shown as words: an array has the words in the order of the values.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace fenceline {

template <class Value, std::size_t n>
std::optional<Value> value_of(const std::array<std::string_view, n>& names, std::string_view text) {
  const auto found = std::ranges::find(names, text);
  return found == names.end() ? std::nullopt : std::optional(static_cast<Value>(found - names.begin()));
}

}  // namespace fenceline

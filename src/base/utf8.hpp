// Strict UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace fenceline {

// Length in bytes of the first character of `text`; 0 if it does not start with a valid one.
std::size_t utf8_sequence_length(std::string_view text);

bool is_valid_utf8(std::string_view text);

}  // namespace fenceline

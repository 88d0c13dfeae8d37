// What programs write, as text that every reader of a store can show.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace fenceline {

// What is not UTF-8 becomes U+FFFD. At most `most` bytes of it, never part of a character.
std::string as_text(std::string_view bytes, std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace fenceline

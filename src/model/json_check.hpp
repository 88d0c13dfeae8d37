// Whether a text is JSON, in one pass and without building anything: every payload goes through here once or twice, and
// a million levels of nesting must not cost a stack or a tree.
#pragma once

#include <cstddef>
#include <string_view>

namespace fenceline {

// number_too_large: it does not fit a double. half_of_a_pair: an escape is one half of a surrogate pair, alone.
enum class JsonVerdict { good, bad, too_deep, number_too_large, half_of_a_pair };

struct JsonCheck {
  JsonVerdict verdict = JsonVerdict::good;
  std::size_t at = 0;  // if not good: how many bytes were read when it showed, counted from 1

  bool operator==(const JsonCheck&) const = default;
};

// One value as RFC 8259 has it, with space around it, in strict UTF-8: no byte order mark, no half of a surrogate pair
// in escapes, no number too large for a double. Reads no further than the first level past `depth_max`.
JsonCheck check_json(std::string_view text, int depth_max);

}  // namespace fenceline

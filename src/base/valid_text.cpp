#include "base/valid_text.hpp"

#include "base/utf8.hpp"

namespace fenceline {

std::string as_text(std::string_view bytes, std::size_t most) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = utf8_sequence_length(bytes);
    const std::string_view next = length == 0 ? std::string_view("\xEF\xBF\xBD") : bytes.substr(0, length);
    if (text.size() + next.size() > most) break;
    text += next;
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

}  // namespace fenceline

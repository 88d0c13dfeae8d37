#include "base/text.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace fenceline {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string shown_briefly(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out;
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == kShown) return out + "...";
    const std::size_t length = utf8_sequence_length(text);
    // U+0080 to U+009F steer terminals as the first 32 do.
    const bool control = length == 0 || (length == 1 && (text[0] < 0x20 || text[0] == 0x7f)) ||
                         (length == 2 && text[0] == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0);
    const std::size_t taken = std::max<std::size_t>(length, 1);
    out += control ? "?" : std::string(text.substr(0, taken));
    text.remove_prefix(taken);
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (!control) out += c;
    else if (!out.empty() && out.back() != ' ') out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return std::nullopt;
    out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  return out;
}

}  // namespace fenceline

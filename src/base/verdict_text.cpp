#include "base/verdict_text.hpp"

#include <array>
#include <string_view>

namespace fenceline {

std::string without_verdict(std::string message) {
  constexpr std::array<std::string_view, 2> kVerdicts{"nothing was changed", "it may have happened"};
  for (const std::string_view verdict : kVerdicts) {
    for (std::size_t at = message.find(verdict); at != std::string::npos; at = message.find(verdict)) {
      std::size_t from = at;
      while (from > 0 && std::string_view(" ;,:").find(message[from - 1]) != std::string_view::npos) --from;
      message.erase(from, at + verdict.size() - from);
    }
  }
  return message;
}

}  // namespace fenceline

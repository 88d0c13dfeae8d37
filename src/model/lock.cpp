#include "model/lock.hpp"

#include <charconv>
#include <string>

#include "base/text.hpp"
#include "model/job.hpp"

namespace fenceline {
namespace {

bool is_allowed(char c) {
  return is_letter_or_digit(c) || std::string_view("._-:/@=").find(c) != std::string_view::npos;
}

}  // namespace

std::string_view to_string(LockMode mode) { return mode == LockMode::shared ? "shared" : "exclusive"; }

Result<void> check_lock_name(std::string_view name) {
  const auto bad = [&](const std::string& why) {
    return fail(
        Code::invalid,
        "lock '" + shown_briefly(name) + "' " + why +
            "; use 1 to 128 letters, digits, '.', '_', '-', ':', '/', '@' or '=', the first a letter, a digit or '/'");
  };
  if (name.empty()) return bad("is empty");
  if (name.size() > kNameBytesMax) return bad("is too long (" + std::to_string(name.size()) + " bytes)");
  if (!is_letter_or_digit(name.front()) && name.front() != '/')
    return bad("starts with a character that is not allowed");
  for (const char c : name) {
    if (!is_allowed(c)) return bad("has a character that is not allowed");
  }
  return {};
}

Result<void> check_lock_resource(std::string_view resource) {
  const std::size_t at = resource.find('#');
  if (at == std::string_view::npos) return check_lock_name(resource);
  const std::string_view number = resource.substr(at + 1);
  int slot = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), slot);
  if (error != std::errc{} || end != number.data() + number.size() || slot < 2 || slot > kLockSlotsMax ||
      number.front() == '0')
    return fail(Code::invalid,
                "lock '" + shown_briefly(resource) +
                    "' does not have a slot with that number; use #2 to #1000 (the first slot is the name itself)");
  return check_lock_name(resource.substr(0, at));
}

}  // namespace fenceline

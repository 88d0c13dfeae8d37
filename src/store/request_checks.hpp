// The checks that requests of every kind share. Errors: invalid.
#pragma once

#include <string>
#include <string_view>

#include "base/duration_text.hpp"
#include "base/result.hpp"
#include "store/trail.hpp"

namespace fenceline {

// An owner's or a request's id: 1 to kNameBytesMax bytes.
Result<void> check_id(std::string_view what, const std::string& id);
// What somebody says of itself for people: at most kLockNoteBytesMax of UTF-8.
Result<void> check_note(std::string_view what, const std::string& note);
// Who did it, and why: for people, in one line each.
Result<void> check_act(const Act& act);
Result<void> check_limit(int limit, int most);
// `what` and the value begin the message: "ttl 3d is out of range".
Result<void> check_time(std::string_view what, Duration value, DurationRange allowed);

// The first error of several checks.
template <class... Results>
Result<void> first_error(Results... results) {
  Result<void> first;
  const auto take = [&](Result<void>& next) {
    if (first && !next) first = next;
  };
  (take(results), ...);
  return first;
}

}  // namespace fenceline

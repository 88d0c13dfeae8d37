// check(condition): we have a bug if it is false, and a process with a bug must not write on. Stops the
// process in release builds too. For what the world may do, return a Result instead.
#pragma once

#include <source_location>
#include <string_view>

namespace fenceline {

[[noreturn]] void check_failed(std::string_view what, const std::source_location& where);

inline void check(bool holds, std::string_view what,
                  const std::source_location& where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    check_failed(what, where);
}

}  // namespace fenceline

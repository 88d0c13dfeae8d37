// Results in tests: take the value, or look at the code.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "base/result.hpp"

namespace fenceline {

// So that a failed comparison prints the word and not a number.
inline void PrintTo(Code code, std::ostream* out) { *out << to_string(code); }

namespace test {

// The value; a test in which there is none fails with the error's own words.
template <class T>
T must(Result<T> result) {
  if (!result)
    throw std::runtime_error("unexpected " + std::string(to_string(result.error().code)) + ": " +
                             result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Empty if there is a value.
template <class T>
std::optional<Code> code_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

}  // namespace test
}  // namespace fenceline

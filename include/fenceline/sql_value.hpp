// A value in your own statement: fenceline/sqlite.hpp, fenceline/postgres.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

namespace fenceline {

using SqlValue = std::variant<std::nullptr_t, std::int64_t, double, std::string>;

}  // namespace fenceline

#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace fenceline {

void check_failed(std::string_view what, const std::source_location& where) {
  std::fprintf(stderr, "fenceline: internal error: %.*s (%s:%u); please report it\n", static_cast<int>(what.size()),
               what.data(), where.file_name(), static_cast<unsigned>(where.line()));
  std::abort();
}

}  // namespace fenceline

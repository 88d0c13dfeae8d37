// What the example beside it does not use of the package.
#include "fenceline/gated_file.hpp"
#include "fenceline/version.hpp"

namespace {
// Never called: that it links is what counts.
[[maybe_unused]] bool put(const fenceline::GatedFile& file) {
  return file.put({.fence = 1, .content = fenceline::kVersion}).has_value();
}
}  // namespace

bool (*const kept)(const fenceline::GatedFile&) = &put;

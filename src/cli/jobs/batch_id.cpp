#include "cli/jobs/batch_id.hpp"

#include <algorithm>
#include <string>

#include "base/sha256.hpp"
#include "store/job_store.hpp"

namespace fenceline::cli {

std::array<std::uint8_t, 16> hash128(std::string_view text) {
  const Sha256 whole = sha256(text);
  std::array<std::uint8_t, 16> half{};
  std::copy_n(whole.begin(), half.size(), half.begin());
  return half;
}

Uuid batch_id(WallTime first_seen, std::string_view name, std::int64_t line) {
  const std::array<std::uint8_t, 16> hash = hash128(std::string(name) + '\0' + std::to_string(line));
  std::uint64_t high = 0, low = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    high = high << 8 | hash[i];
    low = low << 8 | hash[8 + i];
  }
  // A microsecond a line: ids of one file come in its order, which keeps the store's index append-only.
  return make_uuid7(first_seen + Duration{line}, high, low);
}

bool batch_goes_on(WallTime first_seen, WallTime now) { return now - first_seen <= kBatchRepeatableFor; }

}  // namespace fenceline::cli

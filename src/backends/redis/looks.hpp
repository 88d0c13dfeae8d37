// What verbs share that read a list in several short scripts.
#pragma once

#include <cstdint>
#include <utility>

#include "backends/redis/store_parts.hpp"

namespace fenceline::redis {

// Lua keeps whole numbers up to there; no order and no number of an effect is larger.
inline constexpr std::int64_t kCursorMost = (std::int64_t{1} << 53) - 2;

// Of the order of enqueue, in one script: a few milliseconds of the server.
inline constexpr int kPlacesAtOnce = 4096;

// Runs a reader of the server's answer that fills what is its caller's.
template <class Read>
Result<void> read_answer(std::string_view shown_url, Read read) {
  const auto done = decoded(shown_url, [&] {
    read();
    return true;
  });
  if (!done) return std::unexpected(done.error());
  return {};
}

}  // namespace fenceline::redis

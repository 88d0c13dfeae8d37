// Ids of a file that may be enqueued again: the same name and line give the same id, on every machine and for ever.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.hpp"
#include "base/uuid.hpp"

namespace fenceline::cli {

// The first half of SHA-256: no two (name, line) pairs that anybody could make share it.
std::array<std::uint8_t, 16> hash128(std::string_view text);

// UUIDv7 from the moment at which the store first saw the batch, its name and the line's number, from 1. A name has no
// control characters (check_key), so the two cannot run into each other.
Uuid batch_id(WallTime first_seen, std::string_view name, std::int64_t line);

// Whether lines may still go in: later than that the first jobs may have been removed, and would be added a second
// time.
bool batch_goes_on(WallTime first_seen, WallTime now);

}  // namespace fenceline::cli

// What scripts answer, read with care: an answer that is not understood means that somebody else writes under these
// keys.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/redis_errors.hpp"
#include "backends/redis/resp.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "model/job.hpp"

namespace fenceline::redis {

// Thrown by the readers below, and caught by decoded().
struct WireFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// At least so many items.
const std::vector<Value>& list_in(const Value& value, std::size_t least = 0);
std::int64_t number_in(const Value& value);  // a number, or a text that is one
const std::string& text_in(const Value& value);
JobId id_in(std::string_view bytes);
inline JobId id_in(const Value& value) { return id_in(text_in(value)); }
std::string_view bytes_of(const JobId& id);  // sixteen

inline Duration duration_in(const Value& value) { return Duration{number_in(value)}; }
inline WallTime wall_in(const Value& value) { return WallTime{duration_in(value)}; }
inline std::int64_t in_microseconds(WallTime at) { return at.time_since_epoch().count(); }

// Runs a reader of the server's answer.
template <class Read>
auto decoded(std::string_view shown_url, Read read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const WireFailure& failure) {
    return fail(Code::broken, "the reply of " + std::string(shown_url) +
                                  " cannot be understood: " + one_line(failure.what()) + "; run: fenceline doctor");
  }
}

}  // namespace fenceline::redis

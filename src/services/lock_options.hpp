// What our code asks of a LockOptions (fenceline/lock_options.hpp) beside what users do.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/lock_options.hpp"
#include "model/lock.hpp"
#include "model/trust.hpp"
#include "services/backoff.hpp"

namespace fenceline {

constexpr bool store_is_away(Code code) { return may_repeat(code) || code == Code::broken; }
inline constexpr Duration kOpenFor =
    std::chrono::days{366};  // until then work that goes on without its lock is let alone

std::optional<LockPattern> parse_lock_pattern(std::string_view text);
std::optional<Contention> parse_contention(std::string_view text);
std::optional<OnStoreError> parse_on_store_error(std::string_view text);
std::optional<OnReleaseError> parse_on_release_error(std::string_view text);

// All times of such a lease. For options that passed the check.
LeaseTimes times_of(const LockOptions& options);

}  // namespace fenceline

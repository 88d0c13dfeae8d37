// The pure rules about a side effect of a job; the effect as a value is public: fenceline/effect.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fenceline/effect.hpp"
#include "model/job.hpp"

namespace fenceline {

inline constexpr std::size_t kEffectActorBytesMax = 256;
inline constexpr std::int64_t kEffectsOfAJobMost = 10'000;

std::optional<InDoubt> parse_in_doubt(std::string_view text);

// As check_name: 1 to 128 bytes of letters, digits, `.`, `_`, `-`, `:`. Errors: invalid.
Result<void> check_effect_name(std::string_view name);

// What a provider is given so that it can tell a repeat: made of job and name, never of the fence (E1).
std::string idempotency_key(const JobId& job, std::string_view name);

// What it makes of a running job that one of its effects is in doubt: it waits, its delivery has ended at no cost.
// `fence` and `owner` stay.
Job held_for_effect(Job job);
// And when the doubt is over: it is ready in its old place.
Job released_from_hold(Job job);

}  // namespace fenceline

// A side effect of a job, as a value, and the pure rules about it. It is named once for its job, whatever the delivery:
// what was done under one fence is replayed under the next one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/fence.hpp"
#include "model/job.hpp"

namespace fenceline {

inline constexpr std::size_t kEffectResultBytesMax = 1 << 20;
inline constexpr std::size_t kEffectActorBytesMax = 256;
inline constexpr std::size_t kEffectDigestBytesMax = 128;
inline constexpr std::int64_t kEffectsOfAJobMost = 10'000;

enum class EffectState {
  none,    // it has not happened: never begun, or found out so
  intent,  // somebody began: it may have happened
  done,    // it happened; its result is kept
};

// What happens to an intent whose holder is gone (E2). The handler declares it; nobody guesses.
enum class InDoubt {
  hold,    // the job waits, by name, for an operator
  repeat,  // act again under the same idempotency key: the other side knows it
  probe,   // ask the other side whether it happened
};

std::string_view to_string(EffectState state);
std::string_view to_string(InDoubt in_doubt);
std::optional<InDoubt> parse_in_doubt(std::string_view text);

// What a store knows of an effect.
struct Effect {
  JobId job;
  std::string name;
  EffectState state = EffectState::none;
  bool in_doubt = false;           // an intent, and nobody holds its job under its fence by a live lease
  bool held = false;               // its job waits for it
  InDoubt policy = InDoubt::hold;  // of the last that began
  std::string digest;
  Fence fence = 0;                   // of the last that began
  std::string call;                  // and its call,
  std::string actor;                 // and its process
  std::int64_t doubts = 0;           // how often it was begun again though it may have happened
  WallTime began_at;                 // the last time
  std::optional<WallTime> ended_at;  // when it became done or none
  std::optional<int> exit_status;    // of a command that is done
  std::string result;                // bytes, of one that is done
  std::string resolved_by;           // the operator who said so, if one did

  bool operator==(const Effect&) const = default;
};

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

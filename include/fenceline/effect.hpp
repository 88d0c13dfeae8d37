// Side effects of a handler that must not happen twice: an e-mail, a payment, a line in somebody else's file.
//
//   const auto receipt = run.effect("charge", run.job.payload, [&](const EffectCall& call) {
//     const Reply reply = provider.charge(order, {.idempotency_key = call.key});
//     if (reply.refused()) return EffectReport::none("no connection");         // it did not happen
//     if (!reply.whole()) return EffectReport::unknown("the reply got lost");  // outcome unknown
//     return EffectReport::done(reply.receipt);
//   }, {.in_doubt = InDoubt::repeat});
//   if (!receipt) return RunResult::failed(receipt.error().message);
//
// The first call writes an intent into the store, acts, and records the result. A later call for the same job, in this
// delivery or another one, gets the recorded result, and nothing happens. An intent without a result is in doubt: then
// the declared policy is followed (InDoubt), and nothing is guessed (E2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fenceline/fence.hpp"
#include "fenceline/job.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

inline constexpr std::size_t kEffectResultBytesMax = 1 << 20;
inline constexpr std::size_t kEffectDigestBytesMax = 128;

// What happens to an intent whose holder is gone (E2). The handler declares it.
enum class InDoubt {
  hold,    // the job waits, by name, for an operator
  repeat,  // act again under the same idempotency key: the other side knows it
  probe,   // ask the other side whether it happened
};

std::string_view to_string(InDoubt in_doubt);

// What the function that acts is told.
struct EffectCall {
  std::string key;     // the provider's idempotency key: the same at every repeat, and of no other effect
  bool again = false;  // it may have happened before
};

// What the function that acted, or probed, says of the effect.
struct EffectReport {
  enum class Kind {
    done,  // it happened
    none,  // it did not happen. From an act that is called `again` this speaks of this try only: what was before stays
           // in doubt
    unknown,  // it may have happened: a timeout, a lost reply
  };

  static EffectReport done(std::string result = {}) { return {.kind = Kind::done, .result = std::move(result)}; }
  static EffectReport none(std::string why) { return {.kind = Kind::none, .why = std::move(why)}; }
  static EffectReport unknown(std::string why) { return {.kind = Kind::unknown, .why = std::move(why)}; }

  Kind kind = Kind::unknown;
  std::string result = {};                        // for done; 1 MiB of it is kept
  std::string why = {};                           // otherwise, in a few words
  std::optional<int> exit_status = std::nullopt;  // of a command that did it
};

// A std::exception that it throws means unknown.
using EffectAct = std::function<EffectReport(const EffectCall&)>;

struct EffectOptions {
  InDoubt in_doubt = InDoubt::hold;
  EffectAct probe =
      {};  // for InDoubt::probe: asks the other side. done: it happened; none: it has not; unknown: the job waits
};

enum class EffectState {
  none,    // it has not happened: never begun, or found out so
  intent,  // it was begun: it may have happened
  done,    // it happened; its result is kept
};

std::string_view to_string(EffectState state);

// What a store knows of an effect. It is named once for its job, whatever the delivery: what was done under one fence
// is replayed under the next one.
struct Effect {
  JobId job;
  std::string name;
  EffectState state = EffectState::none;
  bool in_doubt = false;           // an intent, and nothing holds its job under its fence by a live lease
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

}  // namespace fenceline

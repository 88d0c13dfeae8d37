// Side effects of a handler that must not happen twice: an e-mail, a payment, a line in somebody else's file.
//
//   const auto receipt = run.effect("charge", run.job.payload, [&](const EffectCall& call) {
//     const Reply reply = provider.charge(order, {.idempotency_key = call.key});
//     if (reply.refused()) return EffectReport::none("no connection");       // it did not happen
//     if (!reply.whole()) return EffectReport::unknown("the reply got lost"); // nobody here knows
//     return EffectReport::done(reply.receipt);
//   }, {.in_doubt = InDoubt::repeat});
//   if (!receipt) return RunResult{.kind = OutcomeKind::failed, .error = receipt.error().message};
//
// The first call writes an intent into the store, acts, and records the result. Whoever calls it again for this job, in
// this delivery or a later one, gets the recorded result, and nothing happens. An intent without a result is in doubt:
// then what was declared is done (InDoubt), and nothing is guessed (E2).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "model/effect.hpp"

namespace fenceline {

// What the one who acts is told.
struct EffectCall {
  std::string key;     // the provider's idempotency key: the same at every repeat, and of no other effect
  bool again = false;  // it may have happened before
};

// What the one who acted, or who found out, says of it.
struct EffectReport {
  enum class Kind {
    done,  // it happened
    none,  // it did not happen. Said of an act that comes `again`, it speaks of this try only: what was before stays in
           // doubt
    unknown,  // it may have happened: a timeout, a lost reply
  };

  static EffectReport done(std::string result = {}) { return {.kind = Kind::done, .result = std::move(result)}; }
  static EffectReport none(std::string why) { return {.kind = Kind::none, .why = std::move(why)}; }
  static EffectReport unknown(std::string why) { return {.kind = Kind::unknown, .why = std::move(why)}; }

  Kind kind = Kind::unknown;
  std::string result = {};                        // of a done one; 1 MiB of it is kept
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

}  // namespace fenceline

// What is durable about effects: for a job and a name, whether it has happened. The rules for every verb of
// job_store.hpp hold here too.
//
// A call of an effect is: begin, act, finish. Beginning needs a live lease; finishing needs only the newest fence, as
// every recording does, so that what was done is not forgotten when nobody took over. Between the two, the store knows
// an intent: it may have happened. An intent that is met by anybody but its own call is in doubt, and the caller's
// policy decides (E2): nothing is guessed.
//
// A job that is made to wait ends its delivery, not the handler: that delivery keeps its slot as a revoked one does,
// though under no new fence; its owner finds it among its orders, and the job, once released, is claimable only when
// that worker has said stopped or the lease would have ended (J7). Cancel and purge of a waiting job mint a new fence,
// so that nothing its old handler still says counts. What became of an effect is not for an operator to say while a
// slot of the delivery that began it is taken: its handler may still be at it. What the very call of an intent knows
// beats what an operator guessed: see finish_effect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/effect.hpp"
#include "store/job_store.hpp"
#include "store/trail.hpp"

namespace fenceline {

struct BeginEffectRequest {
  std::string ns;
  JobId job;
  Fence fence = 0;
  std::string name;
  std::string digest;  // which command or request it is, 1 to 128 bytes; the same name for another one is a conflict
  std::string call;    // one call in one process; a repeat after in_doubt carries the same
  std::string actor;   // which process will act, so that another one can see whether it lives; at most 256 bytes
  InDoubt in_doubt = InDoubt::hold;
  std::string dead_call;  // an intent of this call under this fence is in doubt: its process is known to be gone
  Duration timeout = kCallTimeout;
};

enum class EffectVerdict {
  act,    // the intent is recorded: act now, then finish
  again,  // so it is, but it may have happened before (repeat): act under the same idempotency key, then finish
  probe,  // so it is, but it may have happened before: find out whether it has, then finish, or act and finish
  done,   // it happened: here is its result
  busy,   // another call under this fence has begun: wait for it while its process lives
  held,   // it may have happened before: the job waits for an operator now, and this delivery is over
  lost,   // the caller does not hold the job: see `refusal`; nothing changed
};

std::string_view to_string(EffectVerdict verdict);

struct BeginEffectReply {
  EffectVerdict verdict = EffectVerdict::lost;
  std::string result;  // of a done one
  std::optional<int> exit_status;
  std::string call;  // of a busy one: who has begun
  std::string actor;
  std::optional<Refusal> refusal;  // not_found, superseded, finished, settled, expired: as for extend
};

enum class EffectEnd {
  done,  // it happened
  none,  // it did not happen, for sure
  held,  // nobody knows: the job shall wait for an operator
};

struct FinishEffectRequest {
  std::string ns;
  JobId job;
  Fence fence = 0;
  std::string name;
  std::string call;  // that began
  EffectEnd end = EffectEnd::done;
  std::string result;              // of a done one, at most kEffectResultBytesMax
  std::optional<int> exit_status;  // of a command
  Duration timeout = kCallTimeout;
};

struct FinishEffectReply {
  // not_found (no such job), superseded (the job's newest fence is another one), other_call (the intent is not this
  // call's, or not any more). Nothing changed then.
  std::optional<Refusal> refusal;
};

struct ResolveEffectRequest {
  std::string ns;
  JobId job;
  std::string name;
  std::string call;   // of the intent that it is about, as effects() showed it; empty: whichever there is. A request
                      // that arrives late must not speak of a later doubt
  bool done = false;  // it happened, with this result; or it did not
  std::string result;
  Act act;
  Duration timeout = kCallTimeout;
};

struct EffectsRequest {
  std::string ns;
  std::optional<JobId> job;
  bool in_doubt = false;     // only those
  std::int64_t after = 0;    // cursor of the page before; 0: from the start
  int limit = 100;           // at most 1000
  bool with_result = false;  // results are empty otherwise
  Duration timeout = kCallTimeout;
};

struct EffectsReply {
  std::vector<Effect> effects;  // in the order in which they were first begun
  std::optional<std::int64_t> next;
};

class EffectLedger {
 public:
  virtual ~EffectLedger() = default;

  // Needs the newest fence of a running job and a live lease: else `lost`. What it meets:
  //   none, or no row    an intent of this call: act
  //   done               done, with its result
  //   its own intent     a repeat: answered as the first time
  //   another intent     under this fence, and not of `dead_call`: busy. Else it is in doubt: under `hold` the job
  //   becomes
  //                      waiting at once, at no cost, its delivery keeps its slot, and what its holder says of it later
  //                      is refused as settled; under `repeat` and `probe` the intent becomes this call's, with its
  //                      fence
  // A repeat of a call that was answered `held` is, while the job waits for it under this fence.
  // Errors: invalid, conflict (it was begun or done for another digest), refused (kEffectsOfAJobMost; or this call was
  // the last to begin and has ended as none: a copy of it that arrives late begins nothing), full.
  virtual Result<BeginEffectReply> begin_effect(const BeginEffectRequest& request) = 0;

  // Ends the intent of this call. A repeat of the same end is ok. A job that waits for it, and nothing else, is ready
  // again in its old place when its effect is known to be done or none after all; `held` makes a running job wait; one
  // that waits for an effect already, waits for this one too; any other stays as it is, also one that waits for a gate.
  // An effect that an operator called none and that nobody has begun since is done all the same if its own call
  // reported so under the job's newest fence; that stands in the trail as effect_resolved by the actor "worker", once.
  // Errors: invalid, full.
  virtual Result<FinishEffectReply> finish_effect(const FinishEffectRequest& request) = 0;

  // An operator says what became of an effect in doubt. Its job, if it waits for that one and nothing else, is ready
  // again in its old place. One that is as asked for already: ok; no entry in the trail then. Errors: invalid,
  // not_found, refused (it is done, or none; or its holder may still be at it: its lease is alive, or the slot of its
  // delivery is taken; or its intent is another call's than the one asked about), full.
  virtual Result<void> resolve_effect(const ResolveEffectRequest& request) = 0;

  virtual Result<EffectsReply> effects(const EffectsRequest& request) = 0;
};

}  // namespace fenceline

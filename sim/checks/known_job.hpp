// A job as it must stand, computed from ground truth by rules written down here a second time: a check that asked
// the store's own rules would agree with their mistakes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/effect.hpp"
#include "model/job.hpp"

namespace fenceline::sim {

// One delivery, as the history must show it.
struct KnownAttempt {
  std::int64_t delivery = 0;
  Fence fence = 0;
  std::string owner;
  AttemptEnd end = AttemptEnd::running;
};

// A side effect, as the ledger must have it.
struct KnownEffect {
  EffectState state = EffectState::none;
  InDoubt policy = InDoubt::hold;
  std::string digest;
  Fence fence = 0;
  std::string call;
  std::int64_t doubts = 0;
  bool held = false;  // its job waits for it, or did when it was cancelled
  bool by_operator = false;
  std::string result;
  std::optional<int> exit_status;
};

struct KnownJob {
  JobId id;
  std::string queue;
  std::string stage;
  std::string payload;
  std::int64_t attempts_max = 0;
  Backoff backoff{};
  std::string key;
  Duration key_for{0};
  std::string group;
  std::string limit_key;
  std::int64_t order = 0;  // of its enqueue
  std::int64_t place = 0;  // in its group: the order in which enqueues, and retries of what had left it, took effect
  JobState state = JobState::ready;
  WallTime run_at;
  std::optional<WallTime> finished_at;
  Fence fence = 0;  // of the newest grant, or of what ended it
  std::string owner;
  std::string request;  // the claim that granted it
  Instant lease_end{};  // while running
  std::int64_t deliveries = 0;
  std::int64_t failures = 0;
  std::int64_t losses = 0;
  std::int64_t losses_in_row = 0;
  std::int64_t laters = 0;
  std::int64_t poisoned_in_row = 0;    // of losses_in_row: those a neighbour caused
  std::optional<OutcomeKind> outcome;  // accepted under `fence`
  std::string last_act;                // request of the last cancel or retry that was answered ok
  std::vector<KnownAttempt> attempts;  // the newest kAttemptsKept
  std::optional<Progress> progress;
  std::string log;          // of all deliveries
  std::int64_t logged = 0;  // bytes of the last delivery
  std::map<std::string, KnownEffect> effects;

  bool finished() const { return state == JobState::done || state == JobState::dead || state == JobState::cancelled; }
  bool expired(Instant now) const { return state == JobState::running && lease_end <= now; }
  bool leased(Instant now) const { return state == JobState::running && lease_end > now; }
  // Losses, the one at hand included.
  bool must_run_alone(Instant now) const { return losses_in_row + (expired(now) ? 1 : 0) >= kLossesBeforeAlone; }
  // Whether it keeps the unique key that it took last.
  bool keeps_key(WallTime now) const { return !key.empty() && (!finished() || now < *finished_at + key_for); }

  // How long a worker may make it wait after such an outcome: full jitter, or the fixed steps of `later`.
  bool may_wait(const Outcome& sent) const;

  // Nobody who holds it is at this effect.
  bool in_doubt(const KnownEffect& effect, Instant now) const {
    return effect.state == EffectState::intent && !(leased(now) && fence == effect.fence);
  }
  bool has_doubt(Instant now) const;
  // Those that it waits for.
  std::vector<std::string> held_for() const;
  // It waits for an operator, its delivery is over.
  void hold(KnownEffect& for_this);
  // What became of an effect is known.
  void end_effect(KnownEffect& effect, EffectState as);

  // A new delivery began.
  void grant(Fence granted, const std::string& to, const std::string& by_request, Instant until);
  // An outcome was accepted.
  void settle(const Outcome& accepted, WallTime now);
  // Its delivery ended by expiry.
  void lose(bool by_a_neighbour);
  // Its delivery ended, and this is how.
  void end_attempt(AttemptEnd end);
  void finish(JobState in, WallTime now);
  // What a delivery logged was accepted: what is there already is not added twice.
  void note(const std::optional<Progress>& said, std::string_view bytes, std::int64_t at);
};

}  // namespace fenceline::sim

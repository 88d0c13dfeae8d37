// A lock class: everything that is asked of a lock, as plain data. The presets are those of docs/locks.md.
//
//   const fenceline::LockOptions patient{.ttl = 30s, .wait = 1min};
//   const fenceline::LockOptions eager{.contention = fenceline::Contention::skip};
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fenceline/lock.hpp"
#include "fenceline/result.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

inline constexpr int kRenewalTries = 3;
inline constexpr int kRenewalTriesMax = 20;

enum class LockPattern {
  item,      // one state change: renewed while it is held, released at the end
  loop,      // periodic sweeps: neither renewed nor released, its ttl is the window (L6): fenceline/loop_lock.hpp
  fenced,    // item, and the fence goes with every write: a write gate checks it
  layered,   // many threads and many replicas. Every lock here is layered (threads of a process take turns among
             // themselves first); the word is for the inventory
  election,  // set by fenceline/election.hpp alone: others stand by for as long as its holder leads
};

// What a request does that finds its lock taken.
enum class Contention {
  skip,     // gives up at once, whatever `wait` says
  retry,    // asks again after pauses with jitter, and takes no place in the queue
  in_turn,  // takes a place in the queue, and is woken
};

// What happens when the store does not answer. Open means: the work is done (or continues) without the lock. That is
// counted and logged (lock_failed_open); then only a write gate keeps others out.
enum class OnStoreError { closed, open };

enum class OnReleaseError {
  report,  // release() answers with the error; the lock ends by itself with its ttl
  ignore,  // it is logged and counted only
};

struct LockOptions {
  std::vector<std::string> names = {};  // 1 to kLocksAtOnceMax, in any order: all or none
  LockMode mode = LockMode::exclusive;
  int slots = 1;  // holders at a time
  Duration ttl = std::chrono::seconds{30};
  Duration renew_every{0};            // after the last success; 0: ttl / 3
  int renewal_tries = kRenewalTries;  // that many failed renewals in a row lose the lock
  Duration wait{0};                   // how long a request waits for the lock, and for a store that is away: 0 to 24 h
  Contention contention = Contention::in_turn;
  Duration hold_at_least{0};  // counted from the grant: no one else gets it before, even if it was released
  Duration delay{0};          // after a loss: how long no one gets it once its lease has expired
  LockPattern pattern = LockPattern::item;
  OnStoreError on_acquire_error = OnStoreError::closed;
  OnStoreError on_renewal_error = OnStoreError::closed;
  OnReleaseError on_release_error = OnReleaseError::report;
  Duration every{0};  // of loops and writers: how often they act; nothing for a single lock
  // Re-entry by name: a request by the same holder for the same names, while they are held, enters them again under the
  // same fence; the last release frees them. Empty (the default): a second request waits for the first, also within one
  // thread.
  std::string holder = {};

  bool operator==(const LockOptions&) const = default;
};

std::string_view to_string(LockPattern pattern);
std::string_view to_string(Contention contention);
std::string_view to_string(OnStoreError policy);
std::string_view to_string(OnReleaseError policy);

// "job": item, ttl 60 s, renewed after 20 s, 3 tries. "loop": windows of 60 s, tried every 30 s. "run": layered, 30 s,
// renewed after 10 s. "writer": layered, 10 s, acts every 5 s. Empty: no such preset.
std::optional<LockOptions> lock_preset(std::string_view name);

// One line that says what, why and what to do. Errors: invalid.
Result<void> check_options(const LockOptions& options);

}  // namespace fenceline

// The locks that a process holds, and until when it may trust each. Memory and rules only: it calls neither a Store nor
// a Runtime, so `now` is always an argument. Every call is one step; safe from several threads.
//
// `lost` is final. What was released, abandoned or lost is not renewed any more; it is forgotten here at once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "handler/handler.hpp"
#include "model/trust.hpp"
#include "services/lock_options.hpp"
#include "services/lock_turns.hpp"
#include "store/lock_store.hpp"

namespace fenceline {

struct LockState {
  LockState(LockOptions asked, std::string its_owner, std::vector<LockGrant> granted, Instant trusted_till)
      : options(std::move(asked)),
        times(times_of(options)),
        owner(std::move(its_owner)),
        grants(std::move(granted)),
        trust(trusted_till),
        trusted(trusted_till) {}

  bool renewable() const { return options.pattern != LockPattern::loop && !grants.empty(); }
  // Its work goes on past the end of trust: its class says so.
  bool goes_on_open() const { return renewable() && options.on_renewal_error == OnStoreError::open; }
  std::vector<LockHolding> holdings() const;
  const std::string& resource() const { return grants.empty() ? options.names.front() : grants.front().resource; }
  Fence fence() const { return grants.empty() ? 0 : grants.front().fence; }

  const LockOptions options;  // names sorted
  const LeaseTimes times;
  const std::string owner;
  const std::vector<LockGrant> grants;  // none: the store was away at the acquire, and its class says open
  LockTurns::TurnPtr turn;              // kept while it is held; none for shared ones, and for several slots
  TrustDeadline trust;                  // for whoever acts under it; far away if it goes on open
  std::stop_source stop;

  // What follows is guarded by the LockHoldings that has this lock.
  Instant trusted;                  // by the last success
  std::optional<Instant> next_try;  // of a renewal
  Instant added_at{};
  int entries = 1;        // handles
  int tries = 0;          // renewals tried since the last success
  bool told = false;      // its trust is about to end: it is not renewed any more
  bool lost = false;      // final
  bool over = false;      // released or abandoned
  bool open = false;      // its trust ended (or never was), and the work goes on
  bool attended = false;  // its names are watched for a break
  std::string why_lost;
  std::uint64_t number = 0;
};

using LockStatePtr = std::shared_ptr<LockState>;

// Leases of like length share a keeper, so that a call about a long one, which may take long, never delays one about a
// short one.
inline constexpr std::size_t kLockKeepers = 17;  // 1 s to 24 h, doubling
std::size_t keeper_of(Duration ttl);

// A lock that is held for less is not watched for a break: it ends as soon as anybody could.
inline constexpr Duration kAttendedAfter = std::chrono::milliseconds{200};

class LockHoldings {
 public:
  // Who sleeps past something that a new lock needs, and must be woken.
  struct Sleepers {
    bool keeper = false;  // the one of its ttl
    bool watch = false;
    bool attendant = false;
  };
  Sleepers add(const LockStatePtr& state, Instant now);

  // One more handle. False: it is lost or over.
  bool enter(LockState& state);
  // The one that this very holder has, of these names.
  LockStatePtr find(const std::string& holder, const std::vector<std::string>& names) const;
  // One that this holder has of some, but not all, of these names, or in another mode: to wait for it would be to wait
  // for oneself.
  LockStatePtr find_in_the_way(const LockOptions& options) const;

  enum class Left {
    entered,  // others have handles
    last,
    lost,
    lost_now,  // its trust ended, and nobody has noticed yet
  };
  Left leave(LockState& state, Instant now);
  // The same for a handle that was dropped: nobody tells the store.
  Left abandon(LockState& state);

  bool may_act(const LockState& state, Instant now) const;
  bool lost(const LockState& state, Instant now) const;
  bool open(const LockState& state) const;
  std::string why_lost(const LockState& state, Instant now) const;

  // When that keeper has something to renew: it sleeps until then, and is woken for what comes earlier.
  std::optional<Instant> plan_renewal(std::size_t keeper, Instant now);
  struct Group {
    Duration ttl{};
    Duration call_timeout{};
    std::vector<LockStatePtr> locks;
  };
  // All locks of each ttl of which one is due, in groups of at most `most` resources, shortest ttl first; counts the
  // try for those that were due.
  std::vector<Group> begin_renewal(std::size_t keeper, Instant now, std::size_t most);
  // The store renewed it. The caller then moves `trust`. False if that came too late: it stays as it was.
  bool renewed(LockState& state, Instant answered_at, Instant trusted);
  // The store refused, or showed a newer fence. True if that is a loss.
  bool refused(LockState& state, const std::string& reason);

  struct Overdue {
    std::vector<LockStatePtr> told;
    std::vector<LockStatePtr> lost;
    std::vector<LockStatePtr> opened;  // their trust ended, and their work goes on
  };
  // Applies the passing of time (L5).
  Overdue overdue(Instant now);
  std::optional<Instant> plan_watch(Instant now);

  // Held for so long that a break should be noticed, and not attended yet: they are from now on.
  std::vector<LockStatePtr> begin_attending(Instant now);
  // When the next one is; the attendant sleeps until then, or `at_latest`.
  std::optional<Instant> plan_attending(Instant now, std::optional<Instant> at_latest);

  bool holds(const LockState& state) const;  // neither lost nor over
  std::size_t count() const;

 private:
  void forget(LockState& state) { all_.erase(state.number); }
  static std::optional<Instant> deadline_of(const LockState& state);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, LockStatePtr> all_;  // by the time of their grant
  std::uint64_t numbers_ = 0;
  std::array<Instant, kLockKeepers> keepers_sleep_until_ = filled();
  Instant watch_sleeps_until_ = Instant::max();
  Instant attendant_sleeps_until_ = Instant::max();

  static std::array<Instant, kLockKeepers> filled() {
    std::array<Instant, kLockKeepers> all;
    all.fill(Instant::max());
    return all;
  }
};

}  // namespace fenceline

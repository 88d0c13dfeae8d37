// The rows of locks, of those who share one, and of those who wait. An exclusive lock is one row, whatever happens to
// it; shared phases and queues have tables of their own, which are empty for most names.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {

// Before every instant, and far enough from the end of the numbers that a duration can be added.
inline constexpr std::int64_t kSinceEver = std::numeric_limits<std::int64_t>::min() / 2;

struct LockLease {
  std::string owner;
  std::string request;
  std::string place;
  std::string previous_owner;
  std::int64_t granted_at = 0;
  std::int64_t lease_end = 0;
  bool released = false;

  bool is_alive(std::int64_t now) const { return !released && lease_end > now; }
};

// A resource as it stands.
struct LockRecord {
  std::string resource;
  Fence fence = 0;
  LockMode mode = LockMode::exclusive;
  bool to_its_end = false;
  std::string pattern;
  std::int64_t delay = 0;
  std::int64_t bar = kSinceEver;             // not granted before
  std::int64_t freed = kSinceEver;           // the last release or break of the phase
  std::optional<std::string> break_request;  // of the last break, of this phase or one before
  BreakReply broken;                         // its answer
  bool unclean = false;                      // some fence of it was ended by a takeover or a break
  // The last grant; of a shared one, the unreleased lease that ends last (then the smallest owner), if there is one.
  std::optional<LockLease> lease;

  bool is_held(std::int64_t now) const { return lease && lease->is_alive(now); }
  std::int64_t free_from() const;
};

// Both only read. The second: the resources "name#2" and so on that are known, up to this number, at their places; [0]
// is the name itself.
std::optional<LockRecord> find_lock(Call& call, std::int64_t ns_id, const std::string& resource);
std::vector<std::optional<LockRecord>> find_slots(Call& call, std::int64_t ns_id, const std::string& name, int slots);

// What this owner was granted in the phase at hand.
std::optional<LockLease> lease_of(Call& call, std::int64_t ns_id, const LockRecord& lock, const std::string& owner);

// Begins a phase: a grant to one, or the first of a shared phase. `before` is what stood there.
void begin_phase(Call& call, std::int64_t ns_id, const AcquireRequest& request, const LockGrant& grant,
                 const std::optional<LockRecord>& before);
// A shared phase that has holders gets one more.
void join_phase(Call& call, std::int64_t ns_id, const AcquireRequest& request, const LockRecord& lock);
void renew_lease(Call& call, std::int64_t ns_id, const LockRecord& lock, const std::string& owner, Duration ttl);
void release_lease(Call& call, std::int64_t ns_id, const LockRecord& lock, const std::string& owner);
// Those of a shared phase that is over.
void forget_holders(Call& call, std::int64_t ns_id, const std::string& resource);
// Ends all that holds, bars or delays it.
void end_phase(Call& call, std::int64_t ns_id, const LockRecord& lock, Fence fence, const std::string& break_request);

// One place in the queue of a name.
struct LockPlace {
  std::int64_t turn = 0;
  std::string owner;
  std::string request;
  LockMode mode = LockMode::exclusive;
  std::int64_t asked_at = 0;
};
// Those that were heard of lately, in turn.
std::vector<LockPlace> live_waiters(Call& call, std::int64_t ns_id, const std::string& name);
void take_place(Call& call, std::int64_t ns_id, const std::string& name, const AcquireRequest& request);
void keep_place(Call& call, std::int64_t ns_id, const std::string& name, std::int64_t turn);
// Behind all that wait for this name now.
void go_to_the_end(Call& call, std::int64_t ns_id, const std::string& name, std::int64_t turn);
// Whether it had one.
bool leave_queue(Call& call, std::int64_t ns_id, const std::string& name, const std::string& owner,
                 const std::string& request);

// The part of tidy() that concerns locks.
TidyReply tidy_locks(Call& call, const std::string& ns, std::int64_t ns_id, int limit);
// The locks of a namespace are about to be forgotten: what gates remember of one, or must remember because it was
// unclean, becomes its last fence. Else a holder from before a takeover or a break, who comes back after that, would be
// let in.
void tell_gates(Call& call, const std::string& ns, std::int64_t ns_id);
// So that everybody who waits for one of them, or has one, is told.
void wake_all_locks(Call& call, const std::string& ns, std::int64_t ns_id);

}  // namespace fenceline::sqlite

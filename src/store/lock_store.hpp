// What is durable about locks: leases of names. The rules for every verb of job_store.hpp hold here too.
//
// Resources. A lock of one holder is the resource of its name. A lock of N holders has N resources: the name itself,
// and "name#2" to "name#N"; each has fences of its own. Whoever asks says how many slots there are, so that a plain
// request for the name is one for its first slot.
//
// When a resource is free. It has no holder with a live lease, and
//   its bar is over: a lease held to its end, or at least for some time, bars everybody until then, its own owner
//   included, whether its holder released, died, or the machine was booted (L6); its delay is over: after a lease that
//   ran out, and was not released, the resource rests for the delay that its holder asked for.
// It has been free since the last of these moments (of the release, if it was released).
//
// Turns. A request that may wait and is not granted takes a place in the queue of each of its names, and keeps it as
// long as it is asked again within kLockWaiterKeptFor; else it has left. Let k be the live waiters before it in the
// queue of a name (all of them, for one that has no place), and f1 <= f2 <= ... the moments since when, or from when
// on, the resources of that name are free (never known: since ever). It may have one from  the least, over j, of
// max(fj, f1 + max(0, k - j + 1) * kLockTurn)  on: of F free ones the first F waiters may take one at once, and a
// waiter that died, or that waits for another of its names, holds up those behind it for one turn, not for ever.
// Whoever is granted one while F are free, that one included, passes by the first max(0, k - F + 1) of the k: each of
// these that has not asked since f1 goes to the end of that queue, in their order. So one that died costs a turn once
// (once more if it asked before it died), and one that asks, and waits for another of its names, keeps its place. For a
// shared request the waiters before it count (all of them) only if one of them is exclusive; where they do not, it may
// join a shared phase that has holders at once; where they do, the phase is like an exclusive lease to it. A request
// for several names is granted when it may have each: where others take them in turn all the time, it may wait for
// long. Nothing is granted to a waiter that does not ask: its own acquire is what confirms the hand-over, so that no
// lease is given to the dead.
//
// Shared phases. One that released, or whose lease ran out, is forgotten when somebody joins its phase a ttl (of its
// grant or last renewal) or more after the end of its lease, as that was when it released. To the store it never asked
// then. A break ends leases, bars and delays at once and mints a fence that nobody has, so that nothing written under
// the old one counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/fence.hpp"
#include "model/lock.hpp"
#include "store/job_store.hpp"
#include "store/reason.hpp"
#include "store/trail.hpp"

namespace fenceline {

struct AcquireRequest {
  std::string ns;
  std::vector<std::string> names;  // 1 to kLocksAtOnceMax, sorted, none twice: all or none
  std::string owner;    // one holder in one start of one process; never reused, not for another acquire either
  std::string request;  // one try; a repeat after in_doubt carries the same, and so does a waiter that asks again
  LockMode mode = LockMode::exclusive;
  int slots = 1;   // holders at a time, 1 to kLockSlotsMax; more than one only for one name and exclusive
  Duration ttl{};  // 1 s to 24 h
  bool to_its_end =
      false;  // the loop pattern: it is neither renewed nor released, its ttl is the window; only exclusive
  Duration hold_at_least{
      0};             // from the grant on: nobody has it before, even if it was released; at most 24 h; only exclusive
  Duration delay{0};  // after its lease ran out unreleased; at most 24 h; only exclusive
  bool wait = false;  // take a place in the queue if it is not granted
  std::string pattern;  // for people: "item", "loop"; at most kLockNoteBytesMax
  std::string place;    // for people: "host:pid"; at most kLockNoteBytesMax
  Duration timeout = kCallTimeout;
};

// Why a request was not granted.
struct LockHeld {
  std::string resource;  // of the first of its names that is not to be had; of several slots, the one that is free
                         // first, then the smallest number
  // held; barred (hold to its end or at least); delayed; turn (it is free, and others wait)
  Reason reason = Reason::none;
  Fence fence = 0;    // the newest of that resource
  std::string owner;  // of its holder with a live lease (of shared ones the one whose lease ends last, then the
                      // smallest owner); empty if it has none
  std::string place;

  bool operator==(const LockHeld&) const = default;
};

struct AcquireReply {
  std::vector<LockGrant> grants;  // in the order of the names; empty: not granted, see `held`
  Duration left{};                // of the ttl; see Grant
  Duration waited{};
  std::optional<LockHeld> held;
  // If it was not granted: in how long it may be, by the rule above, should nobody renew, release or come before it;
  // never less than 1 ms.
  std::optional<Duration> again_in;
  std::int64_t ahead = 0;  // live waiters before it, in that of its queues where they are most
};

// One resource under one fence, as its holder knows it.
struct LockHolding {
  std::string resource;
  std::string owner;
  Fence fence = 0;

  auto operator<=>(const LockHolding&) const = default;
};

// Why a word of a holder was not accepted. Reasons, in the order in which they are looked for:
//   not_found    no such resource is known in this namespace: never held, or free for long (current is 0)
//   superseded   its newest fence is a different one
//   other_owner  the fence is the newest, but was granted to someone else
//   to_its_end   it is held to the end of its window: it can be neither renewed nor released
//   released     (renew only) it was released
//   expired      (renew only) the lease ran out; nobody took over yet
struct LockRefusal {
  LockHolding sent;
  Fence current = 0;
  Reason reason = Reason::none;

  bool operator==(const LockRefusal&) const = default;
};

struct RenewRequest {
  std::string ns;
  std::vector<LockHolding> locks;  // at most kBatchMax, none twice
  Duration ttl{};
  Duration timeout = kCallTimeout;
};

struct RenewReply {
  Duration left{};  // for all that were renewed; see Grant
  Duration waited{};
  std::vector<LockRefusal> refused;  // these are lost, the others were renewed; in the order of the request
};

struct ReleaseRequest {
  std::string ns;
  std::vector<LockHolding> locks;  // at most kBatchMax, none twice
  Duration timeout = kCallTimeout;
};

struct ReleaseReply {
  std::vector<LockRefusal> refused;  // the others are released, now or before; in the order of the request
};

struct WithdrawRequest {
  std::string ns;
  std::vector<std::string> names;  // of the acquire
  int slots = 1;                   // of the acquire
  std::string owner;
  std::string request;
  Duration ttl{};  // of the acquire
  Duration timeout = kCallTimeout;
};

struct LocksRequest {
  std::string ns;
  std::string prefix;  // of the resource; empty: all
  bool held = false;   // only those that somebody holds, or that are barred or delayed
  std::string after;   // resource: cursor of the page before; empty: from the start
  int limit = 100;     // at most 1000
  Duration timeout = kCallTimeout;
};

struct LocksReply {
  std::vector<LockRow> locks;  // by resource, bytewise
  std::optional<std::string> next;
};

struct BreakRequest {
  std::string ns;
  std::string resource;
  std::optional<Fence> only;  // break it only if this is its newest fence: what the operator saw
  std::string request;        // one try; a repeat after in_doubt carries the same
  Act act;
  Duration timeout = kCallTimeout;
};

struct BreakReply {
  Fence ended = 0;    // the newest before
  Fence current = 0;  // minted by the break; nobody has it
};

class LockStore {
 public:
  virtual ~LockStore() = default;

  // Grants all of the names, or none. Each fence is larger than any that its resource had (L1, L2); a shared request
  // that joins a phase gets that phase's fence. Of several free slots the one with the smallest number is granted. A
  // request is granted once: a repeat returns the same grants with what is left (of the lease that ends first), and
  // changes nothing, while all of them are alive and unreleased; if one of them ended, and nobody was granted it since,
  // the answer is `lost`. Errors: invalid, lost, refused (fences used up; or it was withdrawn, within its ttl).
  virtual Result<AcquireReply> acquire(const AcquireRequest& request) = 0;

  // Starts the ttl again for each lease that is alive under this very (owner, fence). An expired lease is never renewed
  // (L4). A delay moves with it.
  virtual Result<RenewReply> renew(const RenewRequest& request) = 0;

  // Frees each that is held under this very (owner, fence), expired or not; its fence still counts, and a bar stays. A
  // repeat by the one that released last: ok (of shared ones: within the phase, while it is known).
  virtual Result<ReleaseReply> release(const ReleaseRequest& request) = 0;

  // Takes an acquire back: leaves the queues, and frees what it granted (a lease that is to be held to its end stays,
  // and so does a bar). If that acquire arrives later, within its ttl, it is refused. For a wait that was given up, and
  // for an acquire that stayed in doubt. Repeated: ok.
  virtual Result<void> withdraw(const WithdrawRequest& request) = 0;

  // The inventory.
  virtual Result<LocksReply> locks(const LocksRequest& request) = 0;
  // Empty if nothing is known of it.
  virtual Result<std::optional<LockRow>> lock(const std::string& ns, const std::string& resource) = 0;

  // Ends whatever holds, bars or delays the resource, under a new fence, and enters lock_broken ("RESOURCE FENCE") in
  // the trail. Errors: invalid, not_found (nothing is known of it, or it is free), refused (its newest fence is another
  // one than `only`; fences used up).
  virtual Result<BreakReply> break_lock(const BreakRequest& request) = 0;
};

}  // namespace fenceline

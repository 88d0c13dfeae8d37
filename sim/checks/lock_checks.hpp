// Watches every call about locks that takes effect in the store and says which promise an answer breaks: L1 to L4 and
// L6 of locks, whose turn it is (`turn`), bars and delays (`bar`, `delay`), what a break does (`break`) and what may be
// forgotten. Keeps what must be true by the words of store/lock_store.hpp; shares no code with a store. And what only
// the side of the holder shows: it acts only while its lease lives (L5), and is off before it is released.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "sim/checks/violations.hpp"
#include "sim/runtime/sim_runtime.hpp"
#include "sim/store/applied.hpp"
#include "sim/store/tally.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

// What must be true of the locks of a store at one moment: a value, so that the checks can go back with a store that
// forgot.
struct LockTruth {
  struct Holder {
    std::string owner;
    std::string request;
    Instant end{};
    Instant known_until{};  // of a shared phase, should somebody join it
    bool released = false;
    Duration ttl{0};        // as it was last granted or renewed
    Instant heard{};        // when that was, in true time
    std::int64_t leap = 0;  // how often the store's clock had been set ahead by then

    bool alive(Instant now) const { return !released && end > now; }
  };
  struct KnownLock {
    Fence fence = 0;
    LockMode mode = LockMode::exclusive;
    bool to_its_end = false;
    Duration delay{0};
    Duration bar_length{0};
    Instant bar = Instant::min();
    Instant freed = Instant::min();  // the last release or break
    std::vector<Holder> holders;     // of the phase
    std::string broken_by;           // the request of the last break
    BreakReply broken;
    std::optional<Instant> silent{};  // in true time: since when it is refused, and its holders say nothing

    bool held(Instant now) const;
    Instant free_from() const;
    std::string_view rests() const;  // the promise that says until when it is not free
  };
  // A place in the queue of one name.
  struct Queuer {
    std::string name;
    std::vector<std::string> names;  // of its request
    std::string owner;
    std::string request;
    std::string place;
    LockMode mode = LockMode::exclusive;
    Instant kept_until{};
  };

  std::map<std::string, KnownLock> locks_;
  std::map<std::int64_t, Queuer> queue_;  // by place
  std::int64_t last_place_ = 0;
  std::map<std::pair<std::string, std::string>, Instant> withdrawn_;  // by owner and request: until when it is refused
  std::map<std::string, Fence> fences_;  // the newest of each resource, those that are gone included
};

struct LockRules {
  // In weather in which nothing is lost: nobody is overtaken by one that came later, and what becomes free is taken
  // within a turn.
  bool nobody_is_overtaken = false;
  // A process never has two places in the queue of a name, however many of its threads want it.
  bool one_waiter_a_process = false;
  std::int64_t drift_promised = 20'000;  // clocks off by more, in parts of a million, are outside L5
};

class LockChecks final : private LockTruth {
 public:
  // `store` is the real one, to look at without being seen. All must outlive it.
  LockChecks(std::string ns, Store& store, Violations& violations, Tally& tally, LockRules rules)
      : ns_(std::move(ns)), store_(store), violations_(violations), tally_(tally), rules_(rules) {}

  // Calls that are about something else are passed over.
  void applied(const Applied& applied);
  // Locks that the last tidying removed.
  std::int64_t tidied() const { return tidied_; }
  // The inventory shows what must be true.
  void compare_all(Instant now);

  // The clock that the store's leases run on, if that is not true time, and true time. Both must outlive it.
  void use_clocks(const Clock& store, const Clock& truth) {
    store_clock_ = &store;
    truth_ = &truth;
  }
  // That clock was set ahead: leases end sooner than their holders can know (L5). And it came back: what was granted
  // meanwhile ends after its own length at the latest, from the first step that meets it (L3, L6).
  void clock_went_ahead();
  void clock_came_back();

  const LockTruth& truth() const { return *this; }
  // As StoreChecks::went_back.
  void went_back(const LockTruth& before, GuaranteeClass guarantee);

  // Somebody does something to the world under this lock, which it believes to hold.
  void acts(const SimRuntime& process, const LockHolding& lock);
  // A handle that knows when its work must end: it must know before the store is told that it is free.
  void has_handle(const LockHolding& lock, std::stop_token stop) { handles_[lock] = std::move(stop); }
  // The holder was told that it is free.
  void says_released(const SimRuntime& process, const LockHolding& lock);

 private:
  // Where a request stands at one of its names.
  struct Standing {
    std::string resource;
    Instant free{};
    Instant may_have{};
    std::int64_t ahead = 0;
    std::vector<std::int64_t> silent = {};  // places of those who let their turn pass
  };

  template <class Request, class Reply>
  void see(const Applied&, const Call<Request, Reply>&) {}  // not about locks
  void see(const Applied& when, const AcquireCall& call);
  void see(const Applied& when, const RenewCall& call);
  void see(const Applied& when, const ReleaseCall& call);
  void see(const Applied& when, const WithdrawCall& call);
  void see(const Applied& when, const BreakCall& call);
  void see(const Applied& when, const TidyCall& call);

  bool see_repeat(const Applied& when, const AcquireCall& call);
  void see_error(const Applied& when, const AcquireCall& call);
  void see_held(const Applied& when, const AcquireCall& call, const std::vector<Standing>& standings);
  void see_grant(const Applied& when, const AcquireRequest& request, const LockGrant& grant, const Standing& standing);
  void see_fence(const Applied& when, const std::string& resource, Fence fence);
  void send_to_the_end(const Standing& standing);
  void see_hand_over(const Applied& when, const AcquireRequest& request, const Standing& standing);
  static void let_go(const Applied& when, KnownLock& lock, Holder& holder);

  Instant store_now(const SimRuntime& process) const {
    return store_clock_ ? store_clock_->now() : process.simulation().now();
  }
  Instant true_now(const Applied& when) const { return truth_ ? truth_->now() : when.at; }
  static KnownLock brought_back(KnownLock lock, Instant now);
  void bring_back(const AcquireRequest& request, Instant now);
  void see_silence(const Applied& when, const std::string& resource);
  Holder heard_of(const Applied& when, const AcquireRequest& request) const;
  Standing stand(const AcquireRequest& request, const std::string& name, Instant now) const;
  bool joins(const std::string& resource, const AcquireRequest& request, Instant now) const;
  const KnownLock* find(const std::string& resource) const;
  Holder* holder_of(const LockHolding& lock);  // none: not under this very fence
  bool has_place(const AcquireRequest& request, Instant now) const;
  void leave_queue(const std::string& owner, const std::string& request);
  void broken(std::string_view promise, const std::string& resource, std::string_view what);

  std::string ns_;
  Store& store_;
  Violations& violations_;
  Tally& tally_;
  LockRules rules_;
  const Clock* store_clock_ = nullptr;
  const Clock* truth_ = nullptr;
  std::int64_t leaps_ = 0;
  std::int64_t tidied_ = 0;
  WallTime wall_high_;

  // Not of the store, so it cannot forget them.
  std::map<std::string, Fence> told_;         // the newest fence that a lost tail had
  std::set<LockHolding> forgotten_;           // leases of a lost tail are trusted in vain
  std::set<LockHolding> releases_forgotten_;  // leases that ended in a lost tail, and are there again after it
  std::set<LockHolding> ended_by_break_;      // their holders learn of it when they next ask
  std::map<LockHolding, std::stop_token> handles_;
};

}  // namespace fenceline::sim

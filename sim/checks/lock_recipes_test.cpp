// Widely copied ways to make a lock that are wrong, as small models that run: each in the same world, under the same
// storm and the same seeds as our own lock client on our store, which must pass where each of them is found out by the
// promise that it breaks. So that nothing is found out for being home-made, what is right in them is played without the
// mistake as well.
//
// The numbers are those of the list of faults that this project keeps.
//
//   R1   lock by one command, fence by a second              LockRecipes.R1_LockFirstAndFenceByASecondCommand
//   R2   after an error the lock is deleted, whoever has it  LockRecipes.R2_AnUnconditionalDeleteAfterAnError
//   R3   the guard takes larger fences only                  LockRecipes.R3_AGuardThatTakesLargerFencesOnly
//   R4   is about effects of jobs                            the mutant E1-fence-in-the-effect-key,
//   EffectConformance.E1_... R5   a lease by the time of the transaction's start
//   LockRecipes.R5_ALeaseThatCountsFromTheStartOfItsTransaction R6   release by GET and then DEL
//   LockRecipes.R6_B18_AReleaseByGetThenDelete
//        freed when a short task ends                        LockRecipes.R6_B25_ALockFreedWhenAShortTaskEnds
//   R7   the earliest claim of all time wins                 TrackerRecipes.R7_TheEarliestClaimOfAllTimeWins
//   R8   the loser removes the shared label                  TrackerRecipes.R8_TheLoserRemovesTheSharedLabel
//   R9   order by whole seconds                              TrackerRecipes.R9_ClaimsInTheOrderOfWholeSeconds
//        the ttl as the claim says it                        TrackerRecipes.R9_ATtlFromTheTextOfTheClaim
//        label and comment are two steps                     TrackerRecipes.R9_ACrashBetweenLabelAndComment
//        (its forged authors and its pages are about trackers alone, and come with them)
//
// B8, B9, B10, B13, B15, B16 and B25 of the list of real bugs are here too; lock_answers_test.cpp has more of those, by
// their answers. Those on a tracker are in tracker_recipes_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fenceline/loop_lock.hpp"
#include "services/lock_client.hpp"
#include "sim/checks/recipe_world.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

// Something that is written under the lock, and compares fences.
class GuardedCell {
 public:
  explicit GuardedCell(RecipeWorld& world) : world_(world) {}

  void take_larger_fences_only() { larger_only_ = true; }

  void write(const std::string& owner, Fence fence) {
    const bool accepted = larger_only_ ? fence > newest_ : fence >= newest_;
    if (!accepted && world_.is_alive(owner, fence))
      world_.broken("gate", owner + " holds the lock under " + std::to_string(fence) + ", and its write was refused");
    if (accepted) newest_ = std::max(newest_, fence);
  }

 private:
  RecipeWorld& world_;
  bool larger_only_ = false;
  Fence newest_ = 0;
};

// --- ours

struct Silence final : LogSink {
  void write(const LogEvent&) override {}
};

class Ours : public Recipe {
 public:
  using Recipe::Recipe;

  void live(RecipeHost& host, std::stop_token stop) override {
    Silence silence;
    LockClient client(make_lock_parts(host.runtime, Log(silence), host.wire,
                                      {.ns = "default", .place = host.runtime.name(), .tidy_every = 1min}));
    while (!stop.stop_requested()) {
      take_one(host, client);
      host.runtime.sleep_for(world_.random().between(Duration{1}, kRecipeTtl / 4), stop);
    }
  }

 private:
  void take_one(RecipeHost& host, LockClient& client) {
    Result<HeldLock> held = client.acquire({.names = {std::string(kRecipeLock)},
                                            .ttl = kRecipeTtl,
                                            .wait = world_.random().between(Duration{0}, 4 * kRecipeTtl)});
    if (!held) return;
    const Instant end =
        host.runtime.now() + world_.random().between(Duration{0}, world_.storm() ? 2 * kRecipeTtl : kRecipeTtl / 4);
    while (held->held()) {
      world_.acts(host, held->owner(), held->fence());
      cell_.write(held->owner(), held->fence());
      if (host.runtime.now() >= end) break;
      host.runtime.sleep_for(kRecipeTtl / 8, held->stop());
      if (held->stop().stop_requested()) break;
    }
    (void)held->release();
  }

  GuardedCell cell_{world_};
};

TEST(LockRecipes, OursPassesThem) { EXPECT_EQ(found_out<Ours>(), ""); }

// --- a lock in a map

// What such a lock does if it is made with care: every question is one step at its server, the owner is compared in it,
// and trust counts from before the question.
class InAMap : public Recipe {
 public:
  using Recipe::Recipe;

  void once(RecipeHost& host) override {
    const std::string me = host.fresh_owner();
    const Instant asked = host.runtime.now();
    const Fence fence = take(host, me);
    if (fence == 0) return;
    world_.work(
        host, me, fence, trusts_from(host, asked), [&] { return renew(host, me, fence); },
        [&] { cell_.write(me, fence); });
    give_back(host, me, fence);
  }

 protected:
  virtual Fence take(RecipeHost& host, const std::string& me) {
    return host.ask([this, me] { return map_.set_if_absent(key_, me, kRecipeTtl) ? mint(me) : 0; }).value_or(0);
  }
  virtual bool renew(RecipeHost& host, const std::string& me, Fence fence) {
    return host.ask([this, me, fence] { return map_.get(key_) == me && extend(me, fence); }).value_or(false);
  }
  virtual void give_back(RecipeHost& host, const std::string& me, Fence fence) {
    host.ask([this, me, fence] {
      if (map_.get(key_) == me) remove(me, fence);
      return true;
    });
  }
  virtual Instant trusts_from(RecipeHost&, Instant asked) { return asked; }

  // In one step with the command around it.
  Fence mint(const std::string& me) {
    const Fence fence = map_.increment("fence");
    world_.granted(me, fence, map_.left(key_));
    return fence;
  }
  bool extend(const std::string& me, Fence fence) {
    map_.expire(key_, kRecipeTtl);
    world_.renewed(me, fence);
    return true;
  }
  void remove(const std::string& me, Fence fence) {
    map_.remove(key_);
    world_.released(me, fence);
  }

  const std::string key_{kRecipeLock};
  PlainMap map_{world_};
  GuardedCell cell_{world_};
};

TEST(LockRecipes, ALockInAMapWithoutAMistakePassesThem) { EXPECT_EQ(found_out<InAMap>(), ""); }

// The one that stalled between the two outranks the one that has the lock.
class FenceByASecondCommand : public InAMap {
 public:
  using InAMap::InAMap;

 protected:
  Fence take(RecipeHost& host, const std::string& me) override {
    if (!host.ask([this, me] { return map_.set_if_absent(key_, me, kRecipeTtl); }).value_or(false)) return 0;
    return host
        .ask([this, me] {
          const Fence fence = map_.increment("fence");
          world_.granted(me, fence, map_.get(key_) == me ? map_.left(key_) : Duration{0});
          return fence;
        })
        .value_or(0);
  }
};

TEST(LockRecipes, R1_LockFirstAndFenceByASecondCommand) { EXPECT_FOUND_OUT("L3", FenceByASecondCommand); }

// The second command looks whose lock it is; but when it fails, the lock is deleted without a look.
class DeletesAfterAnError : public InAMap {
 public:
  using InAMap::InAMap;

 protected:
  Fence take(RecipeHost& host, const std::string& me) override {
    if (!host.ask([this, me] { return map_.set_if_absent(key_, me, kRecipeTtl); }).value_or(false)) return 0;
    const Fence fence = host.ask([this, me] { return map_.get(key_) == me ? mint(me) : 0; }).value_or(0);
    if (fence != 0) return fence;
    host.ask([this] {
      map_.remove(key_);
      return true;
    });
    return 0;
  }
};

TEST(LockRecipes, R2_AnUnconditionalDeleteAfterAnError) { EXPECT_FOUND_OUT("L3", DeletesAfterAnError); }

// The second write of the rightful holder looks stale.
class LargerFencesOnly : public InAMap {
 public:
  explicit LargerFencesOnly(RecipeWorld& world) : InAMap(world) { cell_.take_larger_fences_only(); }
};

TEST(LockRecipes, R3_AGuardThatTakesLargerFencesOnly) { EXPECT_FOUND_OUT("gate", LargerFencesOnly); }

// The look says that it is mine, the ttl ends, another takes it, and the delete takes the other's (redis-py#415 and
// others).
class GetThenDelete : public InAMap {
 public:
  using InAMap::InAMap;

 protected:
  void give_back(RecipeHost& host, const std::string& me, Fence fence) override {
    if (!host.ask([this, me] { return map_.get(key_) == me; }).value_or(false)) return;
    host.ask([this, me, fence] {
      if (map_.get(key_) == me) remove(me, fence);
      else map_.remove(key_);
      return true;
    });
  }
};

TEST(LockRecipes, R6_B18_AReleaseByGetThenDelete) { EXPECT_FOUND_OUT("L3", GetThenDelete); }

// The lease is given up first, and the flag of the one who held it a moment later (kubernetes#44887).
class ReleasedBeforeItIsOff : public InAMap {
 public:
  using InAMap::InAMap;

 protected:
  void give_back(RecipeHost& host, const std::string& me, Fence fence) override {
    InAMap::give_back(host, me, fence);
    world_.acts(host, me, fence);
  }
};

TEST(LockRecipes, B8_ReleasedBeforeItIsOff) { EXPECT_FOUND_OUT("L5", ReleasedBeforeItIsOff); }

// The row is matched by its name alone (oban#1488).
class RenewsByName : public InAMap {
 public:
  using InAMap::InAMap;

 protected:
  bool renew(RecipeHost& host, const std::string& me, Fence fence) override {
    return host.ask([this, me, fence] { return map_.get(key_).has_value() && extend(me, fence); }).value_or(false);
  }
};

TEST(LockRecipes, B9_ARenewalThatMatchesTheNameOnly) { EXPECT_FOUND_OUT("L4", RenewsByName); }

// Who holds it is the name of the machine, on which several run (oban-py#32).
class OwnerIsTheHost : public InAMap {
 public:
  using InAMap::InAMap;

 protected:
  Fence take(RecipeHost& host, const std::string& me) override {
    return host
        .ask([this, me, mine = host.runtime.machine().name()] {
          return map_.get(key_) == mine || map_.set_if_absent(key_, mine, kRecipeTtl) ? mint(me) : 0;
        })
        .value_or(0);
  }
  bool renew(RecipeHost& host, const std::string& me, Fence fence) override {
    return host
        .ask([this, me, fence, mine = host.runtime.machine().name()] {
          return map_.get(key_) == mine && extend(me, fence);
        })
        .value_or(false);
  }
  void give_back(RecipeHost& host, const std::string& me, Fence fence) override {
    host.ask([this, me, fence, mine = host.runtime.machine().name()] {
      if (map_.get(key_) == mine) remove(me, fence);
      return true;
    });
  }
};

TEST(LockRecipes, B10_TheOwnerIsTheHost) { EXPECT_FOUND_OUT("L3", OwnerIsTheHost); }

// The counter is a key of its own, and its server is short of memory (redisson#6510).
class CounterThatIsEvicted : public InAMap {
 public:
  using InAMap::InAMap;
  void server_suffers() override { map_.evict("fence"); }
};

TEST(LockRecipes, B13_ACounterThatIsEvicted) { EXPECT_FOUND_OUT("L2", CounterThatIsEvicted); }

// Validity is counted from the answer: the slowest node answered when the lock was over (redsync#72).
class TrustsFromTheAnswer : public InAMap {
 public:
  using InAMap::InAMap;

 protected:
  Instant trusts_from(RecipeHost& host, Instant) override { return host.runtime.now(); }
};

TEST(LockRecipes, B15_TrustThatCountsFromTheAnswer) { EXPECT_FOUND_OUT("L5", TrustsFromTheAnswer); }

// The key is gone, so it is set again (redlock-rb#36).
class SetsAgain : public InAMap {
 public:
  using InAMap::InAMap;

 protected:
  bool renew(RecipeHost& host, const std::string& me, Fence fence) override {
    return host
        .ask([this, me, fence] {
          return (map_.set_if_absent(key_, me, kRecipeTtl) || map_.get(key_) == me) && extend(me, fence);
        })
        .value_or(false);
  }
};

TEST(LockRecipes, B16_ARenewalThatSetsALostKeyAgain) { EXPECT_FOUND_OUT("L4", SetsAgain); }

// --- a row of a table

// The row has an owner and an end. Somebody else (a report, a dump) has the row locked at times, and the statement
// waits.
class InARow : public InAMap {
 public:
  using InAMap::InAMap;
  void server_suffers() override { busy_until_ = world_.now() + world_.random().between(Duration{0}, 2 * kRecipeTtl); }

 protected:
  // What the statement compares with, and counts from.
  virtual Instant now_of(Instant begun) const {
    (void)begun;
    return world_.now();  // as clock_timestamp() says it
  }

  Fence take(RecipeHost& host, const std::string& me) override {
    const std::optional<Instant> begun = host.ask([this] { return world_.now(); });
    if (!begun) return 0;
    for (int waits = 0; waits < 1000; ++waits) {
      constexpr Fence kWaits = -1;
      const Fence said = host.ask([this, me, begun] {
                               if (busy_until_ > world_.now()) return kWaits;
                               const Instant now = now_of(*begun);
                               if (end_ > now) return Fence{0};
                               owner_ = me;
                               end_ = now + kRecipeTtl;
                               world_.granted(me, ++fence_);
                               return fence_;
                             })
                             .value_or(0);
      if (said != kWaits) return said;
      host.runtime.sleep_for(100ms, {});
    }
    return 0;
  }
  bool renew(RecipeHost& host, const std::string& me, Fence fence) override {
    return host
        .ask([this, me, fence] {
          if (owner_ != me || end_ <= world_.now()) return false;
          end_ = world_.now() + kRecipeTtl;
          world_.renewed(me, fence);
          return true;
        })
        .value_or(false);
  }
  void give_back(RecipeHost& host, const std::string& me, Fence fence) override {
    host.ask([this, me, fence] {
      if (owner_ != me || end_ <= world_.now()) return false;
      end_ = world_.now();
      world_.released(me, fence);
      return true;
    });
  }

 private:
  std::string owner_;
  Instant end_ = Instant::min();
  Fence fence_ = 0;
  Instant busy_until_ = Instant::min();
};

TEST(LockRecipes, ALockInARowWithoutAMistakePassesThem) { EXPECT_EQ(found_out<InARow>(), ""); }

// now() stands still from the start of the transaction: after a wait it writes an end that is near, or past.
class ByTheStartOfTheTransaction : public InARow {
 public:
  using InARow::InARow;

 protected:
  Instant now_of(Instant begun) const override { return begun; }
};

TEST(LockRecipes, R5_ALeaseThatCountsFromTheStartOfItsTransaction) {
  EXPECT_FOUND_OUT("L3", ByTheStartOfTheTransaction);
}

// The end is compared with the wall clock of the one that asks, which may be minutes ahead (ShedLock#231).
class ByTheClockOfTheAsker : public InAMap {
 public:
  using InAMap::InAMap;

 protected:
  Fence take(RecipeHost& host, const std::string& me) override {
    return host
        .ask([this, me, now = host.runtime.wall_now()] {
          if (until_ > now) return Fence{0};
          until_ = now + kRecipeTtl;
          owner_ = me;
          world_.granted(me, ++fence_);
          return fence_;
        })
        .value_or(0);
  }
  bool renew(RecipeHost&, const std::string&, Fence) override { return false; }
  void give_back(RecipeHost& host, const std::string& me, Fence) override {
    host.ask([this, me, now = host.runtime.wall_now()] {
      if (owner_ == me) until_ = now;
      return true;
    });
  }

 private:
  WallTime until_;
  std::string owner_;
  Fence fence_ = 0;
};

TEST(LockRecipes, B25_TheClockOfTheOneThatAsksDecides) { EXPECT_FOUND_OUT("L3", ByTheClockOfTheAsker); }

// --- one run for each tick, on every node, by the node's own clock

class Ticking : public Recipe {
 public:
  using Recipe::Recipe;

  void live(RecipeHost& host, std::stop_token stop) override {
    while (!stop.stop_requested()) {
      host.runtime.sleep_for(until_the_next_tick(host), stop);
      run(host);
    }
  }
  // Whoever is a moment later than another finds the lock taken, each time.
  bool serves_everybody() const override { return false; }

 protected:
  virtual void run(RecipeHost& host) {
    const std::string me = host.fresh_owner();
    const Instant asked = host.runtime.now();
    const Fence fence = host.ask([this, me] {
                              if (!map_.set_if_absent(std::string(kRecipeLock), me, kRecipeTtl)) return Fence{0};
                              world_.granted(me, ++fence_, kRecipeTtl, true);
                              return fence_;
                            })
                            .value_or(0);
    if (fence == 0) return;
    if (host.runtime.now() < asked + kRecipeTtl - kRecipeMargin) world_.acts(host, me, fence);
    done(host, me);
  }
  virtual void done(RecipeHost&, const std::string&) {}
  static Duration until_the_next_tick(const RecipeHost& host) {
    return kRecipeTtl - host.runtime.wall_now().time_since_epoch() % kRecipeTtl;
  }

  PlainMap map_{world_};

 private:
  Fence fence_ = 0;
};

TEST(LockRecipes, AWindowInAMapThatIsNeverFreedPassesThem) { EXPECT_EQ(found_out<Ticking>(), ""); }

// The first one is done in a moment and frees it; a node whose clock is behind runs the same tick again (ShedLock#6).
class FreedWhenDone : public Ticking {
 public:
  using Ticking::Ticking;

 protected:
  void done(RecipeHost& host, const std::string& me) override {
    host.ask([this, me] {
      if (map_.get(std::string(kRecipeLock)) == me) map_.remove(std::string(kRecipeLock));
      return true;
    });
  }
};

TEST(LockRecipes, R6_B25_ALockFreedWhenAShortTaskEnds) { EXPECT_FOUND_OUT("L6", FreedWhenDone); }

class OurLoop : public Ticking {
 public:
  using Ticking::Ticking;

  void live(RecipeHost& host, std::stop_token stop) override {
    Silence silence;
    LockClient client(
        make_lock_parts(host.runtime, Log(silence), host.wire, {.ns = "default", .place = host.runtime.name()}));
    LoopLock loop(client, {.names = {std::string(kRecipeLock)}, .ttl = kRecipeTtl});
    while (!stop.stop_requested()) {
      host.runtime.sleep_for(until_the_next_tick(host), stop);
      (void)loop.run_once([&](const HeldLock& held) {
        if (held.held()) world_.acts(host, held.owner(), held.fence());
      });
    }
  }
};

TEST(LockRecipes, OurLoopPassesThem) { EXPECT_EQ(found_out<OurLoop>(), ""); }

}  // namespace
}  // namespace fenceline::sim

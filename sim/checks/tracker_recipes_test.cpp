// Locks of a label and a comment on a tracker, as models that run: see lock_recipes_test.cpp, which has the list.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/checks/recipe_world.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

// Whoever sees no label sets it, posts a claim, waits a moment and reads all claims: the earliest that lives has won,
// and its number is the fence. A label without a living claim is removed by whoever sees it. A loser takes back its own
// claim and nothing else.
class OnATracker : public Recipe {
 public:
  using Recipe::Recipe;

  void once(RecipeHost& host) override {
    const std::string me = host.fresh_owner();
    if (!host.ask([this] { return look(); }).value_or(false)) return;
    if (!host.ask([this] { return label_ = true; })) return;
    const Instant asked = host.runtime.now();
    const std::optional<Fence> posted = host.ask([this, me] { return post(me); });
    if (!posted) return;
    host.runtime.sleep_for(kReadBack, {});
    const bool won = host.ask([this, me, number = host.number] { return read_back(me, number); }).value_or(false);
    if (won) world_.work(host, me, *posted, asked);
    host.ask([this, me, won, id = *posted] {
      const auto mine = std::ranges::find(claims_, me, &Claim::owner);
      // Also if it does not know that it had won.
      if (mine != claims_.end() && mine->won && lives(*mine)) world_.released(me, id);
      if (mine != claims_.end()) claims_.erase(mine);
      if (won) label_ = false;
      else lost();
      return true;
    });
  }

 protected:
  static constexpr Duration kReadBack = kRecipeTtl / 20;

  struct Claim {
    Fence id = 0;
    std::string owner;
    Instant posted{};
    Duration ttl{};
    bool won = false;
  };

  virtual const Claim* winner(int reader) const {
    (void)reader;
    const auto found = std::ranges::find_if(claims_, [this](const Claim& claim) { return lives(claim); });
    return found == claims_.end() ? nullptr : &*found;
  }
  virtual bool is_abandoned() const {
    return std::ranges::none_of(claims_, [this](const Claim& claim) { return lives(claim); });
  }
  virtual void lost() {}
  virtual Duration says_ttl() { return kRecipeTtl; }

  bool lives(const Claim& claim) const { return claim.posted + claim.ttl > world_.now(); }

  std::vector<Claim> claims_;  // as they were posted
  bool label_ = false;

 private:
  bool look() {
    if (label_ && is_abandoned()) label_ = false;
    return !label_;
  }
  Fence post(const std::string& me) {
    claims_.push_back({++ids_, me, world_.now(), says_ttl()});
    return ids_;
  }
  bool read_back(const std::string& me, int reader) {
    const Claim* won = winner(reader);
    if (!won || won->owner != me) return false;
    world_.granted(me, won->id, won->posted + won->ttl - world_.now());
    std::ranges::find(claims_, me, &Claim::owner)->won = true;
    return true;
  }

  Fence ids_ = 0;
};

TEST(TrackerRecipes, AClaimOnATrackerWithoutAMistakePassesThem) { EXPECT_EQ(found_out<OnATracker>(), ""); }

// One that crashed stays the earliest for ever, and everybody after it loses. The sweep looks at the latest.
class EarliestOfAllTime : public OnATracker {
 public:
  using OnATracker::OnATracker;

 protected:
  const Claim* winner(int) const override { return claims_.empty() ? nullptr : &claims_.front(); }
  bool is_abandoned() const override { return claims_.empty() || !lives(claims_.back()); }
};

TEST(TrackerRecipes, R7_TheEarliestClaimOfAllTimeWins) { EXPECT_FOUND_OUT("turn", EarliestOfAllTime); }

// Claims decide among those that come at the same time; against whoever comes later the label is all there is.
class LoserRemovesTheLabel : public OnATracker {
 public:
  using OnATracker::OnATracker;

 protected:
  const Claim* winner(int) const override {
    const auto found = std::ranges::find_if(
        claims_, [this](const Claim& claim) { return claim.posted + kRecipeTtl / 4 > world_.now(); });
    return found == claims_.end() ? nullptr : &*found;
  }
  void lost() override { label_ = false; }
};

TEST(TrackerRecipes, R8_TheLoserRemovesTheSharedLabel) { EXPECT_FOUND_OUT("L3", LoserRemovesTheLabel); }

// Two of one second, and two programs that list them in another order.
class InWholeSeconds : public OnATracker {
 public:
  using OnATracker::OnATracker;

 protected:
  const Claim* winner(int reader) const override {
    const Claim* first = nullptr;
    const auto second = [](const Claim& claim) { return claim.posted.time_since_epoch() / 1s; };
    for (const Claim& claim : claims_) {
      if (!lives(claim)) continue;
      const bool ties = first && second(claim) == second(*first);
      if (!first || second(claim) < second(*first) || (ties && reader % 2 == 1)) first = &claim;
    }
    return first;
  }
};

TEST(TrackerRecipes, R9_ClaimsInTheOrderOfWholeSeconds) { EXPECT_FOUND_OUT("L3", InWholeSeconds); }

class TtlFromTheText : public OnATracker {
 public:
  using OnATracker::OnATracker;

 protected:
  Duration says_ttl() override { return world_.random().chance(0.1) ? Duration{99'999'999s} : kRecipeTtl; }
};

TEST(TrackerRecipes, R9_ATtlFromTheTextOfTheClaim) { EXPECT_FOUND_OUT("L4", TtlFromTheText); }

// A label whose claim never came is nobody's, so the sweep, which looks at claims, finds nothing to do.
class LabelWithoutAComment : public OnATracker {
 public:
  using OnATracker::OnATracker;

 protected:
  bool is_abandoned() const override { return !claims_.empty() && OnATracker::is_abandoned(); }
};

TEST(TrackerRecipes, R9_ACrashBetweenLabelAndComment) { EXPECT_FOUND_OUT("turn", LabelWithoutAComment); }

}  // namespace
}  // namespace fenceline::sim

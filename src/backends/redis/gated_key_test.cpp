// A write gate in front of keys of a user's own, on a real server.
#include "fenceline/gated_key.hpp"

#include <gtest/gtest.h>

#include "backends/redis/store_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class GatedKey : public testing::Test {
 protected:
  GateAnswer set(Fence fence, const std::string& value) {
    return must(gate_->set({.key = key_, .fence = fence, .value = value}));
  }
  redis::Value get() { return admin_(redis::Command("GET").key(key_)); }

  ThreadRuntime runtime_;
  RedisKeys keys_{"gated"};
  redis::test::Admin admin_{runtime_};
  std::unique_ptr<GatedKeys> gate_ = must(GatedKeys::connect(keys_.url()));
  std::string key_ = keys_.prefix() + ":report";
};

TEST_F(GatedKey, TakesAnEqualOrLargerFenceAndRefusesAnOlderOne) {
  EXPECT_EQ(must(gate_->remembered(key_)), std::nullopt);
  EXPECT_TRUE(set(10, "first").accepted());
  EXPECT_TRUE(set(10, "again").accepted());
  EXPECT_TRUE(set(20, "second").accepted());
  const GateAnswer late = set(19, "late");
  EXPECT_EQ(late, (GateAnswer{GateVerdict::stale, 20}));
  EXPECT_EQ(get().text, "second");
  EXPECT_EQ(must(gate_->remembered(key_)), 20);
}

TEST_F(GatedKey, KeepsFencesOfSixteenDigitsApart) {
  EXPECT_TRUE(set(kFenceMax, "newest").accepted());
  EXPECT_EQ(set(kFenceMax - 1, "late").verdict, GateVerdict::stale);
  EXPECT_EQ(must(gate_->remembered(key_)), kFenceMax);
}

TEST_F(GatedKey, RemembersOverADeleteAndAnExpiry) {
  EXPECT_TRUE(set(10, "value").accepted());
  EXPECT_EQ(must(gate_->remove({.key = key_, .fence = 9})).verdict, GateVerdict::stale);
  EXPECT_EQ(get().text, "value");
  EXPECT_TRUE(must(gate_->remove({.key = key_, .fence = 11})).accepted());
  EXPECT_TRUE(get().is_nil());
  EXPECT_EQ(set(10, "late").verdict, GateVerdict::stale);
  EXPECT_TRUE(must(gate_->set({.key = key_, .fence = 12, .value = "soon gone", .expires = 1ms})).accepted());
  for (int i = 0; i < 10'000 && !get().is_nil(); ++i) runtime_.sleep_for(1ms, {});
  EXPECT_TRUE(get().is_nil());
  EXPECT_EQ(set(11, "late").verdict, GateVerdict::stale);
}

// Somebody was granted the lock and has not written yet.
TEST_F(GatedKey, KnowsTheNewestGrantOfALockOnTheSameServer) {
  ManualClock clock;
  const auto store = keys_.open(runtime_, clock);
  const auto taken = [&](const std::string& owner) {
    return must(store->acquire({.ns = "default", .names = {"report"}, .owner = owner, .request = owner, .ttl = 2s}))
        .grants.at(0)
        .fence;
  };
  const auto by_lock = [&](Fence fence) {
    return must(gate_->set({.key = key_, .fence = fence, .value = "x", .by = GatedBy{.lock = "report"}}));
  };
  const Fence a = taken("a");
  EXPECT_TRUE(by_lock(a).accepted());
  clock.advance(3s);
  const Fence b = taken("b");
  EXPECT_EQ(by_lock(a), (GateAnswer{GateVerdict::stale, a, b}));
  EXPECT_TRUE(by_lock(b).accepted());
}

TEST_F(GatedKey, TellsAStoreThatWasSetBackFromALateHolder) {
  ManualClock clock;
  const auto store = keys_.open(runtime_, clock);
  EXPECT_TRUE(set(kFenceMax, "before the restore").accepted());
  const Fence granted =
      must(store->acquire({.ns = "default", .names = {"report"}, .owner = "a", .request = "a", .ttl = 2s}))
          .grants.at(0)
          .fence;
  EXPECT_EQ(must(gate_->set({.key = key_, .fence = granted, .value = "x", .by = GatedBy{.lock = "report"}})).verdict,
            GateVerdict::behind);
}

TEST_F(GatedKey, RefusesWhatItCannotGuardAndChangesNothing) {
  EXPECT_EQ(code_of(gate_->set({.key = "", .fence = 1, .value = "x"})), Code::invalid);
  EXPECT_EQ(code_of(gate_->set({.key = key_, .fence = 0, .value = "x"})), Code::invalid);
  EXPECT_EQ(code_of(gate_->set({.key = key_, .fence = kFenceMax + 1, .value = "x"})), Code::invalid);
  EXPECT_EQ(code_of(gate_->set({.key = key_, .fence = 1, .value = "x", .expires = 0ms})), Code::invalid);
  admin_(redis::Command("RPUSH").key(key_).arg("a list"));
  EXPECT_EQ(code_of(gate_->set({.key = key_, .fence = 1, .value = "x"})), Code::invalid);
  EXPECT_EQ(must(gate_->remembered(key_)), std::nullopt);
  admin_(redis::Command("DEL").key(key_));
  admin_(redis::Command("SET").key(key_ + ":fence").arg("no number"));
  EXPECT_EQ(code_of(gate_->set({.key = key_, .fence = 1, .value = "x"})), Code::invalid);
  EXPECT_EQ(code_of(gate_->remembered(key_)), Code::invalid);
  EXPECT_TRUE(get().is_nil());
  EXPECT_EQ(code_of(GatedKeys::connect("http://somewhere")), Code::invalid);
}

}  // namespace
}  // namespace fenceline::test

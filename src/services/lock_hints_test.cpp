#include "services/lock_hints.hpp"

#include <gtest/gtest.h>

#include "backends/memory/memory_store.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct CountingEvent final : Event {
  void notify() override { ++notified; }
  bool wait_until(Instant) override { return notified > 0; }
  int notified = 0;
};

struct LockHintsTest : testing::Test {
  // One more waits each time, and the lock is broken: so the store speaks of it once.
  void speak() {
    const std::string number = std::to_string(++words);
    must(store.acquire({.ns = "default", .names = {"l"}, .owner = "o" + number, .request = "r" + number, .ttl = 1h}));
    must(store.break_lock({.ns = "default", .resource = "l", .only = {}, .request = "b" + number, .act = {"ann", ""}}));
  }

  ManualClock clock;
  MemoryStore store{clock};
  LockHints hints{store, "default"};
  std::shared_ptr<CountingEvent> event = std::make_shared<CountingEvent>();
  LockHints::ListenerPtr listener = std::make_shared<LockHints::Listener>(event);
  int words = 0;
};

TEST_F(LockHintsTest, EachHintIsCountedAndWakes) {
  hints.listen("l", listener);
  speak();
  speak();
  EXPECT_EQ(listener->hints, 2);
  EXPECT_EQ(event->notified, 2);
  hints.unlisten("l", listener);
  speak();
  EXPECT_EQ(listener->hints, 2);
}

TEST_F(LockHintsTest, WhoIsFarBehindCountsHintsAndIsWokenByThoseThatConcernIt) {
  hints.listen("l", listener);
  listener->wake_at = 3;
  speak();
  speak();
  EXPECT_EQ(listener->hints, 2);
  EXPECT_EQ(event->notified, 0);
  speak();
  speak();
  EXPECT_EQ(event->notified, 2);
}

TEST_F(LockHintsTest, WhatWasToldBetweenTwoMarksIsKnownWhileTheWatchIsTheSame) {
  EXPECT_FALSE(hints.mark("l")) << "nobody watches";
  hints.listen("l", listener);
  const auto before = hints.mark("l");
  speak();
  const auto other = std::make_shared<LockHints::Listener>(event);
  const auto after = hints.listen("l", other);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->watch, after->watch);
  EXPECT_EQ(after->told - before->told, 1);
}

}  // namespace
}  // namespace fenceline::test

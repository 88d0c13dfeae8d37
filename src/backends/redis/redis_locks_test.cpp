// What is Redis's own about locks: a plain release is one HDEL, the server's clock, a server that forgets, and
// wake-ups.
#include <gtest/gtest.h>

#include <atomic>

#include "backends/redis/store_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using redis::Command;
using redis::Value;

constexpr Duration kLockTtl = 1h;
constexpr Duration kLockSoon = 30s;  // long enough for a machine that is busy

class RedisLocks : public testing::Test {
 protected:
  std::unique_ptr<RedisStore> opened() {
    return must(RedisStore::open(runtime_, Log(null_log_sink()), {.url = keys_.url()}));
  }

  static AcquireRequest asking(const std::string& owner, const std::string& name = "l") {
    return {.ns = "default",
            .names = {name},
            .owner = owner,
            .request = "r-" + owner,
            .ttl = kLockTtl,
            .pattern = "item",
            .place = "host:" + owner};
  }
  static AcquireRequest waiting(const std::string& owner, const std::string& name = "l") {
    AcquireRequest request = asking(owner, name);
    request.wait = true;
    return request;
  }
  LockHolding taken(const AcquireRequest& request) {
    const AcquireReply reply = must(store_->acquire(request));
    if (reply.grants.empty()) throw std::runtime_error("not granted: " + std::string(to_string(reply.held->reason)));
    return {reply.grants.front().resource, request.owner, reply.grants.front().fence};
  }
  std::string tried(const AcquireRequest& request) {
    const Result<AcquireReply> reply = store_->acquire(request);
    if (!reply) return std::string(to_string(reply.error().code));
    return reply->held ? std::string(to_string(reply->held->reason)) : "granted";
  }
  std::string released(const LockHolding& lock) {
    const ReleaseReply reply = must(store_->release({.ns = "default", .locks = {lock}}));
    return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
  }
  std::string renewed(const LockHolding& lock) {
    const RenewReply reply = must(store_->renew({.ns = "default", .locks = {lock}, .ttl = kLockTtl}));
    return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
  }
  std::string key(const std::string& what) const { return keys_.prefix() + ":{default}:" + what; }
  std::vector<std::string> fields(const std::string& resource) {
    std::vector<std::string> out;
    for (const Value& field : admin_(Command("HKEYS").arg(key("lock:" + resource))).items) out.push_back(field.text);
    std::ranges::sort(out);
    return out;
  }
  // Calls of a command so far, from scripts or not.
  std::int64_t calls_of(const std::string& command) {
    const std::string stats = admin_(Command("INFO").arg("commandstats")).text;
    const std::size_t at = stats.find("cmdstat_" + command + ":calls=");
    return at == std::string::npos ? 0 : std::stoll(stats.substr(stats.find('=', at) + 1));
  }
  bool comes_about(const std::function<bool()>& what) {
    for (const Instant end = runtime_.now() + kLockSoon; runtime_.now() < end; runtime_.sleep_for(1ms, {})) {
      if (what()) return true;
    }
    return what();
  }

  ThreadRuntime runtime_;
  redis::test::Admin admin_{runtime_};
  RedisKeys keys_{"locks"};
  std::unique_ptr<RedisStore> store_ = opened();
};

TEST_F(RedisLocks, L4_APlainReleaseIsOneCommandAndIsKnownAfterwards) {
  const auto calls = [&] { return calls_of("fcall") + calls_of("evalsha"); };
  const LockHolding held = taken(asking("a"));
  EXPECT_EQ(fields("l"), (std::vector<std::string>{std::to_string(held.fence) + " a", "m"}));
  const std::int64_t before = calls();
  EXPECT_GT(before, 0);
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(calls(), before) << "no script was needed";
  EXPECT_EQ(fields("l"), std::vector<std::string>{"m"});
  EXPECT_EQ(released(held), "") << "a repeat";
  EXPECT_EQ(renewed(held), "released");
  EXPECT_EQ(tried(asking("a")), "lost") << "the same request, late";
  EXPECT_EQ(released({"l", "b", held.fence}), "other_owner");
  const LockHolding next = taken(asking("b"));
  EXPECT_GT(next.fence, held.fence);
  EXPECT_EQ(released(held), "superseded");
  EXPECT_EQ(renewed(next), "") << "nothing of the new holder's was deleted";
}

TEST_F(RedisLocks, TheSecondGrantOfAKnownLockIsTheShortWayAndHasAllTheRowShows) {
  EXPECT_EQ(released(taken(asking("a"))), "");
  const std::int64_t looked = calls_of("zadd") + calls_of("zrangebyscore");
  const LockHolding held = taken(asking("b"));
  EXPECT_EQ(calls_of("zadd") + calls_of("zrangebyscore"), looked);
  const LockRow row = must(store_->lock("default", "l")).value();
  EXPECT_EQ(row.fence, held.fence);
  EXPECT_EQ(row.pattern, "item");
  ASSERT_EQ(row.holders.size(), 1u);
  EXPECT_EQ(row.holders[0].owner, "b");
  EXPECT_EQ(row.holders[0].place, "host:b");
  EXPECT_EQ(row.holders[0].granted_at.time_since_epoch().count(), held.fence);
  EXPECT_EQ(tried(asking("b")), "granted") << "a repeat";
  EXPECT_EQ(taken(asking("b")), held);
  EXPECT_EQ(tried(asking("c")), "held");
  EXPECT_EQ(must(store_->acquire(asking("c"))).held->owner, "b");
}

TEST_F(RedisLocks, ARepeatIsKnownByTheLongestPlaceAndPattern) {
  AcquireRequest request = asking("a");
  request.place = std::string(kLockNoteBytesMax, 'h');
  request.pattern = std::string(kLockNoteBytesMax, 'p');
  const LockHolding held = taken(request);
  EXPECT_EQ(taken(request), held);
  EXPECT_EQ(released(held), "");
}

TEST_F(RedisLocks, WhatIsNotPlainIsReleasedByAScript) {
  AcquireRequest bar = asking("a");
  bar.hold_at_least = kLockTtl;
  EXPECT_EQ(released(taken(bar)), "");
  EXPECT_EQ(tried(asking("b")), "barred") << "the bar stays";
  AcquireRequest loop = asking("c", "loop");
  loop.to_its_end = true;
  EXPECT_EQ(released(taken(loop)), "to_its_end");
  AcquireRequest shared = asking("d", "shared");
  shared.mode = LockMode::shared;
  const LockHolding first = taken(shared);
  shared.owner = "e", shared.request = "r-e";
  EXPECT_EQ(taken(shared).fence, first.fence);
  EXPECT_EQ(released(first), "");
  EXPECT_EQ(tried(asking("f", "shared")), "held");
}

TEST_F(RedisLocks, FromTheFirstWaiterOnAReleaseTellsAndServesInTurn) {
  std::atomic<int> told = 0;
  const auto watch = store_->watch({.ns = "default", .queues = {}, .stage = "", .locks = {"l"}}, [&] { ++told; });
  ASSERT_TRUE(comes_about([&] { return told > 0; })) << "it listens";
  const LockHolding held = taken(asking("a"));
  EXPECT_EQ(tried(waiting("b")), "held");
  EXPECT_EQ(fields("l"), (std::vector<std::string>{"=" + std::to_string(held.fence) + " a", "m", "w"}));
  const int before = told;
  EXPECT_EQ(released(held), "");
  EXPECT_TRUE(comes_about([&] { return told > before; }));
  EXPECT_EQ(tried(asking("c")), "turn");
  const LockHolding next = taken(waiting("b"));
  EXPECT_EQ(fields("l"), (std::vector<std::string>{std::to_string(next.fence) + " b", "m"}))
      << "nobody waits any more: it is plain again";
}

TEST_F(RedisLocks, AListenerThatWasCutOffIsToldToLook) {
  std::atomic<int> told = 0;
  const auto watch = store_->watch({.ns = "default", .queues = {}, .stage = "", .locks = {"l"}}, [&] { ++told; });
  ASSERT_TRUE(comes_about([&] { return told > 0; }));
  const int before = told;
  admin_.kill_listeners();
  EXPECT_TRUE(comes_about([&] { return told > before; })) << "what came in between is not known";
  const LockHolding held = taken(asking("a"));
  EXPECT_EQ(tried(waiting("b")), "held");
  EXPECT_TRUE(comes_about([&, last = told.load()] {
    if (told > last) return true;
    static_cast<void>(
        store_->break_lock({.ns = "default", .resource = "l", .only = {}, .request = "b", .act = {"ann", ""}}));
    return told > last;
  })) << "and hears again";
}

TEST_F(RedisLocks, L2_AServerThatForgotEverythingGrantsALargerFence) {
  const LockHolding held = taken(asking("a"));
  keys_.empty();
  const LockHolding next = taken(asking("b"));
  EXPECT_GT(next.fence, held.fence) << "by its clock";
  EXPECT_EQ(renewed(held), "superseded");
  EXPECT_EQ(released(held), "superseded");
  EXPECT_EQ(renewed(next), "");
}

TEST_F(RedisLocks, AServerThatForgotItsScriptsIsToldThemAgain) {
  const LockHolding held = taken(asking("a"));
  admin_(Command("SCRIPT").arg("FLUSH"));
  EXPECT_EQ(renewed(held), "");
  admin_(Command("SCRIPT").arg("FLUSH"));
  EXPECT_EQ(tried(waiting("b")), "held");
  EXPECT_EQ(released(held), "");
  EXPECT_EQ(tried(waiting("b")), "granted");
}

TEST_F(RedisLocks, AFloorAheadOfTheClockHoldsForTheShortWayToo) {
  EXPECT_EQ(released(taken(asking("a"))), "");
  const Fence floor = taken(asking("b", "other")).fence + 3'600'000'000;
  ASSERT_EQ(must(store_->raise_floor({.ns = "default", .floor = floor, .act = {"ann", "restored"}})), floor);
  const LockHolding above = taken(asking("c"));
  EXPECT_EQ(above.fence, floor + 1);
  EXPECT_EQ(released(above), "");
  EXPECT_EQ(taken(asking("d")).fence, floor + 2);
  must(store_->remove_namespace("default", {"ann", ""}));
  EXPECT_EQ(taken(asking("e")).fence, floor + 3) << "the floor was raised to the largest fence of a lock";
}

TEST_F(RedisLocks, NothingIsLeftOfANamespaceButItsTrail) {
  EXPECT_EQ(released(taken(asking("a"))), "");
  taken(asking("b"));
  EXPECT_EQ(tried(waiting("c")), "held");
  must(store_->withdraw({.ns = "default", .names = {"l"}, .owner = "d", .request = "r", .ttl = kLockTtl}));
  must(store_->report_worker({.ns = "default", .owner = "w", .queues = {"q"}, .ttl = 30s}));
  must(store_->remove_namespace("default", {"ann", "over"}));
  const Value left = admin_(Command("KEYS").arg(keys_.prefix() + ":{*"));
  ASSERT_EQ(left.items.size(), 1u);
  EXPECT_EQ(left.items[0].text, key("trail"));
}

}  // namespace
}  // namespace fenceline::test

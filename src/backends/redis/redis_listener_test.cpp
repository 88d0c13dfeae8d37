// Pub/sub against a real server: who is told, when, and what a lost connection does to it.
#include "backends/redis/redis_listener.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "backends/redis/testing.hpp"

namespace fenceline::redis {
namespace {

using namespace std::chrono_literals;
using test::must;

// What a follower was told so far.
class Ear {
 public:
  explicit Ear(Runtime& runtime) : runtime_(runtime), told_(runtime.make_event()) {}

  std::function<void(const Heard&)> hears() {
    return [this](const Heard& heard) {
      {
        const std::lock_guard lock(mutex_);
        words_.push_back(heard.message ? std::string(heard.channel) + "=" + std::string(*heard.message) : "look");
      }
      told_->notify();
    };
  }
  std::vector<std::string> words() {
    const std::lock_guard lock(mutex_);
    return words_;
  }
  // That it was told this, after `from` others.
  bool was_told(const std::string& word, std::size_t from = 0) {
    const Instant deadline = runtime_.now() + 30s;
    for (;;) {
      const std::vector<std::string> all = words();
      if (std::find(all.begin() + static_cast<std::ptrdiff_t>(std::min(from, all.size())), all.end(), word) !=
          all.end())
        return true;
      if (!told_->wait_until(deadline)) return false;
    }
  }

 private:
  Runtime& runtime_;
  std::unique_ptr<Event> told_;
  std::mutex mutex_;
  std::vector<std::string> words_;
};

class RedisListener : public testing::Test {
 protected:
  void publish(const std::string& channel, const std::string& message) {
    admin_(Command("PUBLISH").arg(channel).arg(message));
  }
  bool subscribers_become(const std::string& channel, std::int64_t wanted) {
    for (int i = 0; i < 3000; ++i) {
      if (admin_(Command("PUBSUB").arg("NUMSUB").arg(channel)).items.at(1).integer == wanted) return true;
      runtime_.sleep_for(10ms, {});
    }
    return false;
  }

  ThreadRuntime runtime_;
  test::Admin admin_{runtime_};
};

TEST_F(RedisListener, FollowersHearTheirChannelAndOnlyThat) {
  Client client(runtime_, test::options_for(test::admin_url()));
  Ear a(runtime_), also_a(runtime_), b(runtime_);
  const auto on_a = client.subscribe("fl:a", a.hears());
  const auto on_a_too = client.subscribe("fl:a", also_a.hears());
  const auto on_b = client.subscribe("fl:b", b.hears());
  ASSERT_TRUE(a.was_told("look"));
  ASSERT_TRUE(b.was_told("look"));
  publish("fl:a", "one");
  publish("fl:b", "two");
  EXPECT_TRUE(a.was_told("fl:a=one"));
  EXPECT_TRUE(also_a.was_told("fl:a=one"));
  EXPECT_TRUE(b.was_told("fl:b=two"));
  EXPECT_EQ(b.words(), (std::vector<std::string>{"look", "fl:b=two"}));
  EXPECT_EQ(client.connections_made(), 0u) << "calls have a connection of their own, when there are any";
}

TEST_F(RedisListener, WithoutFollowersTheServerListensForNothing) {
  Client client(runtime_, test::options_for(test::admin_url()));
  Ear a(runtime_), b(runtime_);
  auto on_a = client.subscribe("fl:a", a.hears());
  auto on_b = client.subscribe("fl:b", b.hears());
  ASSERT_TRUE(a.was_told("look"));
  on_a.reset();
  EXPECT_TRUE(subscribers_become("fl:a", 0));
  EXPECT_TRUE(subscribers_become("fl:b", 1));
  // Again, and at once again.
  for (int i = 0; i < 20; ++i) on_a = client.subscribe("fl:a", a.hears());
  const std::size_t before = a.words().size();
  EXPECT_TRUE(subscribers_become("fl:a", 1));
  publish("fl:a", "x");
  EXPECT_TRUE(a.was_told("fl:a=x", before));
}

TEST_F(RedisListener, AfterAReconnectAllAreToldToLookAndHearAgain) {
  Client client(runtime_, test::options_for(test::admin_url()));
  Ear a(runtime_), b(runtime_);
  const auto on_a = client.subscribe("fl:a", a.hears());
  const auto on_b = client.subscribe("fl:b", b.hears());
  ASSERT_TRUE(a.was_told("look"));
  ASSERT_TRUE(b.was_told("look"));
  for (int i = 0; i < 3; ++i) {
    const std::size_t before_a = a.words().size();
    const std::size_t before_b = b.words().size();
    admin_.kill_listeners();
    ASSERT_TRUE(a.was_told("look", before_a));
    ASSERT_TRUE(b.was_told("look", before_b));
    publish("fl:b", "again");
    EXPECT_TRUE(b.was_told("fl:b=again", before_b));
  }
}

TEST_F(RedisListener, AServerThatComesBackIsListenedToAgain) {
  Client client(runtime_, test::options_for(test::admin_url()));
  Ear a(runtime_);
  const auto on_a = client.subscribe("fl:a", a.hears());
  ASSERT_TRUE(a.was_told("look"));
  const std::size_t before = a.words().size();
  test::Server::kill(runtime_);
  test::Server::start(runtime_);
  admin_.connect();
  ASSERT_TRUE(a.was_told("look", before));
  publish("fl:a", "back");
  EXPECT_TRUE(a.was_told("fl:a=back", before));
}

TEST_F(RedisListener, WhatTheServerDoesNotLetUsHearIsToldBySecond) {
  Client client(runtime_, test::options_for(test::from_environment("FENCELINE_TEST_REDIS")));
  Ear refused(runtime_), allowed(runtime_);
  const auto on_refused = client.subscribe("other:a", refused.hears());
  const auto on_allowed = client.subscribe("limited:a", allowed.hears());
  ASSERT_TRUE(refused.was_told("look"));
  ASSERT_TRUE(refused.was_told("look", 1));
  ASSERT_TRUE(allowed.was_told("look"));
  publish("limited:a", "x");
  EXPECT_TRUE(allowed.was_told("limited:a=x"));
}

TEST_F(RedisListener, NobodyIsCalledAfterItsSubscriptionEnded) {
  Client client(runtime_, test::options_for(test::admin_url()));
  std::atomic<bool> stops{false};
  Task noise = runtime_.spawn("noise", [&](const std::stop_token&) {
    test::Admin admin(runtime_);
    while (!stops) admin(Command("PUBLISH").arg("fl:a").arg("x"));
  });
  Ear kept(runtime_);
  const auto on_kept = client.subscribe("fl:a", kept.hears());
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> calls{0};
    auto subscription = client.subscribe("fl:a", [&](const Heard&) { ++calls; });
    runtime_.sleep_for(1ms, {});
    subscription.reset();
    const int after = calls.exchange(-1'000'000);
    EXPECT_GE(after, 0);
    EXPECT_EQ(calls, -1'000'000);
  }
  stops = true;
}

}  // namespace
}  // namespace fenceline::redis

// Widely copied recipes that are wrong, as small models: each is a store of its own that makes the known mistake,
// played through the schedule that shows it. What its clients see is a history, and the checker must find it out. The
// rows are those of the list of faults that this project keeps.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "check/history_text.hpp"

namespace fenceline::audit {
namespace {

constexpr std::int64_t kTtl = 10'000;  // milliseconds

// A lock in one place and a counter in another, as with SETNX and INCR. The lock is the job's lease, the counter its
// fence.
class LockAndCounter {
 public:
  bool set_if_absent(std::int64_t now, const std::string& owner) {
    if (holder_ && now < until_) return false;
    holder_ = owner;
    until_ = now + kTtl;
    return true;
  }
  std::int64_t increment() { return ++counter_; }
  void remove() { holder_.reset(); }  // whoever holds it
  bool held_by(const std::string& owner, std::int64_t now) const { return holder_ == owner && now < until_; }

 private:
  std::optional<std::string> holder_;
  std::int64_t until_ = 0;
  std::int64_t counter_ = 0;
};

HistoryText with_job() {
  HistoryText history;
  history.enqueue(0, 1, {.id = "j"});
  return history;
}

history::JobPart grant(std::int64_t fence, std::int64_t deliveries, std::int64_t left = 10'000'000) {
  return {.id = "j",
          .fence = fence,
          .left = left,
          .deliveries = deliveries,
          .losses_in_row = deliveries - 1,
          .forced = deliveries > 1};
}

// A takes the lock and stalls; its ttl ends; B takes lock and fence and writes; A takes a larger fence and writes.
TEST(WrongRecipes, R1_LockFirstAndFenceByASecondCommand) {
  LockAndCounter redis;
  HistoryText history = with_job();
  ASSERT_TRUE(redis.set_if_absent(10, "a"));
  ASSERT_TRUE(redis.set_if_absent(10'100, "b"));
  const std::int64_t fence_b = redis.increment();
  history.claim(10'090, 10'120, "b", grant(fence_b, 1));
  const std::int64_t fence_a = redis.increment();  // it outranks the holder
  history.claim(5, 10'200, "a", grant(fence_a, 2));
  EXPECT_EQ(history.broken(), "L3");
}

// A takes the lock and stalls past its ttl; B takes it; A's INCR errors, and A deletes the lock, which is B's; C takes
// it.
TEST(WrongRecipes, R2_AnUnconditionalDeleteOfWhatIsAnothersLock) {
  LockAndCounter redis;
  HistoryText history = with_job();
  ASSERT_TRUE(redis.set_if_absent(10, "a"));
  ASSERT_TRUE(redis.set_if_absent(10'100, "b"));
  history.claim(10'090, 10'110, "b", grant(redis.increment(), 1));
  history.call(5, 10'200,
               {.verb = Verb::claim, .owner = "a", .request = "ra", .queues = {"q"}, .limit = 1, .ttl = 10'000'000},
               {.kind = Kind::fail, .code = "unavailable"});
  redis.remove();
  ASSERT_TRUE(redis.set_if_absent(10'300, "c"));
  history.claim(10'290, 10'310, "c", grant(redis.increment(), 2));
  EXPECT_EQ(history.broken(), "L3");
}

// The guard accepts only a fence larger than the stored one: the holder's second write is refused as stale.
TEST(WrongRecipes, R3_AGuardThatRefusesTheHoldersOwnSecondWrite) {
  std::int64_t stored = 0;
  const auto guarded_write = [&](std::int64_t fence) { return fence > stored ? (stored = fence, true) : false; };
  HistoryText history = with_job();
  history.claim(10, 12, "a", grant(5, 1));
  ASSERT_TRUE(guarded_write(5));
  history.call(20, 21, {.verb = Verb::record, .jobs = {{.id = "j", .fence = 5}}});
  ASSERT_FALSE(guarded_write(5));
  history.refused(30, 31, Verb::settle, "a", "j", 5, "superseded", stored);
  EXPECT_EQ(history.broken(), "J3");
}

// Effects are unique by (job, fence): A commits one and dies, B commits another for the same job.
TEST(WrongRecipes, R4_AnOutcomeThatIsUniqueByJobAndFenceIsTakenTwice) {
  std::map<std::pair<std::string, std::int64_t>, std::string> effects;
  HistoryText history = with_job();
  history.claim(10, 12, "a", grant(5, 1));
  ASSERT_TRUE(effects.emplace(std::pair{"j", 5}, "done").second);
  history.settle(20, 21, "a", "j", 5);
  history.claim(10'100, 10'110, "b", grant(6, 2));  // the row of the job was not touched: it looks expired
  ASSERT_TRUE(effects.emplace(std::pair{"j", 6}, "done").second);
  history.settle(10'200, 10'210, "b", "j", 6);
  EXPECT_EQ(history.broken(), "J3");
}

// NOW() stands still in a transaction: after five seconds of waiting for the row's lock the lease that is written is
// five seconds shorter than the one that was promised, and is taken over while its holder trusts it.
TEST(WrongRecipes, R5_ALeaseCountedFromTheBeginOfItsTransaction) {
  const std::int64_t begin = 100;
  const std::int64_t locked = 5'100;
  const std::int64_t written_end = begin + kTtl;
  HistoryText history = with_job();
  history.call(begin, locked + 10,
               {.verb = Verb::claim, .owner = "a", .request = "ra", .queues = {"q"}, .limit = 1, .ttl = 10'000'000},
               {.jobs = {{.id = "j", .queue = "q", .attempts = 10, .fence = 5, .left = 10'000'000, .deliveries = 1}},
                .waited = (locked - begin) * 1000});
  history.claim(written_end + 1, written_end + 20, "b", grant(6, 2));
  EXPECT_EQ(history.broken(), "L3");
}

// Released by a look and a delete in two steps: between them the lock passed on, and the delete takes another's.
TEST(WrongRecipes, R6_AReleaseByGetThenDelete) {
  LockAndCounter redis;
  HistoryText history = with_job();
  ASSERT_TRUE(redis.set_if_absent(10, "a"));
  history.claim(5, 15, "a", grant(redis.increment(), 1));
  ASSERT_TRUE(redis.held_by("a", 10'009));  // the look
  ASSERT_TRUE(redis.set_if_absent(10'020, "b"));
  history.claim(10'018, 10'025, "b", grant(redis.increment(), 2));
  redis.remove();  // a's delete
  history.refused(10'000, 10'040, Verb::settle, "a", "j", 1, "superseded", 2);
  ASSERT_TRUE(redis.set_if_absent(10'050, "c"));
  history.claim(10'049, 10'055, "c", grant(redis.increment(), 3));
  EXPECT_EQ(history.broken(), "L3");
}

// The key of an effect has the fence in it: whoever takes over finds no row, and pays again.
TEST(WrongRecipes, R7_AnEffectKeyWithTheFenceInIt) {
  std::map<std::string, std::string> ledger;  // by key: its state
  const auto begin = [&](const std::string& job, std::int64_t fence, const std::string& name) {
    return ledger.emplace(job + "." + std::to_string(fence) + "." + name, "intent").second ? "act" : "held";
  };
  HistoryText history = with_job();
  const auto recorded = [&](std::int64_t at, std::int64_t fence, const std::string& call) {
    history.call(at, at + 5,
                 {.verb = Verb::begin_effect,
                  .request = call,
                  .name = "pay",
                  .digest = "ten",
                  .policy = "hold",
                  .jobs = {{.id = "j", .fence = fence}}},
                 {.verdict = begin("j", fence, "pay")});
  };
  history.claim(10, 12, "a", grant(5, 1));
  recorded(20, 5, "c1");
  history.claim(10'100, 10'110, "b", {.id = "j", .fence = 6, .deliveries = 2, .losses_in_row = 1, .forced = true});
  recorded(10'120, 6, "c2");
  EXPECT_EQ(history.broken(), "E1");
}

}  // namespace
}  // namespace fenceline::audit

#include "sim/store/faulty_store.hpp"

#include <gtest/gtest.h>

#include "backends/memory/memory_store.hpp"
#include "sim/store/recording_store.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTimeout = 1s;

struct FaultyStoreTest : testing::Test, StoreObserver {
  StackPool stacks;
  Simulation simulation{7, stacks};
  Machine machine{"m", 0s, 0, 0s};
  SimRuntime process{simulation, machine, "p"};
  MemoryStore memory{process};
  RecordingStore recorded{process, memory, *this};
  Weather weather;
  Tally tally;
  StoreServer server;
  FaultyStore store{process, recorded, server, weather, tally};
  std::vector<Instant> applied_at;
  std::vector<Instant> told_at;

  void applied(const Applied& applied) override { applied_at.push_back(applied.at); }

  EnqueueRequest request() {
    return {.ns = "n", .jobs = {{.id = make_uuid7(WallTime{}, 1, 2), .queue = "q"}}, .timeout = kTimeout};
  }

  // The answer to one enqueue, and the moment it came.
  Result<EnqueueReply> enqueue(Instant& answered_at) {
    std::optional<Result<EnqueueReply>> reply;
    process.start([&](std::stop_token) {
      reply = store.enqueue(request());
      answered_at = process.now();
    });
    simulation.run_until(Instant{1min});
    return reply.value_or(fail(Code::invalid, "no answer"));
  }
  Result<EnqueueReply> enqueue() {
    Instant ignored;
    return enqueue(ignored);
  }
};

TEST_F(FaultyStoreTest, PassesACallOnInFineWeather) {
  EXPECT_TRUE(enqueue().has_value());
  EXPECT_EQ(applied_at.size(), 1U);
  EXPECT_EQ(tally.faults(), 0);
}

TEST_F(FaultyStoreTest, ALostRequestIsInDoubtAtItsTimeoutAndChangesNothing) {
  weather.drop_request = 1;
  Instant answered_at;
  EXPECT_EQ(enqueue(answered_at).error().code, Code::in_doubt);
  EXPECT_EQ(answered_at, Instant{kTimeout});
  EXPECT_TRUE(applied_at.empty());
  EXPECT_EQ(tally.of(Count::lost_requests), 1);
}

TEST_F(FaultyStoreTest, ARefusedRequestIsUnavailableAtOnceAndChangesNothing) {
  weather.refuse_request = 1;
  Instant answered_at;
  EXPECT_EQ(enqueue(answered_at).error().code, Code::unavailable);
  EXPECT_EQ(answered_at, Instant{});
  EXPECT_TRUE(applied_at.empty());
  EXPECT_EQ(tally.of(Count::refused_requests), 1);
}

TEST_F(FaultyStoreTest, ALostReplyIsInDoubtThoughItHappened) {
  weather.drop_reply = 1;
  EXPECT_EQ(enqueue().error().code, Code::in_doubt);
  EXPECT_EQ(applied_at.size(), 1U);
  EXPECT_EQ(tally.of(Count::lost_replies), 1);
}

TEST_F(FaultyStoreTest, ALateRequestTakesEffectAfterItsCallerGaveUp) {
  weather.late_request = 1;
  Instant answered_at;
  EXPECT_EQ(enqueue(answered_at).error().code, Code::in_doubt);
  EXPECT_EQ(answered_at, Instant{kTimeout});
  ASSERT_EQ(applied_at.size(), 1U);
  EXPECT_GE(applied_at.front(), answered_at);
  EXPECT_EQ(tally.of(Count::late_requests), 1);
}

TEST_F(FaultyStoreTest, ADuplicateTakesEffectTwice) {
  weather.duplicate = 1;
  EXPECT_TRUE(enqueue().has_value());
  EXPECT_EQ(applied_at.size(), 2U);
  EXPECT_EQ(tally.of(Count::duplicates), 1);
}

TEST_F(FaultyStoreTest, AStoreThatIsDownIsUnavailableAndChangesNothing) {
  server.go_down();
  EXPECT_EQ(enqueue().error().code, Code::unavailable);
  EXPECT_TRUE(applied_at.empty());
  EXPECT_EQ(tally.of(Count::store_down), 1);
}

TEST_F(FaultyStoreTest, AStoreThatHasNotSavedDoesNotAnswerAndACrashTakesTheAnswer) {
  server.hold_answers();
  simulation.after(kTimeout / 2, [&] { server.go_down(); });
  EXPECT_EQ(enqueue().error().code, Code::in_doubt);
  EXPECT_EQ(applied_at.size(), 1U);
}

TEST_F(FaultyStoreTest, AStoreAnswersOnceItHasSaved) {
  server.hold_answers();
  simulation.after(kTimeout / 2, [&] { server.send_answers(); });
  Instant answered_at;
  EXPECT_TRUE(enqueue(answered_at).has_value());
  EXPECT_EQ(answered_at, Instant{kTimeout / 2});
}

TEST_F(FaultyStoreTest, ARequestArrivesThoughItsSenderDies) {
  weather.delay_most = 500ms;
  simulation.after(Duration{1}, [&] { process.kill(); });
  EXPECT_EQ(enqueue().error().message, "no answer");
  EXPECT_EQ(applied_at.size(), 1U);
}

TEST_F(FaultyStoreTest, TellsHowLongTheStoreKeptAClaimWaiting) {
  weather.queue_most = 500ms;
  std::optional<Result<ClaimReply>> reply;
  process.start([&](std::stop_token) {
    reply = store.claim({.ns = "n", .queues = {"q"}, .owner = "o", .request = "r", .ttl = 30s});
  });
  simulation.run_until(Instant{1min});
  ASSERT_TRUE(reply && *reply);
  EXPECT_GT((*reply)->waited, 0s);
  EXPECT_EQ(Instant{(*reply)->waited}, applied_at.front());
}

TEST_F(FaultyStoreTest, AWatcherIsToldUnlessItsWakeUpIsLost) {
  auto watch = store.watch({.ns = "n", .queues = {"q"}}, [&] { told_at.push_back(simulation.now()); });
  EXPECT_TRUE(memory.enqueue(request()).has_value());
  simulation.run_until(Instant{1s});
  EXPECT_EQ(told_at.size(), 1U);

  weather.drop_wakeup = 1;
  EnqueueRequest another = request();
  another.jobs.front().id.bytes[0] = 9;
  EXPECT_TRUE(memory.enqueue(another).has_value());
  simulation.run_until(Instant{2s});
  EXPECT_EQ(told_at.size(), 1U);
  EXPECT_EQ(tally.of(Count::lost_wakeups), 1);
}

TEST_F(FaultyStoreTest, AWakeUpUnderWayDoesNotFindAWatcherThatIsGone) {
  weather.delay_most = 500ms;
  auto watch = store.watch({.ns = "n", .queues = {"q"}}, [&] { told_at.push_back(simulation.now()); });
  EXPECT_TRUE(memory.enqueue(request()).has_value());
  watch.reset();
  simulation.run_until(Instant{2s});
  EXPECT_TRUE(told_at.empty());
}

}  // namespace
}  // namespace fenceline::sim

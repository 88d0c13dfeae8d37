// The raw side must do what it claims: a baseline that loses rows would flatter nobody and mislead everybody.
#include "bench/raw_queue.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "bench/places.hpp"
#include "bench/raw_lock.hpp"
#include "bench/redis_place.hpp"
#include "bench/scratch_folder.hpp"
#include "runtime/thread_runtime.hpp"

namespace fenceline::bench {
namespace {

ThreadRuntime runtime;

class RawQueues : public testing::TestWithParam<RawStyle> {
 protected:
  RawQueues() : folder_(std::move(*ScratchFolder::make_in(std::filesystem::temp_directory_path().string(), 0))) {}
  std::unique_ptr<RawQueue> open() { return std::move(*open_raw_sqlite(folder_.path() + "/raw.db", GetParam(), true)); }

  ScratchFolder folder_;
};

TEST_P(RawQueues, TakeEveryRowOnceAndFinishIt) {
  const auto queue = open();
  ASSERT_TRUE(queue->enqueue({"\"a\"", "\"b\"", "\"c\""}));
  ASSERT_TRUE(queue->enqueue({"\"d\""}));
  EXPECT_EQ(*queue->take_and_finish(3), 3);
  EXPECT_EQ(*queue->take_and_finish(3), 1);
  EXPECT_EQ(*queue->take_and_finish(3), 0);
}

TEST_P(RawQueues, ShareAFileBetweenConnections) {
  const auto one = open();
  const auto other = open();
  ASSERT_TRUE(one->enqueue({"1", "2"}));
  EXPECT_EQ(*other->take_and_finish(1), 1);
  EXPECT_EQ(*one->take_and_finish(10), 1);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, RawQueues, testing::Values(RawStyle::row_by_row, RawStyle::set_based));

// With a server at hand (script/with_postgres) the same holds on it.
class RawQueuesOnPostgres : public testing::TestWithParam<RawStyle> {
 protected:
  void SetUp() override {
    const char* url = std::getenv("FENCELINE_TEST_POSTGRES");
    if (url == nullptr) GTEST_SKIP() << "no server; run it by script/with_postgres";
    places_ = std::move(*postgres_places(url));
    place_ = places_->fresh("raw");
  }
  std::unique_ptr<RawQueue> open() { return std::move(*open_raw(runtime, places_->url_of(place_), GetParam(), true)); }

  std::unique_ptr<Places> places_;
  std::string place_;
};

TEST_P(RawQueuesOnPostgres, TakeEveryRowOnceAndFinishIt) {
  const auto queue = open();
  const auto other = open();
  ASSERT_TRUE(queue->enqueue({"\"a\"", "\"b\"", "\"c\""}));
  ASSERT_TRUE(queue->enqueue({"\"d\""}));
  EXPECT_EQ(*queue->take_and_finish(2), 2);
  EXPECT_EQ(*other->take_and_finish(3), 2);
  EXPECT_EQ(*queue->take_and_finish(3), 0);
}

INSTANTIATE_TEST_SUITE_P(Postgres, RawQueuesOnPostgres, testing::Values(RawStyle::row_by_row, RawStyle::set_based));

TEST(PlacesOnPostgres, AreGoneAfterwardsAndKnowAHeldHorizon) {
  const char* url = std::getenv("FENCELINE_TEST_POSTGRES");
  if (url == nullptr) GTEST_SKIP() << "no server; run it by script/with_postgres";
  std::string raw_url;
  {
    const auto places = std::move(*postgres_places(url));
    raw_url = places->url_of(places->fresh("raw"));
    ASSERT_TRUE((*open_raw(runtime, raw_url, RawStyle::row_by_row, true))->enqueue({"1"}));
    const auto horizon = std::move(*places->hold_horizon());
    ASSERT_TRUE(horizon->age());
    EXPECT_GE(horizon->age()->transactions, 0);
  }
  EXPECT_EQ(*(*open_raw(runtime, raw_url, RawStyle::row_by_row, true))->take_and_finish(10), 0)
      << "made anew, so it was gone";
}

// And on a Redis server (script/with_redis).
class RawQueuesOnRedis : public testing::TestWithParam<RawStyle> {
 protected:
  void SetUp() override {
    const char* url = std::getenv("FENCELINE_TEST_REDIS");
    if (url == nullptr) GTEST_SKIP() << "no server; run it by script/with_redis";
    places_ = std::move(*redis_places(runtime, url));
    place_ = places_->fresh("raw");
  }
  std::unique_ptr<RawQueue> open() { return std::move(*open_raw(runtime, places_->url_of(place_), GetParam(), true)); }

  std::unique_ptr<Places> places_;
  std::string place_;
};

TEST_P(RawQueuesOnRedis, TakeEveryRowOnceAndFinishIt) {
  const auto queue = open();
  const auto other = open();
  ASSERT_TRUE(queue->enqueue({"\"a\"", "\"b\"", "\"c\""}));
  ASSERT_TRUE(queue->enqueue({"\"d\""}));
  EXPECT_EQ(*queue->take_and_finish(2), 2);
  EXPECT_EQ(*other->take_and_finish(3), 2);
  EXPECT_EQ(*queue->take_and_finish(3), 0);
}

TEST_P(RawQueuesOnRedis, TakeMoreAtOnceThanOneCallInAScriptHasRoomFor) {
  const auto queue = open();
  ASSERT_TRUE(queue->enqueue(std::vector<std::string>(5001, "1")));
  EXPECT_EQ(*queue->take_and_finish(6000), 5001);
  EXPECT_EQ(*queue->take_and_finish(6000), 0);
}

INSTANTIATE_TEST_SUITE_P(Redis, RawQueuesOnRedis, testing::Values(RawStyle::row_by_row, RawStyle::set_based));

TEST(RawLocksOnRedis, AreHadByOneAndGivenBackByThatOne) {
  const char* url = std::getenv("FENCELINE_TEST_REDIS");
  if (url == nullptr) GTEST_SKIP() << "no server; run it by script/with_redis";
  const auto places = std::move(*redis_places(runtime, url));
  const std::string place = places->url_of(places->fresh("locks"));
  const auto one = std::move(*open_raw_lock(runtime, place));
  const auto other = std::move(*open_raw_lock(runtime, place));
  EXPECT_TRUE(*one->take("a"));
  EXPECT_FALSE(*other->take("a"));
  EXPECT_FALSE(*other->give("a"));
  EXPECT_TRUE(*one->give("a"));
  EXPECT_TRUE(*other->take("a"));
}

TEST(PlacesOnRedis, AreGoneAfterwardsAndHoldMemoryMeanwhile) {
  const char* url = std::getenv("FENCELINE_TEST_REDIS");
  if (url == nullptr) GTEST_SKIP() << "no server; run it by script/with_redis";
  const auto server = std::move(*RedisPlace::open(runtime, url));
  const auto keys = [&] { return redis::whole_number(*server->call(redis::Command("DBSIZE"))).value_or(-1); };
  const std::int64_t before = keys();
  {
    const auto places = std::move(*redis_places(runtime, url));
    const auto used = [&] { return places->memory_used()->value_or(0); };
    const std::int64_t empty = used();
    const std::string place = places->fresh("raw");
    ASSERT_TRUE((*open_raw(runtime, places->url_of(place), RawStyle::row_by_row, true))
                    ->enqueue(std::vector<std::string>(10'000, std::string(100, 'x'))));
    EXPECT_GT(keys(), before);
    EXPECT_GT(used(), empty + 900'000);
    places->drop(place);
    EXPECT_EQ(keys(), before);  // the server gives the memory back a little later
    ASSERT_TRUE((*open_raw(runtime, places->url_of(places->fresh("raw")), RawStyle::row_by_row, true))->enqueue({"1"}));
  }
  EXPECT_EQ(keys(), before);
}

TEST(RedisUrls, TakeAnotherPrefixAndKeepAllElse) {
  EXPECT_EQ(with_prefix("redis://h:1/2", "a:b"), "redis://h:1/2?prefix=a:b");
  EXPECT_EQ(with_prefix("redis://u:p@h?prefix=fl&db=3&connect_timeout=1s", "x"),
            "redis://u:p@h?db=3&connect_timeout=1s&prefix=x");
  EXPECT_EQ(with_prefix("unix:/run/s?user=u&prefix=y", "x"), "unix:/run/s?user=u&prefix=x");
}

TEST(ScratchFolders, GoAwayWithAllTheyHold) {
  std::string path;
  {
    Result<ScratchFolder> folder = ScratchFolder::make_in(std::filesystem::temp_directory_path().string(), 0);
    ASSERT_TRUE(folder);
    path = folder->path();
    std::filesystem::create_directories(path + "/inner");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ScratchFolders, AreRefusedWithoutRoomForWhatIsToCome) {
  const Result<ScratchFolder> folder =
      ScratchFolder::make_in(std::filesystem::temp_directory_path().string(), std::int64_t{1} << 60);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Code::full);
}

}  // namespace
}  // namespace fenceline::bench

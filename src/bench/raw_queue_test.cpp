// The raw side must do what it claims: a baseline that loses rows would flatter nobody and mislead everybody.
#include "bench/raw_queue.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "bench/places.hpp"
#include "bench/scratch_folder.hpp"

namespace fenceline::bench {
namespace {

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
  std::unique_ptr<RawQueue> open() { return std::move(*open_raw(places_->url_of(place_), GetParam(), true)); }

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
    ASSERT_TRUE((*open_raw(raw_url, RawStyle::row_by_row, true))->enqueue({"1"}));
    const auto horizon = std::move(*places->hold_horizon());
    ASSERT_TRUE(horizon->age());
    EXPECT_GE(horizon->age()->transactions, 0);
  }
  EXPECT_EQ(*(*open_raw(raw_url, RawStyle::row_by_row, true))->take_and_finish(10), 0) << "made anew, so it was gone";
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
  const Result<ScratchFolder> folder = ScratchFolder::make_in(std::filesystem::temp_directory_path().string(), std::int64_t{1} << 60);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Code::full);
}

}  // namespace
}  // namespace fenceline::bench

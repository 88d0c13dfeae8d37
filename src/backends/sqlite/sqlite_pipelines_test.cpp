// What pipelines promise on a file: an advance is whole or has not happened, over a death at any point; of several who
// decide on the same item one does; and what a change costs does not grow with the jobs beside it.
#include <gtest/gtest.h>

#include <atomic>

#include "backends/sqlite/child_testing.hpp"
#include "backends/sqlite/stepped_testing.hpp"
#include "backends/sqlite/testing.hpp"
#include "base/crash_point.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

ItemChange moving(const JobId& id, std::int64_t revision, const std::string& stage, JobState state = JobState::ready) {
  ItemChange change;
  change.id = id;
  change.revision = revision;
  change.record = "at " + stage;
  change.place = Placement{.stage = stage, .state = state, .result = {}, .error = {}};
  change.act = "item_moved";
  return change;
}

ItemChange advancing(const ClaimedJob& claim, std::int64_t revision, const std::string& stage) {
  ItemChange change = moving(claim.job.id, revision, stage);
  change.fence = claim.job.fence;
  return change;
}

ChangeItemsRequest changing(std::vector<ItemChange> changes, const std::string& request) {
  return {.ns = "default",
          .owner = "w",
          .request = request,
          .changes = std::move(changes),
          .act = {.actor = "ada", .reason = {}}};
}

Item item_of(Store& store, const JobId& id) { return must(store.items({.ns = "default", .ids = {id}})).items.at(0); }

class SqlitePipelines : public SqliteFile {};

struct PipelineDeath {
  CrashPoint point;
  bool happened;
};

class DeathWhileAdvancing : public SqliteFile, public testing::WithParamInterface<PipelineDeath> {};

TEST_P(DeathWhileAdvancing, P2_TheAdvanceIsWholeOrHasNotHappenedAndItsRepeatIsTheSame) {
  auto store = open();
  must(store->enqueue(one_job(1)));
  const ClaimedJob claim = must(store->claim(a_claim("w", "1"))).jobs.at(0);
  store.reset();
  const ChangeItemsRequest advance = changing({advancing(claim, 0, "two")}, "advance");
  Child child([&] {
    arm_crash_point(GetParam().point, 1);
    static_cast<void>(open()->change_items(advance));
  });
  ASSERT_FALSE(child.is_ready()) << "it should have died at the point";
  store = open();
  const Item after = item_of(*store, claim.job.id);
  EXPECT_EQ(after.revision, GetParam().happened ? 1 : 0);
  EXPECT_EQ(after.job.stage, GetParam().happened ? "two" : "");
  EXPECT_EQ(after.job.state, GetParam().happened ? JobState::ready : JobState::running);
  EXPECT_TRUE(must(store->change_items(advance)).refused.empty()) << "its worker asks again";
  EXPECT_EQ(item_of(*store, claim.job.id).revision, 1);
  ClaimRequest next = a_claim("w", "2");
  next.stage = "two";
  EXPECT_EQ(must(store->claim(next)).jobs.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(AtEachPoint, DeathWhileAdvancing,
                         testing::Values(PipelineDeath{CrashPoint::sqlite_locked, false},
                                         PipelineDeath{CrashPoint::sqlite_begun, false},
                                         PipelineDeath{CrashPoint::sqlite_commit_before, false},
                                         PipelineDeath{CrashPoint::sqlite_commit_after, true}));

TEST_F(SqlitePipelines, P2_OfSeveralStoresThatDecideOnTheSameItemOneDoes) {
  constexpr int kStores = 3;
  constexpr std::int64_t kChanges = 100;
  std::vector<std::unique_ptr<SqliteStore>> stores;
  for (int i = 0; i < kStores; ++i) stores.push_back(open());
  must(stores[0]->enqueue(one_job(1)));
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  std::vector<Task> people;
  for (int i = 0; i < kStores; ++i) {
    people.push_back(runtime_.spawn("person", [&, i](std::stop_token) {
      Store& store = *stores[static_cast<std::size_t>(i)];
      std::int64_t revision = 0;
      for (int n = 0; revision < kChanges; ++n) {
        const std::string request = std::to_string(i) + "-" + std::to_string(n);
        const ChangeItemsReply reply = must(
            store.change_items(changing({moving(job_id(1), revision, "s" + std::to_string(revision % 3))}, request)));
        ++(reply.refused.empty() ? made : refused);
        revision = reply.refused.empty() ? revision + 1 : reply.refused.at(0).revision;
      }
    }));
  }
  for (Task& person : people) person.join();
  EXPECT_EQ(made, kChanges);
  EXPECT_GT(refused, 0) << "or they never met";
  EXPECT_EQ(item_of(*stores[0], job_id(1)).revision, kChanges);
  EXPECT_EQ(must(stores[0]->trail("default", 1000)).size(), static_cast<std::size_t>(kChanges) + 1)
      << "and the creation of the store";
}

TEST_F(SqlitePipelines, AChangeWakesThoseWhoWatchTheNewStageInAnotherStore) {
  const auto one = open();
  const auto other = open();
  must(one->enqueue(one_job(1)));
  const auto ready = runtime_.make_event();
  const auto watch = other->watch({.ns = "default", .queues = {"q"}, .stage = "two"}, [&] { ready->notify(); });
  must(one->change_items(changing({moving(job_id(1), 0, "two")}, "1")));
  EXPECT_TRUE(ready->wait_until(runtime_.now() + 10s));
}

TEST(PipelineCosts, OfAChangeDoNotGrowWithTheJobsBesideIt) {
  const auto steps_beside = [](int others) {
    SteppedStore store;
    store.add({.queue = "q"}, others);
    std::int64_t most = 0;
    const auto change = [&](const ItemChange& sent, const std::string& request) {
      EXPECT_TRUE(store.run(&sqlite::change_items, changing({sent}, request)).refused.empty());
      most = std::max(most, store.last_steps());
    };
    ClaimedJob claim = store.run(&sqlite::claim, a_claim("w", "c")).jobs.at(0);
    change(advancing(claim, 0, "two"), "1");
    change(moving(claim.job.id, 1, "gate:three", JobState::waiting), "2");
    change(moving(claim.job.id, 2, "three"), "3");
    change(moving(job_id(static_cast<std::uint64_t>(others) / 2), 0, "two"), "4");
    change(moving(job_id(static_cast<std::uint64_t>(others) / 3), 0, "two", JobState::done), "5");
    return most;
  };
  steps_beside(100);
  const std::int64_t few = steps_beside(1000);
  EXPECT_LT(steps_beside(30'000), few + few / 4);
}

}  // namespace
}  // namespace fenceline::test

#include "driver_suite.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace fenceline::tracker::test {

std::string Server::stage(const std::string& stage_name) const {
  return as("worker")->capabilities().labels ? "stage:" + stage_name : stage_name;
}

void DriverSuite::SetUp() {
  if (server() == nullptr) GTEST_SKIP() << "no tracker to be tried on";
  worker_ = under_test().as("worker");
  ana_ = under_test().as("ana");
  item_ = under_test().new_item(testing::UnitTest::GetInstance()->current_test_info()->name());
}

namespace {

ItemState state_of(Tracker& tracker, const ItemId& item) { return *must(tracker.read({.item = item})).state; }

TEST_F(DriverSuite, KnowsWhoItIs) {
  const Account worker = must(worker_->who_am_i());
  const Account ana = must(ana_->who_am_i());
  EXPECT_NE(worker.id, ana.id);
  EXPECT_FALSE(worker.id.empty());
  const Comment comment = must(worker_->post(item_, "hello"));
  EXPECT_EQ(comment.author.id, worker.id);
}

TEST_F(DriverSuite, EveryAnswerCarriesTheClockAndTheCost) {
  const Answer<Item> read = worker_->read({.item = item_});
  ASSERT_TRUE(read);
  EXPECT_GE(read->served.cost.requests, 1);
  const ItemState state = *read->value.state;
  EXPECT_GE(read->served.now + std::chrono::minutes{1}, state.updated_at);
  EXPECT_LE(read->served.now, state.updated_at + std::chrono::minutes{1});
  const Answer<Item> gone = worker_->read({.item = "99999999"});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, TroubleKind::not_found);
  EXPECT_GT(gone.error().served.now, WallTime{});
}

TEST_F(DriverSuite, ListsTheItemsOfAStageAndNoOthers) {
  const ItemId other = under_test().new_item("another one");
  if (worker_->capabilities().labels) {
    must(worker_->add_labels(other, {"stage:review"}));
    must(worker_->remove_label(other, "stage:ready"));
  } else {
    must(worker_->set_status(other, "review"));
  }
  const std::vector<ItemState> ready = must(worker_->list({.stage = under_test().stage("ready")}));
  const std::vector<ItemState> review = must(worker_->list({.stage = under_test().stage("review")}));
  const auto has = [](const std::vector<ItemState>& items, const ItemId& item) {
    return std::ranges::count(items, item, &ItemState::id);
  };
  EXPECT_EQ(has(ready, item_), 1);
  EXPECT_EQ(has(ready, other), 0);
  EXPECT_EQ(has(review, other), 1);
  EXPECT_EQ(has(review, item_), 0);
  // Whatever their stage, if they changed lately: what has lost its label is found by this.
  const WallTime now = state_of(*worker_, other).updated_at;
  const std::vector<ItemState> lately =
      must(worker_->list({.stage = {}, .changed_after = now - std::chrono::seconds{1}}));
  EXPECT_EQ(has(lately, item_), 1);
  EXPECT_EQ(has(lately, other), 1);
  EXPECT_TRUE(must(worker_->list({.stage = {}, .changed_after = now + std::chrono::days{1}})).empty());
}

TEST_F(DriverSuite, ReadsEveryPage) {
  std::vector<ItemId> made;
  for (int i = 0; i < 105; ++i) made.push_back(under_test().new_item("page " + std::to_string(i)));
  const std::vector<ItemState> all = must(worker_->list({.stage = under_test().stage("ready")}));
  for (const ItemId& item : made) EXPECT_EQ(std::ranges::count(all, item, &ItemState::id), 1) << item;
}

TEST_F(DriverSuite, ReadsEveryComment) {
  for (int i = 0; i < 104; ++i) must((i % 2 == 0 ? worker_ : ana_)->post(item_, "comment " + std::to_string(i)));
  const Item read = must(worker_->read({.item = item_}));
  ASSERT_EQ(read.comments.size(), 104U);
  EXPECT_EQ(read.comments.front().text, "comment 0");
  EXPECT_EQ(read.comments.back().text, "comment 103");
  if (worker_->capabilities().ordered_ids) {
    EXPECT_TRUE(
        std::ranges::is_sorted(read.comments, {}, [](const Comment& comment) { return std::stoll(comment.id); }));
  }
}

TEST_F(DriverSuite, PostsTextAsItIs) {
  const std::string text = "<!-- fenceline:claim a=b over=1,2 -->\nfenceline: w1 works on this *now* \xC3\xA4 & <b>";
  const Comment posted = must(worker_->post(item_, text));
  EXPECT_EQ(posted.text, text);
  const Item read = must(ana_->read({.item = item_}));
  ASSERT_EQ(read.comments.size(), 1U);
  EXPECT_EQ(read.comments.front().text, text);
  EXPECT_EQ(read.comments.front().id, posted.id);
  // A server that stamps milliseconds, and twice, may be one apart.
  const Comment& seen = read.comments.front();
  EXPECT_LT(seen.edited_at.value_or(seen.created_at) - seen.created_at, std::chrono::seconds{1});
}

TEST_F(DriverSuite, EditsItsOwnComment) {
  const Comment posted = must(worker_->post(item_, "beat=1"));
  must(worker_->edit(item_, posted.id, "beat=2"));
  const Item read = must(worker_->read({.item = item_}));
  ASSERT_EQ(read.comments.size(), 1U);
  EXPECT_EQ(read.comments.front().text, "beat=2");
  EXPECT_EQ(read.comments.front().id, posted.id);
}

TEST_F(DriverSuite, WhatIsErasedSaysNothingAnyMore) {
  const Comment posted = must(worker_->post(item_, "claim"));
  must(worker_->erase(item_, posted.id));
  must(worker_->erase(item_, posted.id));
  for (const Comment& comment : must(worker_->read({.item = item_})).comments)
    EXPECT_EQ(comment.text.find("claim"), std::string::npos);
  EXPECT_TRUE(worker_->erase(item_, "99999999"));
}

TEST_F(DriverSuite, ClosesAndReopensAsOftenAsAsked) {
  for (const bool open : {false, false, true, true}) {
    must(worker_->set_open(item_, open));
    EXPECT_EQ(state_of(*worker_, item_).open, open);
  }
}

TEST_F(DriverSuite, AddsAndTakesOffSingleLabels) {
  if (!worker_->capabilities().labels) GTEST_SKIP() << "it has no labels";
  must(ana_->add_labels(item_, {"of a person"}));
  must(worker_->add_labels(item_, {"claimed", "stage:processing"}));
  must(worker_->add_labels(item_, {"claimed"}));
  must(worker_->remove_label(item_, "stage:ready"));
  must(worker_->remove_label(item_, "stage:ready"));
  EXPECT_EQ(state_of(*worker_, item_).labels, (std::vector<std::string>{"claimed", "of a person", "stage:processing"}));
}

TEST_F(DriverSuite, SetsAStatus) {
  if (worker_->capabilities().labels) GTEST_SKIP() << "a stage is a label there";
  for (int i = 0; i < 2; ++i) must(worker_->set_status(item_, "processing"));
  EXPECT_EQ(state_of(*ana_, item_).status, "processing");
  const Answer<Nothing> unknown = worker_->set_status(item_, "no such status");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, TroubleKind::refused);
}

TEST_F(DriverSuite, TellsWhoMovedAnItem) {
  if (!worker_->capabilities().moves) GTEST_SKIP() << "it does not tell";
  if (worker_->capabilities().labels) {
    must(ana_->add_labels(item_, {"stage:review"}));
  } else {
    must(ana_->set_status(item_, "review"));
  }
  const Item read = must(worker_->read({.item = item_, .moves = true}));
  ASSERT_TRUE(read.moves);
  ASSERT_FALSE(read.moves->empty());
  EXPECT_EQ(read.moves->back().what, under_test().stage("review"));
  EXPECT_EQ(read.moves->back().by.id, must(ana_->who_am_i()).id);
}

TEST_F(DriverSuite, ASwapUnderAnOldVersionChangesNothing) {
  if (!worker_->capabilities().swap) GTEST_SKIP() << "it has none";
  const std::string before = state_of(*worker_, item_).version;
  const Swapped swapped =
      must(worker_->swap({.item = item_, .version = before, .status = "processing", .comment = "claim of w1"}));
  const Answer<Swapped> late =
      ana_->swap({.item = item_, .version = before, .status = "review", .comment = "claim of w2"});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, TroubleKind::conflict);
  const Item read = must(worker_->read({.item = item_}));
  EXPECT_EQ(read.state->status, "processing");
  EXPECT_EQ(read.state->version, swapped.version);
  ASSERT_EQ(read.comments.size(), 1U);
  EXPECT_EQ(read.comments.front().text, "claim of w1");
}

TEST_F(DriverSuite, OfManySwapsAtOnceOneIsTaken) {
  if (!worker_->capabilities().swap) GTEST_SKIP() << "it has none";
  constexpr int kAtOnce = 6;
  const std::string version = state_of(*worker_, item_).version;
  std::atomic<int> taken{0};
  std::atomic<int> refused{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kAtOnce; ++i)
      threads.emplace_back([&, i] {
        const Answer<Swapped> answer = worker_->swap(
            {.item = item_, .version = version, .status = "processing", .comment = "claim " + std::to_string(i)});
        if (answer) ++taken;
        if (!answer && answer.error().kind == TroubleKind::conflict) ++refused;
        if (!answer && answer.error().kind != TroubleKind::conflict)
          std::printf("a swap was answered: %s\n", answer.error().message.c_str());
      });
  }
  EXPECT_EQ(taken, 1);
  EXPECT_GE(refused, 1);  // a server may be too busy to tell the others what became of theirs
  EXPECT_EQ(must(worker_->read({.item = item_})).comments.size(), 1U);
}

// Redmine does not show its lock_version; a comment that a person deletes makes it look smaller than it is.
TEST_F(DriverSuite, ASwapFindsTheVersionAgainAfterAWrongOne) {
  if (!worker_->capabilities().swap) GTEST_SKIP() << "it has none";
  for (int i = 0; i < 3; ++i)
    must(worker_->set_status(item_, "processing"));  // the last two change nothing, and may leave no trace
  bool taken = false;
  for (int tries = 0; tries < 3 && !taken; ++tries) {
    const Answer<Swapped> answer = worker_->swap(
        {.item = item_, .version = state_of(*worker_, item_).version, .status = "review", .comment = "mine"});
    taken = answer.has_value();
    ASSERT_TRUE(taken || answer.error().kind == TroubleKind::conflict) << answer.error().message;
  }
  EXPECT_TRUE(taken);
  EXPECT_EQ(state_of(*worker_, item_).status, "review");
}

TEST_F(DriverSuite, AWrongKeyIsDenied) {
  if (!under_test().with_wrong_key) GTEST_SKIP() << "it lets anyone in";
  const Answer<Account> answer = under_test().with_wrong_key()->who_am_i();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, TroubleKind::denied);
  EXPECT_EQ(answer.error().message.find("wrong-key"), std::string::npos);
}

// "driver x server: passed of all", which is what a table of drivers is made of.
class Told final : public testing::Environment {
 public:
  void TearDown() override {
    if (server() == nullptr) return;
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    std::printf("driver %s x %s: %d of %d cases passed, %d do not apply\n", server()->driver.c_str(),
                server()->name.c_str(), all.successful_test_count(), all.test_to_run_count() - all.skipped_test_count(),
                all.skipped_test_count());
  }
};
[[maybe_unused]] const testing::Environment* const told = testing::AddGlobalTestEnvironment(new Told);

}  // namespace
}  // namespace fenceline::tracker::test

#include "metrics/metered_tracker.hpp"

#include "metrics/store_sample.hpp"
#include "support/metrics_fixture.hpp"

namespace fenceline::metrics::test {
namespace {

using namespace tracker;

// Answers every call alike.
class OneAnswer final : public Tracker {
 public:
  Served served{.now = {}, .cost = {.requests = 2, .charged = 1}, .limit = Limit{.left = 4000}};
  std::optional<TroubleKind> trouble;

  Capabilities capabilities() const override { return {}; }
  std::string place() const override { return "here"; }
  Answer<Account> who_am_i() override { return say<Account>(); }
  Answer<std::vector<ItemState>> list(const ListRequest&) override { return say<std::vector<ItemState>>(); }
  Answer<tracker::Item> read(const ReadRequest&) override { return say<tracker::Item>(); }
  Answer<LabelsAfter> add_labels(const ItemId&, const std::vector<std::string>&) override { return say<LabelsAfter>(); }
  Answer<LabelsAfter> remove_label(const ItemId&, const std::string&) override { return say<LabelsAfter>(); }
  Answer<Nothing> set_status(const ItemId&, const std::string&) override { return say<Nothing>(); }
  Answer<Nothing> set_open(const ItemId&, bool) override { return say<Nothing>(); }
  Answer<Comment> post(const ItemId&, const std::string&) override { return say<Comment>(); }
  Answer<Comment> edit(const ItemId&, const CommentId&, const std::string&) override { return say<Comment>(); }
  Answer<Nothing> erase(const ItemId&, const CommentId&) override { return say<Nothing>(); }
  Answer<Swapped> swap(const SwapRequest&) override { return say<Swapped>(); }

 private:
  template <class T>
  Answer<T> say() const {
    if (trouble) return std::unexpected(Trouble{*trouble, "no", std::nullopt, served});
    return Answered<T>{T{}, served};
  }
};

struct MeteredTrackerTest : testing::Test {
  ManualClock clock;
  Metrics metrics{{.version = "1", .store = "github", .checks = check_names()}, clock};
  OneAnswer plain;
  MeteredTracker metered{clock, metrics, plain};

  double finding(std::string_view check) const { return metrics.value(Family::finding, {check}); }
};

TEST_F(MeteredTrackerTest, RequestsAreCountedByWhetherTheyWrite) {
  EXPECT_TRUE(metered.who_am_i());
  EXPECT_TRUE(metered.list({}));
  EXPECT_TRUE(metered.read({}));
  EXPECT_EQ(metrics.value(Family::tracker_requests, {"read"}), 6);
  EXPECT_EQ(metrics.value(Family::tracker_requests, {"write"}), 0);
  EXPECT_TRUE(metered.add_labels("1", {"a"}));
  EXPECT_TRUE(metered.remove_label("1", "a"));
  EXPECT_TRUE(metered.set_status("1", "a"));
  EXPECT_TRUE(metered.set_open("1", true));
  EXPECT_TRUE(metered.post("1", "a"));
  EXPECT_TRUE(metered.edit("1", "2", "a"));
  EXPECT_TRUE(metered.erase("1", "2"));
  EXPECT_TRUE(metered.swap({}));
  EXPECT_EQ(metrics.value(Family::tracker_requests, {"read"}), 6);
  EXPECT_EQ(metrics.value(Family::tracker_requests, {"write"}), 16);
  EXPECT_EQ(metrics.value(Family::store_up), 1);
}

TEST_F(MeteredTrackerTest, TheBudgetIsWhatTheTrackerReportedAndALowOneIsAFinding) {
  EXPECT_TRUE(metered.who_am_i());
  EXPECT_EQ(metrics.value(Family::tracker_budget_left), 4000);
  EXPECT_EQ(finding("tracker_budget"), 0);
  plain.served.limit = Limit{.left = 499};
  EXPECT_TRUE(metered.who_am_i());
  EXPECT_EQ(finding("tracker_budget"), 1);
  plain.served.limit = Limit{.left = 0};
  EXPECT_TRUE(metered.who_am_i());
  EXPECT_EQ(finding("tracker_budget"), 2);
  plain.served.limit.reset();
  EXPECT_TRUE(metered.who_am_i());
  EXPECT_EQ(metrics.value(Family::tracker_budget_left), 0) << "it said nothing new";
  plain.served.limit = Limit{.left = 5000};
  EXPECT_TRUE(metered.who_am_i());
  EXPECT_EQ(finding("tracker_budget"), 0);
  plain.trouble = TroubleKind::limited;
  EXPECT_FALSE(metered.who_am_i());
  EXPECT_EQ(finding("tracker_budget"), 2);
  EXPECT_EQ(metrics.value(Family::store_up), 1) << "it answered";
}

TEST_F(MeteredTrackerTest, ATrackerThatDoesNotAnswerOrLetUsInIsDown) {
  plain.trouble = TroubleKind::in_doubt;
  EXPECT_FALSE(metered.read({}));
  EXPECT_EQ(metrics.value(Family::store_up), 0);
  EXPECT_EQ(finding("store_away"), 2);
  EXPECT_EQ(metrics.value(Family::store_errors, {"other", "in_doubt"}), 1);
  plain.trouble = TroubleKind::denied;
  EXPECT_FALSE(metered.read({}));
  EXPECT_EQ(finding("tracker_token"), 2);
  EXPECT_EQ(finding("store_away"), 0);
  EXPECT_EQ(metrics.value(Family::store_errors, {"other", "other"}), 1);
  plain.trouble = TroubleKind::not_found;
  EXPECT_FALSE(metered.read({}));
  EXPECT_EQ(metrics.value(Family::store_up), 1) << "an answer is an answer";
  EXPECT_EQ(finding("tracker_token"), 0);
}

}  // namespace
}  // namespace fenceline::metrics::test

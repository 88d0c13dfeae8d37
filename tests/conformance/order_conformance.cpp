// What every store promises about orders to workers: an operator gives them, the worker asks for them.
#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

WorkerReport report_of(const std::string& owner) {
  return {.ns = "default", .owner = owner, .queues = {"q"}, .ttl = kTtl};
}
OrderRequest ordering(const std::string& owner, WorkerOrder order) {
  return {.ns = "default", .owner = owner, .order = order, .act = kAct};
}

TEST_P(ActConformance, AnOrderReachesItsWorkerAndStandsInItsRow) {
  must(store().report_worker(report_of("a")));
  must(store().report_worker(report_of("b")));
  EXPECT_EQ(must(store().orders("default", "a")).order, WorkerOrder::work);
  must(store().order_worker(ordering("a", WorkerOrder::quiet)));
  EXPECT_EQ(must(store().orders("default", "a")).order, WorkerOrder::quiet);
  EXPECT_EQ(must(store().orders("default", "b")).order, WorkerOrder::work);
  must(store().report_worker(report_of("a")));
  EXPECT_EQ(must(store().workers("default")).at(0).order, WorkerOrder::quiet) << "a report does not change it";
  must(store().order_worker(ordering("a", WorkerOrder::work)));
  EXPECT_EQ(must(store().orders("default", "a")).order, WorkerOrder::work);
  must(store().order_worker(ordering("a", WorkerOrder::stop)));
  EXPECT_EQ(must(store().orders("default", "a")).order, WorkerOrder::stop);
}

TEST_P(ActConformance, AnOrderStandsForAWorkerThatReportsThoughTheClockLeaptByDays) {
  must(store().report_worker(report_of("a")));
  must(store().order_worker(ordering("a", WorkerOrder::quiet)));
  set_wall(wall() + 24h * 3);
  must(store().report_worker(report_of("a")));
  EXPECT_EQ(must(store().orders("default", "a")).order, WorkerOrder::quiet);
}

TEST_P(ActConformance, NobodyComesBackFromStop) {
  must(store().report_worker(report_of("a")));
  must(store().order_worker(ordering("a", WorkerOrder::stop)));
  EXPECT_EQ(code_of(store().order_worker(ordering("a", WorkerOrder::work))), Code::refused);
  EXPECT_EQ(code_of(store().order_worker(ordering("a", WorkerOrder::quiet))), Code::refused);
  must(store().order_worker(ordering("a", WorkerOrder::stop)));
  EXPECT_EQ(must(store().orders("default", "a")).order, WorkerOrder::stop);
}

TEST_P(ActConformance, AnOwnerThatIsNotKnownWorksAndCannotBeOrdered) {
  EXPECT_EQ(must(store().orders("default", "nobody")).order, WorkerOrder::work);
  EXPECT_EQ(code_of(store().order_worker(ordering("nobody", WorkerOrder::quiet))), Code::not_found);
  must(store().report_worker(report_of("a")));
  must(store().order_worker(ordering("a", WorkerOrder::quiet)));
  must(store().remove_worker("default", "a"));
  EXPECT_EQ(must(store().orders("default", "a")).order, WorkerOrder::work);
  must(store().report_worker(report_of("a")));
  EXPECT_EQ(must(store().orders("default", "a")).order, WorkerOrder::work);
}

TEST_P(ActConformance, AnOrderStandsInTheTrailOnce) {
  must(store().report_worker(report_of("a")));
  const WallTime at = wall();
  must(store().order_worker(ordering("a", WorkerOrder::work)));
  must(store().order_worker(ordering("a", WorkerOrder::quiet)));
  must(store().order_worker(ordering("a", WorkerOrder::quiet)));
  must(store().order_worker(ordering("a", WorkerOrder::work)));
  must(store().order_worker(ordering("a", WorkerOrder::stop)));
  EXPECT_EQ(code_of(store().order_worker(ordering("a", WorkerOrder::work))), Code::refused);
  EXPECT_EQ(trail(), (std::vector<TrailEntry>{{at, "default", "ann", "worker_quiet", "a", "because"},
                                              {at, "default", "ann", "worker_work", "a", "because"},
                                              {at, "default", "ann", "worker_stop", "a", "because"}}));
}

TEST_P(ActConformance, AQuietWorkerKeepsItsLeases) {
  added(new_job());
  must(store().report_worker(report_of("a")));
  const ClaimedJob claim = claimed_by("a");
  must(store().order_worker(ordering("a", WorkerOrder::stop)));
  EXPECT_EQ(extended("a", holding_of(claim)), "");
  EXPECT_TRUE(must(store().orders("default", "a")).revoked.empty());
  EXPECT_EQ(ended(claim), "");
}

TEST_P(ActConformance, J2_AnOwnerThatShallBeQuietOrStopIsGrantedNothingFromThenOn) {
  for (const WorkerOrder order : {WorkerOrder::quiet, WorkerOrder::stop}) {
    must(store().report_worker(report_of("a")));
    must(store().order_worker(ordering("a", order)));
    const JobId id = added(new_job());
    const ClaimReply reply = must(store().claim(asking("a")));
    EXPECT_TRUE(reply.jobs.empty());
    EXPECT_TRUE(reply.ordered);
    EXPECT_EQ(look(id).state, JobState::ready);
    const ClaimReply other = must(store().claim(asking("b")));
    EXPECT_FALSE(other.ordered) << "orders are for one owner";
    ASSERT_EQ(other.jobs.size(), 1u);
    EXPECT_EQ(ended(other.jobs.front()), "");
    must(store().remove_worker("default", "a"));
  }
}

TEST_P(ActConformance, J2_AQuietOwnerIsGrantedAgainOnceItIsResumed) {
  const JobId id = added(new_job());
  must(store().report_worker(report_of("a")));
  const ClaimRequest refused = asking("a");
  must(store().order_worker(ordering("a", WorkerOrder::quiet)));
  EXPECT_TRUE(claimed(refused).empty());
  must(store().order_worker(ordering("a", WorkerOrder::work)));
  EXPECT_EQ(claimed_ids(refused), std::vector{id}) << "a claim that brought nothing binds nobody";
}

TEST_P(ActConformance, J2_ARepeatedClaimOfAQuietOwnerReturnsWhatItWasGranted) {
  const JobId id = added(new_job());
  added(new_job());
  must(store().report_worker(report_of("a")));
  const ClaimRequest request = asking("a");
  EXPECT_EQ(claimed_ids(request), std::vector{id});
  must(store().order_worker(ordering("a", WorkerOrder::quiet)));
  EXPECT_EQ(claimed_ids(request), std::vector{id});
}

TEST_P(ActConformance, J2_AClaimOfAQuietOwnerBuriesNobody) {
  const JobId id = added(new_job());
  must(store().report_worker(report_of("a")));
  must(store().order_worker(ordering("a", WorkerOrder::quiet)));
  lose(id, kLossesInRowMax);
  EXPECT_TRUE(must(store().claim(asking("a"))).ordered);
  EXPECT_EQ(look(id).state, JobState::running);
  EXPECT_TRUE(must(store().claim(asking("b"))).jobs.empty());
  EXPECT_EQ(look(id).state, JobState::dead);
}

TEST_P(ActConformance, OrdersAreKeptOverARestart) {
  added(new_job());
  must(store().report_worker(report_of("a")));
  const ClaimedJob claim = claimed_by("a");
  must(store().order_worker(ordering("a", WorkerOrder::quiet)));
  EXPECT_EQ(cancelled(claim.job.id), "");
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  const OrdersReply reply = must(store().orders("default", "a"));
  EXPECT_EQ(reply.order, WorkerOrder::quiet);
  EXPECT_EQ(reply.revoked, std::vector{holding_of(claim)});
}

TEST_P(ActConformance, InvalidOrdersChangeNothing) {
  must(store().report_worker(report_of("a")));
  OrderRequest bad = ordering("a", WorkerOrder::quiet);
  bad.act.actor = "";
  EXPECT_EQ(code_of(store().order_worker(bad)), Code::invalid);
  EXPECT_EQ(code_of(store().order_worker(ordering("", WorkerOrder::quiet))), Code::invalid);
  EXPECT_EQ(must(store().orders("default", "a")).order, WorkerOrder::work);
}

}  // namespace
}  // namespace fenceline::test

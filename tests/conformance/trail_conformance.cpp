// What every store promises about the removal of a namespace and the trail it leaves.
#include <algorithm>

#include "conformance/conformance.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

std::vector<TrailEntry> removals(const std::vector<TrailEntry>& trail) {
  std::vector<TrailEntry> found;
  std::copy_if(trail.begin(), trail.end(), std::back_inserter(found),
               [](const TrailEntry& entry) { return entry.act == "namespace_removed"; });
  return found;
}

TEST_P(TrailConformance, ARemovedNamespaceIsEmptyAndTheOthersStay) {
  const NewJob job = new_job();
  added(job);
  added(job, "other");
  must(store().report_worker({.ns = "default", .owner = "a", .queues = {"q"}, .ttl = kTtl}));
  const Job kept = look(job.id, "other");
  must(store().remove_namespace("default", {"ann", "a drill ended"}));
  EXPECT_TRUE(everything().empty());
  EXPECT_EQ(must(store().job("default", job.id)), std::nullopt);
  EXPECT_TRUE(must(store().workers("default")).empty());
  EXPECT_EQ(look(job.id, "other"), kept);
}

TEST_P(TrailConformance, ARemovalIsInTheTrail) {
  added(new_job());
  const WallTime at = wall();
  must(store().remove_namespace("default", {"ann", "a \"drill\" ended"}));
  const std::vector<TrailEntry> entries = removals(must(store().trail("default", 100)));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0], (TrailEntry{at, "default", "ann", "namespace_removed", "default", "a \"drill\" ended"}));
  EXPECT_TRUE(removals(must(store().trail("other", 100))).empty());
}

TEST_P(TrailConformance, TheTrailOutlivesTheNamespace) {
  added(new_job());
  must(store().remove_namespace("default", {"ann", "first"}));
  let_time_pass(1s);
  added(new_job());
  must(store().remove_namespace("default", {"ben", "second"}));
  const std::vector<TrailEntry> entries = removals(must(store().trail("default", 100)));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].reason, "first");
  EXPECT_EQ(entries[1].reason, "second");
  const std::vector<TrailEntry> newest = must(store().trail("default", 1));
  ASSERT_EQ(newest.size(), 1u);
  EXPECT_EQ(newest[0].reason, "second");
}

TEST_P(TrailConformance, ARemovalCanBeRepeated) {
  added(new_job());
  must(store().remove_namespace("default", {"ann", "x"}));
  must(store().remove_namespace("default", {"ann", "x"}));
  must(store().remove_namespace("never-there", {"ann", "x"}));
  EXPECT_TRUE(everything().empty());
}

TEST_P(TrailConformance, NamespacesThatGrantedSomethingAreNamedInOrder) {
  for (const char* ns : {"b", "a"}) {
    const NewJob job = new_job();
    must(store().enqueue({.ns = ns, .jobs = {job}}));
    must(store().claim({.ns = ns, .queues = {job.queue}, .owner = "w", .request = "r", .limit = 1, .ttl = kTtl}));
  }
  const std::vector<std::string> names = must(store().namespaces());
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const char* ns : {"a", "b"}) EXPECT_EQ(std::ranges::count(names, ns), 1) << ns;
}

TEST_P(TrailConformance, ANameThatIsNoNamespaceIsRefused) {
  EXPECT_EQ(code_of(store().remove_namespace("", {"ann", "x"})), Code::invalid);
  EXPECT_EQ(code_of(store().remove_namespace("../x", {"ann", "x"})), Code::invalid);
  EXPECT_EQ(code_of(store().trail("a b", 10)), Code::invalid);
}

TEST_P(TrailConformance, L4_AHolderInARemovedNamespaceHasLostItsJob) {
  added(new_job());
  const ClaimedJob claim = claimed_by("a");
  must(store().remove_namespace("default", {"ann", "x"}));
  EXPECT_EQ(extended("a", holding_of(claim)), "not_found");
  EXPECT_EQ(settled("a", holding_of(claim), {.kind = OutcomeKind::done}), "not_found");
}

TEST_P(TrailConformance, ARemovedNamespaceLeavesNoSlotNoPauseAndNoHistory) {
  NewJob job = new_job();
  job.group = "g";
  job.limit_key = "k";
  job.tags = {"t"};
  added(job);
  must(store().report_worker({.ns = "default", .owner = "a", .queues = {"q"}, .ttl = kTtl}));
  set_queue({.limit = 1, .limit_per_key = 1});
  const ClaimedJob claim = claimed_as_next(job.id);
  must(store().record({.ns = "default",
                       .notes = {{.id = job.id, .fence = claim.job.fence, .progress = Progress{1, "n"}, .log = "x"}}}));
  EXPECT_EQ(cancelled(job.id), "");
  const Fence last = look(job.id).fence;
  pause();
  must(store().remove_namespace("default", kAct));
  EXPECT_TRUE(must(store().orders("default", "a")).revoked.empty());
  EXPECT_TRUE(must(store().queues("default")).empty());
  EXPECT_TRUE(must(store().jobs({.ns = "default", .tag = "t"})).jobs.empty());
  set_wall(wall() - 24h);
  added(job);
  EXPECT_TRUE(must(store().attempts("default", job.id)).empty());
  EXPECT_TRUE(must(store().log({.ns = "default", .id = job.id}))->chunks.empty());
  EXPECT_FALSE(look(job.id).progress);
  EXPECT_GT(claimed_as_next(job.id).job.fence, last);
  EXPECT_EQ(queue_row().settings, QueueSettings{});
}

TEST_P(TrailConformance, TheTrailOutlivesTheProcess) {
  added(new_job());
  must(store().remove_namespace("default", {"ann", "x"}));
  const std::vector<TrailEntry> before = removals(must(store().trail("default", 100)));
  if (!reopen()) GTEST_SKIP() << "this store keeps nothing";
  EXPECT_EQ(removals(must(store().trail("default", 100))), before);
}

}  // namespace
}  // namespace fenceline::test

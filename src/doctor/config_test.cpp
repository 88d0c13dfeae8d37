#include "doctor/config.hpp"

#include <gtest/gtest.h>

#include <iterator>

#include "store/forwarding_store.hpp"
#include "support/state_fixture.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::ManualClock;
using test::must;

// A store that is as far away as a test says.
class FarStore final : public ForwardingStore {
 public:
  FarStore(Store& inner, ManualClock& clock, Duration trip) : ForwardingStore(inner), clock_(clock), trip_(trip) {}
  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override {
    clock_.advance(trip_);
    return inner_.job(ns, id);
  }

 private:
  ManualClock& clock_;
  Duration trip_;
};

struct ConfigLook : test::StateOnMemory {
  ConfigOptions config;

  Finding seen(const std::string& check, Duration trip = 0s) {
    FarStore far(store, clock, trip);
    const std::vector<Finding> all = must(look_at_config(runtime, far, config));
    const auto found = std::ranges::find(all, check, &Finding::name);
    EXPECT_EQ(std::ranges::count(all, check, &Finding::name), 1);
    return found == all.end() ? Finding{} : *found;
  }
  void report_ttl(Duration ttl) {
    must(store.report_worker({.ns = options.ns,
                              .owner = "w-1",
                              .host = "box",
                              .pid = 4711,
                              .version = "1",
                              .queues = {"mail", "post"},
                              .stage = "pack",
                              .ttl = ttl}));
  }
  Fence acquire(const std::string& name, const std::string& pattern) {
    return must(store.acquire({.ns = options.ns,
                               .names = {name},
                               .owner = "a-" + name,
                               .request = "r-" + name,
                               .ttl = 1h,
                               .pattern = pattern}))
        .grants.at(0)
        .fence;
  }
};

TEST_F(ConfigLook, ATtlThatARenewalCannotKeepIsBadAndAFittingOneIsNamed) {
  report_ttl(30s);
  EXPECT_EQ(seen("config", 1ms).status, FindingStatus::ok) << seen("config").detail;
  EXPECT_EQ(seen("config", 1ms).detail, "1 worker, each with a ttl that fits round trips of 1ms");
  report_ttl(10s);
  const Finding found = seen("config", 600ms);
  EXPECT_EQ(found.status, FindingStatus::bad);
  EXPECT_EQ(
      found.detail,
      "worker w-1 has a ttl of 10s, and a round trip to the store takes 600ms: too short for a renewal to be answered");
  EXPECT_EQ(found.remedy, "fenceline work mail post --stage pack --ttl 30s -- CMD");
  EXPECT_FALSE(found.why.empty());
  report_ttl(30s);
  EXPECT_EQ(seen("config", 600ms).status, FindingStatus::ok);
}

TEST_F(ConfigLook, ATtlThatAnyPauseLosesIsAWarning) {
  report_ttl(1s);
  EXPECT_EQ(seen("config").status, FindingStatus::warning);
  EXPECT_NE(seen("config").detail.find("a pause of 900ms"), std::string::npos) << seen("config").detail;
  report_ttl(3s);
  EXPECT_EQ(seen("config").status, FindingStatus::ok);
}

TEST_F(ConfigLook, ATtlFarLongerThanTheWorkKeepsTheJobsOfADeadWorkerWaiting) {
  report_ttl(1h);
  EXPECT_EQ(seen("config").status, FindingStatus::ok) << "nothing is measured yet";
  const JobId id = enqueue({});
  const Fence fence = claim("w-1");
  pass(10s);
  settle("w-1", id, fence, {.kind = OutcomeKind::done});
  report_ttl(1h);
  const Finding found = seen("config");
  EXPECT_EQ(found.status, FindingStatus::warning);
  EXPECT_NE(found.detail.find("its jobs take at most 10s"), std::string::npos) << found.detail;
  EXPECT_NE(found.remedy.find("--ttl 30s"), std::string::npos) << found.remedy;
  report_ttl(3min);
  EXPECT_EQ(seen("config").status, FindingStatus::ok);
}

// Counts histories that are asked for.
struct HistoriesAsked final : ForwardingStore {
  using ForwardingStore::ForwardingStore;
  Result<std::vector<Attempt>> attempts(const std::string& ns, const JobId& id) override {
    asked += 1;
    return ForwardingStore::attempts(ns, id);
  }
  int asked = 0;
};

TEST_F(ConfigLook, TheWorkOfAQueueIsMeasuredOnceForAllItsWorkersAndOnlyOfAFewQueues) {
  std::vector<std::string> queues;
  for (int i = 0; i < 12; ++i) {
    queues.push_back("q" + std::to_string(i));
    const JobId id = enqueue({.queue = queues.back()});
    const Fence fence = claim("w-1", queues.back());
    settle("w-1", id, fence, {.kind = OutcomeKind::done});
  }
  for (int i = 0; i < 5; ++i)
    must(store.report_worker({.ns = options.ns,
                              .owner = "w-" + std::to_string(i),
                              .host = "box",
                              .pid = 4711,
                              .version = "1",
                              .queues = queues,
                              .ttl = 1h}));
  HistoriesAsked counted(store);
  must(look_at_config(runtime, counted, config));
  EXPECT_EQ(counted.asked, 10);
}

TEST_F(ConfigLook, AWorkerThatIsGoneIsNotReported) {
  report_ttl(1s);
  pass(1h);
  EXPECT_EQ(seen("config").status, FindingStatus::ok);
}

TEST_F(ConfigLook, AFencedLockWhoseFenceNoGateSawIsNamedUntilOneDoes) {
  EXPECT_EQ(seen("lock_gates").detail, "no lock has the pattern fenced");
  config.fenced_classes = {"ledger"};
  EXPECT_EQ(seen("lock_gates").detail, "no lock has the pattern fenced; lock class ledger has not been used recently");
  acquire("plain", "item");
  const WallTime since = clock.wall_now();
  const Fence fence = acquire("invoices", "fenced");
  const Finding found = seen("lock_gates");
  EXPECT_EQ(found.status, FindingStatus::warning);
  EXPECT_NE(found.detail.find("lock invoices is of pattern fenced"), std::string::npos) << found.detail;
  EXPECT_EQ(found.remedy, "fenceline gate run invoices " + std::to_string(fence) + " -- CMD");
  EXPECT_EQ(found.since, since);
  config.seen_outside = [&](const std::string& resource) {
    return resource == "invoices" ? std::optional(ConfigOptions::SeenOutside{fence, "", ""}) : std::nullopt;
  };
  EXPECT_EQ(seen("lock_gates").status, FindingStatus::ok);
}

TEST_F(ConfigLook, AGateAheadOfTheStoreIsBadWhateverThePatternOfItsLock) {
  const Fence fence = acquire("report", "item");
  config.seen_outside = [&](const std::string&) {
    return std::optional(
        ConfigOptions::SeenOutside{fence, "/srv/r.csv.gate", "fenceline gate rebase --file /srv/r.csv"});
  };
  EXPECT_EQ(seen("lock_gates").status, FindingStatus::ok);
  config.seen_outside = [&](const std::string&) {
    return std::optional(
        ConfigOptions::SeenOutside{fence + 7, "/srv/r.csv.gate", "fenceline gate rebase --file /srv/r.csv"});
  };
  const Finding found = seen("lock_gates");
  EXPECT_EQ(found.status, FindingStatus::bad);
  EXPECT_NE(found.detail.find("lock report: its gate /srv/r.csv.gate has let fence " + std::to_string(fence + 7)),
            std::string::npos)
      << found.detail;
  EXPECT_EQ(found.remedy, "fenceline gate rebase --file /srv/r.csv");
}

}  // namespace
}  // namespace fenceline

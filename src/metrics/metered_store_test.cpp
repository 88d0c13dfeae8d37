// Each metric moves for what it is about, and only for that.
#include "metrics/metered_store.hpp"

#include "metrics/metered_handler.hpp"
#include "support/metrics_fixture.hpp"

namespace fenceline::metrics::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers nothing while it is away.
class AwayStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::optional<Code> away;

  Result<ClaimReply> claim(const ClaimRequest& request) override {
    if (away) return fail(*away, "away");
    return inner_.claim(request);
  }
  Result<ExtendReply> extend(const ExtendRequest& request) override {
    if (away) return fail(*away, "away");
    return inner_.extend(request);
  }
  Result<RenewReply> renew(const RenewRequest& request) override {
    if (away) return fail(*away, "away");
    return inner_.renew(request);
  }
};

struct MeteredAway : Metered {
  AwayStore between{memory};
  MeteredStore away{clock, metrics, between};
};

TEST_F(Metered, AClaimCountsItsJobsAndAnEmptyOneNothing) {
  EXPECT_TRUE(
      must(
          store.claim(
              {.ns = "default", .queues = {"mail"}, .owner = "w-1", .request = "none", .limit = 3, .ttl = seconds{10}}))
          .jobs.empty());
  EXPECT_EQ(moved(), Names{});
  enqueue();
  enqueue();
  claim();
  EXPECT_EQ(moved(), (Names{"fenceline_claim_batch_jobs", "fenceline_deliveries_total"}));
  EXPECT_EQ(metrics.value(Family::deliveries, {"mail"}), 2);
  EXPECT_EQ(metrics.value(Family::claim_batch_jobs), 1);
  EXPECT_EQ(metrics.value(Family::store_call_seconds, {"claim"}), 2);
}

TEST_F(Metered, AJobWhoseLeaseRanOutIsAnOrphanReplayedAndATakeover) {
  enqueue();
  claim("w-1");
  clock.advance(seconds{11});
  moved();
  claim("w-2");
  EXPECT_EQ(moved(), (Names{"fenceline_claim_batch_jobs", "fenceline_deliveries_total",
                            "fenceline_orphans_replayed_total", "fenceline_takeovers_total"}));
  EXPECT_EQ(metrics.value(Family::orphans_replayed), 1);
  EXPECT_EQ(metrics.value(Family::takeovers, {"job"}), 1);
  EXPECT_EQ(metrics.value(Family::takeovers, {"lock"}), 0);
}

TEST_F(Metered, ALateWriteIsCountedByItsVerb) {
  enqueue();
  const ClaimedJob first = claim("w-1");
  clock.advance(seconds{11});
  claim("w-2");
  moved();
  must(store.extend({.ns = "default", .owner = "w-1", .jobs = {{first.job.id, first.job.fence}}, .ttl = seconds{10}}));
  EXPECT_EQ(moved(), Names{"fenceline_stale_writes_refused_total"});
  settle(first, OutcomeKind::done);
  must(store.record({.ns = "default", .notes = {{.id = first.job.id, .fence = first.job.fence, .log = "late"}}}));
  EXPECT_EQ(moved(), (Names{"fenceline_settle_batch_jobs", "fenceline_stale_writes_refused_total"}));
  for (const char* verb : {"extend", "settle", "record"})
    EXPECT_EQ(metrics.value(Family::stale_writes_refused, {verb}), 1) << verb;
  EXPECT_EQ(metrics.value(Family::stale_writes_refused, {"renew"}), 0);
  EXPECT_EQ(metrics.value(Family::renewals, {"job"}), 0);
}

TEST_F(Metered, ARenewalCountsEachLease) {
  enqueue();
  const ClaimedJob job = claim();
  moved();
  must(store.extend({.ns = "default", .owner = "w-1", .jobs = {{job.job.id, job.job.fence}}, .ttl = seconds{10}}));
  EXPECT_EQ(moved(), Names{"fenceline_renewals_total"});
  EXPECT_EQ(metrics.value(Family::renewals, {"job"}), 1);
}

TEST_F(Metered, ADeadLetterIsTheLastAttemptOrAWordOfTheHandler) {
  enqueue(1);
  settle(claim(), OutcomeKind::failed);
  EXPECT_EQ(metrics.value(Family::dead_letters), 1);
  enqueue(2);
  settle(claim(), OutcomeKind::failed);
  EXPECT_EQ(metrics.value(Family::dead_letters), 1) << "another attempt is left";
  clock.advance(std::chrono::hours{2});
  settle(claim(), OutcomeKind::failed);
  EXPECT_EQ(metrics.value(Family::dead_letters), 2);
  enqueue();
  settle(claim(), OutcomeKind::dead);
  EXPECT_EQ(metrics.value(Family::dead_letters), 3);
  enqueue(1);
  settle(claim(), OutcomeKind::done);
  EXPECT_EQ(metrics.value(Family::dead_letters), 3);
}

TEST_F(Metered, AJobThatAClaimBuriesIsADeadLetter) {
  enqueue();
  for (int i = 0; i < kLossesInRowMax; ++i) {
    claim();
    clock.advance(seconds{11});
  }
  EXPECT_EQ(metrics.value(Family::dead_letters), 0);
  const ClaimRequest next{
      .ns = "default", .queues = {"mail"}, .owner = "w-2", .request = "next", .limit = 1, .ttl = seconds{10}};
  EXPECT_TRUE(must(store.claim(next)).jobs.empty());
  EXPECT_EQ(metrics.value(Family::dead_letters), 1);
  must(store.claim(next));
  EXPECT_EQ(metrics.value(Family::dead_letters), 1) << "once";
}

TEST_F(Metered, AnOutcomeThatIsRefusedMakesNoDeadLetter) {
  enqueue(1);
  const ClaimedJob first = claim("w-1");
  clock.advance(seconds{11});
  const ClaimedJob second = claim("w-2");
  settle(first, OutcomeKind::dead);
  EXPECT_EQ(metrics.value(Family::dead_letters), 0);
  settle(second, OutcomeKind::failed);
  EXPECT_EQ(metrics.value(Family::dead_letters), 1);
}

TEST_F(MeteredAway, ACallThatIsNotAnsweredIsAnErrorAndTheStoreIsDownUntilOneIs) {
  enqueue();
  const ClaimedJob job = claim();
  EXPECT_EQ(metrics.value(Family::store_up), 1);
  clock.advance(seconds{1});
  moved();
  const ClaimRequest ask{.ns = "default", .queues = {"mail"}, .owner = "w-1", .request = "away", .ttl = seconds{10}};
  between.away = Code::unavailable;
  EXPECT_FALSE(away.claim(ask));
  EXPECT_EQ(metrics.value(Family::store_up), 0);
  EXPECT_EQ(metrics.answered_at(), clock.now() - seconds{1});
  EXPECT_EQ(moved(), Names{"fenceline_store_errors_total"});
  between.away = Code::in_doubt;
  EXPECT_FALSE(
      away.extend({.ns = "default", .owner = "w-1", .jobs = {{job.job.id, job.job.fence}}, .ttl = seconds{10}}));
  EXPECT_EQ(moved(), (Names{"fenceline_store_errors_total", "fenceline_renewal_failures_total"}));
  between.away = Code::full;
  EXPECT_FALSE(away.claim(ask));
  between.away.reset();
  EXPECT_TRUE(away.claim(ask));
  EXPECT_EQ(metrics.value(Family::store_up), 1);
  EXPECT_EQ(metrics.answered_at(), clock.now());
  EXPECT_EQ(metrics.value(Family::store_errors, {"claim", "unavailable"}), 1);
  EXPECT_EQ(metrics.value(Family::store_errors, {"extend", "in_doubt"}), 1);
  EXPECT_EQ(metrics.value(Family::store_errors, {"claim", "other"}), 1);
  EXPECT_EQ(metrics.value(Family::renewal_failures, {"job"}), 1);
}

TEST_F(Metered, ARefusalOfTheStoreCountsAsAnAnswer) {
  EXPECT_FALSE(store.claim({.ns = "default", .queues = {}, .owner = "w-1", .request = "r", .ttl = seconds{10}}))
      << "invalid";
  EXPECT_EQ(metrics.value(Family::store_up), 1);
  EXPECT_EQ(moved(), Names{});
}

struct MeteredLocks : MeteredAway {
  Result<AcquireReply> acquire(const std::string& owner, bool wait = true, const std::string& name = "deploy") {
    return store.acquire(
        {.ns = "default", .names = {name}, .owner = owner, .request = owner, .ttl = seconds{10}, .wait = wait});
  }
  LockHolding holding(const std::string& owner, const AcquireReply& reply) {
    return {reply.grants.at(0).resource, owner, reply.grants.at(0).fence};
  }
};

const std::string kNoClass = R"({class="other",lock="other"})";

TEST_F(MeteredLocks, TheirPatternStandsForTheClassWhereTheProcessHasNone) {
  must(store.acquire(
      {.ns = "default", .names = {"deploy"}, .owner = "a", .request = "a", .ttl = seconds{10}, .pattern = "fenced"}));
  EXPECT_EQ(metrics.value(Family::lock_wait_seconds, {"fenced", "other"}), 1);
}

TEST_F(MeteredLocks, AWaitLastsFromTheFirstQuestionToTheGrant) {
  const AcquireReply first = must(acquire("a"));
  EXPECT_EQ(moved(), Names{"fenceline_lock_wait_seconds"}) << "it waited for nothing, and that counts";
  EXPECT_TRUE(must(acquire("b")).grants.empty());
  clock.advance(seconds{2});
  EXPECT_TRUE(must(acquire("b")).grants.empty());
  EXPECT_EQ(moved(), Names{});
  clock.advance(seconds{2});
  must(store.release({.ns = "default", .locks = {holding("a", first)}}));
  EXPECT_EQ(moved(), Names{"fenceline_lock_hold_seconds"});
  EXPECT_FALSE(must(acquire("b")).grants.empty());
  EXPECT_EQ(moved(), Names{"fenceline_lock_wait_seconds"});
  EXPECT_EQ(before.at("fenceline_lock_wait_seconds_sum" + kNoClass), "4");
  EXPECT_EQ(before.at("fenceline_lock_hold_seconds_sum" + kNoClass), "4");
  EXPECT_FALSE(must(acquire("b")).grants.empty()) << "the same request again";
  EXPECT_EQ(moved(), Names{}) << "was granted once";
}

TEST_F(MeteredLocks, AWaitThatIsGivenUpIsAWaitToo) {
  must(acquire("a"));
  EXPECT_TRUE(must(acquire("b")).grants.empty());
  moved();
  clock.advance(seconds{3});
  ASSERT_TRUE(store.withdraw({.ns = "default", .names = {"deploy"}, .owner = "b", .request = "b", .ttl = seconds{10}}));
  EXPECT_EQ(moved(), Names{"fenceline_lock_wait_seconds"});
  EXPECT_EQ(before.at("fenceline_lock_wait_seconds_sum" + kNoClass), "3");
}

TEST_F(MeteredLocks, ALockWhoseHolderDiedIsATakeover) {
  must(acquire("a"));
  clock.advance(seconds{11});
  moved();
  EXPECT_FALSE(must(acquire("b")).grants.empty());
  EXPECT_EQ(moved(), (Names{"fenceline_lock_wait_seconds", "fenceline_takeovers_total"}));
  EXPECT_EQ(metrics.value(Family::takeovers, {"lock"}), 1);
}

TEST_F(MeteredLocks, RenewalsFailuresAndLateWordsAreCounted) {
  const AcquireReply granted = must(acquire("a"));
  const RenewRequest renewal{.ns = "default", .locks = {holding("a", granted)}, .ttl = seconds{10}};
  moved();
  must(away.renew(renewal));
  EXPECT_EQ(moved(), Names{"fenceline_renewals_total"});
  between.away = Code::unavailable;
  EXPECT_FALSE(away.renew(renewal));
  EXPECT_EQ(moved(), (Names{"fenceline_renewal_failures_total", "fenceline_store_errors_total"}));
  between.away.reset();
  clock.advance(seconds{11});
  EXPECT_EQ(must(store.renew(renewal)).refused.size(), 1u);
  EXPECT_EQ(moved(), (Names{"fenceline_lock_hold_seconds", "fenceline_stale_writes_refused_total"}))
      << "lost: its hold ended";
  EXPECT_EQ(metrics.value(Family::stale_writes_refused, {"renew"}), 1);
  EXPECT_EQ(metrics.value(Family::renewals, {"lock"}), 1);
  EXPECT_EQ(metrics.value(Family::renewal_failures, {"lock"}), 1);
}

TEST_F(MeteredLocks, TheLockOfTheSchedulersCountsInNoneOfThese) {
  const AcquireReply granted = must(acquire("a", false, "fenceline:scheduler"));
  must(store.renew({.ns = "default", .locks = {holding("a", granted)}, .ttl = seconds{10}}));
  clock.advance(seconds{11});
  const AcquireReply taken = must(acquire("b", false, "fenceline:scheduler"));
  EXPECT_EQ(must(store.renew({.ns = "default", .locks = {holding("a", granted)}, .ttl = seconds{10}})).refused.size(),
            1u);
  must(store.release({.ns = "default", .locks = {holding("b", taken)}}));
  EXPECT_EQ(moved(), Names{});
}

TEST(Remembered, ForgetsWhatCameFirstWhenItIsFull) {
  Remembered<int> map;
  for (int i = 0; i < 25'000; ++i) {
    map.add(std::to_string(i), i);
    if (i % 2 == 0) map.take(std::to_string(i));
  }
  EXPECT_FALSE(map.contains("1"));
  EXPECT_TRUE(map.contains("24999"));
  EXPECT_EQ(map.take("24999"), 24999);
  EXPECT_EQ(map.take("24999"), std::nullopt);
}

// Works for a while, and may throw.
class SlowHandler final : public Handler {
 public:
  SlowHandler(ManualClock& clock, bool throws) : clock_(clock), throws_(throws) {}
  RunResult run(const Run&) override {
    clock_.advance(seconds{3});
    if (throws_) throw std::runtime_error("no");
    return {.kind = OutcomeKind::done};
  }

 private:
  ManualClock& clock_;
  const bool throws_;
};

TEST_F(Metered, ARunLastsAsLongAsItsHandlerAlsoIfThatThrows) {
  const Job job;
  TrustDeadline trust(clock.now() + seconds{10});
  for (const bool throws : {false, true}) {
    SlowHandler slow(clock, throws);
    MeteredHandler handler(clock, metrics, slow);
    if (throws) {
      EXPECT_THROW(handler.run({.job = job, .stop = {}, .trust = &trust}), std::runtime_error);
    } else {
      EXPECT_EQ(handler.run({.job = job, .stop = {}, .trust = &trust}).kind, OutcomeKind::done);
    }
    EXPECT_EQ(moved(), Names{"fenceline_job_run_seconds"});
  }
  EXPECT_EQ(before.at("fenceline_job_run_seconds_sum{queue=\"other\"}"), "6");
}

}  // namespace
}  // namespace fenceline::metrics::test

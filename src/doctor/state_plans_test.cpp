// Locks, schedules and pipelines.
#include <gtest/gtest.h>

#include "base/utc_text.hpp"
#include "doctor/text.hpp"
#include "services/item_acts.hpp"
#include "services/pipeline_acts.hpp"
#include "services/schedule_acts.hpp"
#include "services/schedule_steps.hpp"
#include "support/state_fixture.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using doctor::moment;
using test::must;

struct Locks : test::StateOnMemory {
  AcquireReply acquire(const std::string& owner, bool wait = false, const std::string& pattern = "item") {
    return must(store.acquire({.ns = options.ns,
                               .names = {"deploy"},
                               .owner = owner,
                               .request = "r-" + owner,
                               .ttl = kTtl,
                               .to_its_end = pattern == "loop",
                               .wait = wait,
                               .pattern = pattern,
                               .place = "box:" + owner}));
  }
};

TEST_F(Locks, ThatRanOutAndWereNotReleasedAreDebt) {
  const Fence fence = acquire("a").grants.front().fence;
  expect_only({});
  pass(kTtl + 40s);
  const Finding debt = one("lock_debt");
  EXPECT_EQ(debt.status, FindingStatus::warning);
  EXPECT_EQ(debt.detail, "lock deploy: the lease of a (box:a) under fence " + std::to_string(fence) +
                             " expired 40s ago without a release");
  EXPECT_EQ(debt.remedy, "fenceline lock deploy -- true") << "taken over and released: the old fence is stale then";
  EXPECT_EQ(debt.since, clock.wall_now() - 40s);
  EXPECT_EQ(look().numbers.lock_debt, 1);
  const LockGrant next = acquire("b").grants.front();
  EXPECT_TRUE(must(store.release({.ns = options.ns, .locks = {{"deploy", "b", next.fence}}})).refused.empty());
  expect_only({});
}

TEST_F(Locks, WindowsOfALoopEndByThemselves) {
  acquire("a", false, "loop");
  pass(kTtl + 40s);
  expect_only({});
}

TEST_F(Locks, LocksOfSchedulersAreNotReported) {
  must(store.acquire({.ns = options.ns,
                      .names = {"fenceline:scheduler"},
                      .owner = "w-1",
                      .request = "r",
                      .ttl = kTtl,
                      .pattern = "schedules"}));
  pass(kTtl + 40s);
  expect_only({});
}

TEST_F(Locks, DebtOfOtherNamespacesIsANumber) {
  acquire("a");
  pass(kTtl + 40s);
  options.ns = "other";
  expect_only({});
  options.other_namespaces = true;
  const Finding debt = one("lock_debt");
  EXPECT_EQ(debt.detail, "namespace default: 1 lease of locks expired and was not released");
  EXPECT_EQ(debt.remedy, "fenceline doctor --namespace default");
  EXPECT_EQ(look().numbers.lock_debt, 0) << "its own";
}

TEST_F(Locks, ThatPeopleWaitLongForNameTheHolder) {
  const Fence fence = acquire("a").grants.front().fence;
  const WallTime held_since = clock.wall_now();
  pass(1s);
  const WallTime since = clock.wall_now();
  acquire("b", true);
  for (int i = 0; i < 8; ++i) {
    pass(10s);
    EXPECT_TRUE(must(store.renew({.ns = options.ns, .locks = {{"deploy", "a", fence}}, .ttl = kTtl})).refused.empty());
    EXPECT_TRUE(acquire("b", true).grants.empty());
    EXPECT_EQ(one("lock_wait").status == FindingStatus::ok, i < 5) << "after " << i + 1;
  }
  const Finding wait = one("lock_wait");
  EXPECT_EQ(wait.status, FindingStatus::warning);
  EXPECT_EQ(wait.detail, "lock deploy: 1 waiter, b (box:b) for 80s; a (box:a) holds it under fence " +
                             std::to_string(fence) + " since " + moment(held_since, clock.wall_now()));
  EXPECT_EQ(wait.remedy, "fenceline locks show deploy") << "it renews: nobody is told to break it unseen";
  EXPECT_EQ(wait.since, since);
  EXPECT_EQ(look().numbers.lock_waiters, 1);
  EXPECT_EQ(look().numbers.lock_wait_longest, 80s);
}

TEST_F(Locks, StandbyCandidatesAreNotReportedAsLongWaits) {
  const Fence fence = acquire("a", false, "election").grants.front().fence;
  acquire("b", true, "election");
  for (int i = 0; i < 8; ++i) {
    pass(10s);
    EXPECT_TRUE(must(store.renew({.ns = options.ns, .locks = {{"deploy", "a", fence}}, .ttl = kTtl})).refused.empty());
    EXPECT_TRUE(acquire("b", true, "election").grants.empty());
  }
  EXPECT_EQ(look().numbers.lock_waiters, 1);
  expect_only({});
}

TEST_F(Locks, APausedHolderIsFixedByWakingIt) {
  const auto ask = [&](const std::string& owner, bool wait) {
    return must(store.acquire({.ns = options.ns,
                               .names = {"deploy"},
                               .owner = owner,
                               .request = "r-" + owner,
                               .ttl = 1h,
                               .wait = wait,
                               .place = "box:4711"}));
  };
  EXPECT_FALSE(ask("a", false).grants.empty());
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(ask("b", true).grants.empty());
    pass(10s);
  }
  EXPECT_EQ(one("lock_wait").remedy, "fenceline locks show deploy") << "nobody can tell";
  options.stopped = [](const std::string& host, std::int64_t pid, Duration age) {
    return host == "box" && pid == 4711 && age == 80s;
  };
  EXPECT_EQ(one("lock_wait").remedy, "kill -CONT 4711");
  EXPECT_TRUE(one("lock_wait").detail.ends_with(", and is stopped")) << one("lock_wait").detail;
}

struct Schedules : test::StateOnMemory {
  ScheduleActs acts{runtime, store, {.ns = options.ns}};
  void add(const std::string& name = "hourly") { must(acts.put(name, {.cron = "0 * * * *", .queue = "mail"})); }
};

TEST_F(Schedules, ATickThatDoesNotFireMakesAScheduleLate) {
  add();
  expect_only({});
  const WallTime tick = std::chrono::ceil<std::chrono::hours>(clock.wall_now());
  pass(tick - clock.wall_now() + 30s);
  expect_only({});
  EXPECT_EQ(look().numbers.schedule_lag, 30s);
  pass(5min);
  const Finding late = one("schedules_late");
  EXPECT_EQ(late.status, FindingStatus::warning);
  EXPECT_EQ(late.detail, "schedule hourly: the tick of " + moment(tick, clock.wall_now()) + " is 5m late");
  EXPECT_EQ(late.remedy, "fenceline work mail -- CMD");
  EXPECT_EQ(late.since, tick);
  pass(5min);
  EXPECT_EQ(one("schedules_late").status, FindingStatus::bad);
  report("w-1");
  EXPECT_EQ(one("schedules_late").remedy, "fenceline work mail -- CMD") << "it may take no part in schedules";
  must(store.acquire({.ns = options.ns, .names = {"fenceline:scheduler"}, .owner = "w-2", .request = "1", .ttl = 10s}));
  EXPECT_EQ(one("schedules_late").remedy, "fenceline locks show fenceline:scheduler") << "somebody should fire it";
  must(acts.pause("hourly"));
  EXPECT_EQ(one("schedules_late").status, FindingStatus::ok);
}

TEST_F(Schedules, AheadOfTheClockAreTakenBackByTheCommandThatIsNamed) {
  pass(std::chrono::ceil<std::chrono::seconds>(clock.wall_now()) - clock.wall_now() + 250ms);
  add();
  const WallTime real = clock.wall_now();
  pass(48h);
  must(acts.pause("hourly"));
  must(acts.resume("hourly"));  // all ticks up to here are accounted for
  clock.set_wall(real);
  const Finding ahead = one("schedules_ahead");
  EXPECT_EQ(ahead.status, FindingStatus::bad);
  EXPECT_TRUE(ahead.detail.starts_with("schedule hourly has ticks resolved up to ") &&
              ahead.detail.ends_with(" ahead of the store's clock"))
      << ahead.detail;
  EXPECT_TRUE(ahead.remedy.starts_with("fenceline schedule rewind hourly --to 20")) << ahead.remedy;
  EXPECT_EQ(look().numbers.schedules_ahead, 1);
  EXPECT_TRUE(ahead.remedy.ends_with(".250000Z")) << "its account begins within this second: " << ahead.remedy;
  must(acts.rewind("hourly", real, {"ann", "the clock was wrong"}));
  EXPECT_EQ(one("schedules_ahead").status, FindingStatus::ok);
}

// Ticks that seemed to be too late while the clock was ahead; it came back, and their time passed.
TEST_F(Schedules, S3_TicksSkippedWhileTheClockWasAheadAreOpenedAgainByTheCommandThatIsNamed) {
  must(acts.put("often", {.cron = "* * * * *", .catch_up = CatchUp::all, .window = 1h, .queue = "mail"}));
  const WallTime real = std::chrono::ceil<std::chrono::minutes>(clock.wall_now());
  pass(real - clock.wall_now() + 30s);
  const auto step = [&] {
    const ScheduleRow row = must(store.schedules({.ns = options.ns})).schedules.front();
    const PlannedStep planned =
        must(plan_step(runtime, store, options.ns, must(known(row)), clock.wall_now(), StepEnd::now));
    if (planned.step)
      must(store.step_ticks({.ns = options.ns, .steps = {*planned.step}, .request = fresh_id(runtime), .owner = "w"}));
  };
  step();
  clock.set_server_clock(24h);
  step();
  clock.set_server_clock(-24h);
  must(acts.rewind("often", clock.wall_now(), {"scheduler", "the clock came back"}));
  EXPECT_EQ(one("schedules_ahead").status, FindingStatus::ok) << "their time is still to come, and they are open";
  clock.set_server_clock(24h);
  step();
  clock.set_server_clock(-24h);
  pass(5min);
  must(acts.rewind("often", clock.wall_now(), {"scheduler", "the clock came back"}));
  const Finding skipped = one("schedules_ahead");
  EXPECT_EQ(skipped.status, FindingStatus::warning);
  EXPECT_TRUE(skipped.detail.starts_with("schedule often: 5 ticks from ")) << skipped.detail;
  EXPECT_TRUE(skipped.detail.ends_with(" were skipped while the store's clock was ahead")) << skipped.detail;
  EXPECT_EQ(skipped.remedy, "fenceline schedule rewind often --to " + utc_text(real + 59s));
  must(acts.rewind("often", real + 59s, {"ann", "the clock was ahead"}));
  step();
  std::int64_t fired = 0;
  for (const TickRow& tick : must(store.ticks({.ns = options.ns, .schedule = "often"})).ticks)
    fired += tick.fired() && tick.tick > real && tick.tick <= clock.wall_now();
  EXPECT_EQ(fired, 5);
  EXPECT_EQ(one("schedules_ahead").status, FindingStatus::ok);
}

using Items = test::StateOnMemory;

TEST_F(Items, ThatAPersonHoldsAreNamedWithTheReason) {
  PipelineActs pipelines(runtime, store, options.ns);
  must(pipelines.apply({.name = "docs", .stages = {{.name = "ready"}, {.name = "review"}}}, false, {"ann", ""}));
  const JobId id = enqueue({.queue = "docs"});
  ItemActs items(runtime, store, options.ns);
  must(items.hold(id, {"ann", "ask legal"}));
  const WallTime since = clock.wall_now();
  pass(5s);
  const Finding held = one("items_on_hold");
  EXPECT_EQ(held.status, FindingStatus::warning);
  EXPECT_EQ(held.detail, "item " + to_string(id) + " of pipeline docs is on hold by ann ('ask legal')");
  EXPECT_EQ(held.remedy, "fenceline stage release " + to_string(id));
  EXPECT_EQ(held.since, since);
  EXPECT_EQ(look().numbers.items_on_hold, 1);
  must(items.release(id, {"ann", ""}));
  EXPECT_EQ(one("items_on_hold").status, FindingStatus::ok);
}

}  // namespace
}  // namespace fenceline

// A lock's fence at guard, gate and protected tables: a holder that is paused between its check and its COMMIT holds
// nobody up, and commits nothing once the lock was granted to another or broken, in every isolation level; and who
// grants leaves a key only if somebody may need it.
#include <gtest/gtest.h>

#include <functional>

#include "backends/postgres/guard_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

struct Grant {
  AcquireRequest asked;
  Fence fence = 0;
};

class PostgresLockGuard : public GuardedServer, public testing::Test {
 protected:
  PostgresLockGuard() {
    app_.run("create schema " + app_.name() + "; create table " + theirs("note") + " (text text)");
  }
  std::string write(const std::string& text) const {
    return "insert into " + theirs("note") + " values ('" + text + "')";
  }
  std::int64_t written() { return number("select count(*) from " + theirs("note")); }
  // But for that of a first grant.
  std::int64_t keys() { return number("select count(*) from " + ours("superseded") + " where fence > 0"); }

  Grant taken(const std::string& name, LockMode mode = LockMode::exclusive) {
    const std::string number = std::to_string(++requests_);
    const AcquireRequest asked{.ns = "default",
                               .names = {name},
                               .owner = "o" + number,
                               .request = "r" + number,
                               .mode = mode,
                               .ttl = 30s,
                               .pattern = "",
                               .place = ""};
    const AcquireReply got = must(store_->acquire(asked));
    if (got.grants.size() != 1) throw std::runtime_error(name + " is " + std::string(to_string(got.held->reason)));
    return {asked, got.grants.front().fence};
  }
  void release(const Grant& grant) {
    must(store_->release({.ns = "default", .locks = {{grant.asked.names.front(), grant.asked.owner, grant.fence}}}));
  }
  // As if its time had passed.
  void let_run_out(const std::string& name) {
    schema_.run(
        "update lock set lease_end = lease_end - 3600000000, free_at = free_at - 3600000000 where resource = '" + name +
        "'; "
        "update lock_sharer set lease_end = lease_end - 3600000000 where resource = '" +
        name + "'");
  }
  std::string guard(const Grant& grant) const {
    return call("guard", "'" + grant.asked.names.front() + "', " + std::to_string(grant.fence));
  }
  std::string guard(const std::string& name, Fence fence) const {
    return call("guard", "'" + name + "', " + std::to_string(fence));
  }
};

class PostgresLockGuardIn : public PostgresLockGuard, public testing::WithParamInterface<const char*> {
 protected:
  bool is_read_committed() const { return std::string(GetParam()) == "read committed"; }
  std::string begin() const { return std::string("begin isolation level ") + GetParam() + "; "; }
  // A paused transaction under the fence fails at its COMMIT after `end`.
  void a_paused_one_fails_after(const Grant& old, const std::function<void()>& end) {
    AppSession paused = session();
    paused.must_run(begin() + guard(old));
    paused.must_run(write("late"));
    const Instant asked = runtime_.now();
    end();
    EXPECT_LT(runtime_.now() - asked, 5s);
    EXPECT_EQ(paused.run("commit"), kStale) << paused.said;
    EXPECT_EQ(written(), 0);
  }
};

TEST_P(PostgresLockGuardIn, E3_APausedTransactionStopsNoTakeoverAndFailsAtItsCommit) {
  const Grant old = taken("l");
  let_run_out("l");
  Grant newer;
  a_paused_one_fails_after(old, [&] { newer = taken("l"); });
  EXPECT_GT(newer.fence, old.fence);
  AppSession next = session();
  next.must_run(begin() + guard(newer));
  next.must_run(write("in time"));
  EXPECT_EQ(next.run("commit"), "");
  EXPECT_EQ(written(), 1);
}

TEST_P(PostgresLockGuardIn, E3_AGrantAfterAReleaseEndsTheFenceToo) {
  const Grant old = taken("l");
  a_paused_one_fails_after(old, [&] {
    release(old);
    taken("l");
  });
}

TEST_P(PostgresLockGuardIn, E3_ABreakEndsTheFence) {
  const Grant old = taken("l");
  a_paused_one_fails_after(old, [&] {
    must(store_->break_lock({.ns = "default", .resource = "l", .only = {}, .request = "b", .act = {"ana", ""}}));
  });
}

TEST_P(PostgresLockGuardIn, E3_TheNextSharedPhaseEndsTheFenceOfTheOneBefore) {
  const Grant old = taken("l", LockMode::shared);
  let_run_out("l");
  schema_.run("update lock set free_at = free_at - 7200000000");
  a_paused_one_fails_after(old, [&] { taken("l", LockMode::shared); });
}

TEST_P(PostgresLockGuardIn, E3_ALockThatWasTidiedAwayIsCoveredToo) {
  const Grant old = taken("l");
  a_paused_one_fails_after(old, [&] {
    release(old);
    schema_.run(
        "update lock set free_at = free_at - 3600000000, freed_at = freed_at - 3600000000; update lock_look set at = "
        "at - 3600000000");
    EXPECT_EQ(must(store_->tidy({.ns = "default"})).removed, 1);
    EXPECT_GT(taken("l").fence, old.fence);
  });
}

TEST_P(PostgresLockGuardIn, E3_ASnapshotFromBeforeTheTakeoverDoesNotCommit) {
  const Grant old = taken("l");
  AppSession paused = session();
  paused.must_run(begin() + "select count(*) from " + theirs("note"));
  let_run_out("l");
  taken("l");
  // Its snapshot does not know of the grant; the row does.
  EXPECT_EQ(paused.run(guard(old)), is_read_committed() ? kStale : "40001");
  static_cast<void>(paused.run("commit"));
  EXPECT_EQ(written(), 0);
}

TEST_P(PostgresLockGuardIn, E3_ALockThatIsTakenForTheFirstTimeEndsWhatNoLeaseWasKnownFor) {
  AppSession paused = session();
  paused.must_run(begin() + guard("l", 7));
  paused.must_run(write("late"));
  taken("l");
  EXPECT_EQ(paused.run("commit"), is_read_committed() ? kStale : "40001") << paused.said;
  EXPECT_EQ(written(), 0);
}

TEST_P(PostgresLockGuardIn, TwoThatGuardDifferentLocksDoNotFailEachOther) {
  AppSession one = session(), two = session();
  const Grant first = taken("one"), second = taken("two");
  one.must_run(begin() + guard(first));
  two.must_run(begin() + guard(second));
  EXPECT_EQ(one.run("commit"), "") << one.said;
  EXPECT_EQ(two.run("commit"), "") << two.said;
}

TEST_P(PostgresLockGuardIn, RenewalsAndAReleaseDoNotHinderTheHoldersCommit) {
  const Grant mine = taken("l");
  AppSession at_work = session();
  at_work.must_run(begin() + guard(mine));
  at_work.must_run(write("long work"));
  EXPECT_TRUE(must(store_->renew({.ns = "default", .locks = {{"l", mine.asked.owner, mine.fence}}, .ttl = 30s}))
                  .refused.empty());
  release(mine);
  EXPECT_EQ(at_work.run("commit"), "") << at_work.said;
  EXPECT_EQ(written(), 1);
}

INSTANTIATE_TEST_SUITE_P(Levels, PostgresLockGuardIn,
                         testing::Values("read committed", "repeatable read", "serializable"), [](const auto& level) {
                           std::string name = level.param;
                           std::erase(name, ' ');
                           return name;
                         });

TEST_F(PostgresLockGuard, AKeyIsLeftOnlyIfATransactionMayCarryTheFence) {
  for (int i = 0; i < 3; ++i) release(taken("l"));
  EXPECT_EQ(keys(), 0);
  const Grant old = taken("l");
  AppSession paused = session();
  paused.must_run("begin; " + guard(old));
  release(old);
  release(taken("l"));
  EXPECT_EQ(keys(), 1);
  EXPECT_EQ(paused.run("commit"), kStale);
  release(taken("l"));
  EXPECT_EQ(keys(), 1);
}

// The key of its first grant outlives a lock that was tidied away; the next first grant must not take it for its own.
TEST_F(PostgresLockGuard, E3_AFirstGrantWaitsForACommitUnderWayAlsoOfALockThatWasForgotten) {
  release(taken("l"));
  schema_.run(
      "update lock set free_at = free_at - 3600000000, freed_at = freed_at - 3600000000; update lock_look set at = at "
      "- 3600000000");
  ASSERT_EQ(must(store_->tidy({.ns = "default"})).removed, 1);
  // A deferred trigger of the application's own keeps its COMMIT under way.
  app_.run("create function " + theirs("linger") +
           "() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(4711); return null; end $$; "
           "create constraint trigger linger after insert on " +
           theirs("note") + " deferrable initially deferred for each row execute function " + theirs("linger") + "()");
  AppSession keeper = session(), writer = session();
  keeper.must_run("select pg_advisory_lock(4711)");
  writer.must_run("begin; " + guard("l", 7));
  writer.must_run(write("in time"));
  std::string state = "none";
  Task commit = runtime_.spawn("commit", [&](const std::stop_token&) { state = writer.run("commit"); });
  const std::string lingers =
      "select count(*) from pg_locks where locktype = 'advisory' and objid = 4711 and not granted";
  for (int i = 0; i < 1000 && number(lingers) == 0; ++i) runtime_.sleep_for(10ms, {});
  EXPECT_EQ(number(lingers), 1);
  const Result<AcquireReply> early = store_->acquire({.ns = "default",
                                                      .names = {"l"},
                                                      .owner = "early",
                                                      .request = "early",
                                                      .ttl = 30s,
                                                      .pattern = "",
                                                      .place = "",
                                                      .timeout = 1s});
  EXPECT_FALSE(early) << "granted beside a commit under an older fence";
  keeper.must_run("select pg_advisory_unlock(4711)");
  commit.join();
  EXPECT_EQ(state, "") << writer.said;
  EXPECT_EQ(written(), 1);
  EXPECT_GT(taken("l").fence, 7);
}

TEST_F(PostgresLockGuard, AFenceThatWasRolledBackToASavepointHoldsNothing) {
  const Grant old = taken("l");
  AppSession app = session();
  app.must_run("begin; savepoint s; " + guard(old));
  app.must_run("rollback to s");
  release(old);
  taken("l");
  EXPECT_EQ(keys(), 0);
  EXPECT_EQ(app.run("commit"), "");
}

TEST_F(PostgresLockGuard, TheInventoryShowsTheLargestFenceThatAGateLetIn) {
  const Grant first = taken("l");
  EXPECT_EQ(must(store_->lock("default", "l"))->seen_at_gate, std::nullopt);
  AppSession app = session();
  app.must_run("begin; " + guard(first));
  app.must_run("rollback");
  EXPECT_EQ(must(store_->lock("default", "l"))->seen_at_gate, std::nullopt);
  app.must_run("begin; " + guard(first));
  app.must_run("commit");
  EXPECT_EQ(must(store_->lock("default", "l"))->seen_at_gate, first.fence);
  release(first);
  const Grant second = taken("l");
  EXPECT_EQ(must(store_->lock("default", "l"))->seen_at_gate, first.fence);
  app.must_run(guard(second));
  EXPECT_EQ(must(store_->lock("default", "l"))->seen_at_gate, second.fence);
}

TEST_F(PostgresLockGuard, AProtectedTableKnowsTheFencesOfLocks) {
  app_.run("create table " + theirs("report") + " (name text primary key, state text, fence bigint)");
  AppSession app = session();
  app.must_run(protect("report", "resource => 'name', fence => 'fence'"));
  const Grant old = taken("monthly/2026");
  const auto set = [&](const std::string& state, const Grant& by) {
    return "insert into " + theirs("report") + " values ('monthly/2026', '" + state + "', " + std::to_string(by.fence) +
           ") on conflict (name) do update set state = excluded.state, fence = excluded.fence";
  };
  app.must_run(set("begun", old));
  release(old);
  const Grant newer = taken("monthly/2026");
  EXPECT_EQ(app.run(set("late", old)), kStale);
  EXPECT_EQ(app.run(set("done", newer)), "");
  EXPECT_EQ(must(store_->lock("default", "monthly/2026"))->seen_at_gate, newer.fence);
}

// Guards know ids of jobs however they are spelled, so a lock whose name looks like one is found by its id.
TEST_F(PostgresLockGuard, ANameThatLooksLikeAnIdIsGuardedHoweverItIsSpelled) {
  for (const std::string name : {"D41D8CD98F00B204E9800998ECF8427E", "d41d8cd9-8f00-b204-e980-0998ecf8427f"}) {
    const Grant old = taken(name);
    AppSession paused = session(), late = session();
    paused.must_run("begin; " + guard(old));
    release(old);
    taken(name);
    EXPECT_EQ(paused.run("commit"), kStale) << name;
    EXPECT_EQ(late.run(guard(old)), kStale) << name;
  }
}

TEST_F(PostgresLockGuard, AFenceOfATidiedLockThatAGateKnewStaysEnded) {
  const Grant first = taken("l");
  AppSession app = session();
  app.must_run(guard(first));
  release(first);
  release(taken("l"));
  schema_.run(
      "update lock set free_at = free_at - 3600000000, freed_at = freed_at - 3600000000; update lock_look set at = at "
      "- 3600000000");
  EXPECT_EQ(must(store_->tidy({.ns = "default"})).removed, 1);
  EXPECT_EQ(app.run(guard(first)), kStale);
}

TEST_F(PostgresLockGuard, AFenceThatWasTakenAwayStaysEndedWhenTheLockIsTidiedAwayThoughNoGateKnewIt) {
  const Grant broken = taken("broken");
  must(store_->break_lock({.ns = "default", .resource = "broken", .only = {}, .request = "b", .act = {"ana", ""}}));
  const Grant dead = taken("dead");
  let_run_out("dead");
  release(taken("dead"));
  release(taken("clean"));
  schema_.run(
      "update lock set free_at = free_at - 3600000000, freed_at = freed_at - 3600000000; update lock_look set at = at "
      "- 3600000000");
  EXPECT_EQ(must(store_->tidy({.ns = "default"})).removed, 3);
  AppSession app = session();
  EXPECT_EQ(app.run(guard(broken)), kStale);
  EXPECT_EQ(app.run(guard(dead)), kStale);
  EXPECT_EQ(number("select count(*) from " + ours("gate_memory")), 2);
  // No gate let it in.
  taken("broken");
  EXPECT_EQ(must(store_->lock("default", "broken"))->seen_at_gate, std::nullopt);
}

TEST_F(PostgresLockGuard, AFenceThatWasTakenAwayStaysEndedThoughEverybodyAfterItGaveTheLockBack) {
  const Grant dead = taken("l"), shared = taken("s", LockMode::shared);
  let_run_out("l");
  let_run_out("s");
  schema_.run("update lock set free_at = free_at - 3600000000 where resource = 's'");
  for (int i = 0; i < 2; ++i) {
    release(taken("l"));
    release(taken("s"));
  }
  schema_.run(
      "update lock set free_at = free_at - 3600000000, freed_at = freed_at - 3600000000; update lock_look set at = at "
      "- 3600000000");
  EXPECT_EQ(must(store_->tidy({.ns = "default"})).removed, 2);
  AppSession app = session();
  EXPECT_EQ(app.run(guard(dead)), kStale);
  EXPECT_EQ(app.run(guard(shared)), kStale);
}

// Locks by SQL.
TEST_F(PostgresLockGuard, ByNameTwoHoldersThatHaveOneNameByMistakeAreTwo) {
  const std::string ask = "select count(fence) from " + ours("lock_acquire");
  EXPECT_EQ(number(ask + "('l', 'web1')"), 1);
  EXPECT_EQ(number(ask + "('l', 'web1')"), 0);
  EXPECT_EQ(number(ask + "('m', 'web1', request => 'r')"), 1);
  EXPECT_EQ(number(ask + "('m', 'web1', request => 'r')"), 1);
  EXPECT_EQ(number("select count(*) from " + ours("lock_acquire") +
                   "('m', 'web2', wait => true, request => 'w') where reason = 'held'"),
            1);
  AppSession app = session();
  EXPECT_EQ(app.run(call("lock_acquire", "'m', 'web3', wait => true")), "22023");
  EXPECT_EQ(app.run(call("lock_acquire", "'{m}', 'web3'")), "22023");
  EXPECT_EQ(app.run(call("lock_acquire", "'m', 'web3', ttl => '0'")), "22023");
  EXPECT_EQ(app.run(call("lock_renew", "'m', 'web1', 5")), kStale);
  EXPECT_EQ(app.run(call("lock_release", "'m', 'web1', 5")), kStale);
  EXPECT_EQ(app.run(call("lock_release", "'m', 'web1', (select fence from " + ours("lock") + " where resource = 'm')")),
            "");
  EXPECT_EQ(number(ask + "('m', 'web2', wait => true, request => 'w')"), 1);
}

TEST_F(PostgresLockGuard, ByNameTwoSharersThatHaveOneNameByMistakeAreNotOne) {
  AppSession app = session();
  app.must_run(call("lock_acquire", "'l', 'web1', shared => true, request => 'r1'"));
  EXPECT_EQ(app.run(call("lock_acquire", "'l', 'web1', shared => true")), "FL002");
  EXPECT_NE(app.said.find("web1 already shares lock l"), std::string::npos) << app.said;
  EXPECT_EQ(app.run(call("lock_acquire", "'l', 'web1', shared => true, request => 'r1'")), "") << "a repeat";
  EXPECT_EQ(app.run(call("lock_acquire", "'l', 'web2', shared => true")), "");
  app.must_run(call("lock_release", "'l', 'web1', (select fence from " + ours("lock") + " where resource = 'l')"));
  EXPECT_EQ(app.run(call("lock_acquire", "'l', 'web1', shared => true")), "") << "it released";
}

TEST_F(PostgresLockGuard, ByNameTheApplicationsCommitIsAsDurableAsItSaid) {
  taken("l");
  EXPECT_EQ(number("select (current_setting('synchronous_commit') = 'on')::int from (select count(*) as n from " +
                   ours("lock_acquire") + "('l', 'web1')) as x where n = 1"),
            1);
}

}  // namespace
}  // namespace fenceline::test

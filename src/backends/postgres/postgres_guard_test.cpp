// A fence for what the application writes in its own transaction: a holder that is paused between its check and its
// COMMIT holds nobody up and commits nothing once another has been granted, in every isolation level.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "backends/postgres/guard_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class PostgresGuard : public GuardedServer, public testing::Test {
 protected:
  PostgresGuard() { app_.run("create schema " + app_.name() + "; create table " + theirs("note") + " (text text)"); }
  std::string write(const std::string& text) const {
    return "insert into " + theirs("note") + " values ('" + text + "')";
  }
  std::int64_t written() { return number("select count(*) from " + theirs("note")); }
  std::int64_t keys() { return number("select count(*) from " + ours("superseded")); }
};

class PostgresGuardIn : public PostgresGuard, public testing::WithParamInterface<const char*> {
 protected:
  std::string begin() const { return std::string("begin isolation level ") + GetParam() + "; "; }
};

TEST_P(PostgresGuardIn, E3_APausedTransactionStopsNoTakeoverAndFailsAtItsCommit) {
  added();
  const Job old = granted_for_a_moment("a");
  AppSession paused = session();
  paused.must_run(begin() + call("guard", old));
  paused.must_run(write("late"));
  const Instant asked = runtime_.now();
  const Job job = granted("b");
  EXPECT_LT(runtime_.now() - asked, 5s);
  EXPECT_GT(job.fence, old.fence);
  EXPECT_EQ(paused.run("commit"), kStale) << paused.said;
  EXPECT_EQ(written(), 0);
  AppSession newer = session();
  newer.must_run(begin() + call("guard", job));
  newer.must_run(write("in time"));
  EXPECT_EQ(newer.run("commit"), "");
  EXPECT_EQ(written(), 1);
}

TEST_P(PostgresGuardIn, E3_ASnapshotFromBeforeTheTakeoverHidesNothingFromTheCommit) {
  added();
  const Job old = granted_for_a_moment("a");
  AppSession paused = session();
  paused.must_run(begin() + "select count(*) from " + theirs("note"));
  granted("b");
  const std::string at_the_call = paused.run(call("guard", old));
  if (std::string(GetParam()) == "read committed") {
    EXPECT_EQ(at_the_call, kStale);
    return;
  }
  // Its snapshot does not know the grant of b.
  EXPECT_EQ(at_the_call, "");
  paused.must_run(write("late"));
  EXPECT_EQ(paused.run("commit"), kStale);
  EXPECT_EQ(written(), 0);
}

TEST_P(PostgresGuardIn, E3_ConstraintsThatAreSetImmediateHoldNobodyUpAndAreCheckedAgain) {
  added();
  const Job old = granted_for_a_moment("a");
  AppSession paused = session();
  paused.must_run(begin() + call("guard", old));
  paused.must_run("set constraints all immediate");
  paused.must_run(write("late"));
  paused.must_run("set constraints all immediate");
  paused.must_run(call("guard", "'another', 7"));
  granted("b");
  EXPECT_EQ(paused.run("commit"), kStale);
  EXPECT_EQ(written(), 0);
}

TEST_P(PostgresGuardIn, E3_WhereNoLeaseLivesTheLargestFenceThatCommittedCounts) {
  AppSession first = session(), second = session();
  first.must_run(begin() + call("guard", "'plan', 10"));
  EXPECT_EQ(first.run("commit"), "");
  first.must_run(begin() + call("guard", "'plan', 10"));
  first.must_run(write("late"));
  second.must_run(begin() + call("guard", "'plan', 20"));
  second.must_run(write("newer"));
  EXPECT_EQ(second.run("commit"), "") << "a paused holder of an older fence stops nobody";
  EXPECT_EQ(first.run("commit"), kStale);
  EXPECT_EQ(written(), 1);
  EXPECT_EQ(first.run(call("guard", "'plan', 19")), kStale);
  EXPECT_EQ(first.run(call("guard", "'plan', 20")), "");
  EXPECT_EQ(first.run(call("gate", "'plan', 21")), "");
}

TEST_P(PostgresGuardIn, E3_AFenceThatNobodyHadCommittedUnderIsOvertakenToo) {
  AppSession first = session(), second = session();
  first.must_run(begin() + call("guard", "'plan', 15"));
  first.must_run(write("late"));
  second.must_run(begin() + call("guard", "'plan', 20"));
  EXPECT_EQ(second.run("commit"), "");
  const std::string state = first.run("commit");
  EXPECT_TRUE(state == kStale || state == "40001") << state;
  EXPECT_EQ(written(), 0);
}

INSTANTIATE_TEST_SUITE_P(EveryIsolation, PostgresGuardIn,
                         testing::Values("read committed", "repeatable read", "serializable"), [](const auto& one) {
                           const std::string level = one.param;
                           return std::string(level == "read committed" ? "ReadCommitted"
                                              : level == "serializable" ? "Serializable"
                                                                        : "RepeatableRead");
                         });

TEST_F(PostgresGuard, E3_EveryWayInWhichAFenceEndsIsMetByAPausedTransaction) {
  const std::map<std::string, std::function<void(const Job&)>> ways{
      {"taken over", [&](const Job&) { granted("b"); }},
      {"failed and granted again",
       [&](const Job& job) {
         must(store_->settle(
             {.ns = "default",
              .owner = "a",
              .settlements = {{.id = job.id, .fence = job.fence, .outcome = {.kind = OutcomeKind::failed}}}}));
         granted("b");
       }},
      {"given back and granted again",
       [&](const Job& job) {
         must(store_->settle(
             {.ns = "default",
              .owner = "a",
              .settlements = {{.id = job.id, .fence = job.fence, .outcome = {.kind = OutcomeKind::given_back}}}}));
         granted("b");
       }},
      {"cancelled",
       [&](const Job& job) {
         must(store_->cancel({.ns = "default", .ids = {job.id}, .request = "c", .act = {"ann", ""}}));
       }},
      {"taken back",
       [&](const Job& job) {
         must(store_->retry({.ns = "default", .ids = {job.id}, .request = "t", .act = {"ann", ""}}));
       }},
      {"removed with its namespace",
       [&](const Job&) {
         must(store_->remove_namespace("default", {"ann", ""}));
       }},
  };
  for (const auto& [way, end] : ways) {
    must(store_->remove_namespace("default", {"ann", ""}));
    added();
    const Job job = granted_for_a_moment("a");
    AppSession paused = session();
    paused.must_run("begin isolation level repeatable read; " + call("guard", job));
    paused.must_run(write("late"));
    end(job);
    EXPECT_EQ(paused.run("commit"), kStale) << way;
    EXPECT_EQ(paused.run(call("guard", job)), kStale) << way;
  }
  EXPECT_EQ(written(), 0);
}

TEST_F(PostgresGuard, E3_WhatIsFinishedIsNotThrownAwayIfNobodyTookOver) {
  added();
  const Job job = granted_for_a_moment("a");
  AppSession app = session();
  app.must_run("begin; " + call("guard", job));
  app.must_run(write("in time"));
  must(store_->settle({.ns = "default",
                       .owner = "a",
                       .settlements = {{.id = job.id, .fence = job.fence, .outcome = {.kind = OutcomeKind::done}}}}));
  EXPECT_EQ(app.run("commit"), "");
  EXPECT_EQ(app.run(call("guard", job)), "") << "its fence is the newest for ever";
  EXPECT_EQ(written(), 1);
}

// The application's own deferred trigger stands for a COMMIT that takes its time: ours has run, the end has not come.
TEST_F(PostgresGuard, E3_ATakeoverWaitsForACommitThatIsUnderWay) {
  app_.run("create function " + theirs("slow") +
           "() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(77); return null; end $$; "
           "create constraint trigger slow after insert on " +
           theirs("note") + " deferrable initially deferred for each row execute function " + theirs("slow") + "()");
  added();
  const Job old = granted_for_a_moment("a");
  AppSession brake = session(), app = session();
  brake.must_run("begin; select pg_advisory_xact_lock(77)");
  app.must_run("begin; " + call("guard", old));
  app.must_run(write("in time"));
  std::string committed = "?";
  Task commit = runtime_.spawn("commit", [&](const std::stop_token&) { committed = app.run("commit"); });
  const auto waiting = [&](const std::string& what) {
    for (int i = 0; i < 5'000; ++i, runtime_.sleep_for(2ms, {})) {
      if (number("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '" + what +
                 "%'") > 0)
        return true;
    }
    return false;
  };
  EXPECT_TRUE(waiting("commit"));
  AppSession taker = session();
  std::string taken = "?";
  Task claim = runtime_.spawn("claim", [&](const std::stop_token&) {
    taken = taker.run("/* taker */ " + std::string("select * from ") + ours("claim_jobs") +
                      "('default', '{q}', '', 'b', 'r', 1, 30000000, false, true, null, null, null, null)");
  });
  EXPECT_TRUE(waiting("/* taker"));
  brake.must_run("commit");
  commit.join();
  claim.join();
  EXPECT_EQ(committed, "");
  EXPECT_EQ(taken, "");
  EXPECT_EQ(written(), 1);
  EXPECT_GT(number("select fence from " + ours("job")), old.fence);
}

TEST_F(PostgresGuard, E3_ASavepointThatIsRolledBackTakesItsGuardWithIt) {
  added();
  const Job old = granted_for_a_moment("a");
  AppSession app = session();
  app.must_run("begin; savepoint s; " + call("guard", old));
  app.must_run(write("late"));
  app.must_run("rollback to s");
  app.must_run(write("not under a fence"));
  AppSession other = session();
  other.must_run("begin; savepoint s; " + call("guard", old));
  other.must_run("release s");
  other.must_run(write("late"));
  AppSession third = session();
  third.must_run("begin; " + call("guard", old));
  third.must_run("savepoint s; " + call("guard", old));
  third.must_run("rollback to s");
  third.must_run(write("late"));
  granted("b");
  EXPECT_EQ(app.run("commit"), "");
  EXPECT_EQ(other.run("commit"), kStale);
  EXPECT_EQ(third.run("commit"), kStale);
  EXPECT_EQ(written(), 1);
}

TEST_F(PostgresGuard, E3_CommitsByWhateverCommandAreChecked) {
  added();
  const Job old = granted_for_a_moment("a");
  AppSession app = session();
  app_.run("create procedure " + theirs("works") + "() language plpgsql as $$ begin perform " + schema_.name() +
           ".gate('proc', 1); " + write("p") + "; commit; perform " + schema_.name() +
           ".gate('proc', 2); commit; end $$");
  EXPECT_EQ(app.run("call " + theirs("works") + "()"), "");
  EXPECT_EQ(app.run("begin; " + call("guard", old) + "; commit and chain; " + call("guard", old) + "; end transaction"),
            "");
  EXPECT_EQ(app.run("do $$ begin perform " + schema_.name() + ".guard('" + to_string(old.id) + "', " +
                    std::to_string(old.fence) + "); set constraints all immediate; end $$"),
            "");
  EXPECT_EQ(app.run(call("guard", old)), "");
  EXPECT_EQ(number("select count(*) from " + ours("at_commit")), 0);
  EXPECT_EQ(number("select fence from " + ours("gate_memory") + " where resource = 'proc'"), 2);
  AppSession late = session();
  late.must_run("begin; " + call("guard", old));
  granted("b");
  EXPECT_EQ(late.run("select 1; end"), kStale);
  EXPECT_EQ(app.run("call " + theirs("works") + "()"), kStale);
}

TEST_F(PostgresGuard, E3_AKeyStaysForAsLongAsAPausedTransactionCouldNeedIt) {
  added();
  const Job old = granted_for_a_moment("a");
  AppSession paused = session(), snapshot = session();
  paused.must_run("begin; " + call("guard", old));
  snapshot.must_run("begin isolation level repeatable read; select count(*) from " + theirs("note"));
  granted("b");
  EXPECT_EQ(keys(), 1);
  for (int i = 0; i < 5; ++i) must(store_->tidy({.ns = "default"}));
  EXPECT_EQ(keys(), 1);
  EXPECT_EQ(paused.run("commit"), kStale);
  for (int i = 0; i < 5; ++i) must(store_->tidy({.ns = "default"}));
  EXPECT_EQ(keys(), 1) << "a snapshot from before has not asked yet";
  snapshot.must_run(call("guard", old));
  EXPECT_EQ(snapshot.run("commit"), kStale);
  for (int i = 0; i < 100 && keys() > 0; ++i, runtime_.sleep_for(20ms, {})) must(store_->tidy({.ns = "default"}));
  EXPECT_EQ(keys(), 0);
}

TEST_F(PostgresGuard, E3_AFenceThatTheStoreDoesNotKnowIsBehindAndBadInputSaysWhy) {
  added();
  const Job job = granted("a");
  AppSession app = session();
  Job unknown = job;
  unknown.fence += 1;
  EXPECT_EQ(app.run(call("guard", unknown)), kBehind);
  EXPECT_EQ(app.run(call("guard", "'x', 0")), "22023");
  EXPECT_EQ(app.run(call("guard", "'x', null")), "22023");
  EXPECT_EQ(app.run(call("guard", "'', 1")), "22023");
  EXPECT_EQ(app.run(call("guard", "null, 1")), "22023");
  EXPECT_EQ(app.run(call("guard", "'x', 9007199254740992")), "22023");
  std::string upper = to_string(job.id);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(app.run(call("guard", "'" + upper + "', " + std::to_string(job.fence))), "");
  EXPECT_EQ(app.run(call("guard", "'" + upper + "', " + std::to_string(job.fence - 1))), kStale);
}

// The settle checks the job's own row; the guard of the same fence is not in its way, nor is an outcome that lets the
// job come again.
TEST_F(PostgresGuard, E3_AGuardAndTheOutcomeOfItsJobAreOneCommit) {
  for (const std::string verb : {"complete", "fail"}) {
    added();
    const Job job = granted_for_a_moment("a");
    AppSession app = session();
    app.must_run("begin isolation level repeatable read; " + call("guard", job));
    app.must_run(write(verb));
    app.must_run(call(verb, job));
    EXPECT_EQ(app.run("commit"), "") << verb << app.said;
    must(store_->remove_namespace("default", {"ann", ""}));
    added();
    const Job old = granted_for_a_moment("a");
    app.must_run("begin; " + call("guard", old));
    app.must_run(write("late"));
    app.must_run(call(verb, old));
    granted("b");
    EXPECT_EQ(app.run("commit"), kStale) << verb;
    must(store_->remove_namespace("default", {"ann", ""}));
  }
  EXPECT_EQ(written(), 2);
}

TEST_F(PostgresGuard, E3_NamespacesShareNoFence) {
  AppSession app = session();
  EXPECT_EQ(app.run(call("guard", "'plan', 20, 'one'")), "");
  EXPECT_EQ(app.run(call("guard", "'plan', 10, 'two'")), "");
  EXPECT_EQ(app.run(call("guard", "'plan', 10, namespace => 'one'")), kStale);
}

TEST_F(PostgresGuard, E3_ManyTransactionsUnderOneFenceCommitOneAfterTheOther) {
  added();
  const Job job = granted("a");
  std::vector<Task> tasks;
  std::atomic<int> done = 0;
  for (int i = 0; i < 8; ++i) {
    tasks.push_back(runtime_.spawn("w" + std::to_string(i), [&, i](const std::stop_token&) {
      AppSession app = session();
      for (int n = 0; n < 25; ++n) {
        app.must_run(std::string(i % 2 == 0 ? "begin; " : "begin isolation level repeatable read; ") +
                     call("guard", job) + "; " + call("guard", "'other', 5"));
        app.must_run(write("w"));
        const std::string state = app.run("commit");
        // The first one of a resource without a lease makes its row: who meets it in an older snapshot begins anew.
        if (state.empty()) ++done;
        else EXPECT_EQ(state, "40001");
      }
    }));
  }
  for (Task& task : tasks) task.join();
  EXPECT_GE(done, 8 * 25 - 8);
  EXPECT_EQ(written(), done);
}

}  // namespace
}  // namespace fenceline::test

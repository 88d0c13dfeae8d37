// Where a guard could be passed by: jobs younger than a snapshot, ids in other spellings and namespaces, prepared
// transactions, columns whose text is not one.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "backends/postgres/guard_testing.hpp"

namespace fenceline::test {
namespace {

class PostgresGuardEdges : public GuardedServer, public testing::Test {
 protected:
  PostgresGuardEdges() {
    app_.run("create schema " + app_.name() + "; create table " + theirs("note") + " (text text)");
  }
  std::string write() const { return "insert into " + theirs("note") + " values ('late')"; }
  std::int64_t written() { return number("select count(*) from " + theirs("note")); }
  static std::string uuid_of(const Job& job) { return to_string(job.id); }
};

TEST_F(PostgresGuardEdges, E3_AJobThatIsYoungerThanTheSnapshotIsNoResourceWithoutALease) {
  AppSession paused = session();
  paused.must_run("begin isolation level repeatable read; select count(*) from " + theirs("note"));
  added();
  const Job old = granted_for_a_moment("a");
  EXPECT_EQ(paused.run(call("guard", old)), "40001") << paused.said;
  EXPECT_EQ(number("select count(*) from " + ours("gate_memory")), 0);
}

// The check at the call can be wrong about what lives here; the one at COMMIT is not.
TEST_F(PostgresGuardEdges, E3_AKeyIsMetAlsoWhereNoLeaseWasSeen) {
  AppSession paused = session();
  paused.must_run("begin; " + call("guard", "'plan', 10"));
  paused.must_run(write());
  schema_.run(
      "insert into superseded (ns_id, resource, fence) select id, 'plan', 10 from namespace where name = 'default'");
  if (number("select count(*) from " + ours("superseded")) == 0) {
    schema_.run(
        "insert into namespace (name) values ('default'); insert into superseded (ns_id, resource, fence) select id, "
        "'plan', 10 from namespace where name = 'default'");
  }
  EXPECT_EQ(paused.run("commit"), kStale) << paused.said;
  EXPECT_EQ(written(), 0);
}

// The one that ends the fences is stopped between two of them, by somebody who is about to leave the key of the second.
TEST_F(PostgresGuardEdges, E3_AnActInAnyOrderMeetsNoDeadlockBesideACommitUnderSeveralFences) {
  const auto waiting = [&] {
    return number(
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
  };
  for (const bool cancel : {true, false}) {
    std::vector<Job> jobs;
    for (int i = 0; i < 3; ++i) {
      added();
      jobs.push_back(granted("a"));
    }
    std::ranges::sort(jobs, {}, &Job::id);
    AppSession bar = session();
    bar.must_run("begin; insert into " + ours("superseded") + " (ns_id, resource, fence) select id, '" +
                 uuid_of(jobs[1]) + "', " + std::to_string(jobs[1].fence) + " from " + ours("namespace") +
                 " where name = 'default'");
    AppSession app = session();
    app.must_run("begin; " + call("guard", jobs[0]) + "; " + call("guard", jobs[2]) + "; " + write());
    const ActRequest request{.ns = "default",
                             .ids = {jobs[2].id, jobs[1].id, jobs[0].id},
                             .request = "act",
                             .only = {},
                             .act = {"ana", "stop"}};
    std::optional<Result<ActReply>> acted;
    std::string committed;
    Task acts = runtime_.spawn(
        "act", [&](const std::stop_token&) { acted = cancel ? store_->cancel(request) : store_->retry(request); });
    for (int i = 0; i < 2'000 && waiting() < 1; ++i) runtime_.sleep_for(std::chrono::milliseconds{2}, {});
    Task commits = runtime_.spawn("commit", [&](const std::stop_token&) { committed = app.run("commit"); });
    for (int i = 0; i < 2'000 && waiting() < 2; ++i) runtime_.sleep_for(std::chrono::milliseconds{2}, {});
    bar.must_run("rollback");
    acts.join();
    commits.join();
    ASSERT_TRUE(acted && *acted) << (*acted).error().message;
    EXPECT_TRUE((*acted)->refused.empty());
    EXPECT_EQ(committed, kStale) << "the act was first: " << app.said;
    EXPECT_EQ(written(), 0);
    must(store_->cancel({.ns = "default", .ids = request.ids, .request = "end", .only = {}, .act = {"ana", "over"}}));
    store_
        ->stopped({.ns = "default",
                   .owner = "a",
                   .jobs = {{jobs[0].id, jobs[0].fence}, {jobs[1].id, jobs[1].fence}, {jobs[2].id, jobs[2].fence}}})
        .value();
  }
}

TEST_F(PostgresGuardEdges, E3_AnIdInAnotherSpellingIsTheSameJob) {
  added();
  const Job old = granted_for_a_moment("a");
  granted("b");
  std::string bare = uuid_of(old);
  std::erase(bare, '-');
  AppSession app = session();
  for (const std::string& spelled : {uuid_of(old), bare, "{" + uuid_of(old) + "}", " " + uuid_of(old) + " "}) {
    EXPECT_EQ(app.run(call("guard", "'" + spelled + "', " + std::to_string(old.fence))), kStale) << spelled;
  }
}

TEST_F(PostgresGuardEdges, E3_AJobMayBeNamedByItsUuidAsClaimGivesIt) {
  added();
  const Job job = granted("a");
  const std::string named = "'" + uuid_of(job) + "'::uuid, " + std::to_string(job.fence);
  AppSession app = session();
  for (const char* function : {"guard", "gate", "act_as"}) {
    EXPECT_EQ(app.run(call(function, named)), "") << app.said;
    EXPECT_EQ(app.run(call(function, "'" + uuid_of(job) + "'::uuid, 17")), kStale) << function;
  }
}

TEST_F(PostgresGuardEdges, E3_AJobOfAnotherNamespaceIsNamedAndNotLetIn) {
  added();
  const Job job = granted("a");
  AppSession app = session();
  EXPECT_EQ(app.run(call("guard", "'" + uuid_of(job) + "', " + std::to_string(job.fence) + ", 'other'")), "22023");
  EXPECT_NE(app.said.find("namespace default"), std::string::npos) << app.said;
}

TEST_F(PostgresGuardEdges, E3_AFenceFromTheFarFutureKeepsNobodyFromRebase) {
  app_.run("create table " + theirs("runs") + " (run_id text, fence bigint)");
  AppSession app = session();
  app.must_run(protect("runs", "'run_id', 'fence'"));
  app.must_run("insert into " + theirs("runs") + " values ('r', 9007199254740991)");
  app.must_run(call("guard", "'plan', 5"));
  app.must_run(call("guard", "'plan', 9007199254740991"));
  EXPECT_EQ(app.run(call("rebase", "'a mistake'")), "") << app.said;
  EXPECT_EQ(app.run(call("guard", "'plan', 5")), kStale);
  app.must_run(call("forget_gate", "'plan', 'a mistake'"));
  EXPECT_EQ(app.run(call("guard", "'plan', 5")), "") << app.said;
}

// A transaction that was prepared outlives a crash and keeps its key: its words are seen however they are written.
TEST_F(PostgresGuardEdges, E3_NoSpellingOfPrepareTransactionPasses) {
  if (number("select current_setting('max_prepared_transactions')::bigint") == 0)
    GTEST_SKIP() << "the server takes no prepared transactions";
  for (const char* words :
       {"prepare transaction 'x'", "/* app */ prepare transaction 'x'", "prepare/**/transaction 'x'",
        "prepare /* c */ transaction 'x'", "prepare transaction'x'"}) {
    AppSession app = session();
    app.must_run("begin; " + call("guard", "'plan', 10"));
    EXPECT_EQ(app.run(words), "0A000") << words;
  }
}

TEST_F(PostgresGuardEdges, E3_AResourceIsOneTextInEverySession) {
  app_.run("create table " + theirs("days") + " (day date, amount numeric, fence bigint)");
  AppSession app = session();
  EXPECT_EQ(app.run(protect("days", "'day', 'fence'")), "FL002");
  EXPECT_EQ(app.run(protect("days", "'amount', 'fence'")), "FL002");
}

TEST_F(PostgresGuardEdges, E3_ACastOfSomebodysOwnIsNotCalledWithTheRightsOfTheStore) {
  app_.run("create table " + theirs("runs") + " (run_id text, fence bigint); create type " + theirs("odd") +
           " as (a text); create table " + theirs("called") + " (who text); create function " + theirs("tell") + "(x " +
           theirs("odd") + ") returns text language plpgsql as $$ begin insert into " + theirs("called") +
           " values (current_user); return 'r'; end $$; create cast (" + theirs("odd") + " as text) with function " +
           theirs("tell") + "(" + theirs("odd") + ")");
  AppSession app = session();
  app.must_run(protect("runs", "'run_id', 'fence'"));
  app.must_run("alter table " + theirs("runs") + " alter column run_id type " + theirs("odd") +
               " using row(run_id)::" + theirs("odd"));
  app.run("insert into " + theirs("runs") + " values (row('r'), 10)");
  EXPECT_EQ(number("select count(*) from " + theirs("called")), 0);
}

TEST_F(PostgresGuardEdges, E3_AFenceForOneResourceTakesNoRowFromAnother) {
  app_.run("create table " + theirs("runs") + " (run_id text, fence bigint)");
  AppSession app = session();
  app.must_run(protect("runs", "'run_id', 'fence', 'allow'"));
  app.must_run("insert into " + theirs("runs") + " values ('mine', 20)");
  EXPECT_EQ(app.run("update " + theirs("runs") + " set run_id = 'other', fence = 10"), kUnfenced);
  EXPECT_EQ(app.run("update " + theirs("runs") + " set run_id = 'other'"), "") << "people may";
}

TEST_F(PostgresGuardEdges, E3_WhatComesAfterTheCheckIsTold) {
  app_.run("create table " + theirs("runs") + " (run_id text, fence bigint)");
  AppSession app = session();
  app.must_run(protect("runs", "'run_id', 'fence'"));
  const std::string gaps = "select count(*) from " + ours("refusals") + " where gaps is not null";
  EXPECT_EQ(number(gaps), 0);
  app_.run("create function " + theirs("change") +
           "() returns trigger language plpgsql as $$ begin new.run_id := 'other'; return new; end $$; create trigger "
           "zzz before insert on " +
           theirs("runs") + " for each row execute function " + theirs("change") + "()");
  EXPECT_EQ(number(gaps + " and gaps like '%zzz%'"), 1);
  app_.run("drop trigger zzz on " + theirs("runs") + "; create table " + theirs("heir") + " () inherits (" +
           theirs("runs") + ")");
  EXPECT_EQ(number(gaps + " and gaps like '%heir%'"), 1);
}

TEST_F(PostgresGuardEdges, E3_AProtectedTableThatWasDroppedLeavesNothingWhenTheNextIsProtected) {
  app_.run("create table " + theirs("runs") + " (run_id text, fence bigint); create table " + theirs("more") +
           " (run_id text, fence bigint)");
  AppSession app = session();
  app.must_run(protect("runs", "'run_id', 'fence'"));
  app_.run("drop table " + theirs("runs"));
  app.must_run(protect("more", "'run_id', 'fence'"));
  EXPECT_EQ(number("select count(*) from " + ours("protected")), 1);
}

TEST_F(PostgresGuardEdges, E3_AHalfGoneProtectionKeepsNoOtherTableFromBeingProtected) {
  app_.run("create table " + theirs("runs") + " (run_id text, fence bigint) partition by list (run_id); create table " +
           theirs("part") + " partition of " + theirs("runs") + " default; create table " + theirs("more") +
           " (run_id text, fence bigint)");
  AppSession app = session();
  app.must_run(protect("runs", "'run_id', 'fence'"));
  app_.run("alter table " + theirs("runs") + " detach partition " + theirs("part") + "; drop table " + theirs("runs"));
  EXPECT_EQ(app.run(protect("more", "'run_id', 'fence'")), "") << app.said;
}

}  // namespace
}  // namespace fenceline::test

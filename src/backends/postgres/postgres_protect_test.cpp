// Tables of the application that take no write under an older fence, whoever writes them, by whatever statement.
#include <gtest/gtest.h>

#include <functional>

#include "backends/postgres/guard_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class PostgresProtect : public GuardedServer, public testing::Test {
 protected:
  PostgresProtect() { app_.run("create schema " + app_.name()); }
  // A protected table with one row, of resource 'a' under fence 10.
  void make_run(const std::string& more = "") {
    app_.run("create table " + theirs("run") + " (id int primary key, run_id text, text text, fence_token bigint)");
    app.must_run(protect("run", "resource => 'run_id', fence => 'fence_token'" + more));
    app.must_run("insert into " + theirs("run") + " values (1, 'a', 'first', 10)");
  }
  std::string update(const std::string& assignments) const {
    return "update " + theirs("run") + " set " + assignments + " where id = 1";
  }
  std::int64_t fence() { return number("select fence_token from " + theirs("run") + " where id = 1"); }
  std::string as(const std::string& resource, int fence_, const std::string& statement) {
    return "begin; " + call("act_as", "'" + resource + "', " + std::to_string(fence_)) + "; " + statement + "; commit";
  }
  std::string tried(const std::string& sql) {
    const std::string state = app.run(sql);
    app.run("rollback");
    return state;
  }
  std::int64_t refused(const std::string& what) {
    return number("select sum(" + what + ")::bigint from " + ours("refusals"));
  }

  AppSession app = session();
};

TEST_F(PostgresProtect, E3_TakesAnEqualOrNewerFenceAndRefusesAnOlderOne) {
  make_run();
  EXPECT_EQ(tried(update("text = 'x', fence_token = 9")), kStale);
  EXPECT_EQ(tried(update("text = 'x', fence_token = 10")), "");
  EXPECT_EQ(tried(update("text = 'y', fence_token = 20")), "");
  EXPECT_EQ(tried(update("text = 'x', fence_token = 10")), kStale);
  EXPECT_EQ(tried("insert into " + theirs("run") + " values (2, 'a', '', 19)"), kStale)
      << "a new row of the same resource";
  EXPECT_EQ(tried("insert into " + theirs("run") + " values (2, 'b', '', 1)"), "");
  EXPECT_EQ(tried(as("a", 19, "delete from " + theirs("run") + " where id = 1")), kStale);
  EXPECT_EQ(tried(as("a", 20, "delete from " + theirs("run") + " where id = 1")), "");
  EXPECT_EQ(tried("insert into " + theirs("run") + " values (1, 'a', '', 10)"), kStale)
      << "what was deleted is remembered";
}

// The example of docs/tables-postgresql.md: what a protected table alone does not refuse, and what does.
TEST_F(PostgresProtect, E3_AResourceOfYourOwnNeedsAGuardOrACompleteInTheTransaction) {
  app_.run("create table " + theirs("account") + " (name text primary key, cents int, fence bigint)");
  app.must_run(protect("account", "resource => 'name', fence => 'fence'"));
  const auto balance_after = [&](const std::string& name, const std::string& check) {
    app_.run("insert into " + theirs("account") + " values ('" + name + "', 100, 1)");
    added();
    const Job a = granted_for_a_moment("a");
    const Job b = granted("b");
    for (const Job& by : {a, b})
      tried("begin; " + (check.empty() ? "" : call(check, by) + "; ") + "update " + theirs("account") +
            " set cents = cents + 50, fence = " + std::to_string(by.fence) + " where name = '" + name + "'; commit");
    if (check != "complete") app.must_run(call("complete", b));
    return number("select cents from " + theirs("account") + " where name = '" + name + "'");
  };
  EXPECT_EQ(balance_after("plain", ""), 200) << "b has not written yet, so the table knows no newer fence than a's";
  EXPECT_EQ(balance_after("guarded", "guard"), 150);
  EXPECT_EQ(balance_after("completed", "complete"), 150);
}

TEST_F(PostgresProtect, E3_WhatSaysNoFenceIsRefusedByWhateverStatement) {
  make_run();
  const std::string run = theirs("run");
  app_.run("create view " + theirs("seen") + " as select * from " + run);
  for (const std::string& sql : {
           update("text = 'x'"),
           update("fence_token = null"),
           update("fence_token = 0"),
           "insert into " + run + " values (2, 'b', '', null)",
           "insert into " + run + " values (2, 'b', '', 0)",
           "insert into " + run + " (id, run_id) values (2, 'b')",
           "insert into " + run + " values (1, 'a', '', 10) on conflict (id) do update set text = 'x'",
           "delete from " + run,
           "truncate " + run,
           "update " + theirs("seen") + " set text = 'x'",
           "delete from " + theirs("seen"),
           "merge into " + run +
               " r using (values (1)) as v (id) on r.id = v.id when matched then update set text = 'x'",
           "merge into " + run + " r using (values (1)) as v (id) on r.id = v.id when matched then delete",
           "with gone as (delete from " + run + " returning *) select * from gone",
       }) {
    EXPECT_EQ(tried(sql), kUnfenced) << sql;
    EXPECT_NE(app.said.find("act_as"), std::string::npos) << app.said;
  }
  EXPECT_EQ(tried(update("fence_token = -1")), "22023");
  EXPECT_EQ(number("select count(*) from " + run + " where text = 'first' and fence_token = 10"), 1);
  EXPECT_EQ(refused("unfenced_refused"), 14);
  for (const std::string& sql : {
           "insert into " + run +
               " values (1, 'a', '', 10) on conflict (id) do update set text = 'x', fence_token = excluded.fence_token",
           "merge into " + run +
               " r using (values (1)) as v (id) on r.id = v.id when matched then update set text = 'y', fence_token = "
               "10",
           "update " + theirs("seen") + " set text = 'x', fence_token = 10",
       }) {
    EXPECT_EQ(tried(sql), "") << sql << app.said;
  }
  EXPECT_EQ(
      tried("insert into " + run +
            " values (1, 'a', '', 9) on conflict (id) do update set text = 'x', fence_token = excluded.fence_token"),
      kStale);
}

TEST_F(PostgresProtect, E3_ActAsIsOfOneTransactionAndFillsTheFenceIn) {
  make_run();
  EXPECT_EQ(
      tried(as("a", 30, update("text = 'x'") + "; insert into " + theirs("run") + " (id, run_id) values (2, 'a')")),
      "");
  EXPECT_EQ(number("select count(*) from " + theirs("run") + " where fence_token = 30"), 2);
  EXPECT_EQ(tried(update("text = 'y'")), kUnfenced) << "it ended with its COMMIT";
  app.must_run("begin; " + call("act_as", "'a', 30") + "; rollback");
  EXPECT_EQ(tried(update("text = 'y'")), kUnfenced) << "and with a ROLLBACK";
  app.must_run(call("act_as", "'a', 30"));
  EXPECT_EQ(tried(update("text = 'y'")), kUnfenced) << "and with its statement";
  EXPECT_EQ(tried("begin; savepoint s; " + call("act_as", "'a', 30") + "; rollback to s; " + update("text = 'y'")),
            kUnfenced)
      << "and with its savepoint";
  EXPECT_EQ(
      tried("begin; savepoint s; " + call("act_as", "'a', 30") + "; release s; " + update("text = 'y'") + "; commit"),
      "");
  EXPECT_EQ(
      tried("begin; " + call("act_as", "'a', 30") + "; " + call("act_as", "'a', null") + "; " + update("text = 'y'")),
      kUnfenced)
      << "and when it is taken back";
  EXPECT_EQ(tried(as("b", 99, update("text = 'y'"))), kUnfenced) << "and is of its resource only";
  EXPECT_EQ(tried(as("a", 29, "select 1")), kStale);
}

TEST_F(PostgresProtect, E3_ActAsDoesNotLeakThroughAPooler) {
  const char* pooler = std::getenv("FENCELINE_TEST_PGBOUNCER");
  if (!pooler) GTEST_SKIP() << "FENCELINE_TEST_PGBOUNCER names no pooler: run by script/with_postgres --pgbouncer";
  make_run();
  // One session of the server serves both.
  AppSession first(runtime_, pooler), second(runtime_, pooler);
  EXPECT_EQ(first.run(as("a", 20, update("text = 'x'"))), "");
  EXPECT_EQ(second.run(update("text = 'y'")), kUnfenced);
  EXPECT_EQ(first.run("begin; " + call("act_as", "'a', 20") + "; select 1/0"), "22012");
  EXPECT_EQ(first.run("rollback"), "");
  EXPECT_EQ(second.run(update("text = 'y'")), kUnfenced);
  EXPECT_EQ(second.run(update("text = 'z', fence_token = 21")), "");
  EXPECT_EQ(first.run(update("text = 'z', fence_token = 20")), kStale);
}

TEST_F(PostgresProtect, E3_WhereTheLeaseLivesTheNewestGrantCountsThoughItHasNotWritten) {
  make_run();
  added();
  const Job old = granted_for_a_moment("a");
  const std::string id = to_string(old.id);
  const auto write = [&](const Job& job) {
    return "insert into " + theirs("run") + " values (2, '" + id + "', 'late', " + std::to_string(job.fence) +
           ") on conflict (id) do update set text = 'late', fence_token = excluded.fence_token";
  };
  EXPECT_EQ(tried(write(old)), "");
  AppSession paused = session(), in_snapshot = session();
  paused.must_run("begin; " + write(old));
  in_snapshot.must_run("begin isolation level repeatable read; select count(*) from " + theirs("run"));
  const Job job = granted("b");
  EXPECT_EQ(tried(write(old)), kStale) << "refused at the statement: b has written nothing yet";
  EXPECT_EQ(paused.run("commit"), kStale) << "and at COMMIT, if the statement came before";
  EXPECT_EQ(in_snapshot.run(write(old)), "") << "its snapshot does not know";
  EXPECT_EQ(in_snapshot.run("commit"), kStale);
  EXPECT_EQ(tried(write(job)), "");
  EXPECT_EQ(refused("stale"), 3);
}

TEST_F(PostgresProtect, E3_ARowChangesHandsUnderBothFences) {
  make_run();
  EXPECT_EQ(tried(update("run_id = 'b', fence_token = 50")), kUnfenced) << "a has not let it go";
  EXPECT_EQ(tried(as("a", 9, update("run_id = 'b', fence_token = 50"))), kStale);
  EXPECT_EQ(tried(as("a", 10, update("run_id = 'b'"))), kUnfenced) << "b has not taken it";
  EXPECT_EQ(tried(as("a", 10, update("run_id = 'b', fence_token = 5"))), "")
      << "fences of two resources are not compared";
  EXPECT_EQ(fence(), 5);
  EXPECT_EQ(tried(update("text = 'x', fence_token = 4")), kStale);
}

TEST_F(PostgresProtect, E3_UnfencedStatementsPassWhereTheyAreAllowed) {
  make_run(", unfenced => 'allow'");
  EXPECT_EQ(tried(update("text = 'by hand'")), "");
  EXPECT_EQ(fence(), 10) << "the fence stays";
  EXPECT_EQ(tried(update("text = 'x', fence_token = 9")), kStale);
  EXPECT_EQ(tried(update("fence_token = null")), kUnfenced) << "a fence is not taken off";
  EXPECT_EQ(tried("insert into " + theirs("run") + " values (2, 'a', '', null)"), "");
  EXPECT_EQ(tried("update " + theirs("run") + " set text = 'x', fence_token = null where id = 2"), "")
      << "where there is none";
  EXPECT_EQ(tried(as("a", 9, "delete from " + theirs("run"))), kStale);
  EXPECT_EQ(tried("delete from " + theirs("run")), "");
  EXPECT_EQ(tried("truncate " + theirs("run")), "");
}

TEST_F(PostgresProtect, E3_TruncateAsksForEveryResource) {
  make_run();
  app.must_run("insert into " + theirs("run") + " values (2, 'b', '', 20)");
  EXPECT_EQ(tried(as("a", 10, "truncate " + theirs("run"))), kUnfenced);
  EXPECT_EQ(tried("begin; " + call("act_as", "'a', 10") + "; " + call("act_as", "'b', 19")), kStale);
  app_.run("create table " + theirs("parent") + " (id int primary key); alter table " + theirs("run") +
           " add column parent int references " + theirs("parent") + " on delete cascade");
  EXPECT_EQ(tried("truncate " + theirs("parent") + " cascade"), kUnfenced);
  EXPECT_EQ(
      tried("begin isolation level repeatable read; " + call("act_as", "'a', 10") + "; truncate " + theirs("run")),
      "0A000");
  EXPECT_EQ(tried("begin; " + call("act_as", "'a', 10") + "; " + call("act_as", "'b', 20") + "; truncate " +
                  theirs("run") + "; commit"),
            "")
      << app.said;
  EXPECT_EQ(number("select count(*) from " + theirs("run")), 0);
}

TEST_F(PostgresProtect, E3_CascadesOfForeignKeysAskToo) {
  make_run();
  app_.run("create table " + theirs("parent") + " (id int primary key); insert into " + theirs("parent") +
           " values (7); alter table " + theirs("run") + " add column parent int references " + theirs("parent") +
           " on delete cascade on update cascade");
  app.must_run(update("parent = 7, fence_token = 10"));
  EXPECT_EQ(tried("delete from " + theirs("parent")), kUnfenced);
  EXPECT_EQ(tried("update " + theirs("parent") + " set id = 8"), kUnfenced);
  EXPECT_EQ(tried(as("a", 10, "update " + theirs("parent") + " set id = 8")), "");
  EXPECT_EQ(tried(as("a", 10, "delete from " + theirs("parent"))), "");
  EXPECT_EQ(number("select count(*) from " + theirs("run")), 0);
}

TEST_F(PostgresProtect, E3_CompositeKeysNameOneResource) {
  app_.run("create table " + theirs("part") +
           " (tenant text, number int, text text, fence bigint, primary key (tenant, number))");
  app.must_run(protect("part", "resource => array['tenant', 'number'], fence => 'fence'"));
  app.must_run("insert into " + theirs("part") + " values ('a/b', 1, '', 10), ('a', 1, '', 3)");
  EXPECT_EQ(tried("update " + theirs("part") + " set fence = 9 where tenant = 'a/b'"), kStale);
  EXPECT_EQ(tried("update " + theirs("part") + " set fence = 4 where tenant = 'a'"), "");
  EXPECT_EQ(tried("begin; select " + ours("act_as") + "(" + ours("resource") + "('a/b', '1'), 10); delete from " +
                  theirs("part") + " where tenant = 'a/b'; commit"),
            "");
  EXPECT_EQ(tried(as("a\\/b/1", 9, "select 1")), kStale);
  EXPECT_EQ(tried(protect("part", "resource => 'tenant, number', fence => 'fence'")), "") << "as one text, and again";
}

TEST_F(PostgresProtect, E3_PartitionsAreProtectedWhoeverWritesThemAndWhenTheyCame) {
  app_.run("create table " + theirs("event") +
           " (id int, region text, run_id text, fence bigint) partition by list (region); create table " +
           theirs("event_n") + " partition of " + theirs("event") + " for values in ('n'); create table " +
           theirs("event_s") + " partition of " + theirs("event") + " for values in ('s')");
  app.must_run(protect("event", "resource => 'run_id', fence => 'fence'"));
  app_.run("create table " + theirs("event_w") + " (id int, region text, run_id text, fence bigint); alter table " +
           theirs("event") + " attach partition " + theirs("event_w") + " for values in ('w')");
  for (const std::string region : {"n", "s", "w"}) {
    EXPECT_EQ(tried("insert into " + theirs("event") + " values (1, '" + region + "', 'a', 10)"), "");
    EXPECT_EQ(tried("update " + theirs("event_" + region) + " set id = 2"), kUnfenced) << region;
    EXPECT_EQ(tried("update " + theirs("event_" + region) + " set id = 2, fence = 9"), kStale) << region;
    EXPECT_EQ(tried("update " + theirs("event_" + region) + " set id = 2, fence = 10"), "") << region;
    EXPECT_EQ(tried("delete from " + theirs("event_" + region)), kUnfenced) << region;
  }
  EXPECT_EQ(tried("truncate " + theirs("event")), kUnfenced);
  EXPECT_EQ(tried("truncate " + theirs("event_n")), kUnfenced);
  // A row that moves is deleted there and inserted here, and needs no more than the update.
  EXPECT_EQ(tried("update " + theirs("event") + " set region = 's' where region = 'n'"), kUnfenced);
  EXPECT_EQ(tried("update " + theirs("event") + " set region = 's', fence = 9 where region = 'n'"), kStale);
  EXPECT_EQ(tried("update " + theirs("event") + " set region = 's', fence = 11 where region = 'n'"), "") << app.said;
  EXPECT_EQ(number("select count(*) from " + theirs("event_s")), 2);
  EXPECT_EQ(tried("delete from " + theirs("event") + " where fence = 11"), kUnfenced);
  // What came later can be truncated until it is protected again; the view says so.
  EXPECT_EQ(number("select count(*) from " + ours("refusals") + " where gaps like '%event_w%'"), 1);
  app.must_run(protect("event", "resource => 'run_id', fence => 'fence'"));
  EXPECT_EQ(number("select count(*) from " + ours("refusals") + " where gaps is not null"), 0);
  EXPECT_EQ(tried("truncate " + theirs("event_w")), kUnfenced);
  app.must_run(call("unprotect", "'" + theirs("event") + "'"));
  EXPECT_EQ(tried("delete from " + theirs("event")), "");
}

TEST_F(PostgresProtect, E3_ARoleThatMayNotTouchTheStoreWritesUnderItsFence) {
  make_run();
  added();
  const Job old = granted_for_a_moment("a");
  const std::string role = "writer_" + std::to_string(::getpid());
  app_.run("create role " + role + "; grant usage on schema " + app_.name() + " to " + role +
           "; grant select, insert, update, delete, truncate on all tables in schema " + app_.name() + " to " + role);
  AppSession writer = session();
  writer.must_run("set role " + role);
  const std::string mine = "insert into " + theirs("run") + " values (3, '" + to_string(old.id) + "', 'w', " +
                           std::to_string(old.fence) + ")";
  EXPECT_EQ(writer.run(mine), "") << writer.said;
  EXPECT_EQ(writer.run("select * from " + ours("job")), "42501");
  EXPECT_EQ(writer.run("update " + theirs("run") + " set text = 'x' where id = 3"), kUnfenced);
  writer.must_run("begin; update " + theirs("run") + " set text = 'x', fence_token = " + std::to_string(old.fence) +
                  " where id = 3");
  granted("b");
  EXPECT_EQ(writer.run("commit"), kStale) << writer.said;
  EXPECT_EQ(writer.run("truncate " + theirs("run")), "42501") << "refused, by the right to ask";
  writer.must_run("reset role");
  app_.run("drop owned by " + role + "; drop role " + role);
}

// The application's triggers run before ours, by their names, and what they write is checked.
TEST_F(PostgresProtect, E3_WhatTheApplicationsOwnTriggersWriteIsChecked) {
  make_run();
  app_.run("create function " + theirs("touch") +
           "() returns trigger language plpgsql as $$ begin new.text := new.text || '!' || coalesce(new.fence_token, "
           "0); if new.text like 'cheat%' then new.fence_token := 5; end if; return new; end $$; "
           "create trigger touch before update on " +
           theirs("run") + " for each row execute function " + theirs("touch") + "()");
  EXPECT_EQ(tried(update("text = 'x', fence_token = 12")), "");
  EXPECT_EQ(number("select count(*) from " + theirs("run") + " where text = 'x!12' and fence_token = 12"), 1)
      << "no trigger of theirs sees how ours speak to each other";
  EXPECT_EQ(tried(update("text = 'cheat', fence_token = 12")), kStale);
  EXPECT_EQ(tried(update("text = 'cheat'")), kStale);
}

TEST_F(PostgresProtect, E3_RefusalsAreCountedThoughTheirTransactionsAreGone) {
  make_run();
  EXPECT_EQ(tried(update("text = 'x', fence_token = 9")), kStale);
  EXPECT_EQ(tried(update("text = 'x', fence_token = 8")), kStale);
  EXPECT_EQ(tried(update("text = 'x'")), kUnfenced);
  EXPECT_EQ(tried(call("guard", "'a', 1")), kStale);
  EXPECT_EQ(number("select stale from " + ours("refusals") + " where \"table\" = '" + theirs("run") + "'::regclass"),
            2);
  EXPECT_EQ(number("select unfenced_refused from " + ours("refusals") + " where \"table\" = '" + theirs("run") +
                   "'::regclass"),
            1);
  EXPECT_EQ(number("select stale from " + ours("refusals") + " where \"table\" is null"), 1);
  const auto doctor = [&](const std::string& name) {
    for (const Finding& finding : must(store_->examine())) {
      if (finding.name == name) return finding;
    }
    return Finding{};
  };
  EXPECT_EQ(doctor("guards").status, FindingStatus::ok) << "that is what it is for";
  EXPECT_NE(doctor("guards").detail.find("run: 2 stale, 0 behind, 1 unfenced"), std::string::npos)
      << doctor("guards").detail;
  EXPECT_EQ(doctor("schema").status, FindingStatus::ok) << "what was made for the table is none of the store's";
  app.must_run("alter table " + theirs("run") + " disable trigger zz_fenceline_2_row");
  EXPECT_EQ(doctor("guards").status, FindingStatus::bad);
  EXPECT_NE(doctor("guards").detail.find("zz_fenceline_2_row"), std::string::npos);
  EXPECT_TRUE(doctor("guards").remedy.starts_with("psql ")) << doctor("guards").remedy;
  EXPECT_NE(doctor("guards").remedy.find("enable trigger zz_fenceline_2_row"), std::string::npos)
      << doctor("guards").remedy;
}

TEST_F(PostgresProtect, E3_NamesThatNeedQuotesAreNames) {
  app_.run("create table " + theirs("\"Odd $body$ \"\"' table\"") + " (\"a $f$ '\" text, \"the $body$ fence\" bigint)");
  app.must_run(call("protect", "'" + theirs("\"Odd $body$ \"\"'' table\"") +
                                   "', resource => array['a $f$ '''], fence => 'the $body$ fence'"));
  const std::string odd = theirs("\"Odd $body$ \"\"' table\"");
  EXPECT_EQ(tried("insert into " + odd + " values ('x', 10)"), "") << app.said;
  EXPECT_EQ(tried("update " + odd + " set \"the $body$ fence\" = 9"), kStale);
  EXPECT_EQ(tried("truncate " + odd), kUnfenced);
  EXPECT_EQ(tried(as("x", 10, "truncate " + odd)), "") << app.said;
  app.must_run(call("unprotect", "'" + theirs("\"Odd $body$ \"\"'' table\"") + "'"));
}

TEST_F(PostgresProtect, RefusesWhatItCannotProtectAndSaysWhy) {
  app_.run("create table " + theirs("t") +
           " (id text, fence bigint, small int, made text generated always as (id || '!') stored); create view " +
           theirs("v") + " as select 1 as id; create temp table temporary (id text, fence bigint)");
  EXPECT_EQ(tried(protect("t", "resource => 'nothing', fence => 'fence'")), "FL002");
  EXPECT_EQ(tried(protect("t", "resource => 'id', fence => 'small'")), "FL002");
  EXPECT_EQ(tried(protect("t", "resource => 'made', fence => 'fence'")), "FL002");
  EXPECT_EQ(tried(protect("t", "resource => 'fence', fence => 'fence'")), "FL002");
  EXPECT_EQ(tried(protect("t", "resource => 'id', fence => 'fence', unfenced => 'perhaps'")), "FL002");
  EXPECT_EQ(tried(protect("v", "resource => 'id', fence => 'id'")), "FL002");
  EXPECT_EQ(tried(call("protect", "'" + ours("job") + "', resource => 'id', fence => 'fence'")), "FL002");
  EXPECT_EQ(tried(call("unprotect", "'" + theirs("t") + "'")), "FL003");
  app.must_run(protect("t", "resource => 'id', fence => 'fence'"));
  app.must_run(protect("t", "resource => 'id', fence => 'fence', unfenced => 'allow'"));
  EXPECT_EQ(tried("insert into " + theirs("t") + " (id) values ('x')"), "") << "the last word counts";
  app.must_run(call("unprotect", "'" + theirs("t") + "'"));
  EXPECT_EQ(number("select count(*) from " + ours("protected")), 0);
}

// After a restore the rows and the store are of one moment; a store whose clock was set back grants less than its rows
// remember.
TEST_F(PostgresProtect, E3_AStoreThatWasSetBackIsToldApartAndARebaseLetsTheNextGrantPass) {
  make_run();
  added();
  const Job job = granted("a");
  const std::string ahead = std::to_string(job.fence + 3'600'000'000);
  const std::string id = to_string(job.id);
  app.must_run("alter table " + theirs("run") + " disable trigger user; insert into " + theirs("run") +
               " values (2, '" + id + "', '', " + ahead + "); alter table " + theirs("run") + " enable trigger user");
  const auto write = [&](const Job& by) {
    return "update " + theirs("run") + " set text = 'x', fence_token = " + std::to_string(by.fence) + " where id = 2";
  };
  EXPECT_EQ(tried(write(job)), kBehind);
  EXPECT_NE(app.said.find("rebase()"), std::string::npos) << app.said;
  app.must_run(call("rebase", "'restored the backup of Monday'"));
  must(store_->retry({.ns = "default", .ids = {job.id}, .request = "t", .act = {"ann", ""}}));
  must(store_->stopped({.ns = "default", .owner = "a", .jobs = {{job.id, job.fence}}}));
  const Job anew = granted("b");
  EXPECT_GT(anew.fence, job.fence + 3'600'000'000);
  EXPECT_EQ(tried(write(anew)), "") << app.said;
  EXPECT_EQ(tried(write(job)), kStale);
  EXPECT_EQ(number("select count(*) from " + ours("trail") + " where act = 'floor_raised'"), 1);
}

}  // namespace
}  // namespace fenceline::test

// What the doctor sees of a real server: each setting is changed from outside, seen, and gone when the command that the
// finding names was run.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "backends/postgres/horizon.hpp"
#include "backends/postgres/pooler.hpp"
#include "backends/postgres/testing.hpp"
#include "support/findings.hpp"
#include "support/shell_line.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using postgres::Pool;
using postgres::Pooler;

class PostgresExamine : public testing::Test {
 protected:
  std::unique_ptr<PostgresStore> open(const std::string& url) {
    return must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = url}));
  }
  // By a store that opens its sessions anew: a setting of a role is of those that begin after it.
  Finding seen(const std::string& name) { return named_in(must(open(schema_.url())->examine()), name); }
  // What mends, behind a look.
  static std::string act_of(const Finding& found) {
    const std::string then = "; # then: ";
    return found.remedy.substr(found.remedy.find(then) + then.size());
  }
  // As an operator would, with the password where psql looks for it.
  bool run(const std::string& remedy) {
    std::string password;
    for (const auto& [name, value] : must(postgres::parse_dsn(server_url())).options) {
      if (name == "password") password = value;
    }
    return run_line(remedy, {{"PGPASSWORD", password}});
  }
  // A server hears of a new configuration a moment later.
  bool eventually(const std::function<bool()>& holds) {
    for (const Instant end = runtime_.now() + 30s; runtime_.now() < end; runtime_.sleep_for(5ms, {})) {
      if (holds()) return true;
    }
    return holds();
  }
  bool becomes(const std::string& name, FindingStatus status) {
    return eventually([&] { return seen(name).status == status; });
  }
  // Each in a transaction of its own: some of them insist on it.
  void run_sql(const std::vector<std::string>& statements) {
    const auto by_hand = session();
    for (const std::string& sql : statements) {
      const postgres::Reply reply = by_hand->script(sql, runtime_.now() + 30s);
      if (reply.fate != postgres::Reply::Fate::answered) throw std::runtime_error(reply.error.message + " in: " + sql);
    }
  }
  void configure(const std::string& sql) { run_sql({sql, "select pg_reload_conf()"}); }
  // Whatever a test did to this role is over with it.
  void TearDown() override {
    run_sql(
        {"set default_transaction_read_only = off", "alter role current_user reset all",
         "do $$ begin execute format('alter role current_user in database %I reset all', current_database()); end $$"});
  }
  std::unique_ptr<postgres::Connection> session() {
    return must(postgres::Connection::connect(runtime_, must(postgres::parse_dsn(server_url())), runtime_.now() + 30s));
  }
  ThreadRuntime runtime_;
  TestSchema schema_{"examine"};
};

TEST_F(PostgresExamine, LooksAtAllOfTheServerAndAFindingThatIsNotOkSaysWhyAndWhatToDo) {
  const std::vector<Finding> findings = must(open(schema_.url())->examine());
  for (const char* name : {"class", "version", "clock", "round_trip", "writes", "durability", "synchronous_commit",
                           "pooler", "autovacuum", "held_horizon", "wal_size", "transaction_ids", "connections", "meta",
                           "depths", "schema", "schedules", "guards"})
    EXPECT_EQ(std::ranges::count(findings, name, &Finding::name), 1) << name;
  for (const Finding& finding : findings) expect_whole(finding, finding.status != FindingStatus::ok);
  EXPECT_EQ(named_in(findings, "clock").status, FindingStatus::ok) << named_in(findings, "clock").detail;
  EXPECT_EQ(named_in(findings, "held_horizon").detail.find("idle in transaction"), std::string::npos)
      << "not by the look itself: " << named_in(findings, "held_horizon").detail;
}

TEST_F(PostgresExamine, AServerThatDoesNotSyncIsBadAndItsClassIsSeenToFall) {
  configure("alter system set fsync = off");
  ASSERT_TRUE(becomes("durability", FindingStatus::bad));
  const Finding found = seen("durability");
  expect_whole(found);
  ASSERT_TRUE(run(found.remedy)) << found.remedy;
  ASSERT_TRUE(becomes("durability", FindingStatus::ok));
  const auto store = open(schema_.url());
  const auto its_class = [&] { return named_in(must(store->examine()), "class"); };
  EXPECT_TRUE(its_class().detail.starts_with("B: ")) << its_class().detail;
  configure("alter system set fsync = off");
  ASSERT_TRUE(eventually([&] { return its_class().status == FindingStatus::warning; }));
  EXPECT_TRUE(its_class().detail.ends_with("it was B when the store was opened")) << its_class().detail;
  EXPECT_EQ(its_class().remedy, found.remedy);
  run_sql({"alter system reset full_page_writes", "alter system reset fsync", "select pg_reload_conf()"});
}

TEST_F(PostgresExamine, ARoleThatCommitsWithoutWaitingIsAWarning) {
  schema_.run("alter role current_user set synchronous_commit = off");
  const Finding found = seen("synchronous_commit");
  expect_whole(found);
  EXPECT_EQ(seen("class").detail.substr(0, 1), "C");
  EXPECT_TRUE(run(found.remedy)) << found.remedy;
  EXPECT_EQ(seen("synchronous_commit").status, FindingStatus::ok);
}

TEST_F(PostgresExamine, ARoleThatMayOnlyReadIsBad) {
  { const auto made = open(schema_.url()); }
  schema_.run("alter role current_user set default_transaction_read_only = on");
  const Finding found = seen("writes");
  expect_whole(found);
  EXPECT_TRUE(run(found.remedy)) << found.remedy;
  EXPECT_EQ(seen("writes").status, FindingStatus::ok);
}

TEST_F(PostgresExamine, AutovacuumThatIsOffIsBad) {
  configure("alter system set autovacuum = off");
  ASSERT_TRUE(becomes("autovacuum", FindingStatus::bad));
  const Finding found = seen("autovacuum");
  expect_whole(found);
  EXPECT_TRUE(run(found.remedy)) << found.remedy;
  EXPECT_TRUE(becomes("autovacuum", FindingStatus::ok));
  run_sql({"alter system reset track_counts", "alter system reset autovacuum", "select pg_reload_conf()"});
}

TEST_F(PostgresExamine, WhoHoldsTheHorizonIsNamedAndEnded) {
  Pool pool(runtime_, must(postgres::parse_dsn(schema_.url())), nullptr);
  const auto reader = session();
  const WallTime before = runtime_.wall_now();
  ASSERT_EQ(
      reader->script("begin isolation level repeatable read; select count(*) from pg_class", runtime_.now() + 30s).fate,
      postgres::Reply::Fate::answered);
  EXPECT_EQ(must(postgres::horizon_finding(pool, 5min)).status, FindingStatus::ok) << "a moment is no harm";
  const Finding found = must(postgres::horizon_finding(pool, 0s));
  expect_whole(found);
  ASSERT_TRUE(found.since);
  EXPECT_GT(*found.since, before - 5s);
  EXPECT_NE(found.detail.find("idle in transaction of "), std::string::npos) << found.detail;
  ASSERT_TRUE(run(found.remedy)) << found.remedy;
  EXPECT_EQ(must(postgres::horizon_finding(pool, 0s)).status, FindingStatus::warning) << "that was a look";
  ASSERT_TRUE(run(act_of(found))) << found.remedy;
  EXPECT_TRUE(eventually([&] { return must(postgres::horizon_finding(pool, 0s)).detail == "nothing holds it"; }));

  ASSERT_EQ(session()
                ->script("begin; select txid_current(); prepare transaction 'it''s forgotten'", runtime_.now() + 30s)
                .fate,
            postgres::Reply::Fate::answered);
  const Finding prepared = must(postgres::horizon_finding(pool, 0s));
  EXPECT_NE(prepared.detail.find("prepared transaction of "), std::string::npos) << prepared.detail;
  ASSERT_TRUE(run(prepared.remedy) && run(act_of(prepared))) << prepared.remedy;
  EXPECT_EQ(must(postgres::horizon_finding(pool, 0s)).status, FindingStatus::ok);
}

TEST_F(PostgresExamine, ASlotThatNobodyUsesAndThatKeepsTheLogIsNamed) {
  configure("alter system set max_wal_size = '32MB'");
  run_sql({"checkpoint",
           "select pg_create_physical_replication_slot('forgotten', true)"});  // it keeps what came since the last one
  EXPECT_EQ(seen("wal_size").status, FindingStatus::ok) << seen("wal_size").detail;
  for (int i = 0; i < 6; ++i) run_sql({"select pg_logical_emit_message(true, 'test', 'x')", "select pg_switch_wal()"});
  const Finding found = seen("wal_size");
  expect_whole(found);
  EXPECT_NE(found.detail.find("replication slot forgotten, which is unused, keeps "), std::string::npos)
      << found.detail;
  EXPECT_TRUE(run(found.remedy)) << found.remedy;
  EXPECT_NE(seen("wal_size").detail.find("forgotten"), std::string::npos) << "that was a look";
  EXPECT_TRUE(run(act_of(found))) << found.remedy;
  EXPECT_EQ(seen("wal_size").detail.find("forgotten"), std::string::npos);
  configure("alter system reset max_wal_size");
}

TEST_F(PostgresExamine, AnIndexThatWasDroppedIsPutBackByTheCommandOfTheFinding) {
  const auto store = open(schema_.url());
  schema_.run("drop index job_group; drop index job_id");
  const Finding found = named_in(must(store->examine()), "schema");
  expect_whole(found);
  EXPECT_EQ(found.detail, "index job_group is missing, index job_id is missing");
  ASSERT_TRUE(run(found.remedy)) << found.remedy;
  EXPECT_EQ(named_in(must(store->examine()), "schema").detail, "as version 1 installed it");
  schema_.run("alter table job drop column payload");
  EXPECT_TRUE(named_in(must(store->examine()), "schema").remedy.ends_with("store-finding.md#from-a-backup"));
}

TEST_F(PostgresExamine, ConnectionsThatAreNearlyUsedUpAreAWarning) {
  const auto store = open(schema_.url());
  must(store->workers("default"));  // it has a connection
  std::vector<std::unique_ptr<postgres::Connection>> sessions;
  // All there are: whoever is connected is told the rest all the same.
  while (true) {
    Result<std::unique_ptr<postgres::Connection>> one =
        postgres::Connection::connect(runtime_, must(postgres::parse_dsn(server_url())), runtime_.now() + 30s);
    if (!one) break;
    sessions.push_back(std::move(*one));
  }
  ASSERT_GT(sessions.size(), 150u);
  const std::vector<Finding> findings = must(store->examine());
  expect_whole(named_in(findings, "connections"));
  EXPECT_EQ(named_in(findings, "pooler").detail, "not known: no further connection could be opened");
  sessions.clear();
  EXPECT_TRUE(eventually([&] { return named_in(must(store->examine()), "connections").status == FindingStatus::ok; }));
}

TEST_F(PostgresExamine, APoolerThatSharesSessionsIsSeenWhetherTheUrlSaysSoOrNot) {
  const char* pooler = std::getenv("FENCELINE_TEST_PGBOUNCER");
  if (!pooler) GTEST_SKIP() << "FENCELINE_TEST_PGBOUNCER names no pooler: run by script/with_postgres --pgbouncer";
  EXPECT_EQ(must(postgres::pooler_before(runtime_, must(postgres::parse_dsn(server_url())), 5s)), Pooler::none);
  EXPECT_EQ(must(postgres::pooler_before(runtime_, must(postgres::parse_dsn(pooler)), 5s)), Pooler::transaction);
  { const auto made = open(schema_.url()); }
  EXPECT_EQ(seen("pooler").detail, "none");
  const std::string url = std::string(pooler) +
                          (std::string_view(pooler).find('?') == std::string_view::npos ? "?" : "&") +
                          "schema=" + schema_.name();
  const Finding found = named_in(must(open(url)->examine()), "pooler");
  expect_whole(found);
  EXPECT_NE(found.remedy.find("pooler=transaction"), std::string::npos) << found.remedy;
  const Finding told = named_in(must(open(url + "&pooler=transaction")->examine()), "pooler");
  EXPECT_EQ(told.status, FindingStatus::ok);
  EXPECT_NE(told.detail.find("workers are not woken"), std::string::npos) << told.detail;
}

}  // namespace
}  // namespace fenceline::test

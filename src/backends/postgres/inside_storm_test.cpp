// Sixteen workers of an application at once, in every isolation level, paused and taken over; and a database that is
// dumped and restored.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "backends/postgres/inside_session.hpp"
#include "backends/postgres/testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr int kWorkers = 16;

// FENCELINE_GUARD_SECONDS: how long they work; a moment by default.
Duration storm_time() {
  const char* text = std::getenv("FENCELINE_GUARD_SECONDS");
  const int seconds = text ? std::atoi(text) : 0;
  return seconds > 0 ? std::chrono::seconds{seconds} : 4s;
}

class InsideStorm : public testing::Test {
 protected:
  InsideStorm()
      : store_(must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url()}))),
        looks_(schema_.url()) {
    looks_.must_ask("create table ledger (job uuid not null, fence bigint not null, what text not null, child uuid)");
  }
  std::uint64_t any(std::uint64_t below) { return runtime_.random() % below; }
  std::int64_t number(const std::string& query) { return looks_.must_ask(query).number(); }

  ThreadRuntime runtime_;
  TestSchema schema_{"inside_storm"};
  std::unique_ptr<PostgresStore> store_;
  Session looks_;
};

TEST_F(InsideStorm, E3_WhatSixteenWorkersCommitIsWhatTheirJobsSay) {
  looks_.must_ask(
      "select count(enqueue('q', n::text, key => 'k' || n, group_key => case when n % 3 = 0 then 'g' || n % 7 end, "
      "max_attempts => 1000)) from generate_series(1, 200) as n");
  std::atomic<int> committed = 0, stale = 0, again = 0, other_key = 0, deadlocks = 0;
  std::mutex mutex;
  std::string odd;
  // Until somebody was late: a busy machine may need longer than a moment.
  const Instant end = runtime_.now() + storm_time();
  const auto is_over = [&] {
    return runtime_.now() > end && ((stale > 0 && committed > 0) || runtime_.now() > end + 60s);
  };
  std::vector<Task> tasks;
  // Leases never last.
  tasks.push_back(runtime_.spawn("clock", [&](const std::stop_token&) {
    Session session(schema_.url());
    while (!is_over()) {
      session.ask(
          "update job set lease_end = lease_end - 3600000000, losses_in_row = null where lease_end is not null and "
          "random() < 0.5");
      session.ask("update claim set bound = bound - 3600000000, losses_most = 0 where live > 0");
      runtime_.sleep_for(std::chrono::milliseconds{10 + any(40)}, {});
    }
  }));
  for (int w = 0; w < kWorkers; ++w) {
    tasks.push_back(runtime_.spawn("worker" + std::to_string(w), [&, w](const std::stop_token&) {
      Session app(schema_.url());
      const std::array<std::string, 3> levels{"read committed", "repeatable read", "serializable"};
      while (!is_over()) {
        const Session::Answer job =
            app.ask("select job, fence from claim('q', 'w" + std::to_string(w) + "', ttl => '10 seconds')");
        if (!job.ok() || job.rows.empty()) continue;
        const std::string held = "'" + job.text(0, 0) + "', " + job.text(0, 1);
        Session::Answer last = app.ask("begin isolation level " + levels[any(3)]);
        const auto then = [&](const std::string& sql) {
          if (last.ok()) last = app.ask(sql);
        };
        if (any(3) == 0) then("savepoint s; select complete(" + held + "), enqueue('q', '0'); rollback to s");
        const bool ends = any(2) == 0;
        then("insert into ledger values (" + held + ", '" + (ends ? "done" : "failed") + "')");
        then("select " + std::string(ends ? "complete(" + held + ")" : "fail(" + held + ", 'again', retry_in => '0')"));
        if (any(3) == 0)
          then("insert into ledger select " + held + ", 'child', enqueue('q', '0', max_attempts => 1000)");
        if (any(3) == 0)
          then(
              "select enqueue('q', (1 + random() * 20)::int::text, key => 'k' || (random() * 200)::int, max_attempts "
              "=> 1000)");
        if (any(3) == 0) then("select guard(" + held + ")");
        if (last.ok() && any(3) == 0) {
          last = app.ask("select done_before from record_effect(" + held + ", 'pay')");
          if (last.ok() && last.text() == "f") then("insert into ledger values (" + held + ", 'paid')");
        }
        if (any(6) == 0) then("set constraints all immediate");
        if (any(2) == 0) runtime_.sleep_for(std::chrono::milliseconds{any(40)}, {});
        if (last.ok()) last = app.ask("commit");
        else app.must_ask("rollback");
        if (last.ok()) ++committed;
        else if (last.state == "FL004") ++stale;
        else if (last.state == "FL001" || last.state == "FL007") ++other_key;
        else if (last.state == "40001") ++again;
        else if (last.state == "40P01") ++deadlocks;
        else {
          const std::lock_guard lock(mutex);
          odd += last.state + " " + last.message + "; ";
        }
      }
    }));
  }
  for (Task& task : tasks) task.join();

  EXPECT_EQ(odd, "");
  EXPECT_GT(committed, 0);
  EXPECT_GT(stale, 0);
  std::printf("%d commits, %d stale, %d keys of another, %d to be begun anew, %d deadlocks, %ld done\n",
              committed.load(), stale.load(), other_key.load(), again.load(), deadlocks.load(),
              static_cast<long>(number("select count(*) from done")));
  EXPECT_EQ(number("select count(*) from (select id, fence from done except all select job, fence from ledger where "
                   "what = 'done') as u"),
            0)
      << "a job that is done without its row";
  EXPECT_EQ(number("select count(*) from (select job, fence from ledger where what = 'done' except all select id, "
                   "fence from done) as u"),
            0)
      << "a row of a job that is not done by it";
  EXPECT_EQ(number("select count(*) from (select job, fence from ledger where what in ('done', 'failed') group by job, "
                   "fence having count(*) > 1) as u"),
            0)
      << "two outcomes of one fence";
  EXPECT_EQ(
      number("select count(*) from (select job from ledger where what = 'paid' group by job having count(*) > 1) as u"),
      0)
      << "an effect twice";
  EXPECT_EQ(number("select count(*) from ledger where what = 'paid'"),
            number("select count(*) from effect where state = 2"));
  EXPECT_EQ(number("select count(*) from ledger l where child is not null and not exists (select from job where id = "
                   "child) and not exists (select from done where id = child)"),
            0);
  EXPECT_EQ(number("select count(*) from noted_end") + number("select count(*) from noted_job") +
                number("select count(*) from noted_effect") + number("select count(*) from commit_ticket"),
            0);
  EXPECT_EQ(number("select coalesce(sum(live), 0) from claim"),
            number("select count(*) from job where lease_end is not null"));
  EXPECT_EQ(number("select sum(ready) from depth"), number("select count(*) from job where lease_end is null"));
  EXPECT_EQ(number("select sum(done) from depth"), number("select count(*) from done where state = 3"));
  EXPECT_EQ(number("select count(*) from (select extras ->> 'key' from job where extras ? 'key' group by 1, queue_id "
                   "having count(*) > 1) as u"),
            0)
      << "J6";
}

TEST_F(InsideStorm, L2_AfterADumpAndARestoreAFenceFromBeforeIsToldApart) {
  const std::string tools = "/usr/lib/postgresql/15/bin/";
  if (!std::filesystem::exists(tools + "pg_dump")) GTEST_SKIP() << "there is no " << tools << "pg_dump";
  looks_.must_ask("drop table ledger");  // not one of the store's: doctor would name it
  looks_.must_ask("select enqueue('q', '1'), enqueue('q', '2', delay => '1 h', key => 'k')");
  const Session::Answer first = looks_.must_ask("select job, fence from claim('q', 'a')");
  const std::filesystem::path file = std::filesystem::temp_directory_path() / (schema_.name() + ".sql");
  ASSERT_EQ(
      std::system((tools + "pg_dump '" + server_url() + "' -n " + schema_.name() + " -f " + file.string()).c_str()), 0);
  // After the backup: the restored store has never heard of it.
  looks_.must_ask(
      "update job set lease_end = lease_end - 60000000 where lease_end is not null; update claim set bound = bound - "
      "60000000");
  const Session::Answer lost = looks_.must_ask("select job, fence from claim('q', 'b')");
  ASSERT_EQ(lost.text(0, 0), first.text(0, 0));
  looks_.must_ask("drop schema " + schema_.name() + " cascade");
  ASSERT_EQ(
      std::system(
          (tools + "psql '" + server_url() + "' -q -v ON_ERROR_STOP=1 -f " + file.string() + " > /dev/null").c_str()),
      0);
  std::filesystem::remove(file);

  Session app(schema_.url());
  const std::string job = "'" + first.text(0, 0) + "', ";
  EXPECT_EQ(app.ask("select complete(" + job + lost.text(0, 1) + ")").state, "FL005");
  app.must_ask("select fail(" + job + first.text(0, 1) + ", 'again', retry_in => '0')");
  EXPECT_EQ(app.ask("select enqueue('q', '3', key => 'k')").state, "FL001");
  must(store_->raise_floor({.ns = "default", .floor = std::stoll(lost.text(0, 1)), .act = {"ann", "restored"}}));
  const Session::Answer anew = app.must_ask("select job, fence from claim('q', 'c')");
  EXPECT_GT(anew.number(0, 1), lost.number(0, 1));
  EXPECT_EQ(app.ask("select complete(" + job + lost.text(0, 1) + ")").state, "FL004");
  app.must_ask("begin; select complete(" + job + anew.text(0, 1) + ")");
  EXPECT_EQ(app.commit(), "");
  EXPECT_EQ(number("select count(*) from " + schema_.name() + ".done"), 1);
  for (const Finding& finding : must(store_->examine()))
    EXPECT_TRUE(finding.name != "schema" || finding.status == FindingStatus::ok) << finding.detail;
}

}  // namespace
}  // namespace fenceline::test

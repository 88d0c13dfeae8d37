// What a doctor asks of a server with many jobs is answered by indexes.
#include <gtest/gtest.h>

#include "backends/postgres/testing.hpp"
#include "doctor/state.hpp"
#include "services/fresh_id.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class PostgresDoctor : public testing::Test {
 protected:
  std::unique_ptr<PostgresStore> open() {
    return must(
        PostgresStore::open(runtime_, Log(null_log_sink()),
                            {.url = schema_.url() + "&application_name=" + name_, .may_create = true, .actor = "ann"}));
  }
  // Ends the connections of this test: what they did is counted by the server then.
  void end_connections() {
    schema_.run("select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = '" + name_ +
                "' and pid <> pg_backend_pid()");
  }
  void add(Store& store, int count, const std::string& queue, const std::string& group = "") {
    EnqueueRequest request{.ns = "default", .timeout = 60s};
    for (int i = 0; i < count; ++i)
      request.jobs.push_back({.id = *parse_uuid(fresh_id(runtime_)), .queue = queue, .group = group});
    must(store.enqueue(request));
  }
  std::vector<ClaimedJob> claim(Store& store, int count, const std::string& queue, Duration ttl) {
    return must(store.claim({.ns = "default",
                             .queues = {queue},
                             .owner = "a",
                             .request = fresh_id(runtime_),
                             .limit = count,
                             .ttl = ttl,
                             .timeout = 60s}))
        .jobs;
  }
  void end(Store& store, const std::vector<ClaimedJob>& jobs, OutcomeKind kind) {
    SettleRequest request{.ns = "default", .owner = "a", .settlements = {}, .timeout = 60s};
    for (const ClaimedJob& job : jobs) request.settlements.push_back({job.job.id, job.job.fence, {.kind = kind}});
    EXPECT_TRUE(must(store.settle(request)).refused.empty());
  }

  ThreadRuntime runtime_;
  TestSchema schema_{"doctor"};
  std::string name_ = "fenceline_doctor_" + std::to_string(::getpid());
};

TEST_F(PostgresDoctor, ReadsNoTableOfJobsFromEndToEnd) {
  constexpr int kMany = 10'000;
  {
    const auto store = open();
    add(*store, kMany, "old");
    end(*store, claim(*store, kMany, "old", 60s), OutcomeKind::done);
    add(*store, 100, "bad");
    end(*store, claim(*store, 100, "bad", 60s), OutcomeKind::dead);
    add(*store, kMany, "mail");
    add(*store, 2'000, "grouped", "g");
    claim(*store, 1, "grouped", 1s);
    add(*store, 100, "run");
    claim(*store, 100, "run", 60s);
    for (int i = 0; i < 20; ++i)
      must(store->acquire({.ns = "default",
                           .names = {"lock" + std::to_string(i)},
                           .owner = "o" + std::to_string(i),
                           .request = "r",
                           .ttl = 60s}));
  }
  end_connections();
  schema_.run(
      "analyze; select pg_stat_reset_single_table_counters(c.oid) from pg_class c where c.relnamespace = "
      "current_schema()::regnamespace and c.relname in ('job', 'done')");
  {
    const auto store = open();
    const Looked looked =
        must(look_at_state(runtime_, *store, {.ns = "default", .budget = 60s, .other_namespaces = true}));
    EXPECT_EQ(looked.numbers.dead_letters, 100);
    EXPECT_GE(looked.findings.size(), kStateChecks.size());
  }
  end_connections();
  schema_.run(
      "do $$ begin if not exists (select 1 from pg_stat_user_tables where schemaname = current_schema() and relname = "
      "'job' and idx_scan > 0) then raise 'nothing was counted'; end if; "
      "if exists (select 1 from pg_stat_user_tables where schemaname = current_schema() and relname in ('job', 'done') "
      "and seq_scan > 0) then raise 'a table was read from end to end'; end if; end $$");
}

}  // namespace
}  // namespace fenceline::test

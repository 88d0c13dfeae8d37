// Pipelines on a real server: who waits for whom, sessions that are killed in the middle, what a change costs the
// tables, whose rights are enough. What every store does is in the conformance suite.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "backends/postgres/grants.hpp"
#include "backends/postgres/older_schema.hpp"
#include "backends/postgres/pipeline_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class PostgresPipelines : public testing::Test, protected PipelineServer {};

TEST_F(PostgresPipelines, P1_WhoWaitedForAnotherDecisionReadsWhatThatMadeOfTheRecord) {
  const JobId id = items_at("gate:two", 1).front();
  AppSession first = session();
  first.must_run("begin; " + change_call(id, 1, "two"));
  std::string second;
  Task waits = runtime_.spawn(
      "second", [&](const std::stop_token&) { second = changed(moving(id, 1, "gone", JobState::cancelled)); });
  wait_until_it_waits("change_items");
  first.must_run("commit");
  waits.join();
  EXPECT_EQ(second, "changed");
  EXPECT_EQ(item(id).revision, 2);
  EXPECT_EQ(item(id).job.stage, "two");
  EXPECT_EQ(item(id).job.state, JobState::ready);
}

TEST_F(PostgresPipelines, J3_OfAnAdvanceAndACancelThatWaitedForItOneEndsTheDelivery) {
  const JobId id = added();
  const Job job = granted("a");
  AppSession person = session();
  person.must_run("begin; " +
                  call("cancel_jobs", "'default', '{\"ids\":[\"" + to_string(id) +
                                          "\"],\"request\":\"x\",\"act\":{\"actor\":\"a\",\"reason\":\"\"}}'"));
  std::string advance;
  Task waits =
      runtime_.spawn("advance", [&](const std::stop_token&) { advance = changed(advancing(job, 0, "two"), "a"); });
  wait_until_it_waits("change_items");
  person.must_run("commit");
  waits.join();
  EXPECT_EQ(advance, "superseded");
  EXPECT_EQ(item(id).revision, 0);
  EXPECT_EQ(item(id).job.stage, "");
  EXPECT_EQ(item(id).job.state, JobState::cancelled);
}

TEST_F(PostgresPipelines, P2_ASessionThatIsKilledInTheMiddleMovesNothing) {
  for (int round = 0; round < 4; ++round) {
    const JobId id = added();
    const Job job = granted("a");
    AppSession blocker = session();
    blocker.must_run("begin; lock table " + ours("depth") +
                     " in access exclusive mode");  // which a change needs when its job and record are written
    ChangeItemsRequest request =
        asking({advancing(job, 0, "two", round % 2 == 0 ? JobState::waiting : JobState::done)}, "a");
    request.timeout = 20s;
    Result<ChangeItemsReply> reply = fail(Code::unavailable, "");
    Task advance = runtime_.spawn("advance", [&](const std::stop_token&) { reply = store_->change_items(request); });
    wait_until_it_waits("change_items");
    EXPECT_EQ(number("select count(pg_terminate_backend(pid)) from pg_stat_activity where " + waiting("change_items")),
              1);
    EXPECT_EQ(number("select (select count(*) from " + ours("item") + " where id = '" + to_string(id) +
                     "') + (select count(*) from " + ours("attempt") + " where id = '" + to_string(id) +
                     "') + (select count(*) from " + ours("trail") + " where act = 'item_advanced' and subject like '" +
                     to_string(id) + "%')"),
              0);
    EXPECT_EQ(
        number("select count(*) from " + ours("job") + " where id = '" + to_string(id) + "' and lease_end is not null"),
        1);
    blocker.must_run("rollback");
    advance.join();
    if (!reply) {
      EXPECT_TRUE(reply.error().code == Code::in_doubt || reply.error().code == Code::unavailable)
          << reply.error().message;
      EXPECT_EQ(refused(must(store_->change_items(request))), "");
    }
    EXPECT_EQ(item(id).revision, 1);
    EXPECT_EQ(item(id).job.state, request.changes.front().place->state);
    EXPECT_EQ(item(id).job.stage, "two");
    EXPECT_EQ(refused(must(store_->change_items(request))), "") << "a repeat";
    EXPECT_EQ(item(id).revision, 1);
    EXPECT_EQ(number("select count(*) from " + ours("trail") + " where act = 'item_advanced' and subject like '" +
                     to_string(id) + "%'"),
              1);
    EXPECT_EQ(number("select coalesce(sum(live), 0)::bigint from " + ours("claim")), 0);
  }
}

TEST_F(PostgresPipelines, L3_WhoWorksUnderAFenceThatAPersonEndedCannotCommit) {
  const JobId id = added();
  const Job job = granted("a");
  for (const std::string level : {"read committed", "repeatable read", "serializable"}) {
    const Job held = level == "read committed" ? job : granted("a");
    AppSession app = session();
    app.must_run("begin isolation level " + level + "; " + call("guard", held));
    const Item known = item(id);
    EXPECT_EQ(changed(moving(id, known.revision, "")), "");
    EXPECT_EQ(number("select count(*) from " + ours("superseded") + " where resource = '" + to_string(id) +
                     "' and fence = " + std::to_string(held.fence)),
              1);
    EXPECT_EQ(app.run("commit"), kStale) << level;
    EXPECT_EQ(changed(advancing(held, known.revision + 1, "two"), "a"), "superseded");
    must(store_->stopped({.ns = "default", .owner = "a", .jobs = {{id, held.fence}}}));
  }
}

TEST_F(PostgresPipelines, L3_WhoeverHasTheItemNextEndsTheFenceOfAnAdvance) {
  added();
  const Job job = granted("a");
  AppSession app = session();
  app.must_run("begin; " + call("guard", job));
  EXPECT_EQ(changed(advancing(job, 0, ""), "a"), "");
  EXPECT_GT(granted("b").fence, job.fence);
  EXPECT_EQ(app.run("commit"), kStale);
}

TEST_F(PostgresPipelines, OfTwoWhoPutOnePipelineOneIsTold) {
  AppSession first = session();
  first.must_run("begin; " + put_call("p"));
  std::optional<Code> code;
  Task second = runtime_.spawn(
      "second", [&](const std::stop_token&) { code = code_of(store_->put_pipeline(putting("p", "other", 0))); });
  wait_until_it_waits("put_pipeline");
  first.must_run("commit");
  second.join();
  EXPECT_EQ(code, Code::conflict);
  EXPECT_EQ(must(store_->pipelines("default")).at(0).spec, "s");
}

TEST_F(PostgresPipelines, TwoAtOnceDoNotMakeOneTooMany) {
  must(store_->put_pipeline(putting("p0", "s", 0)));
  schema_.run("insert into pipeline select p.ns_id, 'p' || n, 1, 0, false, 's' from pipeline p, generate_series(1, " +
              std::to_string(kPipelinesMax - 2) + ") as n");
  AppSession first = session();
  first.must_run("begin; " + put_call("last"));
  std::optional<Code> code;
  Task second = runtime_.spawn(
      "second", [&](const std::stop_token&) { code = code_of(store_->put_pipeline(putting("beyond", "s", 0))); });
  wait_until_it_waits("put_pipeline");
  first.must_run("commit");
  second.join();
  EXPECT_EQ(code, Code::refused);
  EXPECT_EQ(must(store_->pipelines("default")).size(), static_cast<std::size_t>(kPipelinesMax));
}

// What the calls read of tables, and which updates left their page, by the server's own count of the transaction.
TEST_F(PostgresPipelines, AChangeReadsRowsByTheirKeyHoweverManyThereAre) {
  const std::string count =
      "select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::bigint, "
      "coalesce(sum(seq_tup_read) filter (where relname in ('job', 'done', 'item', 'slot', 'attempt', "
      "'trail')), 0)::bigint, coalesce(sum(n_tup_upd - n_tup_hot_upd) filter (where relname = 'item'), 0)::bigint from "
      "pg_stat_xact_user_tables where schemaname = '" +
      schema_.name() + "'";
  const JobId id = items_at("gate:two", 1).front();
  std::int64_t revision = 1;
  const auto cost_of = [&](const std::string& verb) {
    const auto connection =
        must(postgres::Connection::connect(runtime_, must(postgres::parse_dsn(schema_.url())), runtime_.now() + 10s));
    const postgres::Reply reply = connection->call({{postgres::Statement{verb}, {}}, {postgres::Statement{count}, {}}},
                                                   false, runtime_.now() + 10s);
    if (reply.fate != postgres::Reply::Fate::answered) throw std::runtime_error(reply.error.message);
    EXPECT_EQ(reply.rows.integer(0, 1), 0) << verb;
    EXPECT_EQ(reply.rows.integer(0, 2), 0) << verb;
    return reply.rows.integer(0, 0);
  };
  const auto all_costs = [&] {
    const std::string ids = "array['" + to_string(id) + "']::uuid[]";
    return std::vector<std::int64_t>{cost_of(change_call(id, revision++, "two")),
                                     cost_of(change_call(id, revision++, "three")),
                                     cost_of("select * from " + ours("list_items") + "('default', " + ids + ")")};
  };
  for (int i = 0; i < 5; ++i) all_costs();
  const std::vector<std::int64_t> few = all_costs();
  schema_.run(
      "insert into job (seq, id, ns_id, queue_id, run_at, rank, attempts_max, created_at, payload) select "
      "nextval('job_seq'), gen_random_uuid(), q.ns_id, q.id, 0, 0, 10, 0, '1' from queue q, generate_series(1, 5000); "
      "insert into item select j.id, j.ns_id, j.queue_id, 1, 'r', 'x' from job j on conflict do nothing; "
      "insert into trail (ns, at, actor, act, subject, reason) select 'default', 0, 'a', 'item_moved', 's', '' from "
      "generate_series(1, 20000)");
  const std::vector<std::int64_t> many = all_costs();
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_LE(many[i], few[i] + 10) << "call " << i;
}

TEST_F(PostgresPipelines, WhoSleepsAtTheNewStageIsTold) {
  added();
  const Job job = granted("a");
  std::atomic<int> told = 0;
  const auto event = runtime_.make_event();
  const auto watch = store_->watch({.ns = "default", .queues = {"q"}, .stage = "two"}, [&] {
    ++told;
    event->notify();
  });
  const Instant given_up = runtime_.now() + 20s;
  ASSERT_TRUE(event->wait_until(given_up));  // whoever begins to listen is told once
  EXPECT_EQ(changed(advancing(job, 0, "two"), "a"), "");
  while (told < 2) ASSERT_TRUE(event->wait_until(given_up));
  // A delivery that a person ended keeps its slot; when that is free, the stage where its job is now is told.
  const Job next = must(store_->claim({.ns = "default",
                                       .queues = {"q"},
                                       .stage = "two",
                                       .owner = "b",
                                       .request = new_request(),
                                       .limit = 1,
                                       .ttl = 30s}))
                       .jobs.at(0)
                       .job;
  EXPECT_EQ(changed(moving(job.id, 1, "")), "");
  EXPECT_EQ(changed(moving(job.id, 2, "two")), "");
  while (told < 3) ASSERT_TRUE(event->wait_until(given_up));
  EXPECT_TRUE(must(store_->claim({.ns = "default",
                                  .queues = {"q"},
                                  .stage = "two",
                                  .owner = "b",
                                  .request = new_request(),
                                  .limit = 1,
                                  .ttl = 30s}))
                  .jobs.empty());
  const int before = told;
  must(store_->stopped({.ns = "default", .owner = "b", .jobs = {{job.id, next.fence}}}));
  while (told == before) ASSERT_TRUE(event->wait_until(given_up));
  EXPECT_EQ(must(store_->claim({.ns = "default",
                                .queues = {"q"},
                                .stage = "two",
                                .owner = "b",
                                .request = new_request(),
                                .limit = 1,
                                .ttl = 30s}))
                .jobs.size(),
            1u);
}

TEST_F(PostgresPipelines, WhoWatchesOrdersIsToldOfAPipeline) {
  std::atomic<int> told = 0;
  const auto event = runtime_.make_event();
  const auto watch = store_->watch({.ns = "default", .queues = {}, .stage = "", .orders = true}, [&] {
    ++told;
    event->notify();
  });
  const Instant given_up = runtime_.now() + 20s;
  ASSERT_TRUE(event->wait_until(given_up));
  must(store_->put_pipeline(putting("p", "s", 0)));
  while (told < 2) ASSERT_TRUE(event->wait_until(given_up));
}

TEST_F(PostgresPipelines, TextsAreKeptToTheByte) {
  const std::string text("a\0b\xc3\xa9\\x41'\"", 12);
  EXPECT_EQ(must(store_->put_pipeline(putting("p", text, 0))).spec, text);
  EXPECT_EQ(must(store_->pipelines("default")).at(0).spec, text);
  const JobId id = added();
  ItemChange change = moving(id, 0, "two");
  change.record = text;
  EXPECT_EQ(changed(change), "");
  EXPECT_EQ(item(id).record, text);
}

TEST_F(PostgresPipelines, ARoleWithTheRightsOfTheDocumentationCanDoAllOfIt) {
  const std::string role = "pipelines_" + std::to_string(::getpid());
  schema_.run("drop role if exists " + role + "; create role " + role + " login password 'x'");
  schema_.run(must(postgres::grants_for(must(postgres::parse_dsn(schema_.url())), role)));
  {
    const auto owner =
        std::exchange(store_, opened(url_with("schema=" + schema_.name() + "&user=" + role + "&password=x")));
    must(store_->put_pipeline(putting("q", "s", 0)));
    EXPECT_EQ(must(store_->pipelines("default")).size(), 1u);
    const JobId id = added();
    EXPECT_EQ(changed(advancing(granted("a"), 0, "gate:new"), "a"), "");
    EXPECT_EQ(changed(moving(id, 1, "")), "");
    granted("a");
    EXPECT_EQ(changed(moving(id, 2, "two", JobState::done)), "");
    EXPECT_EQ(item(id).revision, 3);
    must(store_->put_pipeline(putting("q", "", 1)));
    must(store_->tidy({.ns = "default"}));
    must(store_->remove_namespace("default", {"ana", ""}));
    store_.reset();
  }
  schema_.run("drop owned by " + role + "; drop role " + role);
}

TEST_F(PostgresPipelines, ARecordGoesWithItsJobAndNothingOfANamespaceStays) {
  const JobId gone = added();
  EXPECT_EQ(changed(moving(gone, 0, "two", JobState::done)), "");
  const JobId stays = items_at("gate:two", 1).front();
  schema_.run("update done set finished_at = finished_at - 31 * 86400000000");
  EXPECT_EQ(must(store_->tidy({.ns = "default"})).removed, 1);
  EXPECT_EQ(number("select count(*) from " + ours("item")), 1);
  EXPECT_EQ(item(stays).revision, 1);
  must(store_->put_pipeline(putting("p", "s", 0)));
  must(store_->remove_namespace("default", {"ana", ""}));
  EXPECT_EQ(
      number("select (select count(*) from " + ours("item") + ") + (select count(*) from " + ours("pipeline") + ")"),
      0);
}

TEST_F(PostgresPipelines, AnItemThatWaitsForMonthsStillSaysWhoHadIt) {
  const JobId id = added();
  EXPECT_EQ(changed(advancing(granted("a"), 0, "gate:two", JobState::waiting), "a"), "");
  schema_.run(
      "update owner set seen_at = seen_at - 400 * 86400000000; delete from claim; insert into owner (ns_id, name, "
      "seen_at) select ns_id, 'later' || n, seen_at + n from owner, generate_series(1, 999) as n");
  must(store_->tidy({.ns = "default"}));
  EXPECT_EQ(must(store_->attempts("default", id)).at(0).owner, "a");
  EXPECT_EQ(item(id).job.owner, "a");
  schema_.run(
      "insert into owner (ns_id, name, seen_at) select ns_id, 'last', seen_at + 1 from owner where name = 'later999'");
  must(store_->tidy({.ns = "default"}));
  EXPECT_EQ(must(store_->attempts("default", id)).at(0).owner, "") << "of more than a thousand the oldest";
  EXPECT_EQ(number("select count(*) from " + ours("owner")), 1000);
}

TEST_F(PostgresPipelines, AStoreFromBeforeThereWerePipelinesIsMigrated) {
  const JobId id = added();
  set_back_to_before(schema_, "16_pipeline_tables.sql");
  EXPECT_EQ(code_of(opened(schema_.url())->put_pipeline(putting("p", "s", 0))), Code::not_found);
  store_ = must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url(), .mends = true}));
  must(store_->put_pipeline(putting("p", "s", 0)));
  EXPECT_EQ(changed(advancing(granted("a"), 0, "two"), "a"), "");
  EXPECT_EQ(item(id).job.stage, "two");
  EXPECT_EQ(doctor(*store_), "");
}

TEST_F(PostgresPipelines, TheDoctorNamesWhatIsMissing) {
  EXPECT_EQ(doctor(*store_), "");
  schema_.run("alter table item drop column record");
  EXPECT_EQ(doctor(*store_), "column item.record is missing");
  schema_.run("drop table pipeline cascade");
  EXPECT_NE(doctor(*store_).find("column pipeline."), std::string::npos) << doctor(*store_);
}

TEST_F(PostgresPipelines, BehindAPoolerEachVerbWorks) {
  const char* pooler = std::getenv("FENCELINE_TEST_PGBOUNCER");
  if (!pooler) GTEST_SKIP() << "FENCELINE_TEST_PGBOUNCER names no pooler: run by script/with_postgres --pgbouncer";
  store_ = opened(std::string(pooler) + "?schema=" + schema_.name() + "&pooler=transaction");
  must(store_->put_pipeline(putting("p", "s", 0)));
  EXPECT_EQ(must(store_->pipelines("default")).size(), 1u);
  for (int i = 0; i < 10; ++i) {
    const JobId id = added();
    EXPECT_EQ(changed(advancing(granted("a"), 0, "gate:two", JobState::waiting), "a"), "");
    EXPECT_EQ(changed(moving(id, 1, "two")), "");
    EXPECT_EQ(item(id).revision, 2);
  }
}

}  // namespace
}  // namespace fenceline::test

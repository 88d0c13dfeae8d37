// Sessions that end while they commit. Before the commit is written, nothing has happened; after it, everything has;
// the one who asked cannot tell these apart, and repeats. On a real server: a constraint that is looked at last holds a
// commit before it is written, a standby that does not exist after.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>

#include "backends/postgres/testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using postgres::Connection;
using postgres::Params;
using postgres::Reply;
using postgres::Statement;

class PostgresCommit : public testing::Test {
 protected:
  std::unique_ptr<PostgresStore> open() {
    return must(PostgresStore::open(runtime_, Log(null_log_sink()),
                                    {.url = schema_.url() + "&listen=0&application_name=" + name_, .actor = "ann"}));
  }
  void SetUp() override {
    store_ = open();
    control_ = must(Connection::connect(runtime_, must(postgres::parse_dsn(server_url())), soon()));
    told("set synchronous_commit = local");
    schema_.run(
        "create function hold() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(4711); "
        "return null; end $$");
    schema_.run(
        "create constraint trigger hold after insert or update or delete on job deferrable initially deferred for each "
        "row execute function hold()");
  }
  void TearDown() override {
    told("alter system reset synchronous_standby_names");
    told("select pg_reload_conf()");
  }

  // Asks, and ends the session that answers while it commits: before the commit is written.
  Error asked_and_ended_before(const std::function<Error()>& ask) {
    told("select pg_advisory_lock(4711)");
    const Error error = asked_and_ended("advisory", ask);
    told("select pg_advisory_unlock(4711)");
    return error;
  }
  // After it.
  Error asked_and_ended_after(const std::function<Error()>& ask) {
    wait_for_standby("nobody");
    const Error error = asked_and_ended("SyncRep", ask);
    wait_for_standby("");
    return error;
  }
  // From now on the server waits for a standby of this name before it answers.
  void wait_for_standby(const std::string& name) {
    told("alter system set synchronous_standby_names = '" + name + "'");
    told("select pg_reload_conf()");
    EXPECT_TRUE(eventually("select count(*) from pg_settings where name = 'synchronous_standby_names' and setting = '" +
                           name + "'"));
    if (name.empty()) return;
    bool waits = false;
    for (const Instant end = soon(); !waits && runtime_.now() < end;) waits = a_commit_waits();
    EXPECT_TRUE(waits) << "commits do not wait for standby " << name;
  }
  // That sessions know the setting is not enough: they look at a mark that the checkpointer sets when it gets to read
  // the settings.
  bool a_commit_waits() {
    const auto probe = must(Connection::connect(
        runtime_, must(postgres::parse_dsn(schema_.url() + "&application_name=" + name_ + "_probe")), soon()));
    std::future<Reply> written = std::async(
        std::launch::async, [&] { return probe->script("select pg_logical_emit_message(true, 'probe', '')", soon()); });
    const std::string of =
        " from pg_stat_activity where application_name = '" + name_ + "_probe' and wait_event = 'SyncRep'";
    while (written.wait_for(0s) != std::future_status::ready) {
      if (!counted("select count(*)" + of)) continue;
      told("select pg_cancel_backend(pid)" + of);
      return true;
    }
    return false;
  }

  EnqueueRequest one_job() {
    return {.ns = "default",
            .jobs = {{.id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()), .queue = "q"}},
            .timeout = 20s};
  }
  ClaimRequest a_claim() const {
    return {.ns = "default", .queues = {"q"}, .owner = "a", .request = "1", .limit = 1, .ttl = 60s, .timeout = 20s};
  }
  template <typename T>
  static Error error_in(const Result<T>& reply) {
    return reply ? Error{Code::broken, "it was answered"} : reply.error();
  }
  std::size_t jobs() { return must(store_->jobs({.ns = "default", .limit = 10})).jobs.size(); }

  ThreadRuntime runtime_;
  TestSchema schema_{"commit"};
  std::string name_ = "fenceline_commit_" + std::to_string(::getpid());
  std::unique_ptr<PostgresStore> store_;
  std::unique_ptr<Connection> control_;
  bool cancels_ = false;  // the wait in the commit, in place of the session

 protected:
  Instant soon() const { return runtime_.now() + 30s; }
  void told(const std::string& sql) {
    const Reply reply = control_->script(sql, soon());
    ASSERT_EQ(reply.fate, Reply::Fate::answered) << sql << ": " << reply.error.message;
  }
  bool counted(const std::string& count) {
    const Reply reply = control_->call({{Statement{count}, Params()}}, false, soon());
    return reply.fate == Reply::Fate::answered && reply.rows.integer(0, 0) > 0;
  }
  bool eventually(const std::string& count) {
    for (const Instant end = runtime_.now() + 10s; runtime_.now() < end; runtime_.sleep_for(2ms, {})) {
      if (counted(count)) return true;
    }
    return false;
  }
  Error asked_and_ended(const std::string& where, const std::function<Error()>& ask) {
    std::future<Error> asked = std::async(std::launch::async, ask);
    const std::string of =
        " from pg_stat_activity where application_name = '" + name_ + "' and wait_event = '" + where + "'";
    const bool met = eventually("select count(*)" + of);
    EXPECT_TRUE(met) << "nobody waited at " << where;
    told("select " + std::string(cancels_ ? "pg_cancel_backend(pid)" : "pg_terminate_backend(pid, 5000)") + of);
    return asked.get();
  }
};

TEST_F(PostgresCommit, J1_AnEnqueueCutBeforeItsCommitIsInDoubtAndARepeatAddsIt) {
  const EnqueueRequest request = one_job();
  EXPECT_EQ(asked_and_ended_before([&] { return error_in(store_->enqueue(request)); }).code, Code::in_doubt);
  EXPECT_EQ(jobs(), 0u);
  EXPECT_EQ(must(store_->enqueue(request)).existing, 0);
  EXPECT_EQ(jobs(), 1u);
}

TEST_F(PostgresCommit, J1_AnEnqueueCutAfterItsCommitIsInDoubtAndARepeatAddsNothing) {
  const EnqueueRequest request = one_job();
  EXPECT_EQ(asked_and_ended_after([&] { return error_in(store_->enqueue(request)); }).code, Code::in_doubt);
  EXPECT_EQ(jobs(), 1u);
  EXPECT_EQ(must(store_->enqueue(request)).existing, 1);
  EXPECT_EQ(jobs(), 1u);
}

TEST_F(PostgresCommit, J2_AClaimCutAfterItsCommitGrantsTheSameWhenItIsRepeated) {
  must(store_->enqueue(one_job()));
  must(store_->enqueue(one_job()));
  EXPECT_EQ(asked_and_ended_after([&] { return error_in(store_->claim(a_claim())); }).code, Code::in_doubt);
  const ClaimReply reply = must(store_->claim(a_claim()));
  ASSERT_EQ(reply.jobs.size(), 1u);
  EXPECT_EQ(reply.jobs[0].job.deliveries, 1);
  EXPECT_EQ(must(store_->jobs({.ns = "default", .state = JobState::running, .limit = 10})).jobs.size(), 1u);
}

TEST_F(PostgresCommit, J2_AClaimCutBeforeItsCommitTookNothing) {
  must(store_->enqueue(one_job()));
  EXPECT_EQ(asked_and_ended_before([&] { return error_in(store_->claim(a_claim())); }).code, Code::in_doubt);
  EXPECT_EQ(must(store_->jobs({.ns = "default", .state = JobState::running, .limit = 10})).jobs.size(), 0u);
  EXPECT_EQ(must(store_->claim(a_claim())).jobs.size(), 1u);
}

TEST_F(PostgresCommit, J3_AnOutcomeCutWhileItCommitsIsAcceptedOnceHoweverOftenItIsSent) {
  for (const bool after : {false, true}) {
    must(store_->enqueue(one_job()));
    ClaimRequest claim = a_claim();
    claim.request = after ? "after" : "before";
    const ClaimedJob held = must(store_->claim(claim)).jobs.at(0);
    const SettleRequest request{
        .ns = "default",
        .owner = "a",
        .settlements = {{held.job.id, held.job.fence, {.kind = OutcomeKind::done, .result = "first"}}},
        .timeout = 20s};
    const auto ask = [&] { return error_in(store_->settle(request)); };
    EXPECT_EQ((after ? asked_and_ended_after(ask) : asked_and_ended_before(ask)).code, Code::in_doubt);
    EXPECT_EQ(must(store_->job("default", held.job.id))->state, after ? JobState::done : JobState::running);
    EXPECT_TRUE(must(store_->settle(request)).refused.empty());
    const Job job = *must(store_->job("default", held.job.id));
    EXPECT_EQ(job.state, JobState::done);
    EXPECT_EQ(job.result, "first");
    EXPECT_EQ(must(store_->attempts("default", held.job.id)).size(), 1u);
  }
}

// The server acknowledges it then, with a warning: what only it has may be lost with it.
TEST_F(PostgresCommit, ACommitWhoseWaitForAStandbyWasCancelledIsInDoubt) {
  cancels_ = true;
  const EnqueueRequest request = one_job();
  EXPECT_EQ(asked_and_ended_after([&] { return error_in(store_->enqueue(request)); }).code, Code::in_doubt);
  EXPECT_EQ(must(store_->enqueue(request)).existing, 1);
}

TEST_F(PostgresCommit, J1_WhatNoStandbyHasIsNotAcknowledgedToARepeatThatFindsItThere) {
  wait_for_standby("nobody");
  const auto store = open();
  EnqueueRequest request = one_job();
  EXPECT_EQ(asked_and_ended("SyncRep", [&] { return error_in(store->enqueue(request)); }).code, Code::in_doubt);
  EXPECT_EQ(must(store->jobs({.ns = "default", .limit = 10})).jobs.size(),
            1u);  // it is on this server, and may be lost with it
  request.timeout = 1500ms;
  EXPECT_EQ(code_of(store->enqueue(request)), Code::in_doubt);
  EXPECT_EQ(code_of(open()->enqueue(request)), Code::in_doubt);  // nor to another process
  wait_for_standby("");
  request.timeout = 20s;
  EXPECT_EQ(must(store->enqueue(request)).existing, 1);
}

}  // namespace
}  // namespace fenceline::test

// PostgresTransaction on a libpq connection of the application's: the verbs of SqliteTransaction, one commit or
// nothing.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "backends/postgres/inside_testing.hpp"
#include "fenceline/postgres.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class PostgresTransactions : public Inside {
 protected:
  PostgresTransaction begun() { return must(PostgresTransaction::begin(app_.handle(), place_)); }
  // A job that A has, as a handler would see it.
  Job job_of_a() {
    const Held one = one_of_a();
    return must(store_->job("default", *parse_uuid(one.id))).value();
  }
  Job as_it_is(const JobId& id) { return must(store_->job("default", id)).value(); }

  const PostgresPlace place_{.schema = app_.schema()};
};

TEST_F(PostgresTransactions, NewJobsAreThereOnceItIsCommitted) {
  PostgresTransaction transaction = begun();
  const EnqueueOptions options{.priority = 5, .key = "k", .tags = {"b", "a\"\\"}};
  const JobId first = must(transaction.enqueue("q", R"({"a":  1})", options));
  const std::vector<JobId> more = must(transaction.enqueue_many("q", {"2", "3"}));
  EXPECT_EQ(count("job"), 0);
  must(transaction.commit());
  EXPECT_EQ(transaction.handle(), nullptr);
  EXPECT_EQ(code_of(transaction.enqueue("q", "4")), Code::refused);
  EXPECT_EQ(code_of(transaction.commit()), Code::refused);
  const Job there = as_it_is(first);
  EXPECT_EQ(there.payload, R"({"a":  1})");
  EXPECT_EQ(there.priority, 5);
  EXPECT_EQ(there.tags, (std::vector<std::string>{"a\"\\", "b"}));
  EXPECT_EQ(as_it_is(more.at(1)).payload, "3");
}

TEST_F(PostgresTransactions, J6_ATakenKeyIsAnsweredByTheJobThatHoldsItEveryTime) {
  PostgresTransaction transaction = begun();
  const JobId holder = must(transaction.enqueue("q", "1", {.key = "k"}));
  must(transaction.commit());
  transaction = begun();
  EXPECT_EQ(must(transaction.enqueue("q", "1", {.key = "k"})), holder);
  EXPECT_EQ(must(transaction.enqueue("q", "1", {.key = "k"})), holder);
  EXPECT_EQ(must(transaction.enqueue_many("q", {"1", "1"}, {.key = "k"})), (std::vector<JobId>{holder, holder}));
  must(transaction.commit());
  EXPECT_EQ(count("job"), 1);
}

TEST_F(PostgresTransactions, OfSeveralJobsNoneIsAddedIfOneIsInvalid) {
  PostgresTransaction transaction = begun();
  EXPECT_EQ(code_of(transaction.enqueue_many("q", {"1", "{"})), Code::invalid);
  must(transaction.commit());
  EXPECT_EQ(count("job"), 0);
}

TEST_F(PostgresTransactions, J3_OneThatIsPausedIsLostAtItsCommitAndAfterTheTakeoverAtTheCall) {
  const Job late = job_of_a();
  PostgresTransaction transaction = begun();
  EXPECT_EQ(must(transaction.execute("insert into written values ($1), ($2)", {"late", 7})), 2);
  EXPECT_FALSE(must(transaction.effect_done(late, {.name = "pay", .digest = "d", .result = "r"})).done_before);
  must(transaction.settle(late, {.result = "ok"}));
  const Held newer = taken_over();
  EXPECT_EQ(code_of(transaction.commit()), Code::lost);
  EXPECT_EQ(count("written"), 0);

  transaction = begun();
  EXPECT_EQ(code_of(transaction.settle(late, {.result = "late"})), Code::lost);
  EXPECT_EQ(code_of(transaction.settle(late, {.result = "late"})), Code::refused) << "the transaction has failed";
  EXPECT_EQ(code_of(transaction.commit()), Code::refused);

  transaction = begun();
  must(transaction.settle(late.id, std::stoll(newer.fence),
                          {.kind = OutcomeKind::dead, .error = std::string("\0x", 2)}));
  must(transaction.commit());
  EXPECT_EQ(as_it_is(late.id).error, std::string("\0x", 2));
  EXPECT_EQ(code_of(answer_of(
                PQexec(app_.handle(),
                       ("select complete('" + to_string(late.id) + "', " + std::to_string(late.fence) + ")").c_str()))),
            Code::lost);
}

TEST_F(PostgresTransactions, AnEffectIsDoneOnceAndSaysSo) {
  const Job job = job_of_a();
  PostgresTransaction transaction = begun();
  EXPECT_FALSE(must(transaction.effect_done(job, {.name = "pay", .digest = "d", .result = "first"})).done_before);
  must(transaction.commit());
  transaction = begun();
  const EffectOnceReply again = must(transaction.effect_done(job, {.name = "pay", .digest = "d", .result = "second"}));
  EXPECT_TRUE(again.done_before);
  EXPECT_EQ(again.result, "first");
  EXPECT_EQ(code_of(transaction.effect_done(job, {.name = "pay", .digest = "other"})), Code::conflict);
}

TEST_F(PostgresTransactions, E3_AGuardedOneCommitsUnderTheNewestFenceOnly) {
  const Job late = job_of_a();
  int called = 0;
  const auto write = [&](PostgresTransaction& transaction) -> Result<void> {
    called += 1;
    auto written = transaction.execute("insert into written values ('guarded')");
    if (!written) return std::unexpected(written.error());
    return {};
  };
  must(guarded(app_.handle(), late, write, place_));
  EXPECT_EQ(count("written"), 1);
  // An error of the body rolls back.
  const auto fails = [&](PostgresTransaction& transaction) -> Result<void> {
    must(transaction.execute("insert into written values ('gone')"));
    return fail(Code::refused, "the application says no");
  };
  EXPECT_EQ(code_of(guarded(app_.handle(), late, fails, place_)), Code::refused);
  EXPECT_EQ(count("written"), 1);
  // Taken over between the guard and the COMMIT, and before the guard.
  const auto paused = [&](PostgresTransaction& transaction) -> Result<void> {
    taken_over();
    return write(transaction);
  };
  EXPECT_EQ(code_of(guarded(app_.handle(), late, paused, place_)), Code::lost);
  const int before = called;
  EXPECT_EQ(code_of(guarded(app_.handle(), late, write, place_)), Code::lost);
  EXPECT_EQ(called, before);
  EXPECT_EQ(count("written"), 1);
}

TEST_F(PostgresTransactions, ALockGuardsAsAJobDoes) {
  const auto acquired = [&](const std::string& owner) {
    return must(store_->acquire({.ns = "default", .names = {"deploy"}, .owner = owner, .request = owner, .ttl = 30s}))
        .grants.at(0)
        .fence;
  };
  const Fence old = acquired("a");
  const auto write = [](PostgresTransaction& transaction) -> Result<void> {
    auto written = transaction.execute("insert into written values ('locked')");
    if (!written) return std::unexpected(written.error());
    return {};
  };
  must(guarded(app_.handle(), "deploy", old, write, place_));
  let_time_pass(31s);
  const Fence newer = acquired("b");
  EXPECT_EQ(code_of(guarded(app_.handle(), "deploy", old, write, place_)), Code::lost);
  must(guarded(app_.handle(), "deploy", newer, write, place_));
  EXPECT_EQ(count("written"), 2);
}

TEST_F(PostgresTransactions, UnderItsFenceAProtectedTableIsWritten) {
  const Job job = job_of_a();
  app_.must_ask("drop table if exists public.transaction_receipt");
  app_.must_ask("create table public.transaction_receipt (job uuid primary key, text text, fence bigint)");
  app_.must_ask("select protect('public.transaction_receipt', resource => 'job', fence => 'fence')");
  PostgresTransaction transaction = begun();
  EXPECT_EQ(code_of(transaction.execute("insert into public.transaction_receipt (job, text) values ($1, 'x')",
                                        {to_string(job.id)})),
            Code::refused);
  transaction.rollback();
  transaction = begun();
  must(transaction.act_as(job));
  must(transaction.execute("insert into public.transaction_receipt (job, text) values ($1, 'x')", {to_string(job.id)}));
  must(transaction.commit());
  EXPECT_EQ(app_.must_ask("select fence from public.transaction_receipt").number(), job.fence);
  app_.must_ask("drop table public.transaction_receipt");
}

TEST_F(PostgresTransactions, WhatIsNotCommittedIsRolledBackAndOneThatIsReleasedIsLeftOpen) {
  { must(begun().execute("insert into written values ('gone')")); }
  EXPECT_EQ(count("written"), 0);
  EXPECT_EQ(PQtransactionStatus(app_.handle()), PQTRANS_IDLE);

  app_.must_ask("begin isolation level serializable");
  {
    PostgresTransaction adopted = must(PostgresTransaction::adopt(app_.handle(), place_));
    EXPECT_EQ(code_of(PostgresTransaction::begin(app_.handle(), place_)), Code::refused);
    must(adopted.execute("insert into written values ('kept')"));
    EXPECT_EQ(adopted.release(), app_.handle());
  }
  app_.must_ask("commit");
  EXPECT_EQ(count("written"), 1);
  EXPECT_EQ(code_of(PostgresTransaction::adopt(app_.handle(), place_)), Code::refused);
  EXPECT_EQ(code_of(PostgresTransaction::begin(nullptr, place_)), Code::invalid);

  PostgresTransaction ended = begun();
  app_.must_ask("rollback");
  EXPECT_EQ(code_of(ended.execute("select 1")), Code::refused);
  EXPECT_EQ(code_of(ended.commit()), Code::in_doubt) << "it might as well have been a commit";
}

TEST_F(PostgresTransactions, SqlCannotEndTheTransaction) {
  PostgresTransaction transaction = begun();
  must(transaction.execute("insert into written values ('a')"));
  for (const char* sql : {"COMMIT", "commit and chain", "/* x */ end", "ROLLBACK", "abort", "BEGIN",
                          "start transaction", "prepare transaction 'x'"})
    EXPECT_EQ(code_of(transaction.execute(sql)), Code::refused) << sql;
  // It goes on, and savepoints are no end.
  must(transaction.execute("savepoint s"));
  must(transaction.execute("insert into written values ('b')"));
  must(transaction.execute("rollback to savepoint s"));
  must(transaction.execute("release savepoint s"));
  EXPECT_EQ(count("written"), 0);
  must(transaction.commit());
  EXPECT_EQ(count("written"), 1);
}

// Whatever a body does, what was committed is never called undone.
TEST_F(PostgresTransactions, AGuardedOneWhoseBodyEndsItIsNeverSaidNotToHaveHappened) {
  using Body = std::function<Result<void>(PostgresTransaction&)>;
  const Job job = job_of_a();
  const auto writing = [](const Body& then) {
    return [then](PostgresTransaction& transaction) -> Result<void> {
      must(transaction.execute("insert into written values ('x')"));
      return then(transaction);
    };
  };
  const Result<void> no = fail(Code::refused, "the application says no");
  struct Case {
    const char* what;
    Body body;
    std::optional<Code> answer;
    int written;
  };
  const std::vector<Case> cases{
      {"commits", [](PostgresTransaction& t) { return t.commit(); }, std::nullopt, 1},
      {"commits and fails",
       [&](PostgresTransaction& t) {
         must(t.commit());
         return no;
       },
       Code::in_doubt, 1},
      {"rolls back",
       [](PostgresTransaction& t) -> Result<void> {
         t.rollback();
         return {};
       },
       Code::refused, 0},
      {"rolls back and fails",
       [&](PostgresTransaction& t) {
         t.rollback();
         return no;
       },
       Code::refused, 0},
      {"commits on the connection itself",
       [](PostgresTransaction& t) -> Result<void> { return answer_of(PQexec(t.handle(), "commit")); }, Code::in_doubt,
       1},
      {"commits on the connection itself and goes on",
       [](PostgresTransaction& t) -> Result<void> {
         must(answer_of(PQexec(t.handle(), "commit")));
         auto more = t.execute("insert into written values ('y')");
         return std::unexpected(more.error());
       },
       Code::in_doubt, 1},
      {"releases it", [](PostgresTransaction& t) -> Result<void> { return answer_of(PQexec(t.release(), "commit")); },
       Code::in_doubt, 1},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    app_.must_ask("truncate written");
    const Result<void> answer = guarded(app_.handle(), job, writing(one.body), place_);
    EXPECT_EQ(answer ? std::nullopt : std::optional(answer.error().code), one.answer);
    EXPECT_EQ(count("written"), one.written);
    EXPECT_EQ(PQtransactionStatus(app_.handle()), PQTRANS_IDLE);
  }
}

// Its commit was not answered, and the body says something else: what is in doubt stays so.
TEST_F(PostgresTransactions, AGuardedOneWhoseBodysCommitIsInDoubtIsInDoubt) {
  const Job job = job_of_a();
  Session cut(HandMovedSchema::shared().url());
  set_clock(cut);
  const std::string pid = cut.must_ask("select pg_backend_pid()").text();
  const auto body = [&](PostgresTransaction& transaction) -> Result<void> {
    other_.must_ask("select pg_terminate_backend(" + pid + ")");
    EXPECT_EQ(code_of(transaction.commit()), Code::in_doubt);
    return fail(Code::refused, "the application says no");
  };
  EXPECT_EQ(code_of(guarded(cut.handle(), job, body, place_)), Code::in_doubt);
}

TEST_F(PostgresTransactions, ACommitWithoutAnAnswerIsInDoubtAndAServerThatIsAwayIsUnavailable) {
  Session cut(HandMovedSchema::shared().url());
  set_clock(cut);
  const std::string pid = cut.must_ask("select pg_backend_pid()").text();
  PostgresTransaction transaction = must(PostgresTransaction::begin(cut.handle(), place_));
  other_.must_ask("select pg_terminate_backend(" + pid + ")");
  EXPECT_EQ(code_of(transaction.commit()), Code::in_doubt);
  EXPECT_EQ(code_of(PostgresTransaction::begin(cut.handle(), place_)), Code::unavailable);
}

}  // namespace
}  // namespace fenceline::test

// Guarded transactions: the application's statements, the check of the fence, the outcome and new jobs in one commit.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <optional>

#include "backends/sqlite/guarded_testing.hpp"

namespace fenceline {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::must;

class GuardedTransaction : public test::GuardedFile {
 protected:
  GuardedTransaction() { make_table("CREATE TABLE account (id TEXT PRIMARY KEY, cents INTEGER NOT NULL)"); }
  std::string accounts() { return text_of("SELECT id, cents FROM account ORDER BY id"); }
};

TEST_F(GuardedTransaction, E3_StatementsAndOutcomeAreOneCommit) {
  const Job job = claimed();
  must(guarded(connection, job, [&](SqliteTransaction& transaction) -> Result<void> {
    must(transaction.execute("INSERT INTO account VALUES ('ana', 5)"));
    EXPECT_EQ(must(store->job("default", job.id))->state, JobState::running);  // nobody else sees it yet
    return transaction.settle(job, {.result = "paid"});
  }));
  EXPECT_EQ(accounts(), "ana,5");
  const Job after = must(store->job("default", job.id)).value();
  EXPECT_EQ(after.state, JobState::done);
  EXPECT_EQ(after.result, "paid");
  // What the worker says later is a repeat; another outcome is not.
  const auto settle = [&](OutcomeKind kind) {
    return must(store->settle({.ns = "default", .owner = "a", .settlements = {{job.id, job.fence, {.kind = kind}}}}))
        .refused.size();
  };
  EXPECT_EQ(settle(OutcomeKind::done), 0U);
  EXPECT_EQ(settle(OutcomeKind::failed), 1U);
}

// Whatever a body does, what was committed is never called undone.
TEST_F(GuardedTransaction, ABodyThatEndsItsTransactionIsNeverSaidNotToHaveHappened) {
  using Body = std::function<Result<void>(SqliteTransaction&)>;
  const Job job = claimed();
  const Result<void> no = fail(Code::refused, "the application says no");
  struct Case {
    const char* what;
    Body then;
    std::optional<Code> answer;
    bool written;
  };
  const std::vector<Case> cases{
      {"commits", [](SqliteTransaction& t) { return t.commit(); }, std::nullopt, true},
      {"commits and fails",
       [&](SqliteTransaction& t) {
         must(t.commit());
         return no;
       },
       Code::in_doubt, true},
      {"rolls back",
       [](SqliteTransaction& t) -> Result<void> {
         t.rollback();
         return {};
       },
       Code::refused, false},
      {"rolls back and fails",
       [&](SqliteTransaction& t) {
         t.rollback();
         return no;
       },
       Code::refused, false},
      {"commits by SQL",
       [](SqliteTransaction& t) -> Result<void> {
         EXPECT_NE(sqlite3_exec(t.handle(), "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
         return {};
       },
       std::nullopt, true},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    const auto body = [&](SqliteTransaction& transaction) -> Result<void> {
      must(transaction.execute("DELETE FROM account"));
      must(transaction.execute("INSERT INTO account VALUES (?1, 5)", {one.what}));
      return one.then(transaction);
    };
    const Result<void> answer = guarded(connection, job, body);
    EXPECT_EQ(answer ? std::nullopt : std::optional(answer.error().code), one.answer);
    EXPECT_EQ(accounts() == std::string(one.what) + ",5", one.written);
  }
}

TEST_F(GuardedTransaction, E3_APausedHolderThatWasTakenOverWritesNothing) {
  const Job stale = claimed();
  const Job newest = taken_over();
  bool ran = false;
  const auto late = guarded(connection, stale, [&](SqliteTransaction&) -> Result<void> {
    ran = true;
    return {};
  });
  EXPECT_EQ(code_of(late), Code::lost);
  EXPECT_NE(late.error().message.find(std::to_string(newest.fence)), std::string::npos) << late.error().message;
  EXPECT_FALSE(ran);
  SqliteTransaction transaction = must(connection.begin());
  EXPECT_EQ(code_of(transaction.settle(stale, {})), Code::lost);
  EXPECT_EQ(code_of(transaction.guard(stale.id, newest.fence + 1)), Code::lost);
  EXPECT_EQ(code_of(transaction.guard(test::job_id(99), 1)), Code::not_found);
  EXPECT_EQ(code_of(transaction.guard(stale.id, 0)), Code::invalid);
  must(transaction.guard(newest));
  must(transaction.commit());
}

TEST_F(GuardedTransaction, E3_NoClaimComesBetweenTheCheckAndTheCommit) {
  const Job job = claimed();
  clock_.advance(31s);  // run out, and nobody took over yet: what is finished may still be recorded
  std::atomic<bool> committed{false};
  std::optional<bool> overtaken;
  Task other;
  {
    SqliteTransaction transaction = must(connection.begin());
    must(transaction.guard(job));
    other = runtime_.spawn("claimer", [&](std::stop_token) {
      const ClaimReply reply = must(store->claim(test::a_claim("b", "b")));
      overtaken = !committed;
      EXPECT_TRUE(reply.jobs.empty());  // it is done
    });
    must(transaction.execute("INSERT INTO account VALUES ('ana', 5)"));
    must(transaction.settle(job, {}));
    committed = true;
    must(transaction.commit());
  }
  other.join();
  EXPECT_EQ(overtaken, std::optional(false));
  EXPECT_EQ(accounts(), "ana,5");
}

TEST_F(GuardedTransaction, E3_WhatIsRolledBackNeverHappened) {
  const Job job = claimed();
  {
    SqliteTransaction transaction = must(connection.begin());
    must(transaction.guard(job));
    must(transaction.execute("INSERT INTO account VALUES ('ana', 5)"));
    must(transaction.settle(job, {}));
    must(transaction.enqueue("receipts", "1"));
  }
  EXPECT_EQ(accounts(), "");
  EXPECT_EQ(must(store->job("default", job.id))->state, JobState::running);
  EXPECT_TRUE(must(store->jobs({.ns = "default", .queue = "receipts"})).jobs.empty());
  // The same names are new again.
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.enqueue("receipts", "1"));
  must(transaction.commit());
  EXPECT_EQ(must(store->jobs({.ns = "default", .queue = "receipts"})).jobs.size(), 1U);
}

TEST_F(GuardedTransaction, E3_AProcessThatDiesBeforeTheCommitLeavesNothing) {
  const Job job = claimed();
  const std::string path = options().path;
  const pid_t child = ::fork();
  if (child == 0) {
    ThreadRuntime runtime;
    test::ManualClock clock;
    auto opened = SqliteStore::open(runtime, clock, Log(null_log_sink()), {.path = path});
    if (!opened) ::_exit(2);
    auto own = (*opened)->connect({});
    auto transaction = own->begin();
    const bool wrote = transaction && transaction->guard(job) &&
                       transaction->execute("INSERT INTO account VALUES ('ana', 5)") && transaction->settle(job, {});
    ::_exit(wrote ? 0 : 1);  // with the transaction open
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(accounts(), "");
  EXPECT_EQ(must(store->job("default", job.id))->state, JobState::running);
  must(guarded(connection, job, [](SqliteTransaction&) { return Result<void>(); }));  // its turn is free
}

TEST_F(GuardedTransaction, E3_AnEffectIsDoneInTheCommitOfItsStatementsAndOnce) {
  const Job first = claimed();
  const auto book = [&](const Job& job, const std::string& result) -> Result<EffectOnceReply> {
    SqliteTransaction transaction = must(connection.begin());
    must(transaction.execute("INSERT INTO account VALUES ('ana', 5) ON CONFLICT DO UPDATE SET cents = cents + 5"));
    Result<EffectOnceReply> reply = transaction.effect_done(job, {.name = "book", .digest = "ana+5", .result = result});
    if (reply && !reply->done_before) must(transaction.commit());
    return reply;
  };
  EXPECT_FALSE(must(book(first, "one")).done_before);
  const Job second = taken_over();
  EXPECT_EQ(code_of(book(first, "late")), Code::lost);
  const EffectOnceReply again = must(book(second, "two"));
  EXPECT_TRUE(again.done_before);
  EXPECT_EQ(again.result, "one");
  EXPECT_EQ(accounts(), "ana,5");
  const EffectsReply effects = must(store->effects({.ns = "default", .job = first.id, .with_result = true}));
  ASSERT_EQ(effects.effects.size(), 1U);
  EXPECT_EQ(effects.effects.front().state, EffectState::done);
  EXPECT_FALSE(effects.effects.front().in_doubt);
  EXPECT_EQ(effects.effects.front().result, "one");
  // Outside a transaction it is replayed too; under another digest it is another thing.
  const auto begun = must(store->begin_effect({.ns = "default",
                                               .job = second.id,
                                               .fence = second.fence,
                                               .name = "book",
                                               .digest = "ana+5",
                                               .call = "c",
                                               .actor = "p"}));
  EXPECT_EQ(begun.verdict, EffectVerdict::done);
  SqliteTransaction transaction = must(connection.begin());
  EXPECT_EQ(code_of(transaction.effect_done(second, {.name = "book", .digest = "ben+5"})), Code::conflict);
  EXPECT_EQ(code_of(transaction.effect_done(second, {.name = "", .digest = "d"})), Code::invalid);
}

TEST_F(GuardedTransaction, AnEffectThatWasBegunOutsideIsNotGuessedAbout) {
  const Job job = claimed();
  must(store->begin_effect(
      {.ns = "default", .job = job.id, .fence = job.fence, .name = "book", .digest = "d", .call = "c", .actor = "p"}));
  SqliteTransaction transaction = must(connection.begin());
  EXPECT_EQ(code_of(transaction.effect_done(job, {.name = "book", .digest = "d"})), Code::conflict);
}

TEST_F(GuardedTransaction, E3_AnEnqueueIsThereWithTheCommitAndWorkersAreWoken) {
  std::atomic<int> woken{0};
  const auto woken_event = runtime_.make_event();
  const auto watch = store->watch({.ns = "default", .queues = {"receipts"}}, [&] {
    woken += 1;
    woken_event->notify();
  });
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.execute("INSERT INTO account VALUES ('ana', 5)"));
  const JobId id = must(transaction.enqueue("receipts", R"({"to": "ana"})", {.key = "ana", .tags = {"b", "a"}}));
  EXPECT_EQ(must(transaction.enqueue("receipts", R"({"to":"ana"})", {.key = "ana"})), id);
  EXPECT_EQ(code_of(transaction.enqueue("receipts", "2", {.key = "ana"})), Code::conflict);
  EXPECT_EQ(code_of(transaction.enqueue("receipts", "{")), Code::invalid);
  EXPECT_FALSE(must(store->job("default", id)).has_value());
  EXPECT_EQ(woken, 0);
  must(transaction.commit());
  EXPECT_TRUE(woken_event->wait_until(runtime_.now() + 10s));
  const Job job = must(store->job("default", id)).value();
  EXPECT_EQ(job.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(must(store->queues("default")).size(), 1U);
}

TEST_F(GuardedTransaction, J6_ATakenKeyIsAnsweredByTheJobThatHoldsItEveryTime) {
  SqliteTransaction transaction = must(connection.begin());
  const JobId holder = must(transaction.enqueue("receipts", "1", {.key = "k"}));
  must(transaction.commit());
  transaction = must(connection.begin());
  EXPECT_EQ(must(transaction.enqueue("receipts", "1", {.key = "k"})), holder);
  EXPECT_EQ(must(transaction.enqueue("receipts", "1", {.key = "k"})), holder);
  EXPECT_EQ(must(transaction.enqueue_many("receipts", {"1", "1"}, {.key = "k"})), (std::vector<JobId>{holder, holder}));
  must(transaction.commit());
  EXPECT_EQ(must(store->jobs({.ns = "default"})).jobs.size(), 1U);
}

TEST_F(GuardedTransaction, ASavepointThatIsRolledBackTakesItsJobsWithIt) {
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.execute("SAVEPOINT mine"));
  must(transaction.enqueue("first", "1"));
  must(transaction.execute("ROLLBACK TO mine"));
  const JobId kept = must(transaction.enqueue("second", "2"));
  must(transaction.execute("RELEASE mine"));
  must(transaction.commit());
  const JobsReply jobs = must(store->jobs({.ns = "default"}));
  ASSERT_EQ(jobs.jobs.size(), 1U);
  EXPECT_EQ(jobs.jobs.front().id, kept);
  EXPECT_EQ(jobs.jobs.front().queue, "second");
  const auto claim = must(store->claim(
      {.ns = "default", .queues = {"first", "second"}, .owner = "a", .request = "1", .limit = 9, .ttl = 30s}));
  EXPECT_EQ(claim.jobs.size(), 1U);
}

TEST_F(GuardedTransaction, AFailedOutcomeGivesTheJobToTheNext) {
  const Job job = claimed();
  must(guarded(connection, job, [&](SqliteTransaction& transaction) {
    return transaction.settle(job, {.kind = OutcomeKind::failed, .error = "no money"});
  }));
  EXPECT_EQ(must(store->job("default", job.id))->state, JobState::ready);
  EXPECT_GT(claim("b").fence, job.fence);
}

TEST_F(GuardedTransaction, P1_AnItemOfAPipelineIsNotSettledPastItsStages) {
  const Job job = claimed();
  const Act by_ana{.actor = "ana", .reason = ""};
  // Applied after the claim: what the transaction reads itself is never stale.
  const PipelineRow row =
      must(store->put_pipeline({.ns = "default", .name = job.queue, .spec = "s", .revision = 0, .act = by_ana}));
  SqliteTransaction transaction = must(connection.begin());
  must(transaction.execute("INSERT INTO account VALUES ('ana', 5)"));
  for (const OutcomeKind kind : {OutcomeKind::done, OutcomeKind::failed, OutcomeKind::dead}) {
    const Result<void> refused = transaction.settle(job, {.kind = kind});
    ASSERT_EQ(code_of(refused), Code::refused) << to_string(kind);
    EXPECT_EQ(refused.error().message, "job " + to_string(job.id) + " is an item of pipeline " + job.queue +
                                           ", and a settle as " + std::string(to_string(kind)) +
                                           " in a transaction would skip the pipeline's stages; record the work with "
                                           "effect_done, commit, and return the outcome from the handler");
  }
  // The right way: the work is recorded and committed, and the outcome is left to the worker.
  EXPECT_FALSE(must(transaction.effect_done(job, {.name = "pay", .digest = "d", .result = ""})).done_before);
  must(transaction.commit());
  EXPECT_EQ(accounts(), "ana,5");
  EXPECT_EQ(must(store->job("default", job.id))->state, JobState::running);

  // Whoever claims it next decides: that skips nothing.
  must(guarded(connection, job, [&](SqliteTransaction& later) {
    return later.settle(job, {.kind = OutcomeKind::later, .retry_in = 0s});
  }));
  const Job again = claim("b");
  must(guarded(connection, again,
               [&](SqliteTransaction& back) { return back.settle(again, {.kind = OutcomeKind::given_back}); }));
  // A holder that lost the item is told that, and nothing else.
  const Job newest = claim("c");
  EXPECT_EQ(code_of(must(connection.begin()).settle(again, {})), Code::lost);

  must(store->put_pipeline({.ns = "default", .name = job.queue, .spec = "", .revision = row.revision, .act = by_ana}));
  must(guarded(connection, newest, [&](SqliteTransaction& plain) { return plain.settle(newest, {}); }));
  EXPECT_EQ(must(store->job("default", job.id))->state, JobState::done);
}

TEST_F(GuardedTransaction, KnowsTheJobsOfItsNamespaceOnly) {
  const Job job = claimed();
  SqliteConnection elsewhere = must(store->connect({.ns = "other"}));
  SqliteTransaction transaction = must(elsewhere.begin());
  EXPECT_EQ(code_of(transaction.guard(job)), Code::not_found);
  EXPECT_EQ(code_of(transaction.settle(job, {})), Code::not_found);
}

}  // namespace
}  // namespace fenceline

// Applications' own transactions: what they note happens at their COMMIT, and a paused one holds up nobody. The clock
// is moved by hand.
#include <gtest/gtest.h>

#include "backends/postgres/inside_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

TEST_F(Inside, J3_APausedTransactionStopsNoTakeoverAndFailsAtCommit) {
  for (const std::string& level : std::vector<std::string>{"read committed", "repeatable read", "serializable"}) {
    SCOPED_TRACE(level);
    const Held late = one_of_a();
    app_.must_ask("begin isolation level " + level);
    app_.must_ask("insert into written values ('late')");
    app_.must_ask("select complete(" + held(late) + ", 'late')");
    // It is paused here.
    const Held newer = taken_over();
    EXPECT_EQ(newer.id, late.id);
    const std::string state = app_.commit();
    EXPECT_EQ(state, level == "read committed" ? "FL004" : "40001");
    EXPECT_EQ(count("written"), 0);
    other_.must_ask("begin isolation level " + level);
    other_.must_ask("select complete(" + held(newer) + ", 'b')");
    EXPECT_EQ(other_.commit(), "");
    EXPECT_EQ(must(store_->job("default", *parse_uuid(late.id)))->result, "b");
    set_clock(app_);
  }
}

TEST_F(Inside, J3_AStaleFenceIsRefusedAtTheCall) {
  const Held late = one_of_a();
  const Held newer = taken_over();
  set_clock(app_);
  for (const std::string& call : std::vector<std::string>{
           "complete(" + held(late) + ")", "fail(" + held(late) + ", 'x')", "extend(" + held(late) + ")",
           "settle(" + held(late) + ", 'later')", "record_effect(" + held(late) + ", 'pay')"}) {
    const Session::Answer answer = app_.ask("select " + call);
    EXPECT_EQ(answer.state, "FL004") << call;
    EXPECT_EQ(answer.detail, "reason=superseded sent=" + late.fence + " current=" + newer.fence) << call;
  }
  EXPECT_EQ(app_.ask("select complete(" + held({newer.id, std::to_string(std::stoll(newer.fence) + 1)}) + ")").state,
            "FL005");
  EXPECT_EQ(app_.ask("select complete('01900000-0000-7000-8000-000000000009', 7)").state, "FL003");
  EXPECT_EQ(app_.ask("select complete(" + held(newer) + ", worker => 'a')").state, "FL004");
}

TEST_F(Inside, J3_ATransactionThatIsOpenHoldsNoLockOnTheJob) {
  const Held late = one_of_a();
  app_.must_ask("begin");
  app_.must_ask("select complete(" + held(late) + ")");
  app_.must_ask("select record_effect(" + held(late) + ", 'pay')");
  EXPECT_EQ(count("(select from job for update nowait) as u"), 1);
  EXPECT_EQ(count("(select from claim for update nowait) as u"), 1);
  // An operator ends it at once.
  must(store_->cancel({.ns = "default", .ids = {*parse_uuid(late.id)}, .request = "r", .act = {"ann", "because"}}));
  EXPECT_EQ(app_.commit(), "FL004");
}

TEST_F(Inside, J3_ConstraintsMadeImmediateDoNotTakeTheLocksSooner) {
  const Held late = one_of_a();
  app_.must_ask("begin");
  app_.must_ask("insert into written values ('late')");
  app_.must_ask("select complete(" + held(late) + ")");
  app_.must_ask("set constraints all immediate");
  EXPECT_EQ(count("(select from job for update nowait) as u"), 1);
  const Held newer = taken_over();
  EXPECT_EQ(app_.commit(), "FL004");
  EXPECT_EQ(count("written"), 0);
  // And said before anything was noted, it loses nothing.
  other_.must_ask("begin; set constraints all immediate");
  other_.must_ask("select complete(" + held(newer) + ")");
  other_.must_ask("select enqueue('q', '2')");
  EXPECT_EQ(other_.commit(), "");
  EXPECT_EQ(count("done"), 1);
  EXPECT_EQ(count("job"), 1);
  EXPECT_EQ(count("commit_ticket") + count("noted_end") + count("noted_job"), 0);
}

TEST_F(Inside, ASavepointThatIsRolledBackTakesItsNotesWithIt) {
  const std::string first = enqueued(app_);
  const std::string second = enqueued(app_);
  const std::vector<Held> both = claimed(app_, "a", 2);
  app_.must_ask("begin");
  app_.must_ask("savepoint s");
  app_.must_ask("select complete(" + held(both[0]) + "), enqueue('q', '3')");
  app_.must_ask("rollback to s");
  app_.must_ask("select complete(" + held(both[1]) + "), enqueue('q', '4')");
  app_.must_ask("savepoint t; select enqueue('q', '5'); rollback to t");
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(must(store_->job("default", *parse_uuid(first)))->state, JobState::running);
  EXPECT_EQ(must(store_->job("default", *parse_uuid(second)))->state, JobState::done);
  EXPECT_EQ(count("job where payload in ('3', '5')"), 0);
  EXPECT_EQ(count("job where payload = '4'"), 1);
  app_.must_ask("begin; select complete(" + held(both[0]) + "), enqueue('q', '6'); rollback");
  EXPECT_EQ(count("job where payload = '6'"), 0);
  EXPECT_EQ(must(store_->job("default", *parse_uuid(first)))->state, JobState::running);
}

TEST_F(Inside, J3_ADeliveryHasOneOutcomeInATransactionToo) {
  const Held one = one_of_a();
  app_.must_ask("begin; select complete(" + held(one) + ", 'first')");
  app_.must_ask("select complete(" + held(one) + ", 'again')");
  EXPECT_EQ(app_.ask("select fail(" + held(one) + ", 'no')").state, "FL004");
  app_.must_ask("rollback");
  app_.must_ask("begin; select complete(" + held(one) + ", 'first'); select complete(" + held(one) + ", 'again')");
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(must(store_->job("default", *parse_uuid(one.id)))->result, "first");
}

// A COMMIT whose answer was lost, or two threads of one worker: the work stands beside the outcome, so the second one
// must not commit.
TEST_F(Inside, E3_WorkAndOutcomeOfOneFenceAreCommittedOnce) {
  for (const std::string& level : std::vector<std::string>{"read committed", "repeatable read", "serializable"}) {
    for (const std::string& outcome : std::vector<std::string>{"'done'", "'dead'", "'failed', retry_in => '1 h'"}) {
      SCOPED_TRACE(level + " " + outcome);
      app_.must_ask("truncate written");
      const Held one = one_of_a();
      for (Session* both : {&app_, &other_}) {
        both->must_ask("begin isolation level " + level + "; insert into written values ('work')");
        both->must_ask("select settle(" + held(one) + ", " + outcome + ")");
      }
      EXPECT_EQ(app_.commit(), "");
      EXPECT_EQ(other_.commit(), level == "read committed" ? "FL007" : "40001");
      app_.must_ask("begin isolation level " + level + "; insert into written values ('again')");
      EXPECT_EQ(app_.ask("select settle(" + held(one) + ", " + outcome + ")").state, "FL007");
      app_.must_ask("rollback");
      EXPECT_EQ(count("written"), 1);
    }
  }
}

// In one transaction a repeat is a repeat, though the outcome stands already when its COMMIT calls the application's
// own trigger.
TEST_F(Inside, AnOutcomeThatADeferredTriggerOfTheApplicationRepeatsIsNoOther) {
  app_.must_ask(
      "drop table if exists told; create table told (verb text, job uuid, fence bigint); create or replace function "
      "tell_again() returns trigger language plpgsql as $$ begin execute format('select %I($1, $2)', new.verb) "
      "using new.job, new.fence; return null; end $$; "
      "create constraint trigger tell after insert on told deferrable initially deferred for each row execute function "
      "tell_again()");
  for (const std::string& level : std::vector<std::string>{"read committed", "repeatable read", "serializable"}) {
    for (const std::string& verb : std::vector<std::string>{"complete", "fail"}) {
      SCOPED_TRACE(level + " " + verb);
      const Held one = one_of_a();
      app_.must_ask("begin isolation level " + level + "; select " + verb + "(" + held(one) +
                    "); insert into told values ('" + verb + "', " + held(one) + ")");
      const Session::Answer committed = app_.ask("commit");
      EXPECT_EQ(committed.state, "") << committed.message;
      EXPECT_EQ(must(store_->job("default", *parse_uuid(one.id)))->last_outcome,
                verb == "fail" ? OutcomeKind::failed : OutcomeKind::done);
      // In the next transaction it is one too many.
      app_.must_ask("begin isolation level " + level + "; insert into told values ('" + verb + "', " + held(one) + ")");
      EXPECT_EQ(app_.commit(), "FL007");
      must(store_->remove_namespace("default", {"ann", ""}));
    }
    const Held one = one_of_a();
    app_.must_ask("begin isolation level " + level + "; select complete(" + held(one) +
                  "); insert into told values ('fail', " + held(one) + ")");
    EXPECT_EQ(app_.commit(), "FL004") << "another outcome is refused, as ever";
    EXPECT_EQ(must(store_->job("default", *parse_uuid(one.id)))->state, JobState::running);
    must(store_->remove_namespace("default", {"ann", ""}));
  }
}

TEST_F(Inside, AStaleFenceIsToldWhatBecameOfItsJob) {
  const auto said = [&](const Held& late) {
    const Session::Answer at_complete = app_.ask("select complete(" + held(late) + ")"),
                          at_guard = app_.ask("select guard(" + held(late) + ")");
    EXPECT_EQ(at_complete.state, "FL004");
    EXPECT_EQ(at_guard.state, "FL004");
    const std::string words = at_complete.message.substr(at_complete.message.rfind(": ") + 2);
    EXPECT_NE(at_guard.message.find("stop this work, " + words), std::string::npos) << at_guard.message;
    return words;
  };
  const Held taken = one_of_a();
  const Held newer = taken_over();
  set_clock(app_);
  EXPECT_EQ(said(taken), "another worker has the job now");
  other_.must_ask("select complete(" + held(newer) + ")");
  EXPECT_EQ(said(taken), "another worker has done the job");
  const Held cancelled = one_of_a();
  must(
      store_->cancel({.ns = "default", .ids = {*parse_uuid(cancelled.id)}, .request = "c", .act = {"ann", "because"}}));
  EXPECT_EQ(said(cancelled), "the job was cancelled");
  const Held back = one_of_a();
  must(store_->retry({.ns = "default", .ids = {*parse_uuid(back.id)}, .request = "t", .act = {"ann", "because"}}));
  EXPECT_EQ(said(back), "the job was taken back and waits for its next grant");
}

TEST_F(Inside, AJobOfAnotherNamespaceIsNamedByTheCallThatMissesIt) {
  const Held one = one_of_a();
  const Session::Answer typo = app_.ask("select complete(" + held(one) + ", namespace => 'defualt')");
  EXPECT_EQ(typo.state, "FL003");
  EXPECT_NE(typo.message.find("namespace => 'default'"), std::string::npos) << typo.message;
  const Session::Answer none = app_.ask("select complete('01900000-0000-7000-8000-000000000009', 7)");
  EXPECT_EQ(none.message, "there is no job 01900000-0000-7000-8000-000000000009");
}

TEST_F(Inside, APayloadMayBeTextJsonOrJsonb) {
  for (const std::string& payload :
       std::vector<std::string>{"'{\"a\": 1}'", "'{\"a\": 1}'::text", "'{\"a\": 1}'::json", "'{\"a\": 1}'::jsonb"}) {
    const std::string id = app_.must_ask("select enqueue('q', " + payload + ")").text();
    EXPECT_EQ(must(store_->job("default", *parse_uuid(id)))->payload, "{\"a\": 1}") << payload;
  }
  EXPECT_EQ(must(store_->job("default", *parse_uuid(app_.must_ask("select enqueue('q')").text())))->payload, "null");
  const Session::Answer bare = app_.ask("select enqueue('q', 'hello')");
  EXPECT_EQ(bare.state, "22023");
  EXPECT_NE(bare.message.find("(hello)"), std::string::npos) << bare.message;
}

TEST_F(Inside, E3_ARepeatOfAnOutcomeIsNoWayAroundATakeover) {
  for (const std::string& level : std::vector<std::string>{"read committed", "repeatable read", "serializable"}) {
    SCOPED_TRACE(level);
    const Held late = one_of_a();
    app_.must_ask("begin isolation level " + level);
    app_.must_ask("select guard(" + held(late) + "), fail(" + held(late) + ", 'x', retry => false)");
    app_.must_ask("insert into written values ('late')");
    // The same outcome by another; an operator brings the job back, and somebody else has it.
    other_.must_ask("select fail(" + held(late) + ", 'x', retry => false)");
    must(store_->retry({.ns = "default",
                        .ids = {*parse_uuid(late.id)},
                        .request = "r" + level.substr(0, 4),
                        .act = {"ann", "because"}}));
    const Held newer = claimed(other_, "b").at(0);
    EXPECT_EQ(newer.id, late.id);
    EXPECT_EQ(app_.commit(), level == "read committed" ? "FL004" : "40001");
    EXPECT_EQ(count("written"), 0);
    other_.must_ask("select complete(" + held(newer) + ")");
  }
}

TEST_F(Inside, AfterACommitThatFailedTheJobIsAsBefore) {
  app_.must_ask("create table if not exists only_one (x int unique deferrable initially deferred); truncate only_one");
  const Held one = one_of_a();
  app_.must_ask("begin; select complete(" + held(one) + "), enqueue('q', '2'); insert into only_one values (1), (1)");
  EXPECT_EQ(app_.commit(), "23505");
  EXPECT_EQ(must(store_->job("default", *parse_uuid(one.id)))->state, JobState::running);
  EXPECT_EQ(count("job"), 1);
  app_.must_ask("begin; select complete(" + held(one) + "); insert into only_one values (1)");
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(must(store_->job("default", *parse_uuid(one.id)))->state, JobState::done);
}

// With a key, a group, a limit key, a queue and a namespace that nobody has seen before.
TEST_F(Inside, J8_AnEnqueueInATransactionThatIsOpenHoldsUpNobody) {
  const Held holder = [&] {
    enqueued(app_, ", key => 'k', group_key => 'g', limit_key => 'l'");
    return claimed(app_, "a").at(0);
  }();
  app_.must_ask("begin");
  enqueued(app_, ", key => 'k', group_key => 'g', limit_key => 'l'");
  enqueued(app_, ", key => 'new', group_key => 'new', limit_key => 'new'");
  enqueued(app_);
  app_.must_ask("select enqueue('fresh', '1', namespace => 'fresh')");
  // It is paused here. The key's holder ends, others enqueue the same, settings change, workers drain the queue.
  other_.must_ask("select complete(" + held(holder) + ")");
  enqueued(other_, ", key => 'new', group_key => 'new', limit_key => 'new'");
  enqueued(other_, ", group_key => 'g'");
  other_.must_ask("select enqueue('fresh', '1', namespace => 'fresh')");
  must(store_->set_queue({.ns = "default", .queue = "q", .change = {.limit_per_key = 1}, .act = {"ann", ""}}));
  EXPECT_EQ(claimed(other_, "b", 10).size(), 2u);
  EXPECT_EQ(other_.must_ask("select job from claim('fresh', 'c', namespace => 'fresh')").rows.size(), 1u);
  EXPECT_EQ(app_.commit(), "");
  // The key 'k' was free at the COMMIT, 'new' was taken. Its limit and group let nothing else out.
  EXPECT_EQ(count("job"), 6);
  EXPECT_EQ(claimed(other_, "b2", 10).size(), 1u);
}

TEST_F(Inside, J6_AKeyIsAnsweredByItsHolderOrTakenAtCommit) {
  const std::string holder = enqueued(app_, ", key => 'k'");
  app_.must_ask("begin");
  EXPECT_EQ(enqueued(app_, ", key => 'k'"), holder);
  EXPECT_EQ(app_.ask("select enqueue('q', '2', key => 'k')").state, "FL001");
  app_.must_ask("rollback; begin");
  EXPECT_EQ(enqueued(app_, ", key => 'k'"), holder);
  const Held gone = claimed(other_, "b").at(0);
  other_.must_ask("select complete(" + held(gone) + ")");
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(count("job"), 1);
  // Two who want one key for different payloads: who commits first has it.
  app_.must_ask("begin; select enqueue('q', '1', key => 'z')");
  other_.must_ask("select enqueue('q', '2', key => 'z')");
  EXPECT_EQ(app_.commit(), "FL001");
}

TEST_F(Inside, J6_ATakenKeyIsAnsweredByItsHolderEveryTimeItIsAskedForInOneTransaction) {
  const std::string holder = enqueued(app_, ", key => 'k'");
  const std::string named = ", key => 'k', id => '01a0c0de-0000-7000-8000-000000000001'";
  app_.must_ask("begin");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(enqueued(app_, ", key => 'k'"), holder) << i;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(enqueued(app_, named), holder) << "a repeat of an id of the caller's, " << i;
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(count("job"), 1);
  EXPECT_EQ(enqueued(app_, named), holder);

  // A key that nobody has: the first one noted for it has it, for an id of the caller's too.
  app_.must_ask("begin");
  const std::string first = enqueued(app_, ", key => 'new'");
  const std::string other = ", key => 'new', id => '01a0c0de-0000-7000-8000-000000000002'";
  EXPECT_EQ(enqueued(app_, ", key => 'new'"), first);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(enqueued(app_, other), first) << i;
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(app_.must_ask("select id from job where id = '" + first + "'").rows.size(), 1u);

  // Its holder ended meanwhile: the first one noted will be the job.
  app_.must_ask("begin");
  EXPECT_EQ(enqueued(app_, ", key => 'k'"), holder);
  other_.must_ask("select complete(" + held(claimed(other_, "b").at(0)) + ")");
  const std::string next = enqueued(app_, ", key => 'k'");
  EXPECT_NE(next, holder);
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(app_.must_ask("select id from job where id = '" + next + "'").rows.size(), 1u);
}

TEST_F(Inside, J8_WhoWentToSleepWhileTheTransactionWasOpenIsWoken) {
  enqueued(app_);
  claimed(app_, "a");
  app_.must_ask("begin");
  enqueued(app_);
  other_.must_ask("listen fenceline");
  EXPECT_TRUE(claimed(other_, "b").empty());
  EXPECT_EQ(app_.commit(), "");
  other_.must_ask("select 1");
  bool woken = false;
  while (PGnotify* notice = PQnotifies(other_.handle())) {
    woken = woken || std::string(notice->extra) == other_.schema() + " default q ";
    PQfreemem(notice);
  }
  EXPECT_TRUE(woken);
}

TEST_F(Inside, E1_AnEffectOfTwoTransactionsUnderOneFenceIsDoneOnce) {
  const Held one = one_of_a();
  for (Session* both : {&app_, &other_}) {
    both->must_ask("begin; insert into written values ('paid')");
    EXPECT_EQ(both->must_ask("select done_before from record_effect(" + held(one) + ", 'pay', 'd', 'r')").text(), "f");
  }
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(other_.commit(), "40001");
  EXPECT_EQ(count("written"), 1);
  const Session::Answer again = other_.must_ask("select * from record_effect(" + held(one) + ", 'pay', 'd', 'other')");
  EXPECT_EQ(again.text(0, 0), "t");
  EXPECT_EQ(again.text(0, 1), "r");
  EXPECT_EQ(other_.ask("select * from record_effect(" + held(one) + ", 'pay', 'another digest')").state, "FL001");
}

TEST_F(Inside, J7_AnOldSnapshotNeverMissesALimitThatWasSetSince) {
  enqueued(app_, ", limit_key => 'l'");
  const Held one = claimed(app_, "a").at(0);
  for (const std::string& level : std::vector<std::string>{"repeatable read", "serializable"}) {
    SCOPED_TRACE(level);
    for (const std::string& call :
         std::vector<std::string>{"enqueue('q', '1', limit_key => 'l')", "fail(" + held(one) + ", 'x')"}) {
      must(store_->set_queue({.ns = "default", .queue = "q", .change = {.limit_per_key = 0}, .act = {"ann", ""}}));
      app_.must_ask("begin isolation level " + level);
      app_.must_ask("select count(*) from written");
      must(store_->set_queue({.ns = "default", .queue = "q", .change = {.limit_per_key = 1}, .act = {"ann", ""}}));
      app_.must_ask("select " + call);
      EXPECT_EQ(app_.commit(), "40001") << call;
    }
    app_.must_ask("begin isolation level " + level);
    EXPECT_EQ(app_.ask("select * from claim('q', 'w')").state, "FL002");
    app_.must_ask("rollback");
  }
}

TEST_F(Inside, J1_AnOldSnapshotAddsNoJobTwice) {
  const std::string id = "01900000-0000-7000-8000-000000000007";
  app_.must_ask("begin isolation level repeatable read; select count(*) from written");
  enqueued(other_, ", id => '" + id + "'");
  other_.must_ask("select complete(job, fence) from claim('q', 'b')");
  enqueued(app_, ", id => '" + id + "'");
  EXPECT_EQ(app_.commit(), "40001");
  app_.must_ask("begin isolation level repeatable read");
  EXPECT_EQ(enqueued(app_, ", id => '" + id + "'"), id);
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(count("job"), 0);
}

TEST_F(Inside, AGrantThatIsNewerThanTheSnapshotSaysSo) {
  enqueued(app_);
  app_.must_ask("begin isolation level repeatable read; select count(*) from written");
  clock_.set_wall(clock_.wall_now() +
                  std::chrono::years{100});  // the fence is above the real clock, as a grant of this moment would be
  set_clock(other_);
  const Held one = claimed(other_, "b").at(0);
  EXPECT_EQ(app_.ask("select complete(" + held(one) + ")").state, "40001");
  // So does a job that is younger itself.
  app_.must_ask("rollback; begin isolation level repeatable read; select count(*) from written");
  enqueued(other_);
  const Held young = claimed(other_, "b").at(0);
  EXPECT_EQ(app_.ask("select complete(" + held(young) + ")").state, "40001");
  EXPECT_EQ(other_.ask("select complete('01900000-0000-7000-8000-000000000009', 7)").state, "FL003");
}

TEST_F(Inside, E3_WhatHasAnOutcomeBeginsNoEffectMore) {
  const Held one = one_of_a();
  app_.must_ask("begin; select record_effect(" + held(one) + ", 'pay'), complete(" + held(one) + ")");
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(app_.must_ask("select done_before from record_effect(" + held(one) + ", 'pay')").text(), "t");
  EXPECT_EQ(app_.ask("select record_effect(" + held(one) + ", 'other')").detail.substr(0, 15), "reason=finished");
  enqueued(app_);
  const Held again = claimed(app_, "a").at(0);
  app_.must_ask("select settle(" + held(again) + ", 'later', retry_in => '1 h')");
  EXPECT_EQ(app_.ask("select record_effect(" + held(again) + ", 'other')").state, "FL004");
}

TEST_F(Inside, ManyNotesOfOneTransactionAreOneStep) {
  app_.must_ask("begin");
  app_.must_ask(
      "select count(enqueue('q', n::text, key => (n % 50)::text || case when n < 50 then '' else n::text end)) from "
      "generate_series(1, 500) as n");
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(count("job"), 500);
  const std::vector<Held> all = claimed(app_, "a", 500);
  ASSERT_EQ(all.size(), 500u);
  app_.must_ask("begin; select count(complete(id, fence)) from (select id, fence from job order by random()) as u");
  EXPECT_EQ(app_.commit(), "");
  EXPECT_EQ(count("done"), 500);
}

TEST_F(Inside, ARoleThatMayOnlyCallTheFunctionsWorks) {
  app_.must_ask("do $$ begin create role inside_app; exception when duplicate_object then null; end $$");
  app_.must_ask(
      "select allow('inside_app'); grant insert on written to inside_app; grant temporary on database postgres to "
      "inside_app");
  app_.must_ask("set role inside_app");
  // What it makes under our names changes nothing.
  app_.must_ask(
      "create temporary table job (id int); create temporary table noted_end (x int); create function pg_temp.clock() "
      "returns int language sql as 'select 1'");
  app_.must_ask("set search_path = pg_temp, " + app_.schema());
  const std::string s = app_.schema() + ".";
  app_.must_ask("begin; insert into " + s + "written values ('x'); select " + s + "enqueue('q', '1'); commit");
  const Held one{app_.must_ask("select job from " + s + "claim('q', 'a')").text(), ""};
  const std::string fence = other_.must_ask("select fence from job").text();
  app_.must_ask("begin; select " + s + "complete('" + one.id + "', " + fence + "); commit");
  EXPECT_EQ(count("done"), 1);
  for (const std::string& what :
       std::vector<std::string>{"table " + s + "job", "table " + s + "done", "select " + s + "settle_noted()",
                                "insert into " + s + "commit_ticket values (pg_current_xact_id())",
                                "select " + s + "raise_floor('default', '{}')", "select " + s + "allow('inside_app')"})
    EXPECT_EQ(app_.ask(what).state, "42501") << what;
  // What is for the owner says so, instead of naming something inside.
  for (const std::string& what :
       std::vector<std::string>{"protect('" + s + "written', 'what', 'what')", "unprotect('" + s + "written')",
                                "rebase('x')", "forget_gate('x')", "allow('inside_app')"})
    EXPECT_EQ(app_.ask("select " + s + what).message.substr(0, 25 + app_.schema().size()),
              "only the owner of schema " + app_.schema())
        << what;
  app_.must_ask("reset role; revoke all on all tables in schema " + app_.schema() +
                " from inside_app; revoke all on all functions in schema " + app_.schema() +
                " from inside_app; revoke all on schema " + app_.schema() +
                " from inside_app; revoke all on database postgres from inside_app");
}

TEST_F(Inside, WorksThroughAPoolerThatSharesSessions) {
  const char* pooler = std::getenv("FENCELINE_TEST_PGBOUNCER");
  if (!pooler) GTEST_SKIP() << "no pooler: run by script/with_postgres --pgbouncer";
  TestSchema schema("pooled");
  must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema.url()}));
  Session pooled(std::string(pooler) + "?pooler=transaction&schema=" + schema.name());
  const std::string s = schema.name() + ".";
  pooled.must_ask("begin; select " + s + "enqueue('q', '1', key => 'k'), " + s + "enqueue('q', '2'); commit");
  const Session::Answer both = pooled.must_ask("select job, fence from " + s + "claim('q', 'a', 2)");
  ASSERT_EQ(both.rows.size(), 2u);
  pooled.must_ask("begin");
  pooled.must_ask("select " + s + "complete('" + both.text(0, 0) + "', " + both.text(0, 1) + ")");
  pooled.must_ask("select " + s + "fail('" + both.text(1, 0) + "', " + both.text(1, 1) + ", 'no', retry => false)");
  EXPECT_EQ(pooled.commit(), "");
  const Session::Answer states =
      pooled.must_ask("select string_agg(state::text, ' ' order by state) from " + s + "done");
  EXPECT_EQ(states.text(), "3 4");
  EXPECT_EQ(pooled.ask("select " + s + "fail('" + both.text(0, 0) + "', " + both.text(0, 1) + ")").state, "FL004");
}

TEST_F(Inside, BadInputSaysWhatAndChangesNothing) {
  for (const std::string& call :
       std::vector<std::string>{"enqueue('bad name')",
                                "enqueue('q', '{')",
                                "enqueue('q', null::text)",
                                "enqueue('q', repeat('[', 129) || repeat(']', 129))",
                                "enqueue('q', '\"' || repeat('x', 1048576) || '\"')",
                                "enqueue('q', priority => 1001)",
                                "enqueue('q', max_attempts => 0)",
                                "enqueue('q', delay => '-1 s')",
                                "enqueue('q', delay => '1 s', run_at => now())",
                                "enqueue('q', key => repeat('k', 257))",
                                "enqueue('q', key => e'a\\nb')",
                                "enqueue('q', key_for => '1 h')",
                                "enqueue('q', timeout => '0.5 s')",
                                "enqueue('q', backoff => '2 h', backoff_most => '1 h')",
                                "enqueue('q', tags => array[null::text])",
                                "enqueue('q', traceparent => 'x')",
                                "enqueue('q', namespace => '')",
                                "enqueue('q', run_at => '2300-01-01')",
                                "enqueue('q', run_at => 'infinity')",
                                "enqueue('q', run_at => '-infinity')",
                                "enqueue('q', run_at => '294276-01-01')",
                                "allow(null)",
                                "claim('q', '')",
                                "claim('q', 'w', 0)",
                                "claim('q', 'w', ttl => '0.9 s')",
                                "claim(array['q', 'q'], 'w')",
                                "claim('{q}', 'w')",
                                "complete(null, 1)",
                                "settle('01900000-0000-7000-8000-000000000007', 1, 'finished')",
                                "fail('01900000-0000-7000-8000-000000000007', 1, retry_in => '-1 s')"})
    EXPECT_EQ(app_.ask("select " + call).state, "22023") << call;
  EXPECT_EQ(count("job") + count("queue"), 0);
}

}  // namespace
}  // namespace fenceline::test

// Applications' own transactions and pipelines: an item's outcome is the pipeline's to decide.
#include <gtest/gtest.h>

#include "backends/postgres/inside_testing.hpp"
#include "fenceline/postgres.hpp"

namespace fenceline::test {
namespace {

TEST_F(Inside, P1_AnItemOfAPipelineIsNotSettledPastItsStages) {
  const PutPipelineRequest apply{.ns = "default", .name = "q", .spec = "s", .revision = 0, .act = {"ana", ""}};
  const PostgresPlace place{.schema = app_.schema()};
  const Held plain = one_of_a();
  const JobId id = *parse_uuid(plain.id);
  for (const std::string& level : std::vector<std::string>{"read committed", "repeatable read", "serializable"}) {
    SCOPED_TRACE(level);
    const PipelineRow row = must(store_->put_pipeline(apply));
    for (const std::string& call : std::vector<std::string>{
             "complete(" + held(plain) + ")", "fail(" + held(plain) + ", 'x')",
             "fail(" + held(plain) + ", 'x', retry => false)", "settle(" + held(plain) + ", 'done')"}) {
      app_.must_ask("begin isolation level " + level);
      const Session::Answer answer = app_.ask("select " + call);
      EXPECT_EQ(answer.state, "FL002") << call;
      EXPECT_NE(answer.message.find("job " + plain.id + " is an item of pipeline q"), std::string::npos)
          << answer.message;
      EXPECT_NE(answer.message.find("return the outcome from the handler (fenceline work q)"), std::string::npos)
          << answer.message;
      app_.must_ask("rollback");
    }
    must(
        store_->put_pipeline({.ns = "default", .name = "q", .spec = "", .revision = row.revision, .act = {"ana", ""}}));
  }
  EXPECT_EQ(must(store_->job("default", id))->state, JobState::running);

  // It becomes an item between the call and the COMMIT, which says so, and nothing of the transaction happened.
  PostgresTransaction past = must(PostgresTransaction::begin(app_.handle(), place));
  app_.must_ask("insert into written values ('past the stages')");
  must(past.settle(id, std::stoll(plain.fence), {}));
  PipelineRow row = must(store_->put_pipeline(apply));
  EXPECT_EQ(code_of(past.commit()), Code::refused);
  EXPECT_EQ(count("written"), 0);
  EXPECT_EQ(must(store_->job("default", id))->state, JobState::running);

  must(store_->put_pipeline({.ns = "default", .name = "q", .spec = "", .revision = row.revision, .act = {"ana", ""}}));
  // The same under an old snapshot, which does not have the pipeline: begin again, and be told.
  for (const std::string& level : std::vector<std::string>{"repeatable read", "serializable"}) {
    SCOPED_TRACE(level);
    for (const bool before_the_call : {false, true}) {
      app_.must_ask("begin isolation level " + level);
      app_.must_ask("insert into written values ('past the stages')");
      PostgresTransaction old = must(PostgresTransaction::adopt(app_.handle(), place));
      if (!before_the_call) must(old.settle(id, std::stoll(plain.fence), {}));
      row = must(store_->put_pipeline(apply));
      if (before_the_call) must(old.settle(id, std::stoll(plain.fence), {}));
      EXPECT_EQ(code_of(old.commit()), Code::unavailable);
      EXPECT_EQ(count("written"), 0);
      EXPECT_EQ(must(store_->job("default", id))->state, JobState::running);
      app_.must_ask("begin isolation level " + level);
      old = must(PostgresTransaction::adopt(app_.handle(), place));
      EXPECT_EQ(code_of(old.settle(id, std::stoll(plain.fence), {})), Code::refused);
      old.rollback();
      must(store_->put_pipeline(
          {.ns = "default", .name = "q", .spec = "", .revision = row.revision, .act = {"ana", ""}}));
    }
  }
  row = must(store_->put_pipeline(apply));

  // The right way: the work is recorded and committed, and the outcome is left to the worker.
  PostgresTransaction right = must(PostgresTransaction::begin(app_.handle(), place));
  app_.must_ask("insert into written values ('once')");
  EXPECT_FALSE(
      must(right.effect_done(id, std::stoll(plain.fence), {.name = "write", .digest = "d", .result = ""})).done_before);
  must(right.commit());
  EXPECT_EQ(count("written"), 1);
  // Whoever claims it next decides: that skips nothing. A holder that lost the item is told that, and nothing else.
  app_.must_ask("select settle(" + held(plain) + ", 'later', retry_in => '0')");
  const Held again = claimed(app_, "b").at(0);
  app_.must_ask("select settle(" + held(again) + ", 'given_back')");
  const Held newest = claimed(app_, "c").at(0);
  EXPECT_EQ(app_.ask("select complete(" + held(again) + ")").state, "FL004");

  must(store_->put_pipeline({.ns = "default", .name = "q", .spec = "", .revision = row.revision, .act = {"ana", ""}}));
  PostgresTransaction last = must(PostgresTransaction::begin(app_.handle(), place));
  must(last.settle(id, std::stoll(newest.fence), {}));
  must(last.commit());
  EXPECT_EQ(must(store_->job("default", id))->state, JobState::done);
}

}  // namespace
}  // namespace fenceline::test

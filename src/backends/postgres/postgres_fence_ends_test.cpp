// A fence that ended though nobody was granted the job: by retention, which removed the finished job, and by the fifth
// lost delivery, which buried it. Whoever still writes under it is refused, at the call and at COMMIT, whatever it
// writes by.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "backends/postgres/guard_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class PostgresFenceEnds : public GuardedServer, public testing::TestWithParam<const char*> {
 protected:
  PostgresFenceEnds() {
    app_.run("create schema " + app_.name() + "; create table " + theirs("note") + " (text text); create table " +
             theirs("run") + " (id int generated always as identity, run_id text, fence bigint)");
    session().must_run(protect("run", "resource => 'run_id', fence => 'fence'"));
  }
  std::string begin() const { return std::string("begin isolation level ") + GetParam() + "; "; }
  bool keeps_a_snapshot() const { return std::string(GetParam()) != "read committed"; }

  // Everything that a late worker could write by. Each is one statement that leaves something behind if it is
  // committed.
  std::map<std::string, std::string> writes_of(const Job& job) const {
    const std::string named = "'" + to_string(job.id) + "'", fence = std::to_string(job.fence),
                      mark = "; insert into " + theirs("note") + " values ('late')";
    return {
        {"guard", call("guard", job) + mark},
        {"gate", call("gate", job) + mark},
        {"complete", call("complete", job) + mark},
        {"fail", call("fail", job) + mark},
        {"record_effect", call("record_effect", named + ", " + fence + ", 'pay'") + mark},
        {"a row that assigns the fence",
         "insert into " + theirs("run") + " (run_id, fence) values (" + named + ", " + fence + ")"},
        {"a row under act_as",
         call("act_as", job) + "; insert into " + theirs("run") + " (run_id) values (" + named + ")"},
    };
  }
  std::int64_t written() {
    return number("select count(*) from " + theirs("note")) + number("select count(*) from " + theirs("run"));
  }
  void age_what_is_finished() { schema_.run("update done set finished_at = finished_at - 40 * 86400000000"); }

  // The one delivery that is left after four were lost in a row.
  Job last_of_five() {
    added();
    Job job;
    for (const char* owner : {"a", "b", "c", "d", "e"}) job = granted_for_a_moment(owner);
    return job;
  }
  // A claim of its queue meets the fifth loss.
  void bury(const Job& job) {
    EXPECT_TRUE(must(store_->claim({.ns = "default",
                                    .queues = {"q"},
                                    .stage = "",
                                    .owner = "f",
                                    .request = "r" + std::to_string(++requests_),
                                    .limit = 1,
                                    .ttl = 30s}))
                    .jobs.empty());
    const Job dead = must(store_->job("default", job.id)).value();
    ASSERT_EQ(dead.state, JobState::dead);
    ASSERT_GT(dead.fence, job.fence);
  }
  Job finished() {
    added();
    return granted("a");
  }
  void finish(const Job& job) {
    must(store_->settle({.ns = "default",
                         .owner = "a",
                         .settlements = {{.id = job.id, .fence = job.fence, .outcome = {.kind = OutcomeKind::done}}}}));
  }
  void forget(const Job& job) {
    age_what_is_finished();
    EXPECT_EQ(must(store_->tidy({.ns = "default"})).removed, 1);
    ASSERT_EQ(must(store_->job("default", job.id)), std::nullopt);
  }

  // Paused before its COMMIT, one session for each way of writing, while `end` happens.
  void expect_refused_at_commit(const Job& job, const std::function<void()>& end, const std::string& of_a_note) {
    std::map<std::string, AppSession> paused;
    for (const auto& [way, sql] : writes_of(job)) {
      paused.emplace(way, session());
      paused.at(way).must_run(begin() + sql);
    }
    end();
    for (auto& [way, app] : paused) {
      const bool noted = way == "complete" || way == "fail" || way == "record_effect";
      EXPECT_EQ(app.run("commit"), !noted               ? kStale
                                   : keeps_a_snapshot() ? "40001"
                                                        : of_a_note)
          << way << ": " << app.said;
    }
    EXPECT_EQ(written(), 0);
  }
  void expect_refused_at_the_call(const Job& job, const std::string& of_a_note) {
    for (const auto& [way, sql] : writes_of(job)) {
      AppSession app = session();
      const bool noted = way == "complete" || way == "fail" || way == "record_effect";
      EXPECT_EQ(app.run(begin() + sql), noted ? of_a_note : kStale) << way << ": " << app.said;
    }
    EXPECT_EQ(written(), 0);
    EXPECT_EQ(number("select count(*) from " + ours("gate_memory")), 0) << "what is refused is not remembered";
  }
};

TEST_P(PostgresFenceEnds, E3_AFenceWhoseJobWasForgottenIsRefusedAtTheCallAndAtCommit) {
  const Job job = finished();
  expect_refused_at_commit(
      job,
      [&] {
        finish(job);
        forget(job);
      },
      "FL003");
  expect_refused_at_the_call(job, "FL003");
  // Nor when its key is gone as well: what is left of it is the floor.
  for (int i = 0; i < 100 && number("select count(*) from " + ours("superseded")) > 0;
       ++i, runtime_.sleep_for(20ms, {}))
    must(store_->tidy({.ns = "default"}));
  ASSERT_EQ(number("select count(*) from " + ours("superseded")), 0);
  expect_refused_at_the_call(job, "FL003");
}

TEST_P(PostgresFenceEnds, E3_AFenceWhoseJobWasBuriedIsRefusedAtTheCallAndAtCommit) {
  const Job job = last_of_five();
  expect_refused_at_commit(
      job, [&] { bury(job); }, kStale);
  expect_refused_at_the_call(job, kStale);
  // Nor when retention has removed the dead job too.
  forget(job);
  expect_refused_at_the_call(job, "FL003");
}

// The same fence is good for as long as nobody has looked: a finished work is not thrown away.
TEST_P(PostgresFenceEnds, E3_TheLastHolderIsHeardUntilItsLossIsMet) {
  const Job job = last_of_five();
  AppSession app = session();
  app.must_run(begin() + call("guard", job) + "; " + call("complete", job) + "; insert into " + theirs("run") +
               " (run_id, fence) values ('" + to_string(job.id) + "', " + std::to_string(job.fence) + ")");
  EXPECT_EQ(app.run("commit"), "") << app.said;
  EXPECT_EQ(must(store_->job("default", job.id))->state, JobState::done);
}

INSTANTIATE_TEST_SUITE_P(EveryIsolation, PostgresFenceEnds,
                         testing::Values("read committed", "repeatable read", "serializable"), [](const auto& one) {
                           const std::string level = one.param;
                           return std::string(level == "read committed" ? "ReadCommitted"
                                              : level == "serializable" ? "Serializable"
                                                                        : "RepeatableRead");
                         });

}  // namespace
}  // namespace fenceline::test

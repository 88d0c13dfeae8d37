// COPY into a protected table: it assigns no column by a list of assignments and fires no UPDATE, so it is held to the
// fence row by row like an INSERT, and again at COMMIT.
#include <gtest/gtest.h>

#include "backends/postgres/guard_testing.hpp"
#include "backends/postgres/inside_session.hpp"

namespace fenceline::test {
namespace {

class PostgresCopy : public GuardedServer, public testing::Test {
 protected:
  PostgresCopy() {
    app_.run("create schema " + app_.name() + "; create table " + theirs("run") +
             " (id int primary key, run_id text, text text, fence_token bigint)");
    app.must_ask(protect("run", "resource => 'run_id', fence => 'fence_token'"));
  }
  // COPY … FROM STDIN, with rows in its own text. The SQLSTATE; "" if they are in.
  std::string copied_into(const std::string& target, const std::string& lines) {
    std::string state;
    const auto take = [&](pg_result* result) {
      const std::unique_ptr<pg_result, decltype(&PQclear)> kept(result, &PQclear);
      const ExecStatusType status = PQresultStatus(result);
      if (status == PGRES_COMMAND_OK || status == PGRES_COPY_IN) return;
      state = PQresultErrorField(result, PG_DIAG_SQLSTATE) ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : "no answer";
      said = PQresultErrorMessage(result);
    };
    take(PQexec(app.handle(), ("copy " + target + " from stdin").c_str()));
    if (!state.empty()) return state;
    if (PQputCopyData(app.handle(), lines.data(), static_cast<int>(lines.size())) != 1 ||
        PQputCopyEnd(app.handle(), nullptr) != 1)
      return "not sent";
    while (pg_result* result = PQgetResult(app.handle())) take(result);
    return state;
  }
  std::string copied(const std::string& columns, const std::string& lines) {
    return copied_into(theirs("run") + " (" + columns + ")", lines);
  }
  std::string copied_in(const std::string& level, const std::string& first, const std::string& columns,
                        const std::string& lines) {
    app.must_ask("begin isolation level " + level);
    if (!first.empty()) app.must_ask(first);
    const std::string state = copied(columns, lines);
    if (state.empty()) return app.commit();
    app.must_ask("rollback");
    return state;
  }
  std::int64_t rows(const std::string& where = "true") {
    return number("select count(*) from " + theirs("run") + " where " + where);
  }
  static std::string line(int id, const Job& job, const std::string& text) {
    return std::to_string(id) + "\t" + to_string(job.id) + "\t" + text + "\t" + std::to_string(job.fence) + "\n";
  }

  const std::string all = "id, run_id, text, fence_token";
  const std::string without = "id, run_id, text";
  Session app{schema_.url()};
  std::string said;
};

class PostgresCopyIn : public PostgresCopy, public testing::WithParamInterface<const char*> {};

TEST_P(PostgresCopyIn, E3_CopySaysItsFenceInTheRowsOrByActAs) {
  EXPECT_EQ(copied_in(GetParam(), "", all, "1\ta\tx\t10\n2\ta\ty\t10\n"), "") << said;
  EXPECT_EQ(copied_in(GetParam(), call("act_as", "'a', 10"), without, "3\ta\tz\n4\ta\tz\n"), "") << said;
  EXPECT_EQ(rows("fence_token = 10"), 4) << "act_as fills the column in";
  EXPECT_EQ(copied_in(GetParam(), "", without, "5\ta\tx\n"), kUnfenced);
  EXPECT_NE(said.find("act_as"), std::string::npos) << said;
  EXPECT_EQ(copied_in(GetParam(), "", all, "5\ta\tx\t\\N\n"), kUnfenced);
  EXPECT_EQ(copied_in(GetParam(), "", all, "5\ta\tx\t0\n"), kUnfenced);
  EXPECT_EQ(copied_in(GetParam(), call("act_as", "'b', 10"), without, "5\ta\tx\n"), kUnfenced) << "of another resource";
  EXPECT_EQ(copied_in(GetParam(), "", all, "5\tb\tx\t1\n6\ta\tlate\t9\n"), kStale)
      << "one late row is the end of them all";
  EXPECT_EQ(copied_in(GetParam(), "", all, "5\tb\tx\t1\n6\ta\tnewer\t11\n"), "") << said;
  EXPECT_EQ(copied_in(GetParam(), "", all, "7\ta\tlate\t10\n"), kStale) << "what COPY brought is remembered";
  EXPECT_EQ(rows(), 6);
}

TEST_P(PostgresCopyIn, E3_CopyUnderAStaleFenceIsRefusedThoughTheNewHolderHasWrittenNothing) {
  added();
  const Job old = granted_for_a_moment("a");
  const Job job = granted("b");
  EXPECT_EQ(copied_in(GetParam(), "", all, line(1, old, "late")), kStale);
  EXPECT_EQ(copied_in(GetParam(), "", all, line(1, job, "in time") + line(2, old, "late")), kStale);
  EXPECT_EQ(app.ask(call("act_as", old)).state, kStale) << "before any row";
  EXPECT_EQ(rows(), 0);
  EXPECT_EQ(copied_in(GetParam(), "", all, line(1, job, "in time")), "") << said;
  EXPECT_EQ(copied_in(GetParam(), call("act_as", job), without, "2\t" + to_string(job.id) + "\tin time\n"), "") << said;
  EXPECT_EQ(rows(), 2);
}

TEST_P(PostgresCopyIn, E3_ACopyThatWasTakenOverBeforeItsCommitIsUndone) {
  for (const bool acting : {false, true}) {
    added();
    const Job old = granted_for_a_moment("a");
    app.must_ask(std::string("begin isolation level ") + GetParam());
    if (acting) app.must_ask(call("act_as", old));
    EXPECT_EQ(acting ? copied(without, "1\t" + to_string(old.id) + "\tlate\n")
                     : copied(all, line(1, old, "late") + line(2, old, "late")),
              "")
        << said;
    const Job job = granted("b");  // did not wait for it
    EXPECT_GT(job.fence, old.fence);
    EXPECT_EQ(app.commit(), kStale) << acting;
    EXPECT_EQ(rows(), 0);
    must(store_->remove_namespace("default", {"ann", ""}));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsolation, PostgresCopyIn,
                         testing::Values("read committed", "repeatable read", "serializable"), [](const auto& one) {
                           const std::string level = one.param;
                           return std::string(level == "read committed" ? "ReadCommitted"
                                              : level == "serializable" ? "Serializable"
                                                                        : "RepeatableRead");
                         });

TEST_F(PostgresCopy, E3_CopyIntoAPartitionedTableAndIntoAPartitionIsHeldToTheFence) {
  app_.run("create table " + theirs("event") +
           " (id int, region text, run_id text, fence bigint) partition by list (region); create table " +
           theirs("event_n") + " partition of " + theirs("event") + " for values in ('n')");
  app.must_ask(protect("event", "resource => 'run_id', fence => 'fence'"));
  const auto into = [&](const std::string& table, const std::string& fence) {
    return copied_into(theirs(table), "1\tn\ta\t" + fence + "\n");
  };
  for (const char* table : {"event", "event_n"}) {
    EXPECT_EQ(into(table, "10"), "") << table;
    EXPECT_EQ(into(table, "9"), kStale) << table;
    EXPECT_EQ(into(table, "\\N"), kUnfenced) << table;
  }
  EXPECT_EQ(number("select count(*) from " + theirs("event")), 2);
}

}  // namespace
}  // namespace fenceline::test

// Many writers at once, some of them paused, while their jobs are taken over all the time; and a database that is
// dumped and restored.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "backends/postgres/guard_testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

constexpr int kWriters = 16;
constexpr int kGuardedJobs = 6;
constexpr std::array kLevels{"read committed", "repeatable read", "serializable"};

// FENCELINE_GUARD_SECONDS: how long writers write; a moment by default.
Duration guard_storm_time() {
  const char* text = std::getenv("FENCELINE_GUARD_SECONDS");
  const int seconds = text ? std::atoi(text) : 0;
  return seconds > 0 ? std::chrono::seconds{seconds} : 4s;
}

class PostgresGuardStorm : public GuardedServer, public testing::Test {
 protected:
  PostgresGuardStorm() {
    app_.run("create schema " + app_.name() + "; create table " + theirs("run") +
             " (job uuid primary key, version bigint not null, fence bigint); create table " + theirs("history") +
             " (job uuid, version bigint, fence bigint)");
    session().must_run(protect("run", "resource => 'job', fence => 'fence'"));
  }
  std::uint64_t any(std::uint64_t below) { return runtime_.random() % below; }
};

// What is known of a job by those who saw its grants: no commit that was sent after a grant was known may succeed under
// an older fence.
struct Known {
  std::atomic<Fence> newest = 0;
};

TEST_F(PostgresGuardStorm, E3_OfSixteenWritersNoneCommitsUnderAFenceThatWasTakenOver) {
  std::vector<JobId> ids;
  for (int i = 0; i < kGuardedJobs; ++i) ids.push_back(added());
  std::array<Known, kGuardedJobs> known;
  const auto index_of = [&](const JobId& id) {
    return static_cast<std::size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
  };
  std::array<std::atomic<int>, kLevels.size()> committed{}, stale{};
  std::atomic<int> takeovers = 0, again = 0, violations = 0;
  std::mutex odd_mutex;
  std::string odd;
  const Instant end = runtime_.now() + guard_storm_time();

  std::vector<Task> tasks;
  // One takes all jobs over, again and again: their leases never last.
  tasks.push_back(runtime_.spawn("taker", [&](const std::stop_token&) {
    for (int n = 0; runtime_.now() < end; ++n) {
      const auto jobs = must(store_->claim({.ns = "default",
                                            .queues = {"q"},
                                            .stage = "",
                                            .owner = "taker",
                                            .request = "t" + std::to_string(n),
                                            .limit = kGuardedJobs,
                                            .ttl = 30s}))
                            .jobs;
      for (const ClaimedJob& one : jobs) {
        known[index_of(one.job.id)].newest = one.job.fence;
        ++takeovers;
      }
      runtime_.sleep_for(std::chrono::milliseconds{5 + static_cast<int>(any(40))}, {});
      // As many losses as there are takeovers would bury them.
      schema_.run(
          "update job set lease_end = lease_end - 3600000000, losses_in_row = null where lease_end is not null; update "
          "claim set bound = bound - 3600000000, losses_most = 0 where live > 0");
    }
  }));
  for (int w = 0; w < kWriters; ++w) {
    tasks.push_back(runtime_.spawn("writer" + std::to_string(w), [&, w](const std::stop_token&) {
      AppSession app = session();
      while (runtime_.now() < end) {
        const std::size_t level = any(kLevels.size());
        const std::size_t at = any(kGuardedJobs);
        const Fence fence = known[at].newest;
        if (fence == 0) continue;
        const std::string job = "'" + to_string(ids[at]) + "'", number = std::to_string(fence);
        std::string state = app.run("begin isolation level " + std::string(kLevels[level]));
        if (any(3) == 0) state = app.run(call("act_as", job + ", " + number));
        if (any(4) == 0 && state.empty())
          state = app.run("savepoint s; " + call("guard", job + ", " + number) + "; rollback to s");
        if (state.empty()) {
          state = app.run("insert into " + theirs("run") + " as r values (" + job + ", 1, " + number +
                          ") on conflict (job) do update set version = r.version + 1, fence = excluded.fence");
        }
        if (any(8) == 0 && state.empty()) state = app.run("set constraints all immediate");
        if (state.empty())
          state = app.run("insert into " + theirs("history") + " select job, version, fence from " + theirs("run") +
                          " where job = " + job);
        if (any(2) == 0) runtime_.sleep_for(std::chrono::milliseconds{any(30)}, {});
        const bool taken_over = known[at].newest > fence;
        if (state.empty()) state = app.run("commit");
        else app.run("rollback");
        if (state.empty()) {
          ++committed[level];
          if (taken_over) ++violations;
        } else if (state == kStale) {
          ++stale[level];
        } else if (state == "40001" || state == "40P01") {
          ++again;
        } else {
          const std::lock_guard lock(odd_mutex);
          odd += state + " " + app.said + "; ";
        }
      }
    }));
  }
  for (Task& task : tasks) task.join();

  EXPECT_EQ(violations, 0);
  EXPECT_EQ(odd, "");
  EXPECT_GT(takeovers, 10 * kGuardedJobs);
  for (std::size_t level = 0; level < kLevels.size(); ++level) {
    EXPECT_GT(committed[level], 0) << kLevels[level];
    EXPECT_GT(stale[level], 0) << kLevels[level];
  }
  RecordProperty("committed", committed[0] + committed[1] + committed[2]);
  // In the order in which the rows were written fences never go back.
  EXPECT_EQ(
      number("select count(*) from (select fence < lag(fence) over (partition by job order by version) as back from " +
             theirs("history") + ") as h where back"),
      0);
  EXPECT_EQ(number("select count(*) from " + theirs("history")), committed[0] + committed[1] + committed[2]);
  EXPECT_EQ(number("select count(*) from " + ours("at_commit")), 0);
  std::printf("%d + %d + %d commits, %d + %d + %d stale, %d to be begun anew, %d grants\n", committed[0].load(),
              committed[1].load(), committed[2].load(), stale[0].load(), stale[1].load(), stale[2].load(), again.load(),
              takeovers.load());
}

TEST_F(PostgresGuardStorm, E3_ADumpThatIsRestoredGuardsOnAndKnowsWhoIsFromBefore) {
  const std::string tools = "/usr/lib/postgresql/15/bin/";
  if (!std::filesystem::exists(tools + "pg_dump")) GTEST_SKIP() << "there is no " << tools << "pg_dump";
  added();
  const Job first = granted_for_a_moment("a");
  const std::string id = to_string(first.id);
  const auto write = [&](const Job& by) {
    return "insert into " + theirs("run") + " values ('" + id + "', 1, " + std::to_string(by.fence) +
           ") on conflict (job) do update set version = 2, fence = excluded.fence";
  };
  session().must_run(write(first));
  session().run("update " + theirs("run") + " set version = 9");
  const std::filesystem::path file = std::filesystem::temp_directory_path() / (schema_.name() + ".sql");
  const auto shell = [](const std::string& command) { return std::system(command.c_str()); };
  ASSERT_EQ(shell(tools + "pg_dump '" + server_url() + "' -n " + schema_.name() + " -n " + app_.name() + " -f " +
                  file.string()),
            0);
  const Job lost = granted_for_a_moment("b");  // after the backup: the restored store has never heard of it
  session().must_run(write(lost));
  store_.reset();
  app_.run("drop schema " + app_.name() + " cascade; drop schema " + schema_.name() + " cascade");
  ASSERT_EQ(shell(tools + "psql '" + server_url() + "' -q -v ON_ERROR_STOP=1 -f " + file.string() + " > /dev/null"), 0);
  std::filesystem::remove(file);

  store_ = must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url()}));
  AppSession app = session();
  EXPECT_EQ(app.run("update " + theirs("run") + " set version = 9"), kUnfenced) << "its triggers are back";
  EXPECT_EQ(app.run(write(lost)), kBehind) << app.said;
  EXPECT_EQ(app.run(write(first)), "") << "it is the newest that the store knows";
  const Job anew = granted("c");
  EXPECT_GT(anew.fence, lost.fence) << "the clock was not set back";
  EXPECT_EQ(app.run(write(first)), kStale);
  EXPECT_EQ(app.run(write(lost)), kStale);
  EXPECT_EQ(app.run(write(anew)), "") << app.said;
  EXPECT_GE(number("select unfenced_refused from " + ours("refusals") + " where \"table\" is not null"), 2)
      << "counts are restored too";
  for (const Finding& finding : must(store_->examine()))
    EXPECT_TRUE(finding.name != "schema" || finding.status == FindingStatus::ok) << finding.detail;
  EXPECT_EQ(app.run(call("unprotect", "'" + theirs("run") + "'")), "") << app.said;
}

}  // namespace
}  // namespace fenceline::test

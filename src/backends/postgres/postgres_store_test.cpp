// What is this store's own: setting up, connections that break, wake-ups, and a server that says no. On a real server.
#include "backends/postgres/postgres_store.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "backends/postgres/pool.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/postgres/testing.hpp"
#include "runtime/unique_fd.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using postgres::CallKind;
using postgres::Connection;
using postgres::Params;
using postgres::Pool;
using postgres::Reply;
using postgres::Rows;
using postgres::Statement;

class PostgresServer : public testing::Test {
 protected:
  Result<std::unique_ptr<PostgresStore>> try_open(const std::string& url, bool may_create = true) {
    return PostgresStore::open(runtime_, Log(null_log_sink()), {.url = url, .may_create = may_create, .actor = "ann"});
  }
  std::unique_ptr<PostgresStore> open(const std::string& more = "") { return must(try_open(schema_.url() + more)); }

  EnqueueRequest one_job(Duration timeout = 5s) {
    return {.ns = "default",
            .jobs = {{.id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()), .queue = "q"}},
            .timeout = timeout};
  }
  ClaimRequest a_claim(const std::string& request) {
    return {.ns = "default", .queues = {"q"}, .stage = "", .owner = "a", .request = request, .limit = 1, .ttl = 30s};
  }
  bool eventually(const std::function<bool()>& holds) {
    for (const Instant end = runtime_.now() + 30s; runtime_.now() < end; runtime_.sleep_for(5ms, {})) {
      if (holds()) return true;
    }
    return holds();
  }
  // Ends every other connection of this program to this server, as an operator or a crash of theirs would.
  void end_connections() {
    schema_.run("select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = '" + name_ +
                "' and pid <> pg_backend_pid()");
  }
  // So that another test's connections are not ended too.
  std::string named(const std::string& more = "") const { return schema_.url() + "&application_name=" + name_ + more; }

  ThreadRuntime runtime_;
  TestSchema schema_{"own"};
  std::string name_ = "fenceline_test_" + std::to_string(::getpid());
};

TEST_F(PostgresServer, SetsItselfUpOnceAndSaysSoInTheTrail) {
  {
    const auto store = open();
    EXPECT_TRUE(must(store->enqueue(one_job())).existing == 0);
  }
  const auto again = open();
  const std::vector<TrailEntry> trail = must(again->trail("default", 10));
  ASSERT_EQ(trail.size(), 1u);
  EXPECT_EQ(trail[0].act, "store_created");
  EXPECT_EQ(trail[0].actor, "ann");
  EXPECT_EQ(must(again->jobs({.ns = "default"})).jobs.size(), 1u);
}

TEST_F(PostgresServer, ThoseWhoSetItUpAtOnceMakeOne) {
  std::atomic<int> opened{0};
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < 6; ++i)
      all.emplace_back([&] {
        if (const auto store = try_open(schema_.url()); store) ++opened;
        else ADD_FAILURE() << store.error().message;
      });
  }
  EXPECT_EQ(opened, 6);
  EXPECT_EQ(must(open()->trail("default", 10)).size(), 1u);
}

TEST_F(PostgresServer, IsNotFoundAndNotMadeUnlessItMay) {
  const auto missing = try_open(schema_.url(), false);
  ASSERT_EQ(code_of(missing), Code::not_found);
  EXPECT_NE(missing.error().message.find("fenceline migrate"), std::string::npos);
  EXPECT_EQ(code_of(try_open(schema_.url(), false)), Code::not_found);
}

TEST_F(PostgresServer, ASchemaWithTablesOfSomebodyElseIsRefusedAndNotTouched) {
  schema_.run("create schema " + schema_.name() + "; create table " + schema_.name() + ".theirs (n int)");
  EXPECT_EQ(code_of(try_open(schema_.url())), Code::refused);
  schema_.run(
      "select n from theirs; do $$ begin if to_regclass('meta') is not null then raise exception 'it was touched'; end "
      "if; end $$");
}

TEST_F(PostgresServer, ANewerSchemaIsRefused) {
  open();
  schema_.run("update meta set value = '2' where key = 'schema'");
  const auto newer = try_open(schema_.url());
  ASSERT_EQ(code_of(newer), Code::refused);
  EXPECT_NE(newer.error().message.find("version 2"), std::string::npos);
}

// One line names what is wrong, and one command mends it.
TEST_F(PostgresServer, ADroppedOrChangedFunctionIsNamedByExamineAndPutBackByMending) {
  const auto store = open();
  const auto schema_finding = [&] {
    const std::vector<Finding> findings = must(store->examine());
    return *std::find_if(findings.begin(), findings.end(), [](const Finding& one) { return one.name == "schema"; });
  };
  EXPECT_EQ(schema_finding().status, FindingStatus::ok);
  schema_.run(
      "drop function worker_orders; create or replace function next_fence(last bigint, floor bigint, wall bigint) "
      "returns bigint language sql as 'select 1::bigint'");
  const Finding found = schema_finding();
  EXPECT_EQ(found.status, FindingStatus::bad);
  EXPECT_EQ(found.detail, "function next_fence is not as it was installed, function worker_orders is missing");
  EXPECT_EQ(found.remedy, "fenceline migrate");
  const Error missed = store->orders("default", "a").error();
  EXPECT_TRUE(missed.message.ends_with("run: fenceline migrate")) << missed.message;
  EXPECT_TRUE(try_open(schema_.url()));  // only who is told to mend does
  EXPECT_EQ(schema_finding().status, FindingStatus::bad);

  must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url(), .mends = true, .actor = "ann"}));
  EXPECT_EQ(schema_finding().detail, "as version 1 installed it");
  EXPECT_TRUE(store->orders("default", "a"));
  EXPECT_EQ(must(store->trail("default", 10)).back().act, "store_mended");
  must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url(), .mends = true}));
  EXPECT_EQ(must(store->trail("default", 10)).size(), 2u);  // there was nothing to do
}

TEST_F(PostgresServer, AFunctionOfAnotherBuildIsReplacedByMending) {
  const auto store = open();
  schema_.run("update meta set value = 'of another build' where key = 'functions'; drop function worker_orders");
  must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url(), .mends = true}));
  EXPECT_TRUE(store->orders("default", "a"));
}

TEST_F(PostgresServer, WhatATableHasLostIsRefusedByMendingAndNamed) {
  const auto store = open();
  schema_.run("drop index job_group");
  const auto mended = PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url(), .mends = true});
  ASSERT_EQ(code_of(mended), Code::refused);
  EXPECT_NE(mended.error().message.find("index job_group is missing; restore the schema from a backup"),
            std::string::npos)
      << mended.error().message;
}

// Somebody else sets up at the same moment, and takes longer than any call may.
TEST_F(PostgresServer, SettingUpMayTakeLongerThanACall) {
  const auto slow = must(Connection::connect(runtime_, must(postgres::parse_dsn(schema_.url())), runtime_.now() + 10s));
  ASSERT_EQ(slow->script("begin; select pg_advisory_xact_lock(1179535168, hashtext('" + schema_.name() + "'))",
                         runtime_.now() + 10s)
                .fate,
            Reply::Fate::answered);
  Task later = runtime_.spawn("later", [&](const std::stop_token&) {
    runtime_.sleep_for(600ms, {});
    slow->script("commit", runtime_.now() + 10s);
  });
  const auto store = PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url(), .open_timeout = 500ms});
  later.join();
  EXPECT_TRUE(store) << store.error().message;
}

TEST_F(PostgresServer, AServerThatIsNotThereIsUnavailableWithinTheTimeout) {
  const Instant asked = runtime_.now();
  const auto store = PostgresStore::open(runtime_, Log(null_log_sink()),
                                         {.url = "postgres://ann:s3cret@127.0.0.1:1/app", .open_timeout = 500ms});
  ASSERT_EQ(code_of(store), Code::unavailable);
  EXPECT_LT(runtime_.now() - asked, 3s);
  EXPECT_EQ(store.error().message.find("s3cret"), std::string::npos);
  EXPECT_NE(store.error().message.find("ann@127.0.0.1:1/app"), std::string::npos);
  EXPECT_EQ(store.error().message.find('\n'), std::string::npos);
}

TEST_F(PostgresServer, OfSeveralServersThatAreNotThereEachIsNamedInOneLine) {
  const auto store =
      PostgresStore::open(runtime_, Log(null_log_sink()),
                          {.url = "postgres://ann:s3cret@127.0.0.1:1,127.0.0.1:2/app", .open_timeout = 500ms});
  ASSERT_EQ(code_of(store), Code::unavailable);
  const std::string& said = store.error().message;
  EXPECT_NE(said.find("port 1 failed"), std::string::npos) << said;
  EXPECT_NE(said.find("port 2 failed"), std::string::npos) << said;
  EXPECT_EQ(said.find("s3cret"), std::string::npos);
  EXPECT_EQ(said.find('\n'), std::string::npos);
}

// As a machine that lost its power: it takes what is sent and never says anything.
TEST_F(PostgresServer, AHostThatDoesNotAnswerCostsItsShareOfTheTimeOnce) {
  const UniqueFd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<const sockaddr*>(&here), size), 0);
  ASSERT_EQ(::listen(silent.get(), 64), 0);
  ASSERT_EQ(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&here), &size), 0);
  std::string url = schema_.url();
  url.insert(url.find('@') + 1, "127.0.0.1:" + std::to_string(ntohs(here.sin_port)) + ",");
  Instant asked = runtime_.now();
  const auto store = must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = url, .open_timeout = 6s}));
  EXPECT_GE(runtime_.now() - asked, 2s);
  asked = runtime_.now();
  {
    std::vector<std::jthread> all;  // more than there are connections yet
    for (int i = 0; i < 4; ++i) all.emplace_back([&] { must(store->enqueue(one_job())); });
  }
  EXPECT_LT(runtime_.now() - asked, 2s);
}

TEST_F(PostgresServer, ADatabaseOrRoleThatIsNotThereIsSaidAtOnce) {
  const Instant asked = runtime_.now();
  const auto role = try_open(url_with("user=nobody_of_this_name&schema=" + schema_.name()));
  EXPECT_EQ(code_of(role), Code::denied);
  const auto database = try_open(url_with("dbname=nothing_of_this_name&schema=" + schema_.name()));
  EXPECT_EQ(code_of(database), Code::not_found);
  EXPECT_LT(runtime_.now() - asked, 3s);
}

TEST_F(PostgresServer, AConnectionThatWasEndedWhileItSleptIsOpenedAnew) {
  const auto store = must(try_open(named()));
  for (int i = 0; i < 3; ++i) {
    must(store->enqueue(one_job()));
    end_connections();
  }
  EXPECT_EQ(must(store->jobs({.ns = "default"})).jobs.size(), 3u);
}

TEST_F(PostgresServer, ACallWhoseConnectionIsCutIsInDoubtAndALookIsMadeAgain) {
  const auto store = must(try_open(named()));
  must(store->enqueue(one_job()));
  const postgres::Dsn dsn = must(postgres::parse_dsn(named()));
  Pool pool(runtime_, dsn, nullptr);
  const Statement slow{"select pg_sleep(1)"};
  Pool looks(runtime_, must(postgres::parse_dsn(schema_.url())), nullptr);
  const Statement sleepers{"select count(*) from pg_stat_activity where application_name = '" + name_ +
                           "' and wait_event = 'PgSleep'"};
  // It is at work when its connection is ended.
  const auto cut = [&](CallKind kind) {
    Result<Rows> answer = fail(Code::invalid, "");
    {
      const std::jthread caller([&] { answer = pool.run(slow, {}, kind, 8s); });
      EXPECT_TRUE(eventually([&] { return must(looks.run(sleepers, {}, CallKind::look, 5s)).integer(0, 0) > 0; }));
      end_connections();
    }
    return code_of(answer);
  };
  EXPECT_EQ(cut(CallKind::change), Code::in_doubt);
  EXPECT_EQ(cut(CallKind::look), std::nullopt);
}

TEST_F(PostgresServer, ACallThatTakesTooLongIsRolledBackByTheServerAndUnavailable) {
  Pool pool(runtime_, must(postgres::parse_dsn(named())), nullptr);
  const Statement slow{"select pg_sleep(30)"};
  // On a busy machine the server's answer may come too late, and then the call is rightly in doubt: so it has a few
  // tries.
  std::optional<Code> code = Code::in_doubt;
  for (int tries = 0; tries < 5 && code == Code::in_doubt; ++tries) {
    const Instant asked = runtime_.now();
    code = code_of(pool.run(slow, {}, CallKind::change, 1s));
    EXPECT_LT(runtime_.now() - asked, 10s);
  }
  EXPECT_EQ(code, Code::unavailable);
}

TEST_F(PostgresServer, MoreCallersThanConnectionsTakeTurns) {
  const auto store = open();
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < 12; ++i)
      all.emplace_back([&] {
        for (int n = 0; n < 10; ++n) must(store->enqueue(one_job()));
      });
  }
  EXPECT_EQ(must(store->jobs({.ns = "default", .limit = 1000})).jobs.size(), 120u);
}

TEST_F(PostgresServer, AnEnqueueWakesAWatchOfItsQueue) {
  const auto store = open();
  std::atomic<int> told{0};
  const auto watch = store->watch({.ns = "default", .queues = {"q"}, .stage = ""}, [&] { ++told; });
  ASSERT_TRUE(eventually([&] { return told > 0; })) << "nobody listens";  // told once when it begins to listen
  EXPECT_TRUE(must(store->claim(a_claim("1"))).jobs.empty());
  const int before = told;
  must(store->enqueue(one_job()));
  EXPECT_TRUE(eventually([&] { return told > before; }));
}

TEST_F(PostgresServer, AWatchThatWasCutListensAgain) {
  const auto store = must(try_open(named()));
  std::atomic<int> told{0};
  const auto watch = store->watch({.ns = "default", .queues = {"q"}, .stage = ""}, [&] { ++told; });
  ASSERT_TRUE(eventually([&] { return told > 0; }));
  const int before = told;
  end_connections();
  EXPECT_TRUE(eventually([&] { return told > before; }));
}

TEST_F(PostgresServer, BehindAPoolerNothingIsLeftInASession) {
  const auto store = must(try_open(named("&pooler=transaction")));
  must(store->enqueue(one_job()));
  EXPECT_EQ(must(store->claim(a_claim("1"))).jobs.size(), 1u);
  std::atomic<int> told{0};
  const auto watch = store->watch({.ns = "default", .queues = {"q"}, .stage = ""}, [&] { ++told; });
  runtime_.sleep_for(200ms, {});
  EXPECT_EQ(told, 0);
  // One connection stands for one session of the pool: it must know no prepared statement of ours, and no setting.
  Pool pool(runtime_, must(postgres::parse_dsn(named("&pooler=transaction"))), nullptr);
  const Statement look{"select (select count(*) from pg_prepared_statements), 0"};
  EXPECT_EQ(must(pool.run(look, {}, CallKind::look, 5s)).integer(0, 0), 0);
  EXPECT_EQ(must(pool.run(look, {}, CallKind::look, 5s)).integer(0, 0), 0);
}

// One session of the server for all of them, as script/with_postgres --pgbouncer starts it.
TEST_F(PostgresServer, FourStoresShareOneSessionOfAPooler) {
  const char* pooler = std::getenv("FENCELINE_TEST_PGBOUNCER");
  if (!pooler) GTEST_SKIP() << "FENCELINE_TEST_PGBOUNCER names no pooler: run by script/with_postgres --pgbouncer";
  const std::string url = pooler;
  const std::string options = (url.find('?') == std::string::npos ? "?schema=" : "&schema=") + schema_.name();
  // One of them was not told of the pooler, and finds out.
  for (const char* more : {"&pooler=transaction", "&listen=0"}) {
    std::vector<std::unique_ptr<PostgresStore>> stores;
    for (int i = 0; i < 4; ++i) stores.push_back(must(try_open(url + options + more)));
    std::vector<std::jthread> all;
    for (const auto& store : stores) {
      all.emplace_back([&, owner = std::to_string(all.size())] {
        for (int n = 0; n < 20; ++n) {
          must(store->enqueue(one_job()));
          ClaimRequest claim = a_claim(std::to_string(n));
          claim.owner = owner + more;
          for (const ClaimedJob& job : must(store->claim(claim)).jobs)
            EXPECT_TRUE(
                must(store->settle(
                         {.ns = "default", .owner = claim.owner, .settlements = {{job.job.id, job.job.fence, {}}}}))
                    .refused.empty());
        }
      });
    }
  }
  const auto store = open();
  EXPECT_EQ(must(store->jobs({.ns = "default", .limit = 1000})).jobs.size(), 160u);
}

TEST_F(PostgresServer, ClaimsFindWhatCameInBehindTheirCursors) {
  const auto store = open();
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) {
    const EnqueueRequest request = one_job();
    ids.push_back(request.jobs[0].id);
    must(store->enqueue(request));
  }
  const ClaimRequest first = a_claim("1");
  EXPECT_EQ(must(store->claim(first)).jobs.at(0).job.id, ids[0]);
  EXPECT_EQ(must(store->claim(a_claim("2"))).jobs.at(0).job.id, ids[1]);
  must(store->give_back(
      {.ns = "default", .owner = "a", .request = "1", .ttl = 30s}));  // in its old place, behind the cursor
  EXPECT_TRUE(eventually([&, n = 2]() mutable {
    const std::vector<ClaimedJob> jobs = must(store->claim(a_claim(std::to_string(++n)))).jobs;
    return !jobs.empty() && jobs[0].job.id == ids[0];
  }));
}

// As if millions of others lay between them, finished and forgotten since.
TEST_F(PostgresServer, JobsThatAreFewAndFarBetweenAreListedInOrderPageByPage) {
  const auto store = open();
  std::vector<JobId> wanted;
  for (const char* place :
       {"7", "19999", "20001", "40000", "99999", "100001", "420003", "2000000000", "2000000005", "900000000000"}) {
    schema_.run("select setval('job_seq', " + std::string(place) + ")");
    for (const char* queue : {"other", "q"}) {
      EnqueueRequest request = one_job();
      request.jobs.front().queue = queue;
      const JobId id = must(store->enqueue(request)).ids.front();
      if (std::string(queue) == "q") wanted.push_back(id);
    }
  }
  for (const int limit : {1, 3, 100}) {
    std::vector<JobId> seen;
    JobsRequest request{.ns = "default", .queue = "q", .state = JobState::ready, .limit = limit};
    for (std::optional<std::int64_t> next = 0; next && seen.size() < 100;) {
      request.after = *next;
      const JobsReply page = must(store->jobs(request));
      for (const Job& job : page.jobs) seen.push_back(job.id);
      next = page.next;
    }
    EXPECT_EQ(seen, wanted) << limit;
  }
}

TEST_F(PostgresServer, APageOfAListThatFindsNothingLooksAtABoundedNumberOfJobs) {
  const auto store = open();
  for (int batch = 0; batch < 5; ++batch) {
    EnqueueRequest added = one_job();
    for (int i = 1; i < 10'000; ++i) added.jobs.push_back(one_job().jobs.front());
    must(store->enqueue(added));
  }
  for (const bool newest_first : {false, true}) {
    JobsRequest request{.ns = "default", .error = "no such error", .newest_first = newest_first};
    JobsReply page = must(store->jobs(request));
    EXPECT_TRUE(page.jobs.empty());
    ASSERT_TRUE(page.next) << "fifty thousand are more than one call looks at";
    request.after = *page.next;
    page = must(store->jobs(request));
    EXPECT_TRUE(page.jobs.empty());
    EXPECT_FALSE(page.next) << "the rest";
  }
}

TEST_F(PostgresServer, WhatItCannotKeepIsInvalid) {
  const auto store = open();
  ClaimRequest claim = a_claim("1");
  claim.owner = "\xff\xfe";
  EXPECT_EQ(code_of(store->claim(claim)), Code::invalid);
  claim.owner = std::string("a\0b", 3);
  EXPECT_EQ(code_of(store->claim(claim)), Code::invalid);
  EXPECT_EQ(code_of(store->remove_worker("default", "\xff")), Code::invalid);
  EXPECT_EQ(code_of(store->remove_worker("default", std::string("a\0b", 3))), Code::invalid);
}

TEST_F(PostgresServer, AChildOfAForkIsRefusedAndLeavesTheParentsConnectionsWhole) {
  auto store = open();
  must(store->enqueue(one_job()));
  const EnqueueRequest request = one_job();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = code_of(store->enqueue(request)) == Code::refused;
    store.reset();
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(must(store->enqueue(request)).existing, 0);
}

TEST_F(PostgresServer, ItsProfileShowsNoSecretAndFollowsTheServersSettings) {
  const StoreProfile profile = open()->profile();
  EXPECT_EQ(profile.kind, "postgres");
  EXPECT_NE(profile.url.find("schema=" + schema_.name()), std::string::npos);
  EXPECT_FALSE(profile.reasons.empty());
  const StoreProfile lazy = open("&options=-csynchronous_commit%3Doff")->profile();
  EXPECT_EQ(lazy.guarantee, GuaranteeClass::c);
}

}  // namespace
}  // namespace fenceline::test

// Calls that meet in the middle, and surroundings that are not as the functions want them. One side is a session in which a test keeps a
// transaction open, as a server that is slow to commit would.
#include <gtest/gtest.h>

#include "backends/postgres/pool.hpp"
#include "backends/postgres/postgres_store.hpp"
#include "backends/postgres/testing.hpp"
#include "base/uuid.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;
using postgres::CallKind;
using postgres::Connection;
using postgres::Pool;
using postgres::Reply;
using postgres::Statement;

class PostgresRaces : public testing::Test {
 protected:
  PostgresRaces() : store_(must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url()}))) {}

  JobId added(NewJob job) {
    job.id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random());
    return must(store_->enqueue({.ns = "default", .jobs = {job}})).ids.front();
  }
  std::vector<ClaimedJob> claimed(const std::string& request) {
    return must(store_->claim({.ns = "default", .queues = {"q"}, .stage = "", .owner = "a", .request = request, .limit = 10, .ttl = 30s})).jobs;
  }
  void set_limit_per_key(int limit) { must(store_->set_queue({.ns = "default", .queue = "q", .change = {.limit_per_key = limit}, .act = {"ann", ""}})); }
  std::unique_ptr<Connection> session() { return must(Connection::connect(runtime_, must(postgres::parse_dsn(schema_.url())), runtime_.now() + 10s)); }
  void run(Connection& in, const std::string& sql) {
    const Reply reply = in.script(sql, runtime_.now() + 10s);
    ASSERT_EQ(reply.fate, Reply::Fate::answered) << reply.error.message;
  }
  std::string isolation_of(const std::string& url) {
    Pool pool(runtime_, must(postgres::parse_dsn(url)), nullptr);
    return must(pool.run(Statement{"select current_setting('transaction_isolation')"}, {}, CallKind::look, 10s)).text(0, 0);
  }

  ThreadRuntime runtime_;
  TestSchema schema_{"races"};
  std::unique_ptr<PostgresStore> store_;
};

TEST_F(PostgresRaces, J8_AJobThatFailsWhileItsLimitIsLiftedIsNotStuck) {
  set_limit_per_key(1);
  const JobId id = added({.queue = "q", .limit_key = "k"});
  const std::vector<ClaimedJob> first = claimed("r1");
  ASSERT_EQ(first.size(), 1u);
  const auto slow = session();
  run(*slow, "begin; select * from " + schema_.name() + ".settle('default', 'a', array['" + to_string(id) + "']::uuid[], array[" + std::to_string(first[0].job.fence) +
                 "]::bigint[], '{1}', null, null, '{0}', null)");
  // It waits for those who rest on the setting as it was.
  Task lifts = runtime_.spawn("lifts", [this](const std::stop_token&) { set_limit_per_key(0); });
  run(*slow, "commit");
  lifts.join();
  EXPECT_EQ(claimed("r2").size(), 1u);
}

// Each of them is news for the next claim, which has its time like any other.
TEST_F(PostgresRaces, J8_ManyGroupsAtOnceAreServedWithinTheTimeOfAClaim) {
  EnqueueRequest many{.ns = "default", .jobs = {}};
  for (int i = 0; i < 2'000; ++i) {
    many.jobs.push_back({.id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()), .queue = "q", .group = "g" + std::to_string(i)});
  }
  must(store_->enqueue(many));
  std::size_t got = 0;
  for (int i = 0; i < 400 && got < many.jobs.size(); ++i) got += claimed("r" + std::to_string(i)).size();
  EXPECT_EQ(got, many.jobs.size());
}

TEST_F(PostgresRaces, J1_TemporaryTablesOfASessionAreNotTakenForTheStores) {
  const auto shared = session();
  const std::string& schema = schema_.name();
  run(*shared, "create temp table job (like " + schema + ".job including all); create temp table done (like " + schema + ".done including all); select * from " + schema +
                   ".enqueue('default', '{q}', '{\"\"}', '{1}', array[gen_random_uuid()], '{1}', '{0}', '{0}', '{null}', '{10}', null)");
  EXPECT_EQ(claimed("r1").size(), 1u);
}

TEST_F(PostgresRaces, J7_EachStatementSeesWhatWasCommittedWhateverTheRolesDefault) {
  const std::string serializable = schema_.url() + "&options=-c%20default_transaction_isolation%3Dserializable";
  EXPECT_EQ(isolation_of(serializable), "read committed");
  EXPECT_EQ(isolation_of(serializable + "&pooler=transaction"), "read committed");
}

}  // namespace
}  // namespace fenceline::test

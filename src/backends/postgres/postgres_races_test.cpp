// Calls that meet in the middle, and surroundings that are not as the functions want them. One side is a session in
// which a test keeps a transaction open, as a server that is slow to commit would; the other is met where it waits for
// a lock of the first, never by its time.
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
    job.id = new_id();
    return must(store_->enqueue({.ns = "default", .jobs = {job}})).ids.front();
  }
  std::vector<ClaimedJob> claimed(const std::string& request) {
    return must(store_->claim({.ns = "default",
                               .queues = {"q"},
                               .stage = "",
                               .owner = "a",
                               .request = request,
                               .limit = 10,
                               .ttl = 30s}))
        .jobs;
  }
  void set_limit_per_key(int limit) {
    must(store_->set_queue({.ns = "default", .queue = "q", .change = {.limit_per_key = limit}, .act = {"ann", ""}}));
  }
  // Long ago, and a thousand others came since.
  void see_nobody_of_them_again() {
    schema_.run(
        "update owner set seen_at = 1; insert into owner (ns_id, name, seen_at) select s.id, 'later' || n, 2 from "
        "namespace s, generate_series(1, 1000) as n");
  }
  std::unique_ptr<Connection> session() {
    return must(Connection::connect(runtime_, must(postgres::parse_dsn(schema_.url())), runtime_.now() + 10s));
  }
  void run(Connection& in, const std::string& sql) {
    const Reply reply = in.script(sql, runtime_.now() + 10s);
    ASSERT_EQ(reply.fate, Reply::Fate::answered) << reply.error.message;
  }
  // In a transaction that stays open, beside the test. Whoever looks for it finds it by its name.
  Task run_beside(Connection& in, const std::string& name, const std::string& sql) {
    return runtime_.spawn(
        name, [this, &in, name, sql](const std::stop_token&) { run(in, "/* " + name + " */ begin; " + sql); });
  }
  void wait_until_it_waits(const std::string& name) {
    const std::string waiting =
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '/* " + name + " */%'";
    const Instant deadline = runtime_.now() + 10s;
    while (number(waiting) == 0) {
      if (runtime_.now() > deadline) throw std::runtime_error(name + " waits for nobody");
      runtime_.sleep_for(2ms, {});
    }
  }
  std::int64_t number(const std::string& query) {
    return must(looks_.run(Statement{query}, {}, CallKind::look, 10s)).integer(0, 0);
  }
  std::int64_t running_in(const std::string& queue) {
    const std::string& schema = schema_.name();
    return number("select count(*) from " + schema + ".job j join " + schema +
                  ".queue q on q.id = j.queue_id where q.name = '" + queue + "' and j.lease_end is not null");
  }
  // The same verbs as the store's, for a session that does not commit at once.
  std::string enqueue_call(const JobId& id, const std::string& queue, const std::string& extras) {
    return "select * from " + schema_.name() + ".enqueue_jobs('default', '{" + queue + "}', '{\"\"}', '{1}', array['" +
           to_string(id) + "']::uuid[], array['null'], '{0}', '{0}', '{null}', '{10}', " +
           (extras.empty() ? "null" : "array['" + extras + "']::jsonb[]") + ")";
  }
  std::string claim_call(const std::string& queues, const std::string& owner, int n) {
    return "select * from " + schema_.name() + ".claim_jobs('default', '{" + queues + "}', '', '" + owner + "', 'r', " +
           std::to_string(n) + ", 30000000, false, true, null, null, null, null)";
  }
  std::string turn_call(const std::string& queue) {
    return "begin; select " + schema_.name() + ".take_turn(id, true) from " + schema_.name() + ".home where name = '" +
           queue + "'";
  }
  JobId new_id() { return make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()); }
  void set_limit(const std::string& queue, int limit) {
    must(store_->set_queue({.ns = "default", .queue = queue, .change = {.limit = limit}, .act = {"ann", ""}}));
  }

  // As if it had been granted by a clock that was an hour ahead.
  void set_ahead(const std::string& table, const JobId& id) {
    schema_.run("update " + table + " set lease_end = lease_end + 3600000000 where id = '" + to_string(id) + "'");
  }
  void renew(const Job& job) {
    const ExtendReply reply =
        must(store_->extend({.ns = "default", .owner = "a", .jobs = {{.id = job.id, .fence = job.fence}}, .ttl = 30s}));
    EXPECT_TRUE(reply.refused.empty());
  }
  void cancel(const Job& job) {
    must(store_->cancel({.ns = "default", .ids = {job.id}, .request = to_string(job.id), .act = {"ann", ""}}));
  }
  // Whoever looks at the clock in this function waits behind that look until `pause` ends its transaction.
  void pause_behind_the_clock(const std::string& function, Connection& pause) {
    run(pause, "begin; select pg_advisory_xact_lock(7)");
    schema_.run(
        "create or replace function clock(out lease bigint, out wall bigint, out waited bigint) language plpgsql "
        "volatile as $$ declare callers text; begin wall := extract(epoch from clock_timestamp()) * 1000000; lease := "
        "wall; waited := 0; get diagnostics callers = pg_context; if callers like '%" +
        function + "%' then perform pg_advisory_xact_lock_shared(7); end if; end $$");
  }

  std::string isolation_of(const std::string& url) {
    Pool pool(runtime_, must(postgres::parse_dsn(url)), nullptr);
    return must(pool.run(Statement{"select current_setting('transaction_isolation')"}, {}, CallKind::look, 10s))
        .text(0, 0);
  }

  ThreadRuntime runtime_;
  TestSchema schema_{"races"};
  std::unique_ptr<PostgresStore> store_;
  Pool looks_{runtime_, must(postgres::parse_dsn(schema_.url())), nullptr};
};

TEST_F(PostgresRaces, J8_AJobThatFailsWhileItsLimitIsLiftedIsNotStuck) {
  set_limit_per_key(1);
  const JobId id = added({.queue = "q", .limit_key = "k"});
  const std::vector<ClaimedJob> first = claimed("r1");
  ASSERT_EQ(first.size(), 1u);
  const auto slow = session();
  run(*slow, "begin; select * from " + schema_.name() + ".settle_jobs('default', 'a', array['" + to_string(id) +
                 "']::uuid[], array[" + std::to_string(first[0].job.fence) +
                 "]::bigint[], '{1}', null, null, '{0}', null)");
  // It waits for those who rest on the setting as it was.
  Task lifts = runtime_.spawn("lifts", [this](const std::stop_token&) { set_limit_per_key(0); });
  run(*slow, "commit");
  lifts.join();
  EXPECT_EQ(claimed("r2").size(), 1u);
}

// The second try of an enqueue waits for the key that the first one takes, and goes on when the job has come, run and
// finished.
TEST_F(PostgresRaces, J6_ARepeatThatComesAfterTheFinishLeavesTheKeyFree) {
  added({.queue = "q", .delay = 1h});  // nobody waits for the names of namespace and queue
  const JobId id = new_id();
  const std::string enqueue = enqueue_call(id, "q", R"({"key": "k"})");
  const auto first = session();
  const auto second = session();
  run(*first, "begin; " + enqueue);
  Task repeats = run_beside(*second, "repeats", enqueue);
  wait_until_it_waits("repeats");
  const std::string& schema = schema_.name();
  run(*first, claim_call("q", "a", 1) + "; select " + schema +
                  ".settle_jobs('default', 'a', array[id], array[fence], '{0}', null, null, '{0}', null) from " +
                  schema + ".job where id = '" + to_string(id) + "'; commit");
  repeats.join();
  run(*second, "commit");
  ASSERT_EQ(number("select count(*) from " + schema + ".done"), 1);
  EXPECT_EQ(number("select count(*) from " + schema + ".job"), 1);
  const JobId next = added({.queue = "q", .key = "k"});
  EXPECT_NE(next, id);
  EXPECT_EQ(claimed("r2").size(), 1u);
}

// Two claims wait for turns elsewhere while a limit is set on a queue that both serve too: what they knew of it is of
// before.
TEST_F(PostgresRaces, J7_ALimitThatIsSetWhileClaimsWaitForOtherTurnsHolds) {
  for (const char* queue : {"a1", "a2"}) {
    added({.queue = queue, .delay = 1h});
    set_limit(queue, 10);
  }
  for (int i = 0; i < 4; ++i) added({.queue = "q"});
  const auto turns = session();
  const auto one = session();
  const auto other = session();
  run(*turns, turn_call("a1") + "; " + turn_call("a2").substr(std::string("begin; ").size()));
  Task first = run_beside(*one, "first", claim_call("a1,q", "c1", 1));
  Task second = run_beside(*other, "second", claim_call("a2,q", "c2", 1));
  wait_until_it_waits("first");
  wait_until_it_waits("second");
  set_limit("q", 1);
  run(*turns, "commit");
  first.join();
  second.join();
  run(*one, "commit");
  run(*other, "commit");
  EXPECT_LE(running_in("q"), 1);
  claimed("r1");
  EXPECT_EQ(running_in("q"), 1);
}

// A queue whose first jobs come while a claim waits for another one's turn has no turn of that claim: whoever sets a
// limit on it would not wait for it.
TEST_F(PostgresRaces, J7_AQueueThatAppearsInTheMiddleOfAClaimIsServedByTheNextOne) {
  set_limit("aa", 10);
  const auto turns = session();
  const auto slow = session();
  run(*turns, turn_call("aa"));
  Task claims = run_beside(*slow, "claims", claim_call("aa,q", "c", 3));
  wait_until_it_waits("claims");
  for (int i = 0; i < 4; ++i) added({.queue = "q"});
  run(*turns, "commit");
  claims.join();
  set_limit("q", 1);
  EXPECT_LE(claimed("r1").size(), 1u);
  run(*slow, "commit");
  EXPECT_EQ(running_in("q"), 1);
}

TEST_F(PostgresRaces, J6_AKeyThatIsTakenWhileItsNamespaceIsRemovedStaysWithItsJob) {
  added({.queue = "q", .key = "k"});
  const std::vector<ClaimedJob> before = claimed("r1");
  ASSERT_EQ(before.size(), 1u);
  must(store_->settle({.ns = "default",
                       .owner = "a",
                       .settlements = {{before[0].job.id, before[0].job.fence, {.kind = OutcomeKind::done}}}}));
  const JobId id = new_id();
  const auto slow = session();
  const auto remover = session();
  run(*slow, "begin; " + enqueue_call(id, "q", R"({"key": "k"})"));
  Task removes = run_beside(
      *remover, "removes",
      "select " + schema_.name() + R"(.remove_namespace('default', '{"act": {"actor": "ann", "reason": ""}}'))");
  wait_until_it_waits("removes");
  run(*slow, "commit");
  removes.join();
  run(*remover, "commit");
  ASSERT_EQ(number("select count(*) from " + schema_.name() + ".job"), 1);
  EXPECT_EQ(added({.queue = "q", .key = "k"}), id);
}

// The clock was an hour ahead when the job had its fence, and was set back. The job is forgotten, which raises the
// floor, and comes anew, both while a claim waits for a row of another queue of its own.
TEST_F(PostgresRaces, L2_AFloorThatIsRaisedWhileAClaimWaitsCountsForIt) {
  const std::string& schema = schema_.name();
  added({.queue = "aa", .group = "g"});
  const JobId id = added({.queue = "q"});
  schema_.run("update job set fence = " + std::to_string(runtime_.wall_now().time_since_epoch().count()) +
              " + 3600000000 where id = '" + to_string(id) + "'");
  const std::vector<ClaimedJob> before = claimed("r1");
  ASSERT_EQ(before.size(), 1u);
  must(store_->settle(
      {.ns = "default", .owner = "a", .settlements = {{id, before[0].job.fence, {.kind = OutcomeKind::done}}}}));
  schema_.run("update done set finished_at = 1");
  const auto todo = session();
  const auto slow = session();
  run(*todo, "begin; select * from " + schema + ".todo for update");
  Task claims = run_beside(*slow, "claims", claim_call("aa,q", "c", 5));
  wait_until_it_waits("claims");
  ASSERT_EQ(must(store_->tidy({.ns = "default"})).removed, 1);
  run(*session(), enqueue_call(id, "q", ""));
  // It is due before the claim began.
  schema_.run("update job set run_at = 1 where id = '" + to_string(id) + "'");
  run(*todo, "commit");
  claims.join();
  run(*slow, "commit");
  ASSERT_EQ(running_in("q"), 1);
  EXPECT_GT(number("select fence from " + schema + ".job where id = '" + to_string(id) + "'"), before[0].job.fence);
}

// A claim of a queue that nobody knew when the turns were taken could still grant below the floor.
TEST_F(PostgresRaces, L2_AFloorIsRaisedOnlyWhenEveryQueueThatIsBeingMadeIsKnown) {
  const auto slow = session();
  const auto raiser = session();
  run(*slow, "begin; " + enqueue_call(new_id(), "new", ""));
  const Fence wanted = runtime_.wall_now().time_since_epoch().count() + 3'600'000'000;
  Task raises =
      run_beside(*raiser, "raises",
                 "select " + schema_.name() + ".raise_floor('default', '{\"floor\": " + std::to_string(wanted) +
                     ", \"act\": {\"actor\": \"ann\", \"reason\": \"\"}}')");
  wait_until_it_waits("raises");
  run(*slow, "commit");
  raises.join();
  // It is raised and not committed: whoever claims waits for it.
  const auto claims = session();
  Task claim = run_beside(*claims, "claim", claim_call("new", "c", 1));
  wait_until_it_waits("claim");
  run(*raiser, "commit");
  claim.join();
  run(*claims, "commit");
  EXPECT_GT(number("select fence from " + schema_.name() + ".job"), wanted);
}

// The server's clock was an hour ahead and came back, and a claim brings the leases of that time back. It is paused
// behind its look at the clock, while another lease is renewed.
TEST_F(PostgresRaces, L3_ALeaseThatIsRenewedWhileOthersAreBroughtBackIsNotCutShort) {
  added({.queue = "q"});
  const Job ahead = claimed("r1").at(0).job;
  added({.queue = "q"});
  const Job renewed = claimed("r2").at(0).job;
  set_ahead("job", ahead.id);
  schema_.run("update claim set read_at = read_at + 3600000000, bound = bound + 3600000000 where request = 'r1'");
  const auto pause = session();
  const auto slow = session();
  pause_behind_the_clock("bring_leases_back", *pause);
  Task claims = run_beside(*slow, "claims", claim_call("q", "c", 1));
  wait_until_it_waits("claims");
  renew(renewed);
  const std::string end_of = "select lease_end from " + schema_.name() + ".job where id = '";
  const std::int64_t until = number(end_of + to_string(renewed.id) + "'");
  run(*pause, "commit");
  claims.join();
  run(*slow, "commit");
  EXPECT_EQ(number(end_of + to_string(renewed.id) + "'"), until);
  EXPECT_LT(number(end_of + to_string(ahead.id) + "'"), until + 30'000'000) << "nothing was brought back";
}

// The same of the slot that is kept for a holder whose job was cancelled: others would start beside it.
TEST_F(PostgresRaces, L3_ASlotThatIsKeptWhileOthersAreBroughtBackIsNotCutShort) {
  added({.queue = "q", .group = "g1"});
  const Job ahead = claimed("r1").at(0).job;
  cancel(ahead);
  added({.queue = "q", .group = "g2"});
  const Job kept = claimed("r2").at(0).job;
  set_ahead("slot", ahead.id);
  const auto pause = session();
  const auto slow = session();
  pause_behind_the_clock("bring_slots_back", *pause);
  Task claims = run_beside(*slow, "claims", claim_call("q", "c", 1));
  wait_until_it_waits("claims");
  renew(kept);
  cancel(kept);
  const std::string end_of = "select lease_end from " + schema_.name() + ".slot where id = '";
  const std::int64_t until = number(end_of + to_string(kept.id) + "'");
  run(*pause, "commit");
  claims.join();
  run(*slow, "commit");
  EXPECT_EQ(number(end_of + to_string(kept.id) + "'"), until);
  EXPECT_LT(number(end_of + to_string(ahead.id) + "'"), until + 30'000'000) << "nothing was brought back";
}

TEST_F(PostgresRaces, OwnersThatHoldNothingAreForgottenWhenAllTheyDidIs) {
  const std::string& schema = schema_.name();
  added({.queue = "q"});
  ASSERT_EQ(claimed("r1").size(), 1u);
  run(*session(), claim_call("q", "gone", 1));
  see_nobody_of_them_again();
  must(store_->tidy({.ns = "default"}));
  EXPECT_EQ(number("select count(*) from " + schema + ".owner where name in ('a', 'gone')"), 1);
  EXPECT_EQ(number("select count(*) from " + schema + ".owner where name = 'a'"), 1);  // it has a job
}

TEST_F(PostgresRaces, AnOwnerThatClaimsWhileTidyLooksIsNotForgotten) {
  const JobId id = added({.queue = "q"});
  const auto slow = session();
  run(*slow, claim_call("none", "b", 1));
  see_nobody_of_them_again();
  run(*slow, "begin; " + claim_call("q", "b", 1));
  must(store_->tidy({.ns = "default"}));
  run(*slow, "commit");
  const Fence fence = must(store_->job("default", id))->fence;
  EXPECT_TRUE(must(store_->settle({.ns = "default", .owner = "b", .settlements = {{id, fence, {}}}})).refused.empty());
}

TEST_F(PostgresRaces, AnOwnerThatClaimsWhileItIsForgottenIsKnownAnew) {
  const JobId id = added({.queue = "q"});
  const auto tidies = session();
  const auto claims = session();
  run(*claims, claim_call("none", "b", 1));
  see_nobody_of_them_again();
  run(*tidies, "begin; select " + schema_.name() + ".tidy('default', '{}')");
  Task claim = run_beside(*claims, "claim", claim_call("q", "b", 1));
  wait_until_it_waits("claim");
  run(*tidies, "commit");
  claim.join();
  run(*claims, "commit");
  const Fence fence = must(store_->job("default", id))->fence;
  EXPECT_TRUE(must(store_->settle({.ns = "default", .owner = "b", .settlements = {{id, fence, {}}}})).refused.empty());
}

// Each of them is news for the next claim, which has its time like any other.
TEST_F(PostgresRaces, J8_ManyGroupsAtOnceAreServedWithinTheTimeOfAClaim) {
  EnqueueRequest many{.ns = "default", .jobs = {}};
  for (int i = 0; i < 2'000; ++i) {
    many.jobs.push_back({.id = new_id(), .queue = "q", .group = "g" + std::to_string(i)});
  }
  must(store_->enqueue(many));
  std::size_t got = 0;
  for (int i = 0; i < 400 && got < many.jobs.size(); ++i) got += claimed("r" + std::to_string(i)).size();
  EXPECT_EQ(got, many.jobs.size());
}

TEST_F(PostgresRaces, J1_TemporaryTablesOfASessionAreNotTakenForTheStores) {
  const auto shared = session();
  const std::string& schema = schema_.name();
  run(*shared, "create temp table job (like " + schema + ".job including all); create temp table done (like " + schema +
                   ".done including all); select * from " + schema +
                   ".enqueue_jobs('default', '{q}', '{\"\"}', '{1}', array[gen_random_uuid()], '{1}', '{0}', '{0}', "
                   "'{null}', '{10}', null)");
  EXPECT_EQ(claimed("r1").size(), 1u);
}

TEST_F(PostgresRaces, J7_EachStatementSeesWhatWasCommittedWhateverTheRolesDefault) {
  const std::string serializable = schema_.url() + "&options=-c%20default_transaction_isolation%3Dserializable";
  EXPECT_EQ(isolation_of(serializable), "read committed");
  EXPECT_EQ(isolation_of(serializable + "&pooler=transaction"), "read committed");
}

}  // namespace
}  // namespace fenceline::test

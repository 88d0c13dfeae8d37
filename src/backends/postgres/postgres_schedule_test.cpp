// Schedules on a real server: many who all believe they lead, sessions that are killed in the middle, what a step costs
// the tables, whose rights are enough. What every store does is in the conformance suite.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <random>

#include "backends/postgres/grants.hpp"
#include "backends/postgres/older_schema.hpp"
#include "backends/postgres/pool.hpp"
#include "backends/postgres/testing.hpp"

namespace fenceline::test {
namespace {

using namespace std::chrono_literals;

class PostgresSchedules : public testing::Test {
 protected:
  PostgresSchedules() : store_(opened(schema_.url())) {}

  std::unique_ptr<PostgresStore> opened(const std::string& url) {
    return must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = url}));
  }
  std::string new_request() { return "r" + std::to_string(++requests_); }
  ChangeScheduleRequest changing(const std::string& name, ScheduleChange change, std::int64_t revision) {
    ChangeScheduleRequest request{.ns = "default",
                                  .name = name,
                                  .change = change,
                                  .revision = revision,
                                  .step = {},
                                  .spec = change == ScheduleChange::put ? "what it is" : "",
                                  .kept = {},
                                  .job = {}};
    request.request = new_request();
    request.owner = "o";
    request.place = "here:1";
    request.act = {"ana", ""};
    return request;
  }
  // One whose account stands a day back, so that there is room for ticks.
  ScheduleRow add(const std::string& name) {
    must(store_->change_schedule(changing(name, ScheduleChange::put, 0)));
    schema_.run(
        "update schedule set resolved_to = resolved_to - 86400000000, counts_from = counts_from - 86400000000 where "
        "name = '" +
        name + "'");
    return row(name);
  }
  ScheduleRow row(const std::string& name) {
    return must(store_->schedules(
                    {.ns = "default", .names = {name}, .changed_after = {}, .after = "", .unfinished = true}))
        .schedules.at(0);
  }
  NewJob new_job() {
    return {.id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()),
            .queue = "q",
            .tags = {"schedule"}};
  }
  // One second on, at whose end a tick fires.
  TickStep second_on(const std::string& name, WallTime from, std::int64_t revision = 1) {
    return {.schedule = name,
            .revision = revision,
            .from = from,
            .to = from + 1s,
            .fired = {{from + 1s, new_job()}},
            .skipped = {}};
  }
  StepRequest stepping(std::vector<TickStep> steps) {
    return {.ns = "default", .steps = std::move(steps), .request = new_request(), .owner = "o", .place = "here:1"};
  }

  std::int64_t number(const std::string& query) {
    return must(looks_.run(postgres::Statement{query}, {}, postgres::CallKind::look, 10s)).integer(0, 0);
  }
  std::string ours(const std::string& table) const { return schema_.name() + "." + table; }
  std::int64_t ticks() { return number("select count(*) from " + ours("tick")); }
  std::int64_t jobs() { return number("select count(*) from " + ours("job")); }
  std::int64_t ticks_with_their_job() {
    return number("select count(*) from " + ours("tick") + " t join " + ours("job") +
                  " j on j.id = t.job and j.ns_id = t.ns_id");
  }
  std::int64_t deadlocks() {
    return number("select deadlocks from pg_stat_database where datname = current_database()");
  }
  std::unique_ptr<postgres::Connection> session() {
    return must(
        postgres::Connection::connect(runtime_, must(postgres::parse_dsn(schema_.url())), runtime_.now() + 10s));
  }
  void run(postgres::Connection& in, const std::string& sql) {
    const postgres::Reply reply = in.script(sql, runtime_.now() + 20s);
    ASSERT_EQ(reply.fate, postgres::Reply::Fate::answered) << reply.error.message;
  }
  std::string waiting(const std::string& verb) const {
    return "wait_event_type = 'Lock' and query like '%" + schema_.name() + "%" + verb + "%'";
  }
  void wait_until_it_waits(const std::string& verb) {
    for (const Instant given_up = runtime_.now() + 20s;
         number("select count(*) from pg_stat_activity where " + waiting(verb)) == 0;) {
      if (runtime_.now() > given_up) throw std::runtime_error(verb + " waits for nobody");
      runtime_.sleep_for(2ms, {});
    }
  }
  // The same verb as the store's, for a session that does not commit at once.
  std::string put_call(const std::string& name) {
    return "select " + ours("change_schedule") + "('default', '{\"name\":\"" + name +
           "\",\"change\":0,\"revision\":0,\"spec\":\"73\",\"subject\":\"s\",\"act\":{\"actor\":\"a\",\"reason\":\"\"}}"
           "', '" +
           new_request() +
           "', 'o', 'p', "
           "'{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}')";
  }
  static Finding doctor(PostgresStore& store, const std::string& name) {
    for (const Finding& finding : must(store.examine())) {
      if (finding.name == name) return finding;
    }
    return {.name = "none"};
  }
  SchedulesReply changed_after(std::int64_t version) {
    return must(store_->schedules({.ns = "default", .names = {}, .changed_after = version, .after = ""}));
  }

  ThreadRuntime runtime_;
  TestSchema schema_{"schedules"};
  std::unique_ptr<PostgresStore> store_;
  postgres::Pool looks_{runtime_, must(postgres::parse_dsn(schema_.url())), nullptr};
  std::atomic<int> requests_ = 0;
};

TEST_F(PostgresSchedules, S1_OfManyWhoStepFromTheSamePlaceOneIsTakenEach) {
  constexpr int kLeaders = 6;
  constexpr int kSchedules = 20;
  constexpr int kRounds = 30;
  const std::int64_t deadlocks_before = deadlocks();
  std::vector<ScheduleRow> rows;
  for (int i = 0; i < kSchedules; ++i) rows.push_back(add("s" + std::to_string(i)));
  std::vector<std::atomic<int>> taken(kSchedules * kRounds);
  std::atomic<int> refused = 0;
  std::vector<std::string> errors(kLeaders);
  std::barrier<> together(kLeaders);
  const auto lead = [&](int me) {
    std::mt19937 random(static_cast<unsigned>(me));
    const auto store = opened(schema_.url());
    for (int round = 0; round < kRounds; ++round) {
      std::vector<int> order(kSchedules);
      for (int i = 0; i < kSchedules; ++i) order[static_cast<std::size_t>(i)] = i;
      std::shuffle(order.begin(), order.end(), random);
      std::vector<TickStep> steps;
      for (const int i : order) {
        const ScheduleRow& known = rows[static_cast<std::size_t>(i)];
        steps.push_back(second_on(known.name, known.resolved_to + round * 1s, known.revision));
      }
      together.arrive_and_wait();
      const Result<StepReply> reply = store->step_ticks(stepping(std::move(steps)));
      if (!reply) {
        errors[static_cast<std::size_t>(me)] = reply.error().message;
        together.arrive_and_drop();
        return;
      }
      for (std::size_t i = 0; i < order.size(); ++i) {
        const StepAnswer& answer = reply->answers[i];
        if (answer.refused == Reason::none) ++taken[static_cast<std::size_t>(round * kSchedules + order[i])];
        else if (answer.refused == Reason::moved) ++refused;
        else errors[static_cast<std::size_t>(me)] = to_string(answer.refused);
      }
    }
  };
  {
    std::vector<Task> leaders;
    for (int i = 0; i < kLeaders; ++i)
      leaders.push_back(runtime_.spawn("leader", [&, i](const std::stop_token&) { lead(i); }));
    for (Task& leader : leaders) leader.join();
  }
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  for (const auto& times : taken) ASSERT_EQ(times, 1);
  EXPECT_EQ(refused, (kLeaders - 1) * kSchedules * kRounds);
  EXPECT_EQ(ticks(), kSchedules * kRounds);
  EXPECT_EQ(jobs(), kSchedules * kRounds);
  EXPECT_EQ(ticks_with_their_job(), kSchedules * kRounds);
  EXPECT_EQ(deadlocks(), deadlocks_before);
}

// Somebody else's account of ten steps lies in the way: the row itself decides.
TEST_F(PostgresSchedules, S1_TheRowOfATickDecidesWhateverTheAccountSays) {
  const WallTime from = add("s").resolved_to;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(must(store_->step_ticks(stepping({second_on("s", from + i * 1s)}))).answers[0].refused, Reason::none);
  schema_.run(
      "update schedule set resolved_to = resolved_to - 3000000, fired_to = 0, moved_by = null where name = 's'");
  TickStep again = second_on("s", from);
  for (int i = 1; i < 4; ++i) again.fired.push_back(second_on("s", from + i * 1s).fired.front());
  again.to = from + 4s;
  const StepAnswer answer = must(store_->step_ticks(stepping({again}))).answers[0];
  EXPECT_EQ(answer.refused, Reason::none);
  EXPECT_EQ(answer.duplicates, (std::vector<WallTime>{from + 1s, from + 2s, from + 3s}));
  EXPECT_EQ(ticks(), 4);
  EXPECT_EQ(jobs(), 4);
  EXPECT_EQ(ticks_with_their_job(), 4);
}

TEST_F(PostgresSchedules, S1_ASessionThatIsKilledInTheMiddleLeavesTickAndJobBothOrNone) {
  WallTime from = add("s").resolved_to;
  for (int round = 1; round <= 5; ++round, from += 1s) {
    const auto blocker = session();
    run(*blocker, "begin; lock table " + ours("depth") +
                      " in access exclusive mode");  // which a step needs when its ticks and jobs are written
    StepRequest request = stepping({second_on("s", from)});
    request.timeout = 20s;
    Result<StepReply> reply = fail(Code::unavailable, "");
    Task step = runtime_.spawn("step", [&](const std::stop_token&) { reply = store_->step_ticks(request); });
    wait_until_it_waits("step_ticks");
    EXPECT_EQ(number("select count(pg_terminate_backend(pid)) from pg_stat_activity where " + waiting("step_ticks")),
              1);
    EXPECT_EQ(ticks(), round - 1);
    EXPECT_EQ(jobs(), round - 1);
    run(*blocker, "rollback");
    step.join();
    if (!reply) {
      EXPECT_TRUE(reply.error().code == Code::in_doubt || reply.error().code == Code::unavailable)
          << reply.error().message;
      EXPECT_EQ(ticks(), jobs());
      EXPECT_EQ(must(store_->step_ticks(request)).answers[0].refused, Reason::none);
    }
    EXPECT_EQ(ticks(), round);
    EXPECT_EQ(jobs(), round);
    EXPECT_EQ(ticks_with_their_job(), round);
    EXPECT_EQ(row("s").resolved_to, from + 1s);
  }
}

TEST_F(PostgresSchedules, StepsChangesTidyingAndRemovalNeverMeetADeadlock) {
  const std::int64_t deadlocks_before = deadlocks();
  const std::vector<std::string> names{"a", "b", "c", "d"};
  std::atomic<int> taken = 0, changed = 0;
  std::atomic<bool> over = false;
  std::vector<std::string> errors(5);
  const auto note = [&](std::size_t me, const Error& error) {
    if (error.code != Code::not_found && error.code != Code::conflict) errors[me] = error.message;
  };
  const auto step = [&](std::size_t me) {
    std::mt19937 random(static_cast<unsigned>(me));
    const auto store = opened(schema_.url());
    while (!over) {
      const SchedulesReply known =
          must(store->schedules({.ns = "default", .names = {}, .changed_after = {}, .after = ""}));
      std::vector<TickStep> steps;
      for (const ScheduleRow& one : known.schedules) {
        if (one.resolved_to >= known.now) continue;
        TickStep next{.schedule = one.name,
                      .revision = one.revision,
                      .from = one.resolved_to,
                      .to = known.now,
                      .fired = {{known.now, new_job()}},
                      .skipped = {}};
        next.fired.front().job.group = "g" + std::to_string(random() % 3);
        steps.push_back(std::move(next));
      }
      std::shuffle(steps.begin(), steps.end(), random);
      if (steps.empty()) continue;
      const Result<StepReply> reply = store->step_ticks(stepping(std::move(steps)));
      if (!reply) note(me, reply.error());
      else taken += static_cast<int>(std::ranges::count(reply->answers, Reason::none, &StepAnswer::refused));
    }
  };
  const auto change = [&](std::size_t me) {
    std::mt19937 random(static_cast<unsigned>(me));
    const auto store = opened(schema_.url());
    while (!over) {
      const std::string& name = names[random() % names.size()];
      const auto known =
          must(store->schedules({.ns = "default", .names = {name}, .changed_after = {}, .after = ""})).schedules;
      constexpr ScheduleChange kChanges[] = {ScheduleChange::put, ScheduleChange::pause, ScheduleChange::resume,
                                             ScheduleChange::remove, ScheduleChange::run};
      ChangeScheduleRequest request = known.empty() ? changing(name, ScheduleChange::put, 0)
                                                    : changing(name, kChanges[random() % 5], known.front().revision);
      if (request.change == ScheduleChange::run) request.job = new_job();
      const auto reply = store->change_schedule(request);
      if (!reply) note(me, reply.error());
      else ++changed;
    }
  };
  const auto forget = [&](std::size_t me) {
    const auto store = opened(schema_.url());
    for (int i = 0; i < 25; ++i) {
      if (const auto reply = store->tidy({.ns = "default"}); !reply) note(me, reply.error());
      if (const auto reply = store->remove_namespace("default", {"ana", ""}); !reply) note(me, reply.error());
      runtime_.sleep_for(20ms, {});
    }
    over = true;
  };
  {
    std::vector<Task> all;
    for (std::size_t i = 0; i < 2; ++i)
      all.push_back(runtime_.spawn("steps", [&, i](const std::stop_token&) { step(i); }));
    for (std::size_t i = 2; i < 4; ++i)
      all.push_back(runtime_.spawn("changes", [&, i](const std::stop_token&) { change(i); }));
    all.push_back(runtime_.spawn("forgets", [&](const std::stop_token&) { forget(4); }));
    for (Task& one : all) one.join();
  }
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_GT(taken, 20);
  EXPECT_GT(changed, 20);
  EXPECT_EQ(deadlocks(), deadlocks_before);
  must(store_->remove_namespace("default", {"ana", ""}));
  EXPECT_EQ(ticks(), 0);
  EXPECT_EQ(number("select (select count(*) from " + ours("schedule") + ") + (select count(*) from " + ours("skipped") +
                   ") + (select count(*) from " + ours("schedule_count") + ")"),
            0);
}

TEST_F(PostgresSchedules, VersionsAreSeenInTheirOrderAndNoStepWaitsForThem) {
  const WallTime from = add("s").resolved_to;
  const std::int64_t before = changed_after(0).version;
  const auto slow = session();
  run(*slow, "begin; " + put_call("first"));
  Task second = runtime_.spawn("second", [&](const std::stop_token&) {
    must(store_->change_schedule(changing("second", ScheduleChange::put, 0)));
  });
  wait_until_it_waits("change_schedule");
  EXPECT_TRUE(changed_after(before).schedules.empty());
  EXPECT_EQ(changed_after(before).version, before);
  EXPECT_EQ(must(store_->step_ticks(stepping({second_on("s", from)}))).answers[0].refused, Reason::none);
  run(*slow, "commit");
  second.join();
  const SchedulesReply after = changed_after(before);
  ASSERT_EQ(after.schedules.size(), 2u);
  EXPECT_EQ(after.schedules[0].name, "first");
  EXPECT_EQ(after.schedules[1].name, "second");
  EXPECT_EQ(after.version, before + 2);
}

TEST_F(PostgresSchedules, OfTwoWhoAddOneNameOneIsTold) {
  const auto slow = session();
  run(*slow, "begin; " + put_call("one"));
  std::optional<Code> code;
  Task second = runtime_.spawn("second", [&](const std::stop_token&) {
    code = code_of(store_->change_schedule(changing("one", ScheduleChange::put, 0)));
  });
  wait_until_it_waits("change_schedule");
  run(*slow, "commit");
  second.join();
  EXPECT_EQ(code, Code::conflict);
  EXPECT_EQ(row("one").spec, "s");
}

// What the calls read of tables, and which updates left their page, by the server's own count of the transaction.
TEST_F(PostgresSchedules, AStepStaysOnItsPageAndALongHistoryCostsNothing) {
  WallTime from = add("s").resolved_to;
  const auto cost_of = [&](const std::string& call) {
    const postgres::Statement verb{"select * from " + schema_.name() + "." + call};
    const postgres::Statement count{
        "select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::bigint, "
        "coalesce(sum(n_tup_upd - n_tup_hot_upd) filter (where relname = 'schedule'), 0)::bigint "
        "from pg_stat_xact_user_tables where schemaname = '" +
        schema_.name() + "'"};
    const auto connection = session();
    const postgres::Reply reply = connection->call({{verb, {}}, {count, {}}}, false, runtime_.now() + 10s);
    if (reply.fate != postgres::Reply::Fate::answered) throw std::runtime_error(reply.error.message);
    EXPECT_EQ(reply.rows.integer(0, 1), 0) << call;
    return reply.rows.integer(0, 0);
  };
  const auto all_costs = [&] {
    const std::string at = std::to_string(from.time_since_epoch().count()),
                      to = std::to_string((from + 1s).time_since_epoch().count()),
                      next = std::to_string((from + 2s).time_since_epoch().count());
    from += 2s;
    const std::string job = "array['" + to_string(new_job().id) + "']::uuid[]";
    return std::vector<std::int64_t>{
        cost_of("step_ticks('default', '" + new_request() + "', 'o', 'p', '{s}', '{1}', '{" + at + "}', '{" + next +
                "}', '{1}', '{" + to + "}', '{1}', '{" + next + "}', '{" + next +
                "}', '{1}', '{overlap}', '{q}', '{\"\"}', '{1}', " + job +
                ", '{1}', '{0}', '{0}', '{null}', '{10}', array['{\"tags\":[\"t\"]}']::jsonb[])"),
        cost_of("list_ticks('default', '{\"schedule\":\"s\",\"limit\":5}')"),
        cost_of("list_ticks('default', '{\"schedule\":\"s\",\"limit\":5,\"fired_only\":true}')"),
        cost_of("list_schedules('default', '{\"names\":[\"s\"],\"unfinished\":true,\"limit\":10}')"),
        cost_of("tidy('default', '{}')")};
  };
  for (int i = 0; i < 12; ++i) all_costs();
  const std::vector<std::int64_t> short_history = all_costs();
  schema_.run(
      "insert into tick select s.id, s.resolved_to - n * 1000, s.ns_id, gen_random_uuid(), 0, 'o', 'p' from schedule "
      "s, generate_series(30000, 34000) as n; "
      "insert into skipped select s.id, s.resolved_to - n * 1000, s.resolved_to - n * 1000, 1, s.ns_id, 'r' || n % 2, "
      "0, 'o', 'p' from schedule s, generate_series(35000, 39000) as n; "
      "update schedule set ticks_kept = (select count(*) from tick) + (select count(*) from skipped)");
  const std::vector<std::int64_t> long_history = all_costs();
  for (std::size_t i = 0; i < short_history.size(); ++i)
    EXPECT_LE(long_history[i], short_history[i] + 10) << "call " << i;
}

TEST_F(PostgresSchedules, WhoWatchesOrdersIsToldOfAChange) {
  std::atomic<int> told = 0;
  const auto event = runtime_.make_event();
  const auto watch = store_->watch({.ns = "default", .queues = {}, .stage = "", .orders = true}, [&] {
    ++told;
    event->notify();
  });
  const Instant given_up = runtime_.now() + 20s;
  must(store_->change_schedule(changing("s", ScheduleChange::put, 0)));
  // Whoever begins to listen is told once.
  while (told < 2) {
    must(store_->change_schedule(changing("s", ScheduleChange::put, row("s").revision)));
    ASSERT_TRUE(event->wait_until(given_up));
  }
}

TEST_F(PostgresSchedules, ARoleWithTheRightsOfTheDocumentationCanDoAllOfIt) {
  const std::string role = "schedules_" + std::to_string(::getpid());
  schema_.run("drop role if exists " + role + "; create role " + role + " login password 'x'");
  schema_.run(must(postgres::grants_for(must(postgres::parse_dsn(schema_.url())), role)));
  {
    const auto store = opened(url_with("schema=" + schema_.name() + "&user=" + role + "&password=x"));
    must(store->change_schedule(changing("s", ScheduleChange::put, 0)));
    const ScheduleRow known = row("s");
    TickStep step = second_on("s", known.resolved_to);
    step.to = step.from + 2us;
    step.fired.front().tick = step.from + 1us;
    step.skipped = {{step.to, step.to, 1, "missed"}};
    EXPECT_EQ(must(store->step_ticks(stepping({step}))).answers[0].refused, Reason::none);
    EXPECT_EQ(must(store->ticks({.ns = "default", .schedule = "s", .after = {}, .before = {}})).ticks.size(), 2u);
    ChangeScheduleRequest rewind = changing("s", ScheduleChange::rewind, 1);
    rewind.from = step.to;
    rewind.to = step.from;
    must(store->change_schedule(rewind));
    ChangeScheduleRequest run = changing("s", ScheduleChange::run, 2);
    run.job = new_job();
    must(store->change_schedule(run));
    must(store->change_schedule(changing("s", ScheduleChange::remove, 2)));
    must(store->tidy({.ns = "default"}));
    must(store->remove_namespace("default", {"ana", ""}));
  }
  schema_.run("drop owned by " + role + "; drop role " + role);
}

TEST_F(PostgresSchedules, AStoreFromBeforeThereWereSchedulesIsMigrated) {
  must(store_->enqueue({.ns = "default", .jobs = {new_job()}}));
  set_back_to_before(schema_, "14_schedule_tables.sql");
  EXPECT_EQ(code_of(opened(schema_.url())->change_schedule(changing("s", ScheduleChange::put, 0))), Code::not_found);
  const auto migrated =
      must(PostgresStore::open(runtime_, Log(null_log_sink()), {.url = schema_.url(), .mends = true}));
  must(migrated->change_schedule(changing("s", ScheduleChange::put, 0)));
  EXPECT_EQ(must(migrated->jobs({.ns = "default"})).jobs.size(), 1u);
  EXPECT_EQ(doctor(*migrated, "schema").status, FindingStatus::ok) << doctor(*migrated, "schema").detail;
}

TEST_F(PostgresSchedules, TheDoctorNamesAccountsAndBarsThatLieAheadOfTheClock) {
  add("a");
  add("b");
  EXPECT_EQ(doctor(*store_, "schedules").status, FindingStatus::ok);
  EXPECT_EQ(doctor(*store_, "schedules").detail, "2");
  schema_.run("update schedule set resolved_to = 7258118400000000 where name = 'b'");
  EXPECT_EQ(doctor(*store_, "schedules").status, FindingStatus::warning);
  EXPECT_EQ(doctor(*store_, "schedules").detail,
            "1 of 2 are accounted for beyond the store's clock, up to 2200-01-01T00:00:00Z");
  schema_.run("update schedule set resolved_to = created_at, bar = 4102444800000000 where name = 'b'");
  EXPECT_EQ(doctor(*store_, "schedules").status, FindingStatus::warning);
  EXPECT_EQ(doctor(*store_, "schedules").detail,
            "1 of 2 are accounted for beyond the store's clock, up to 2100-01-01T00:00:00Z");
  schema_.run("update schedule set removed = true where name = 'b'");
  EXPECT_EQ(doctor(*store_, "schedules").detail, "1");
}

TEST_F(PostgresSchedules, BehindAPoolerEachVerbWorks) {
  const char* pooler = std::getenv("FENCELINE_TEST_PGBOUNCER");
  if (!pooler) GTEST_SKIP() << "FENCELINE_TEST_PGBOUNCER names no pooler: run by script/with_postgres --pgbouncer";
  const WallTime from = add("s").resolved_to;
  const auto store = opened(std::string(pooler) + "?schema=" + schema_.name() + "&pooler=transaction");
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(must(store->step_ticks(stepping({second_on("s", from + i * 1s)}))).answers[0].refused, Reason::none);
  must(store->change_schedule(changing("s", ScheduleChange::pause, 1)));
  EXPECT_TRUE(must(store->schedules({.ns = "default", .names = {"s"}, .changed_after = {}, .after = ""}))
                  .schedules.at(0)
                  .paused);
  EXPECT_EQ(must(store->ticks({.ns = "default", .schedule = "s", .after = {}, .before = {}})).ticks.size(), 10u);
}

}  // namespace
}  // namespace fenceline::test

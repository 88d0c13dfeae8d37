// What the fence costs the application's own transactions. On SQLite each inserts one row and commits, on raw SQLite
// and on a connection of ours, plain, guarded, and into a table that is protected; on PostgreSQL each updates one row,
// on a connection of its own.
#include <functional>
#include <utility>

#include "backends/sqlite/sqlite_store.hpp"
#include "bench/app_postgres.hpp"
#include "bench/postgres_url.hpp"
#include "benches/bench.hpp"
#include "benches/work.hpp"
#include "fenceline/sqlite.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;
using bench::Stopwatch;

constexpr std::int64_t kBlock = 25;  // commits of one side before it is the next one's turn

// One transaction of one side.
struct GuardedSide {
  std::string name;
  std::function<Result<void>()> once;
  std::vector<Cost> rounds = {};
  Cost round = {};
};

Result<void> insert(SqliteTransaction& transaction, const std::string& sql, std::initializer_list<SqlValue> values) {
  if (auto done = transaction.execute(sql, values); !done) return std::unexpected(done.error());
  return transaction.commit();
}

Result<void> make_tables(SqliteConnection& connection) {
  Result<SqliteTransaction> transaction = connection.begin();
  if (!transaction) return std::unexpected(transaction.error());
  for (const char* sql : {"CREATE TABLE bench_plain (payload TEXT NOT NULL)",
                          "CREATE TABLE bench_protected (owner TEXT, fence INTEGER, payload TEXT NOT NULL)"}) {
    if (auto done = transaction->execute(sql); !done) return std::unexpected(done.error());
  }
  if (auto done = transaction->commit(); !done) return done;
  return connection.protect_table({.table = "bench_protected", .resource_column = "owner"});
}

Result<Job> claimed_job(Bench& bench, Store& store) {
  Runtime& runtime = bench.runtime();
  const JobId id = make_uuid7(runtime.wall_now(), runtime.random(), runtime.random());
  if (auto ok = store.enqueue({.ns = kBenchNamespace, .jobs = {{.id = id, .queue = kBenchQueue}}}); !ok)
    return std::unexpected(ok.error());
  Result<ClaimReply> claim = store.claim({.ns = kBenchNamespace,
                                          .queues = {kBenchQueue},
                                          .owner = "bench",
                                          .request = "1",
                                          .limit = 1,
                                          .ttl = std::chrono::hours{1}});
  if (!claim) return std::unexpected(claim.error());
  if (claim->jobs.empty()) return fail(Code::unavailable, "the bench's own job was not granted");
  return std::move(claim->jobs.front().job);
}

Result<void> run_rounds(Bench& bench, std::vector<GuardedSide>& sides) {
  for (int round = 0; round < bench.sizes.rounds; ++round) {
    for (std::int64_t done = 0; done < bench.sizes.one_by_one; done += kBlock) {
      for (GuardedSide& side : sides) {
        if (bench.stopped()) return fail(Code::held, "interrupted");
        const Stopwatch watch(bench.runtime());
        for (std::int64_t n = 0; n < kBlock; ++n) {
          if (auto ok = side.once(); !ok) return ok;
        }
        side.round += watch.stop(kBlock);
      }
    }
    for (GuardedSide& side : sides) side.rounds.push_back(std::exchange(side.round, {}));
  }
  return {};
}

double median_over(const std::vector<Cost>& costs, double (Cost::*number)() const) {
  std::vector<double> series;
  for (const Cost& cost : costs) series.push_back((cost.*number)());
  return bench::median_of(series);
}

double median_ratio(const GuardedSide& ours, const GuardedSide& other) {
  std::vector<double> series;
  for (std::size_t i = 0; i < ours.rounds.size(); ++i) series.push_back(ours.rounds[i].rate() / other.rounds[i].rate());
  return bench::median_of(series);
}

// The guarded side against the first one, and the ratios of all.
BenchResult compared(const std::vector<GuardedSide>& sides, const GuardedSide& guarded_side, bool with_cpu) {
  BenchResult result{.name = "guarded"};
  const GuardedSide& raw_side = sides.front();
  result.rate = median_over(guarded_side.rounds, &Cost::rate);
  result.raw_rate = median_over(raw_side.rounds, &Cost::rate);
  result.ratio = median_ratio(guarded_side, raw_side);
  for (const GuardedSide& side : sides) {
    if (&side != &raw_side) result.add(side.name + "_ratio", median_ratio(side, raw_side));
    if (with_cpu) result.add(side.name + "_cpu_us", median_over(side.rounds, &Cost::cpu_per_job));
  }
  return result;
}

BenchResults measure_on_server(Bench& bench) {
  const std::string place = bench.places.fresh("guarded");
  const auto store = bench.open(place);
  if (!store) return std::unexpected(store.error());
  const Result<Job> job = claimed_job(bench, **store);
  if (!job) return std::unexpected(job.error());
  const std::string beside = bench::parameter_of(bench.places.url_of(bench.places.fresh("guarded_app")), "schema");
  const auto tables = bench::open_app_tables(bench.places.url_of(place), beside, to_string(job->id), job->fence);
  if (!tables) return std::unexpected(tables.error());
  const auto of = [&](bench::AppTransaction kind) { return [&tables, kind] { return (*tables)->once(kind); }; };
  std::vector<GuardedSide> sides{{"plain", of(bench::AppTransaction::plain)},
                                 {"guarded", of(bench::AppTransaction::guarded)},
                                 {"protected", of(bench::AppTransaction::assigned)},
                                 {"acting", of(bench::AppTransaction::acting)}};
  if (auto ok = run_rounds(bench, sides); !ok) return std::unexpected(ok.error());
  return std::vector{compared(sides, sides[1], false)};
}

}  // namespace

BenchResults measure_guarded(Bench& bench) {
  if (bench.places.kind() == bench::StoreKind::redis)
    return std::vector{
        BenchResult{.name = "guarded", .skipped = "an application cannot have its own transactions on Redis"}};
  if (auto ok = bench.go_on("guarded: transactions of the application, with and without a fence"); !ok)
    return std::unexpected(ok.error());
  if (bench.places.kind() == bench::StoreKind::postgres) return measure_on_server(bench);
  const auto opened = bench.open(bench.places.fresh("guarded"));
  if (!opened) return std::unexpected(opened.error());
  auto* const store = dynamic_cast<SqliteStore*>(opened->get());
  if (store == nullptr)
    return std::vector{
        BenchResult{.name = "guarded", .skipped = "only a SQLite file offers connections for the application"}};
  const auto raw = bench.open_raw(bench.places.fresh("guarded_raw"), bench::RawStyle::row_by_row);
  if (!raw) return std::unexpected(raw.error());
  Result<SqliteConnection> connection = store->connect({.ns = kBenchNamespace});
  if (!connection) return std::unexpected(connection.error());
  if (auto ok = make_tables(*connection); !ok) return std::unexpected(ok.error());
  const Result<Job> job = claimed_job(bench, *store);
  if (!job) return std::unexpected(job.error());

  const std::vector<std::string> payload = bench_payloads(1);
  const std::string owner = to_string(job->id);
  const std::string plain = "INSERT INTO bench_plain (payload) VALUES (?1)";
  const auto in_transaction = [&](const std::function<Result<void>(SqliteTransaction&)>& body) -> Result<void> {
    Result<SqliteTransaction> transaction = connection->begin();
    return transaction ? body(*transaction) : Result<void>(std::unexpected(transaction.error()));
  };
  std::vector<GuardedSide> sides{
      {"raw", [&] { return (*raw)->enqueue(payload); }},
      {"plain",
       [&] { return in_transaction([&](SqliteTransaction& one) { return insert(one, plain, {payload.front()}); }); }},
      {"guarded",
       [&] {
         return in_transaction([&](SqliteTransaction& one) {
           const Result<void> guard = one.guard(*job);
           return guard ? insert(one, plain, {payload.front()}) : guard;
         });
       }},
      {"protected",
       [&] {
         return in_transaction([&](SqliteTransaction& one) {
           return insert(one, "INSERT INTO bench_protected (owner, fence, payload) VALUES (?1, ?2, ?3)",
                         {owner, job->fence, payload.front()});
         });
       }},
      {"acting",
       [&] {
         return in_transaction([&](SqliteTransaction& one) {
           const Result<void> acting = one.act_as(*job);
           return acting ? insert(one, "INSERT INTO bench_protected (owner, payload) VALUES (?1, ?2)",
                                  {owner, payload.front()})
                         : acting;
         });
       }},
  };
  if (auto ok = run_rounds(bench, sides); !ok) return std::unexpected(ok.error());
  return std::vector{compared(sides, sides[2], true)};
}

}  // namespace fenceline::cli

// What one process does: enqueue one by one and in bulk, drain by calls and by a worker, each beside the raw library.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "benches/bench.hpp"
#include "benches/work.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;
using bench::RawQueue;
using bench::RawStyle;
using bench::Stopwatch;

// Threads that each enqueue one job after the other, a commit each unless the store joins them.
Result<Cost> enqueue_one_by_one(Bench& bench, Store& store, int threads, std::int64_t each) {
  Runtime& runtime = bench.runtime();
  const std::string payload = bench_payloads(1).front();
  std::mutex mutex;
  std::optional<Error> problem;
  const auto call = [&](std::stop_token) {
    for (std::int64_t n = 0; n < each && !bench.stopped(); ++n) {
      const JobId id = make_uuid7(runtime.wall_now(), runtime.random(), runtime.random());
      const auto reply =
          store.enqueue({.ns = kBenchNamespace, .jobs = {{.id = id, .queue = kBenchQueue, .payload = payload}}});
      if (reply) continue;
      const std::lock_guard lock(mutex);
      problem = reply.error();
      return;
    }
  };
  const Stopwatch watch(runtime);
  // A single caller needs no thread: starting one would distort calls that take microseconds.
  if (threads == 1) call({});
  std::vector<Task> callers;
  for (int i = 0; threads > 1 && i < threads; ++i) callers.push_back(runtime.spawn("bench", call));
  for (Task& caller : callers) caller.join();
  const Cost cost = watch.stop(threads * each);
  if (problem) return std::unexpected(*problem);
  return cost;
}

Result<Cost> raw_one_by_one(Bench& bench, RawQueue& raw, std::int64_t count) {
  const std::vector<std::string> payload = bench_payloads(1);
  const Stopwatch watch(bench.runtime());
  for (std::int64_t n = 0; n < count && !bench.stopped(); ++n) {
    if (auto ok = raw.enqueue(payload); !ok) return std::unexpected(ok.error());
  }
  return watch.stop(count);
}

struct BulkAndDrain {
  Cost bulk;
  Cost drain;
};

Result<BulkAndDrain> ours_round(Bench& bench, decltype(drain_in_batches)& drain_all) {
  const std::string path = bench.places.fresh("ours");
  BulkAndDrain costs;
  {
    const auto store = bench.open(path);
    if (!store) return std::unexpected(store.error());
    const Result<Cost> bulk =
        enqueue_in_batches(bench.runtime(), **store, bench.sizes.jobs, bench.sizes.batch, bench.invocation.stop);
    if (!bulk) return std::unexpected(bulk.error());
    const Result<Cost> drain =
        drain_all(bench.runtime(), **store, bench.sizes.jobs, bench.sizes.batch, bench.invocation.stop);
    if (!drain) return std::unexpected(drain.error());
    costs = {*bulk, *drain};
  }
  bench.places.drop(path);
  return costs;
}

Result<Cost> worker_round(Bench& bench) {
  return bench.drained([&](Store& store) {
    return drain_with_worker(bench.runtime(), Log(*bench.invocation.log_sink), store, bench.invocation.stop);
  });
}

Result<BulkAndDrain> raw_round(Bench& bench, RawStyle style) {
  const std::string path = bench.places.fresh("raw");
  BulkAndDrain costs;
  {
    const auto raw = bench.open_raw(path, style);
    if (!raw) return std::unexpected(raw.error());
    const std::vector<std::string> payloads = bench_payloads(bench.sizes.batch);
    const Stopwatch bulk(bench.runtime());
    for (std::int64_t sent = 0; sent < bench.sizes.jobs; sent += bench.sizes.batch) {
      if (auto ok = (*raw)->enqueue(payloads); !ok) return std::unexpected(ok.error());
    }
    costs.bulk = bulk.stop(bench.sizes.jobs);
    const Stopwatch drain(bench.runtime());
    std::int64_t done = 0;
    for (Result<std::int64_t> taken = 1; *taken > 0; done += *taken) {
      taken = (*raw)->take_and_finish(bench.sizes.batch);
      if (!taken) return std::unexpected(taken.error());
    }
    costs.drain = drain.stop(done);
  }
  bench.places.drop(path);
  return costs;
}

// Appends to both series, or says what failed.
Result<void> append(const Result<BulkAndDrain>& round, std::vector<Cost>& bulk, std::vector<Cost>& drain) {
  if (!round) return std::unexpected(round.error());
  bulk.push_back(round->bulk);
  drain.push_back(round->drain);
  return {};
}

}  // namespace

BenchResults measure_one_by_one(Bench& bench) {
  const std::string path = bench.places.fresh("ours");
  const std::string raw_path = bench.places.fresh("raw");
  const auto store = bench.open(path);
  if (!store) return std::unexpected(store.error());
  const auto raw = bench.open_raw(raw_path, RawStyle::row_by_row);
  if (!raw) return std::unexpected(raw.error());
  const auto only = bench.invocation.options.find("--only");
  const bool crowded =
      only == bench.invocation.options.end() || std::ranges::find(only->second, "enqueue_64") != only->second.end();
  BenchSides alone;
  BenchSides many;
  std::vector<double> times;
  for (int round = 0; round < bench.sizes.rounds; ++round) {
    if (auto ok = bench.go_on("enqueue one by one, round " + std::to_string(round + 1)); !ok)
      return std::unexpected(ok.error());
    // In small blocks in turn, so that a slow moment of the disk meets both.
    Cost first;
    Cost plain;
    for (std::int64_t sent = 0; sent < bench.sizes.one_by_one; sent += bench.sizes.block) {
      const Result<Cost> ours = enqueue_one_by_one(bench, **store, 1, bench.sizes.block);
      if (!ours) return std::unexpected(ours.error());
      const Result<Cost> theirs = raw_one_by_one(bench, **raw, bench.sizes.block);
      if (!theirs) return std::unexpected(theirs.error());
      first += *ours;
      plain += *theirs;
    }
    alone.ours.push_back(first);
    alone.raw.push_back(plain);
    if (!crowded) continue;
    const Result<Cost> crowd = enqueue_one_by_one(bench, **store, bench.sizes.threads, bench.sizes.per_thread);
    if (!crowd) return std::unexpected(crowd.error());
    many.ours.push_back(*crowd);
    many.raw.push_back(plain);
    times.push_back(first.rate() > 0 ? crowd->rate() / first.rate() : 0);
  }
  BenchResult one = compare_sides("enqueue_one", alone);
  if (bench.places.has_server())
    one.must("ratio", *one.ratio, Bound::at_least, bench.places.kind() == bench::StoreKind::redis ? 0.85 : 0.8);
  if (!crowded) return std::vector{one};
  BenchResult crowd = compare_sides("enqueue_64", many);
  const bench::Spread spread = bench::spread_of(times);
  crowd.add("times_one", spread);
  if (!bench.places.has_server()) crowd.must("times_one", spread.median, Bound::at_least, 8);
  return std::vector{one, crowd};
}

BenchResults measure_bulk_and_drain(Bench& bench) {
  BenchSides bulk;
  BenchSides drain;
  BenchSides beside;
  BenchSides worker;
  const bool server = bench.places.has_server();
  const bool redis = bench.places.kind() == bench::StoreKind::redis;
  for (int round = 0; round < bench.sizes.rounds; ++round) {
    if (auto ok = bench.go_on("bulk enqueue and drain, round " + std::to_string(round + 1)); !ok)
      return std::unexpected(ok.error());
    const auto ours = [&] { return append(ours_round(bench, drain_in_batches), bulk.ours, drain.ours); };
    const auto raw = [&] { return append(raw_round(bench, RawStyle::row_by_row), bulk.raw, drain.raw); };
    const auto set = [&] { return append(raw_round(bench, RawStyle::set_based), bulk.raw_set, drain.raw_set); };
    // Raw is measured in the middle; the order of the others alternates.
    if (auto ok = round % 2 == 0 ? ours() : set(); !ok) return std::unexpected(ok.error());
    if (auto ok = raw(); !ok) return std::unexpected(ok.error());
    if (auto ok = round % 2 == 0 ? set() : ours(); !ok) return std::unexpected(ok.error());
    if (server) {
      const Result<BulkAndDrain> overlapped = ours_round(bench, drain_beside);
      if (!overlapped) return std::unexpected(overlapped.error());
      beside.ours.push_back(overlapped->drain);
    }
    const Result<Cost> whole = worker_round(bench);
    if (!whole) return std::unexpected(whole.error());
    worker.ours.push_back(*whole);
  }
  if (server && !redis) {
    // Loaded rows are as wide as ours. Draining does the least possible: no payload, nothing kept.
    std::swap(drain.raw, drain.raw_set);
    drain.set_name = "wide";
    bulk.set_name = "narrow";
  }
  worker.raw = drain.raw;
  BenchResult bulk_result = compare_sides("enqueue_bulk", bulk);
  if (!redis) bulk_result.must("ratio", *bulk_result.ratio, Bound::at_least, 0.6);
  BenchResult drain_result = compare_sides("drain", drain);
  std::vector<BenchResult> results{bulk_result, drain_result};
  if (server) {
    beside.raw = drain.raw;
    results.push_back(compare_sides("drain_beside", beside));
  }
  // A server that works for one client at a time does nothing in parallel.
  BenchResult& best = redis ? results[1] : results.back();
  best.must("ratio", *best.ratio, Bound::at_least, redis ? 1 : server ? 0.8 : 0.5);
  if (!server) results.push_back({.name = "drain_beside", .skipped = "one file has one writer at a time"});
  results.push_back(compare_sides("drain_worker", worker));
  return results;
}

}  // namespace fenceline::cli

// Whether small claims get dearer while a transaction elsewhere keeps what is dead from being removed: a report that
// runs for an hour, a backup, a forgotten session. Each claim must find its way past what earlier ones left behind.
#include "benches/bench.hpp"
#include "benches/work.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;
using bench::HeldHorizon;

constexpr std::int64_t kSmallClaim = 10;
constexpr int kRounds = 2;

struct HorizonSide {
  std::vector<double> rates;  // of slices
  std::vector<double> raw_rates;
  HeldHorizon::Age age;
};

// Slices of the raw side in the same claims, after as many rows were finished.
Result<void> raw_slices(Bench& bench, bench::RawQueue& raw, std::vector<double>& rates) {
  for (int i = 0; i < bench.sizes.slices && !bench.stopped(); ++i) {
    const bench::Stopwatch watch(bench.runtime());
    std::int64_t done = 0;
    while (done < bench.sizes.slice_of_small) {
      const Result<std::int64_t> taken = raw.take_and_finish(kSmallClaim);
      if (!taken) return std::unexpected(taken.error());
      if (*taken == 0) break;
      done += *taken;
    }
    rates.push_back(watch.stop(done).rate());
  }
  return {};
}

Result<void> load_raw(Bench& bench, bench::RawQueue& raw, std::int64_t count) {
  const std::vector<std::string> payloads = bench_payloads(bench.sizes.batch);
  for (std::int64_t sent = 0; sent < count; sent += bench.sizes.batch) {
    if (bench.stopped()) return fail(Code::held, "interrupted");
    if (auto ok = raw.enqueue(payloads); !ok) return ok;
  }
  return {};
}

// Many jobs are finished, then more are drained in small claims. `held` from before the first of them, or not at all.
Result<HorizonSide> drain_small(Bench& bench, bool held) {
  const std::string place = bench.places.fresh("horizon");
  const std::string raw_place = bench.places.fresh("horizon_raw");
  HorizonSide side;
  {
    const auto store = bench.open(place);
    if (!store) return std::unexpected(store.error());
    const auto raw = bench.open_raw(raw_place, bench::RawStyle::row_by_row);
    if (!raw) return std::unexpected(raw.error());
    std::unique_ptr<HeldHorizon> horizon;
    const Instant began = bench.runtime().now();
    if (held) {
      Result<std::unique_ptr<HeldHorizon>> one = bench.places.hold_horizon();
      if (!one) return std::unexpected(one.error());
      horizon = std::move(*one);
    }
    const std::int64_t small = bench.sizes.slice_of_small * bench.sizes.slices;
    const std::int64_t before = bench.sizes.done_before;
    const std::stop_token stop = bench.invocation.stop;
    Result<Cost> ours = enqueue_in_batches(bench.runtime(), **store, before, bench.sizes.batch, stop);
    if (ours) ours = drain_in_batches(bench.runtime(), **store, before, bench.sizes.batch, stop);
    if (ours) ours = enqueue_in_batches(bench.runtime(), **store, small, bench.sizes.batch, stop);
    if (!ours) return std::unexpected(ours.error());
    if (auto ok = load_raw(bench, **raw, before); !ok) return std::unexpected(ok.error());
    for (std::int64_t done = 0; done < before; done += bench.sizes.batch) {
      if (const auto taken = (*raw)->take_and_finish(bench.sizes.batch); !taken) return std::unexpected(taken.error());
    }
    if (auto ok = load_raw(bench, **raw, small); !ok) return std::unexpected(ok.error());
    if (held && !bench.runtime().sleep_until(began + bench.sizes.held_for, stop))
      return fail(Code::held, "interrupted");
    for (int i = 0; i < bench.sizes.slices; ++i) {
      const Result<Cost> slice =
          drain_in_batches(bench.runtime(), **store, bench.sizes.slice_of_small, kSmallClaim, stop);
      if (!slice) return std::unexpected(slice.error());
      side.rates.push_back(slice->rate());
    }
    if (auto ok = raw_slices(bench, **raw, side.raw_rates); !ok) return std::unexpected(ok.error());
    if (horizon) {
      const Result<HeldHorizon::Age> age = horizon->age();
      if (!age) return std::unexpected(age.error());
      side.age = *age;
    }
  }
  bench.places.drop(place);
  bench.places.drop(raw_place);
  return side;
}

}  // namespace

BenchResults measure_held_horizon(Bench& bench) {
  if (bench.places.kind() == bench::StoreKind::redis)
    return std::vector{BenchResult{.name = "held_horizon", .skipped = "Redis keeps no dead rows"}};
  if (!bench.places.has_server())
    return std::vector{BenchResult{.name = "held_horizon",
                                   .skipped = "SQLite keeps no dead rows that an open transaction could hold back"}};
  std::vector<double> free_rates;
  std::vector<double> held_rates;
  std::vector<double> ratios;
  std::vector<double> raw_ratios;
  HeldHorizon::Age age;
  for (int round = 0; round < kRounds; ++round) {
    if (auto ok = bench.go_on("claims of 10, free and under a held horizon, round " + std::to_string(round + 1)); !ok)
      return std::unexpected(ok.error());
    const Result<HorizonSide> free = drain_small(bench, false);
    if (!free) return std::unexpected(free.error());
    const Result<HorizonSide> held = drain_small(bench, true);
    if (!held) return std::unexpected(held.error());
    free_rates.insert(free_rates.end(), free->rates.begin(), free->rates.end());
    held_rates.insert(held_rates.end(), held->rates.begin(), held->rates.end());
    ratios.push_back(bench::median_of(held->rates) / bench::median_of(free->rates));
    raw_ratios.push_back(bench::median_of(held->raw_rates) / bench::median_of(free->raw_rates));
    if (held->age.seconds >= age.seconds) age = held->age;
  }
  BenchResult result{.name = "held_horizon"};
  result.rate = bench::median_of(held_rates);
  result.ratio = bench::median_of(ratios);
  result.add("rate_free", bench::median_of(free_rates));
  result.add("raw_ratio", bench::median_of(raw_ratios));
  result.add("done_before", static_cast<double>(bench.sizes.done_before));
  result.add("backend_xmin_age_s", age.seconds);
  result.add("backend_xmin_age_transactions", age.transactions);
  result.must("ratio", *result.ratio, Bound::at_least, 0.7);
  return std::vector{result};
}

}  // namespace fenceline::cli

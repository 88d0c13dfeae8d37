// Whether jobs get dearer when many finished ones are kept: the same enqueues, claims and settles in a store that keeps
// millions and in one that began empty, in slices that alternate. What is kept was enqueued and drained like any other
// job, so its indexes, its history and what vacuum made of it are as they are in use.
#include "benches/bench.hpp"
#include "benches/work.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;

struct Slice {
  Cost enqueue;
  Cost drain;
};

struct Ratios {  // of the store that keeps many over the one that began empty
  std::vector<double> drain;
  std::vector<double> drain_cpu;
  std::vector<double> enqueue;
  std::vector<double> rate;        // of drains with many kept
  std::vector<double> rate_fresh;  // of drains without
};

Result<Slice> worked_slice(const Bench& bench, Store& store, std::int64_t jobs, std::int64_t batch) {
  const Result<Cost> enqueue =
      enqueue_in_batches(bench.runtime(), store, jobs, bench.sizes.batch, bench.invocation.stop);
  if (!enqueue) return std::unexpected(enqueue.error());
  const Result<Cost> drain = drain_in_batches(bench.runtime(), store, jobs, batch, bench.invocation.stop);
  if (!drain) return std::unexpected(drain.error());
  return Slice{*enqueue, *drain};
}

Result<void> finish_many(const Bench& bench, Store& store, std::int64_t count) {
  return bench.in_parts("kept", count, "done", [&](std::int64_t part) -> Result<void> {
    const Result<Slice> slice = worked_slice(bench, store, part, bench.sizes.batch);
    return slice ? Result<void>{} : std::unexpected(slice.error());
  });
}

Result<Ratios> kept_slices(const Bench& bench, Store& many, Store& fresh, std::int64_t jobs, std::int64_t batch) {
  Ratios ratios;
  const auto note = [&](const Slice& of_many, const Slice& of_fresh) {
    ratios.drain.push_back(of_many.drain.rate() / of_fresh.drain.rate());
    ratios.drain_cpu.push_back(of_many.drain.cpu_per_job() / of_fresh.drain.cpu_per_job());
    ratios.enqueue.push_back(of_many.enqueue.rate() / of_fresh.enqueue.rate());
    ratios.rate.push_back(of_many.drain.rate());
    ratios.rate_fresh.push_back(of_fresh.drain.rate());
  };
  const Result<void> all = alternate(
      bench, "kept", many, fresh, batch, [&](Store& store) { return worked_slice(bench, store, jobs, batch); }, note);
  if (!all) return std::unexpected(all.error());
  return ratios;
}

}  // namespace

BenchResults measure_kept(Bench& bench) {
  const std::string many_place = bench.places.fresh("kept");
  const std::string fresh_place = bench.places.fresh("fresh");
  Result<Ratios> large = Ratios{};
  Result<Ratios> small = Ratios{};
  {
    const auto many = bench.open(many_place);
    if (!many) return std::unexpected(many.error());
    const auto fresh = bench.open(fresh_place);
    if (!fresh) return std::unexpected(fresh.error());
    if (auto ok = bench.go_on("kept, finishing " + std::to_string(bench.sizes.kept)); !ok)
      return std::unexpected(ok.error());
    if (auto ok = finish_many(bench, **many, bench.sizes.kept); !ok) return std::unexpected(ok.error());
    // The other one has seen a few jobs too, so that plans and caches are warm on both sides.
    if (const auto first = worked_slice(bench, **fresh, bench.sizes.slice_of_small, bench.sizes.batch); !first)
      return std::unexpected(first.error());
    if (auto ok = bench.go_on("kept, waiting for the store to settle"); !ok) return std::unexpected(ok.error());
    for (const std::string& place : {many_place, fresh_place}) {
      if (auto ok = bench.places.settle(place, bench.invocation.stop); !ok) return std::unexpected(ok.error());
    }
    large = kept_slices(bench, **many, **fresh, bench.sizes.slice, bench.sizes.batch);
    if (!large) return std::unexpected(large.error());
    small = kept_slices(bench, **many, **fresh, bench.sizes.slice_of_small, 10);
    if (!small) return std::unexpected(small.error());
  }
  bench.places.drop(many_place);
  bench.places.drop(fresh_place);
  BenchResult result{.name = "kept"};
  const bench::Spread drain = bench::spread_of(large->drain);
  result.rate = bench::median_of(large->rate);
  result.ratio = drain.median;
  result.add_range("ratio", drain);
  result.add("rate_fresh", bench::median_of(large->rate_fresh));
  result.add("done", static_cast<double>(bench.sizes.kept));
  result.add("ratio_claims_of_10", bench::median_of(small->drain));
  result.add("enqueue_ratio", bench::median_of(large->enqueue));
  result.add("cpu_growth", bench::median_of(large->drain_cpu));
  if (bench.places.has_server()) result.must("ratio", *result.ratio, Bound::at_least, 0.9);
  return std::vector{result};
}

}  // namespace fenceline::cli

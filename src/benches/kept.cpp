// Whether jobs get dearer when many finished ones are kept: the same enqueues, claims and settles in a store that keeps
// millions and in one that began empty, in slices that alternate. What is kept was enqueued and drained like any other
// job, so its indexes, its history and what vacuum made of it are as they are in use.
#include <algorithm>

#include "bench/statistics.hpp"
#include "benches/bench.hpp"
#include "benches/work.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;
using Bound = BenchMark::Bound;

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

Result<Slice> slice_of(Bench& bench, Store& store, std::int64_t jobs, std::int64_t batch) {
  const Result<Cost> enqueue =
      enqueue_in_batches(bench.runtime(), store, jobs, bench.sizes.batch, bench.invocation.stop);
  if (!enqueue) return std::unexpected(enqueue.error());
  const Result<Cost> drain = drain_in_batches(bench.runtime(), store, jobs, batch, bench.invocation.stop);
  if (!drain) return std::unexpected(drain.error());
  return Slice{*enqueue, *drain};
}

// Millions take minutes: says now and then how far it is.
Result<void> finish_many(Bench& bench, Store& store, std::int64_t count) {
  constexpr std::int64_t kPart = 20'000;
  constexpr Duration kBetweenWords = std::chrono::seconds{5};
  const Instant began = bench.runtime().now();
  Instant told = began;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t part = std::min(kPart, count - done);
    if (const Result<Slice> slice = slice_of(bench, store, part, bench.sizes.batch); !slice)
      return std::unexpected(slice.error());
    done += part;
    const Instant now = bench.runtime().now();
    if (now - told < kBetweenWords) continue;
    told = now;
    const std::int64_t rate = done * 1'000'000 / (now - began).count();
    if (auto ok = bench.go_on("kept, " + std::to_string(done) + " of " + std::to_string(count) + " done, " +
                              std::to_string(rate) + " a second");
        !ok)
      return ok;
  }
  return {};
}

Result<Ratios> alternate(Bench& bench, Store& many, Store& fresh, std::int64_t jobs, std::int64_t batch) {
  Ratios ratios;
  for (int i = 0; i < bench.sizes.slices; ++i) {
    if (auto ok = bench.go_on("kept, claims of " + std::to_string(batch) + ", slice " + std::to_string(i + 1)); !ok)
      return std::unexpected(ok.error());
    const bool many_first = i % 2 == 0;
    const Result<Slice> first = slice_of(bench, many_first ? many : fresh, jobs, batch);
    if (!first) return std::unexpected(first.error());
    const Result<Slice> second = slice_of(bench, many_first ? fresh : many, jobs, batch);
    if (!second) return std::unexpected(second.error());
    const Slice& of_many = many_first ? *first : *second;
    const Slice& of_fresh = many_first ? *second : *first;
    ratios.drain.push_back(of_many.drain.rate() / of_fresh.drain.rate());
    ratios.drain_cpu.push_back(of_many.drain.cpu_per_job() / of_fresh.drain.cpu_per_job());
    ratios.enqueue.push_back(of_many.enqueue.rate() / of_fresh.enqueue.rate());
    ratios.rate.push_back(of_many.drain.rate());
    ratios.rate_fresh.push_back(of_fresh.drain.rate());
  }
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
    // The other one has seen a few jobs too: what is planned or cached at the first is so on both sides.
    if (const auto first = slice_of(bench, **fresh, bench.sizes.slice_of_small, bench.sizes.batch); !first)
      return std::unexpected(first.error());
    if (auto ok = bench.go_on("kept, the store comes to rest"); !ok) return std::unexpected(ok.error());
    for (const std::string& place : {many_place, fresh_place}) {
      if (auto ok = bench.places.settle(place, bench.invocation.stop); !ok) return std::unexpected(ok.error());
    }
    large = alternate(bench, **many, **fresh, bench.sizes.slice, bench.sizes.batch);
    if (!large) return std::unexpected(large.error());
    small = alternate(bench, **many, **fresh, bench.sizes.slice_of_small, 10);
    if (!small) return std::unexpected(small.error());
  }
  bench.places.drop(many_place);
  bench.places.drop(fresh_place);
  BenchResult result{.name = "kept"};
  const bench::Spread drain = bench::spread_of(large->drain);
  result.rate = bench::median_of(large->rate);
  result.ratio = drain.median;
  result.add("ratio_low", drain.low);
  result.add("ratio_high", drain.high);
  result.add("rate_fresh", bench::median_of(large->rate_fresh));
  result.add("done", static_cast<double>(bench.sizes.kept));
  result.add("ratio_claims_of_10", bench::median_of(small->drain));
  result.add("enqueue_ratio", bench::median_of(large->enqueue));
  result.add("cpu_growth", bench::median_of(large->drain_cpu));
  if (bench.places.has_server()) result.must("ratio", *result.ratio, Bound::at_least, 0.9);
  return std::vector{result};
}

}  // namespace fenceline::cli

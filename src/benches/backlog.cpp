// Whether jobs get dearer when many wait: the same claims and settles with few and with many jobs in the queue, in
// slices that alternate. CPU time decides where it is ours, since it hardly feels what else the machine does.
#include <algorithm>

#include "bench/statistics.hpp"
#include "benches/bench.hpp"
#include "benches/work.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;
using Bound = BenchMark::Bound;

struct Slices {
  std::vector<double> deep_rate;
  std::vector<double> shallow_rate;
  std::vector<double> rate_ratio;  // deep over shallow
  std::vector<double> cpu_ratio;   // deep over shallow
  std::vector<double> deep_cpu;
  std::vector<double> shallow_cpu;
};

// Drains a slice, then fills it up again outside the measured time, so that the depth stays as it is.
Result<Cost> slice_of(Bench& bench, Store& store, std::int64_t jobs, std::int64_t batch) {
  const Result<Cost> cost = drain_in_batches(bench.runtime(), store, jobs, batch, bench.invocation.stop);
  if (!cost) return cost;
  const Result<Cost> refill =
      enqueue_in_batches(bench.runtime(), store, cost->jobs, bench.sizes.batch, bench.invocation.stop);
  if (!refill) return refill;
  return cost;
}

// Millions take minutes: says now and then how far it is.
Result<void> fill(Bench& bench, Store& store, std::int64_t waiting) {
  constexpr std::int64_t kPart = 20'000;
  constexpr Duration kBetweenWords = std::chrono::seconds{5};
  const Instant began = bench.runtime().now();
  Instant told = began;
  for (std::int64_t filled = 0; filled < waiting;) {
    const Result<Cost> part = enqueue_in_batches(bench.runtime(), store, std::min(kPart, waiting - filled),
                                                 bench.sizes.batch, bench.invocation.stop);
    if (!part) return std::unexpected(part.error());
    filled += part->jobs;
    const Instant now = bench.runtime().now();
    if (now - told < kBetweenWords) continue;
    told = now;
    const std::int64_t rate = filled * 1'000'000 / (now - began).count();
    const std::string words = "backlog, " + std::to_string(filled) + " of " + std::to_string(waiting) + " wait, " +
                              std::to_string(rate) + " a second";
    if (auto ok = bench.go_on(words); !ok) return ok;
  }
  return {};
}

Result<Slices> alternate(Bench& bench, Store& deep, Store& shallow, std::int64_t jobs, std::int64_t batch) {
  Slices slices;
  for (int i = 0; i < bench.sizes.slices; ++i) {
    if (auto ok = bench.go_on("backlog, claims of " + std::to_string(batch) + ", slice " + std::to_string(i + 1)); !ok)
      return std::unexpected(ok.error());
    const bool deep_first = i % 2 == 0;
    const Result<Cost> first = slice_of(bench, deep_first ? deep : shallow, jobs, batch);
    if (!first) return std::unexpected(first.error());
    const Result<Cost> second = slice_of(bench, deep_first ? shallow : deep, jobs, batch);
    if (!second) return std::unexpected(second.error());
    const Cost& of_deep = deep_first ? *first : *second;
    const Cost& of_shallow = deep_first ? *second : *first;
    slices.deep_rate.push_back(of_deep.rate());
    slices.shallow_rate.push_back(of_shallow.rate());
    slices.rate_ratio.push_back(of_deep.rate() / of_shallow.rate());
    slices.cpu_ratio.push_back(of_deep.cpu_per_job() / of_shallow.cpu_per_job());
    slices.deep_cpu.push_back(of_deep.cpu_per_job());
    slices.shallow_cpu.push_back(of_shallow.cpu_per_job());
  }
  return slices;
}

}  // namespace

BenchResults measure_backlog(Bench& bench) {
  const std::string deep_path = bench.places.fresh("deep");
  const std::string shallow_path = bench.places.fresh("shallow");
  Result<Slices> large = Slices{};
  Result<Slices> small = Slices{};
  {
    const auto deep = bench.open(deep_path);
    if (!deep) return std::unexpected(deep.error());
    const auto shallow = bench.open(shallow_path);
    if (!shallow) return std::unexpected(shallow.error());
    if (auto ok = bench.go_on("backlog, filling " + std::to_string(bench.sizes.deep)); !ok)
      return std::unexpected(ok.error());
    for (const auto& [store, waiting] :
         {std::pair{deep->get(), bench.sizes.deep}, std::pair{shallow->get(), bench.sizes.shallow}}) {
      if (auto ok = fill(bench, *store, waiting); !ok) return std::unexpected(ok.error());
    }
    if (auto ok = bench.go_on("backlog, the store comes to rest"); !ok) return std::unexpected(ok.error());
    for (const std::string& place : {deep_path, shallow_path}) {
      if (auto ok = bench.places.settle(place, bench.invocation.stop); !ok) return std::unexpected(ok.error());
    }
    large = alternate(bench, **deep, **shallow, bench.sizes.slice, bench.sizes.batch);
    if (!large) return std::unexpected(large.error());
    small = alternate(bench, **deep, **shallow, bench.sizes.slice_of_small, 10);
    if (!small) return std::unexpected(small.error());
  }
  bench.places.drop(deep_path);
  bench.places.drop(shallow_path);
  BenchResult result{.name = "backlog"};
  result.rate = bench::median_of(large->deep_rate);
  result.ratio = bench::median_of(large->rate_ratio);
  const bench::Spread cpu = bench::spread_of(large->cpu_ratio);
  result.add("rate_shallow", bench::median_of(large->shallow_rate));
  result.add("deep", static_cast<double>(bench.sizes.deep));
  result.add("shallow", static_cast<double>(bench.sizes.shallow));
  result.add("cpu_us", bench::median_of(large->deep_cpu));
  result.add("cpu_us_shallow", bench::median_of(large->shallow_cpu));
  result.add("cpu_growth", cpu.median);
  result.add("cpu_growth_low", cpu.low);
  result.add("cpu_growth_high", cpu.high);
  result.add("cpu_growth_claims_of_10", bench::median_of(small->cpu_ratio));
  result.add("ratio_claims_of_10", bench::median_of(small->rate_ratio));
  // The work is the server's, and so is its CPU time.
  if (bench.places.has_server()) {
    result.must("ratio", *result.ratio, Bound::at_least, 0.9);
    return std::vector{result};
  }
  result.must("cpu_growth", cpu.median, Bound::at_most, 1.1);
  result.must("cpu_growth_claims_of_10", bench::median_of(small->cpu_ratio), Bound::at_most, 1.1);
  return std::vector{result};
}

}  // namespace fenceline::cli

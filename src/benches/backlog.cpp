// Whether jobs get dearer when many wait: the same claims and settles with few and with many jobs in the queue, in
// slices that alternate. CPU time decides where it is ours, since it hardly feels what else the machine does.
#include "benches/bench.hpp"
#include "benches/work.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;

struct Slices {
  std::vector<double> deep_rate;
  std::vector<double> shallow_rate;
  std::vector<double> rate_ratio;  // deep over shallow
  std::vector<double> cpu_ratio;   // deep over shallow
  std::vector<double> deep_cpu;
  std::vector<double> shallow_cpu;
};

// Drains a slice, then fills it up again outside the measured time, so that the depth stays as it is.
Result<Cost> drained_slice(Bench& bench, Store& store, std::int64_t jobs, std::int64_t batch) {
  const Result<Cost> cost = drain_in_batches(bench.runtime(), store, jobs, batch, bench.invocation.stop);
  if (!cost) return cost;
  const Result<Cost> refill =
      enqueue_in_batches(bench.runtime(), store, cost->jobs, bench.sizes.batch, bench.invocation.stop);
  if (!refill) return refill;
  return cost;
}

Result<void> fill(const Bench& bench, Store& store, std::int64_t waiting) {
  return bench.in_parts("backlog", waiting, "wait", [&](std::int64_t part) -> Result<void> {
    const Result<Cost> filled =
        enqueue_in_batches(bench.runtime(), store, part, bench.sizes.batch, bench.invocation.stop);
    return filled ? Result<void>{} : std::unexpected(filled.error());
  });
}

Result<Slices> backlog_slices(Bench& bench, Store& deep, Store& shallow, std::int64_t jobs, std::int64_t batch) {
  Slices slices;
  const auto note = [&](const Cost& of_deep, const Cost& of_shallow) {
    slices.deep_rate.push_back(of_deep.rate());
    slices.shallow_rate.push_back(of_shallow.rate());
    slices.rate_ratio.push_back(of_deep.rate() / of_shallow.rate());
    slices.cpu_ratio.push_back(of_deep.cpu_per_job() / of_shallow.cpu_per_job());
    slices.deep_cpu.push_back(of_deep.cpu_per_job());
    slices.shallow_cpu.push_back(of_shallow.cpu_per_job());
  };
  const Result<void> all = alternate(
      bench, "backlog", deep, shallow, batch, [&](Store& store) { return drained_slice(bench, store, jobs, batch); },
      note);
  if (!all) return std::unexpected(all.error());
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
    if (auto ok = bench.go_on("backlog, waiting for the store to settle"); !ok) return std::unexpected(ok.error());
    for (const std::string& place : {deep_path, shallow_path}) {
      if (auto ok = bench.places.settle(place, bench.invocation.stop); !ok) return std::unexpected(ok.error());
    }
    large = backlog_slices(bench, **deep, **shallow, bench.sizes.slice, bench.sizes.batch);
    if (!large) return std::unexpected(large.error());
    small = backlog_slices(bench, **deep, **shallow, bench.sizes.slice_of_small, 10);
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
  result.add("cpu_growth", cpu);
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

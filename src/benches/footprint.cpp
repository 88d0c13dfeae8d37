// What is paid beside time: memory of a worker and of a large enqueue, CPU of a worker with nothing to do, memory of
// the server for jobs that wait.
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "benches/bench.hpp"
#include "benches/work.hpp"
#include "cli/frame/own_process.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;

constexpr Duration kProcessMost = std::chrono::minutes{10};
constexpr Duration kLookEvery = std::chrono::milliseconds{20};
constexpr double kMemoryMost = 64;  // MiB

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// The peak of a worker that drains a full store.
Result<double> memory_of_worker(Bench& bench) {
  const Result<std::string> path = bench.filled_place();
  if (!path) return std::unexpected(path.error());
  auto worker =
      OwnProcess::start(bench.runtime(), bench.with_store({"bench-part", "worker"}, *path), {}, bench.words_path());
  if (!worker) return std::unexpected(worker.error());
  const Instant deadline = bench.runtime().now() + kProcessMost;
  (*worker)->read_line(deadline);
  (*worker)->write_line("go");
  const nlohmann::json told = nlohmann::json::parse((*worker)->read_line(deadline).value_or(""), nullptr, false);
  (*worker)->finish(deadline);
  bench.places.drop(*path);
  if (!told.is_object()) return std::unexpected(bench.failed("the worker of the bench failed"));
  return mebibytes(told["peak_bytes"].get<std::int64_t>());
}

struct Enqueued {
  double peak = 0;  // MiB
  double rate = 0;
};

// `fenceline enqueue --jsonl` as people run it.
Result<Enqueued> enqueue_file(Bench& bench) {
  Runtime& runtime = bench.runtime();
  const std::string path = bench.places.fresh("lines");
  const std::string file = bench.folder.fresh_path("lines");
  {
    const std::vector<std::string> payloads = bench_payloads(bench.sizes.batch);
    std::ofstream lines(file);
    for (std::int64_t i = 0; i < bench.sizes.lines; ++i)
      lines << payloads[static_cast<std::size_t>(i % bench.sizes.batch)] << '\n';
    if (!lines.flush()) return fail(Code::full, "the file of the bench could not be written");
  }
  // A schema is never set up by the way.
  if (bench.places.has_server()) {
    if (const auto store = bench.open(path); !store) return std::unexpected(store.error());
  }
  const Instant began = runtime.now();
  auto process = OwnProcess::start(runtime, bench.with_store({"enqueue", kBenchQueue, "--jsonl", file}, path), {},
                                   bench.words_path());
  if (!process) return std::unexpected(process.error());
  std::int64_t peak = 0;
  std::optional<std::string> answer;
  while (!answer) {
    if (bench.stopped()) return fail(Code::held, "interrupted");
    const auto now = bench::peak_memory_of((*process)->pid());
    peak = std::max(peak, now.value_or(0));
    answer = (*process)->read_line(runtime.now() + kLookEvery);
    if (!now && !answer) return std::unexpected(bench.failed("fenceline enqueue failed in the bench"));
  }
  const Duration took = runtime.now() - began;
  (*process)->finish(runtime.now() + kProcessMost);
  bench.places.drop(path);
  bench::ScratchFolder::drop(file);
  return Enqueued{mebibytes(peak), static_cast<double>(bench.sizes.lines) * 1e6 / static_cast<double>(took.count())};
}

}  // namespace

BenchResults measure_memory(Bench& bench) {
  if (auto ok = bench.go_on("memory of a worker"); !ok) return std::unexpected(ok.error());
  const Result<double> worker = memory_of_worker(bench);
  if (!worker) return std::unexpected(worker.error());
  if (auto ok = bench.go_on("memory of an enqueue of " + std::to_string(bench.sizes.lines) + " lines"); !ok)
    return std::unexpected(ok.error());
  const Result<Enqueued> enqueued = enqueue_file(bench);
  if (!enqueued) return std::unexpected(enqueued.error());
  BenchResult result{.name = "memory"};
  result.rate = enqueued->rate;
  result.add("worker_mib", *worker);
  result.add("enqueue_mib", enqueued->peak);
  result.add("lines", static_cast<double>(bench.sizes.lines));
  result.must("worker_mib", *worker, Bound::at_most, kMemoryMost);
  result.must("enqueue_mib", enqueued->peak, Bound::at_most, kMemoryMost);
  return std::vector{result};
}

BenchResults measure_idle(Bench& bench) {
  Runtime& runtime = bench.runtime();
  if (auto ok = bench.go_on("a worker with nothing to do"); !ok) return std::unexpected(ok.error());
  const std::string path = bench.places.fresh("idle");
  {
    const auto store = bench.open(path);
    if (!store) return std::unexpected(store.error());
  }
  std::vector<std::string> arguments = bench.with_store({"work", kBenchQueue}, path);
  arguments.insert(arguments.end(), {"--", "true"});
  const auto worker = OwnProcess::start(runtime, arguments, {}, bench.words_path());
  if (!worker) return std::unexpected(worker.error());
  // Not its start: that is over soon and happens once.
  if (!runtime.sleep_for(std::chrono::seconds{1}, bench.invocation.stop)) return fail(Code::held, "interrupted");
  const Instant began = runtime.now();
  const std::optional<Duration> before = bench::cpu_time_of((*worker)->pid());
  if (!runtime.sleep_for(bench.sizes.idle_for, bench.invocation.stop)) return fail(Code::held, "interrupted");
  const std::optional<Duration> after = bench::cpu_time_of((*worker)->pid());
  const Duration took = runtime.now() - began;
  if (!before || !after) return std::unexpected(bench.failed("the idle worker of the bench is gone"));
  BenchResult result{.name = "idle"};
  const double percent = 100.0 * static_cast<double>((*after - *before).count()) / static_cast<double>(took.count());
  result.add("cpu_percent", percent);
  result.must("cpu_percent", percent, Bound::at_most, 1);
  return std::vector{result};
}

// Ours and raw's, of the same payloads, one after the other.
BenchResults measure_waiting_bytes(Bench& bench) {
  const Result<std::optional<std::int64_t>> known = bench.places.memory_used();
  if (!known) return std::unexpected(known.error());
  if (!*known) return std::vector{BenchResult{.name = "waiting_bytes", .skipped = "waiting jobs are on a disk"}};
  if (auto ok = bench.go_on("memory of " + std::to_string(bench.sizes.jobs) + " waiting jobs"); !ok)
    return std::unexpected(ok.error());
  const auto bytes_a_job = [&](const std::string& stem,
                               const std::function<Result<void>(const std::string&)>& fill) -> Result<double> {
    const std::string place = bench.places.fresh(stem);
    const Result<std::optional<std::int64_t>> before = bench.places.memory_used();
    if (!before) return std::unexpected(before.error());
    if (auto ok = fill(place); !ok) return std::unexpected(ok.error());
    const Result<std::optional<std::int64_t>> after = bench.places.memory_used();
    if (!after) return std::unexpected(after.error());
    bench.places.drop(place);
    return static_cast<double>(after->value_or(0) - before->value_or(0)) / static_cast<double>(bench.sizes.jobs);
  };
  const Result<double> ours = bytes_a_job("ours", [&](const std::string& place) -> Result<void> {
    const auto store = bench.open(place);
    if (!store) return std::unexpected(store.error());
    const Result<Cost> filled =
        enqueue_in_batches(bench.runtime(), **store, bench.sizes.jobs, bench.sizes.batch, bench.invocation.stop);
    return filled ? Result<void>() : std::unexpected(filled.error());
  });
  if (!ours) return std::unexpected(ours.error());
  const std::vector<std::string> payloads = bench_payloads(bench.sizes.batch);
  const Result<double> raw = bytes_a_job("raw", [&](const std::string& place) -> Result<void> {
    const auto queue = bench.open_raw(place, bench::RawStyle::row_by_row);
    if (!queue) return std::unexpected(queue.error());
    for (std::int64_t sent = 0; sent < bench.sizes.jobs && !bench.stopped(); sent += bench.sizes.batch) {
      if (auto ok = (*queue)->enqueue(payloads); !ok) return ok;
    }
    return {};
  });
  if (!raw) return std::unexpected(raw.error());
  BenchResult result{.name = "waiting_bytes"};
  result.add("bytes", *ours);
  result.add("raw_bytes", *raw);
  result.add("payload_bytes", static_cast<double>(std::accumulate(
                                  payloads.begin(), payloads.end(), std::size_t{0},
                                  [](std::size_t sum, const std::string& one) { return sum + one.size(); })) /
                                  static_cast<double>(payloads.size()));
  result.add("jobs", static_cast<double>(bench.sizes.jobs));
  return std::vector{result};
}

}  // namespace fenceline::cli

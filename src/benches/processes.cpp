// What several processes do on one store: drain it together, and start each other's jobs.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "benches/bench.hpp"
#include "benches/work.hpp"
#include "cli/frame/own_process.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;
using bench::RawStyle;

constexpr Duration kPartMost = std::chrono::minutes{5};

struct Together {
  Cost cost;
  double jain = 1;
};

// Starts the same part several times, lets all go at once, and adds up what they tell.
Result<Together> run_together(Bench& bench, int processes, const std::vector<std::string>& arguments) {
  Runtime& runtime = bench.runtime();
  const Instant deadline = runtime.now() + kPartMost;
  std::vector<std::unique_ptr<OwnProcess>> parts;
  for (int i = 0; i < processes; ++i) {
    auto part = OwnProcess::start(runtime, arguments, {}, bench.words_path());
    if (!part) return std::unexpected(part.error());
    parts.push_back(std::move(*part));
  }
  for (const auto& part : parts) {
    if (part->read_line(deadline) != "ready")
      return std::unexpected(bench.failed("a process of the bench did not open its store"));
  }
  for (const auto& part : parts) part->write_line("go");
  std::vector<double> shares;
  std::int64_t began = std::numeric_limits<std::int64_t>::max();
  std::int64_t ended = 0;
  Cost sum;
  for (const auto& part : parts) {
    const std::optional<std::string> line = part->read_line(deadline);
    if (bench.stopped()) return fail(Code::held, "interrupted");
    const nlohmann::json told = nlohmann::json::parse(line.value_or(""), nullptr, false);
    if (!told.is_object()) return std::unexpected(bench.failed("a process of the bench failed"));
    sum.jobs += told["jobs"].get<std::int64_t>();
    sum.cpu += Duration{told["cpu_us"].get<std::int64_t>()};
    began = std::min(began, told["began_us"].get<std::int64_t>());
    ended = std::max(ended, told["ended_us"].get<std::int64_t>());
    shares.push_back(told["jobs"].get<double>());
    part->finish(deadline);
  }
  sum.wall = Duration{ended - began};
  if (sum.jobs != bench.sizes.jobs)
    return fail(Code::broken, "the processes of the bench drained " + std::to_string(sum.jobs) + " of " +
                                  std::to_string(bench.sizes.jobs) + " jobs");
  return Together{sum, bench::jain_index(shares)};
}

Result<Together> ours_together(Bench& bench, int processes) {
  const Result<std::string> path = bench.filled_place();
  if (!path) return std::unexpected(path.error());
  const Result<Together> together = run_together(bench, processes, bench.with_store({"bench-part", "drain"}, *path));
  bench.places.drop(*path);
  return together;
}

// On PostgreSQL the narrow table is the harder one to match.
RawStyle raw_style(const Bench& bench) {
  return bench.places.kind() == bench::StoreKind::postgres ? RawStyle::set_based : RawStyle::row_by_row;
}

Result<Together> raw_together(Bench& bench, int processes) {
  const std::string path = bench.places.fresh("raw");
  {
    const auto raw = bench.open_raw(path, raw_style(bench));
    if (!raw) return std::unexpected(raw.error());
    const std::vector<std::string> payloads = bench_payloads(bench.sizes.batch);
    for (std::int64_t sent = 0; sent < bench.sizes.jobs; sent += bench.sizes.batch) {
      if (auto ok = (*raw)->enqueue(payloads); !ok) return std::unexpected(ok.error());
    }
  }
  std::vector<std::string> arguments{"bench-part", "raw-drain"};
  if (raw_style(bench) == RawStyle::set_based) arguments.push_back("--narrow");
  const Result<Together> together = run_together(bench, processes, bench.with_store(arguments, path));
  bench.places.drop(path);
  return together;
}

}  // namespace

// Beside one process that does the same, in the same round.
BenchResults measure_two_processes(Bench& bench) {
  if (!bench.places.has_server())
    return std::vector{BenchResult{.name = "drain_2", .skipped = "one file has one writer at a time; see drain_4"}};
  BenchSides sides;
  std::vector<double> times;
  std::vector<double> raw_times;
  for (int round = 0; round < bench.sizes.process_rounds; ++round) {
    if (auto ok = bench.go_on("drain by two processes, round " + std::to_string(round + 1)); !ok)
      return std::unexpected(ok.error());
    struct Turn {
      bool ours;
      int processes;
      Cost cost{};
    };
    std::vector<Turn> turns{{true, 1}, {false, 1}, {true, 2}, {false, 2}};
    if (round % 2 == 1) std::swap(turns[0], turns[2]), std::swap(turns[1], turns[3]);
    for (Turn& turn : turns) {
      const Result<Together> together =
          turn.ours ? ours_together(bench, turn.processes) : raw_together(bench, turn.processes);
      if (!together) return std::unexpected(together.error());
      turn.cost = together->cost;
    }
    const auto cost = [&](bool ours, int processes) {
      return std::ranges::find_if(turns,
                                  [&](const Turn& turn) { return turn.ours == ours && turn.processes == processes; })
          ->cost;
    };
    sides.ours.push_back(cost(true, 2));
    sides.raw.push_back(cost(false, 2));
    times.push_back(cost(true, 2).rate() / cost(true, 1).rate());
    raw_times.push_back(cost(false, 2).rate() / cost(false, 1).rate());
  }
  BenchResult result = compare_sides("drain_2", sides);
  const bench::Spread spread = bench::spread_of(times);
  result.add("times_one", spread);
  result.add("raw_times_one", bench::median_of(raw_times));
  // A Redis server works for one at a time: a second process has only its own work to do beside it.
  if (bench.places.kind() != bench::StoreKind::redis) result.must("times_one", spread.median, Bound::at_least, 1.4);
  return std::vector{result};
}

BenchResults measure_four_processes(Bench& bench) {
  BenchSides sides;
  std::vector<double> jain;
  std::vector<double> raw_jain;
  for (int round = 0; round < bench.sizes.process_rounds; ++round) {
    if (auto ok = bench.go_on("drain by four processes, round " + std::to_string(round + 1)); !ok)
      return std::unexpected(ok.error());
    const bool ours_first = round % 2 == 0;
    const int four = bench.sizes.processes;
    const Result<Together> first = ours_first ? ours_together(bench, four) : raw_together(bench, four);
    if (!first) return std::unexpected(first.error());
    const Result<Together> second = ours_first ? raw_together(bench, four) : ours_together(bench, four);
    if (!second) return std::unexpected(second.error());
    const Together& ours = ours_first ? *first : *second;
    const Together& raw = ours_first ? *second : *first;
    sides.ours.push_back(ours.cost);
    sides.raw.push_back(raw.cost);
    jain.push_back(ours.jain);
    raw_jain.push_back(raw.jain);
  }
  BenchResult result = compare_sides("drain_4", sides);
  result.add("jain", bench::median_of(jain));
  result.add("jain_low", bench::spread_of(jain).low);
  result.add("raw_jain", bench::median_of(raw_jain));
  if (bench.places.has_server()) return std::vector{result};  // its two cores are busy with two
  result.must("ratio", *result.ratio, Bound::at_least, 0.5);
  result.must("jain", bench::median_of(jain), Bound::at_least, 0.95);
  return std::vector{result};
}

// The raw commit halfway between two jobs tells what the disk alone did in the same seconds.
BenchResults measure_start_latency(Bench& bench) {
  constexpr Duration kApart = std::chrono::milliseconds{20};
  Runtime& runtime = bench.runtime();
  const std::string path = bench.places.fresh("ours");
  const std::string raw_path = bench.places.fresh("raw");
  if (auto ok = bench.go_on("enqueue to start at 50 a second"); !ok) return std::unexpected(ok.error());
  const auto store = bench.open(path);
  if (!store) return std::unexpected(store.error());
  const auto raw = bench.open_raw(raw_path, RawStyle::row_by_row);
  if (!raw) return std::unexpected(raw.error());
  const auto send = [&](std::int64_t sent) {
    const JobId id = make_uuid7(runtime.wall_now(), runtime.random(), runtime.random());
    return (*store)->enqueue(
        {.ns = kBenchNamespace, .jobs = {{.id = id, .queue = kBenchQueue, .payload = std::to_string(sent)}}});
  };
  if (const auto reply = send(0); !reply) return std::unexpected(reply.error());
  auto worker = OwnProcess::start(runtime, bench.with_store({"bench-part", "start"}, path), {}, bench.words_path());
  if (!worker) return std::unexpected(worker.error());
  if ((*worker)->read_line(runtime.now() + kPartMost) != "started")
    return std::unexpected(bench.failed("the worker of the bench did not start a job"));

  std::vector<double> commits;
  std::vector<double> raw_commits;
  const std::vector<std::string> payload = bench_payloads(1);
  const auto count = bench.sizes.latency_for / kApart;
  const Instant began = runtime.now() + kApart;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!runtime.sleep_until(began + i * kApart, bench.invocation.stop)) return fail(Code::held, "interrupted");
    const Instant sent = runtime.now();
    if (const auto reply = send(sent.time_since_epoch().count()); !reply) return std::unexpected(reply.error());
    commits.push_back(in_milliseconds(runtime.now() - sent));
    runtime.sleep_until(began + i * kApart + kApart / 2, bench.invocation.stop);
    const Instant raw_sent = runtime.now();
    if (auto ok = (*raw)->enqueue(payload); !ok) return std::unexpected(ok.error());
    raw_commits.push_back(in_milliseconds(runtime.now() - raw_sent));
  }
  runtime.sleep_for(std::chrono::milliseconds{500}, bench.invocation.stop);
  (*worker)->write_line("enough");
  const std::optional<std::string> line = (*worker)->read_line(runtime.now() + kPartMost);
  const nlohmann::json told = nlohmann::json::parse(line.value_or(""), nullptr, false);
  if (!told.is_object()) return std::unexpected(bench.failed("the worker of the bench failed"));
  (*worker)->finish(runtime.now() + kPartMost);
  std::vector<double> waits;
  for (const auto& wait : told["waits_us"]) waits.push_back(wait.get<double>() / 1000);
  if (std::cmp_not_equal(waits.size(), count))
    return fail(Code::broken, "the worker of the bench started " + std::to_string(waits.size()) + " of " +
                                  std::to_string(count) + " jobs");

  BenchResult result{.name = "start_latency"};
  result.p50_ms = bench::percentile(waits, 0.5);
  result.p99_ms = bench::percentile(waits, 0.99);
  result.add("max_ms", bench::percentile(waits, 1));
  result.add("samples", static_cast<double>(waits.size()));
  result.add("commit_p50_ms", bench::percentile(commits, 0.5));
  result.add("commit_p99_ms", bench::percentile(commits, 0.99));
  result.add("raw_commit_p50_ms", bench::percentile(raw_commits, 0.5));
  result.add("raw_commit_p99_ms", bench::percentile(raw_commits, 0.99));
  result.must("p99_ms", *result.p99_ms, Bound::at_most, 60);
  return std::vector{result};
}

}  // namespace fenceline::cli

// How a bench tells what it found.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "benches/bench.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/table.hpp"

namespace fenceline::cli {
namespace {

using bench::Cost;

// Digits beyond the fourth mean nothing here.
double rounded(double number) {
  if (number == 0 || !std::isfinite(number)) return 0;
  const double scale = std::pow(10, 3 - std::floor(std::log10(std::abs(number))));
  return std::abs(number) >= 1000 ? std::round(number) : std::round(number * scale) / scale;
}

nlohmann::json number_or_null(const std::optional<double>& number) {
  return number ? nlohmann::json(rounded(*number)) : nlohmann::json(nullptr);
}

std::string shown(double number) {
  char text[32];
  std::snprintf(text, sizeof text, std::abs(number) >= 100 ? "%.0f" : std::abs(number) >= 10 ? "%.1f" : "%.2f", number);
  return text;
}

std::string shown(const std::optional<double>& number) { return number ? shown(*number) : "-"; }

std::optional<double> find(const BenchResult& result, const std::string& name) {
  for (const auto& [number, value] : result.more) {
    if (number == name) return value;
  }
  return std::nullopt;
}

// To the raw side that is not the one above, whatever it is called.
std::optional<double> ratio_to_other(const BenchResult& result) {
  for (const auto& [number, value] : result.more) {
    if (number.starts_with("ratio_to_")) return value;
  }
  return std::nullopt;
}

std::string with_range(const BenchResult& result) {
  if (!result.ratio) return "-";
  const auto low = find(result, "ratio_low");
  const auto high = find(result, "ratio_high");
  return shown(*result.ratio) + (low && high ? " (" + shown(*low) + ".." + shown(*high) + ")" : "");
}

std::string mark_words(const BenchMark& mark) {
  return mark.number + " " + shown(mark.value) + (mark.bound == Bound::at_least ? ", at least " : ", at most ") +
         shown(mark.limit) + (mark.met() ? ": met" : ": MISSED");
}

std::vector<double> rates(const std::vector<Cost>& costs) {
  std::vector<double> all;
  for (const Cost& cost : costs) all.push_back(cost.rate());
  return all;
}

std::vector<double> cpus(const std::vector<Cost>& costs) {
  std::vector<double> all;
  for (const Cost& cost : costs) all.push_back(cost.cpu_per_job());
  return all;
}

std::vector<double> quotients(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> all;
  for (std::size_t i = 0; i < std::min(above.size(), below.size()); ++i) {
    if (below[i] > 0) all.push_back(above[i] / below[i]);
  }
  return all;
}

}  // namespace

BenchResult compare_sides(const std::string& name, const BenchSides& sides) {
  BenchResult result{.name = name};
  result.rate = bench::median_of(rates(sides.ours));
  result.raw_rate = bench::median_of(rates(sides.raw));
  const bench::Spread ratio = bench::spread_of(quotients(rates(sides.ours), rates(sides.raw)));
  result.ratio = ratio.median;
  result.add_range("ratio", ratio);
  // The other way round, so that more is better in both: raw's CPU time over ours.
  const bench::Spread cpu = bench::spread_of(quotients(cpus(sides.raw), cpus(sides.ours)));
  result.add("cpu_ratio", cpu);
  result.add("cpu_us", bench::median_of(cpus(sides.ours)));
  result.add("raw_cpu_us", bench::median_of(cpus(sides.raw)));
  if (!sides.raw_set.empty()) {
    result.add("raw_" + sides.set_name + "_rate", bench::median_of(rates(sides.raw_set)));
    result.add("ratio_to_" + sides.set_name, bench::median_of(quotients(rates(sides.ours), rates(sides.raw_set))));
    result.add("cpu_ratio_to_" + sides.set_name, bench::median_of(quotients(cpus(sides.raw_set), cpus(sides.ours))));
  }
  result.add("rounds", static_cast<double>(sides.ours.size()));
  return result;
}

std::string bench_json(const std::string& store, const std::string& durability,
                       const std::vector<BenchResult>& results) {
  nlohmann::ordered_json all{
      {"store", store}, {"synchronous", durability}, {"results", nlohmann::ordered_json::array()}};
  for (const BenchResult& result : results) {
    nlohmann::ordered_json one{{"name", result.name},
                               {"rate", number_or_null(result.rate)},
                               {"raw_rate", number_or_null(result.raw_rate)},
                               {"ratio", number_or_null(result.ratio)},
                               {"p50_ms", number_or_null(result.p50_ms)},
                               {"p99_ms", number_or_null(result.p99_ms)}};
    for (const auto& [number, value] : result.more) one[number] = rounded(value);
    if (!result.marks.empty()) one["marks"] = nlohmann::ordered_json::array();
    for (const BenchMark& mark : result.marks) {
      const char* bound = mark.bound == Bound::at_least ? "at_least" : "at_most";
      one["marks"].push_back(
          {{"number", mark.number}, {"value", rounded(mark.value)}, {bound, mark.limit}, {"met", mark.met()}});
    }
    if (!result.skipped.empty()) one["skipped"] = result.skipped;
    if (!result.failed.empty()) one["failed"] = result.failed;
    all["results"].push_back(std::move(one));
  }
  return all.dump();
}

void print_bench_table(const std::vector<BenchResult>& results) {
  const bool of_locks =
      std::ranges::any_of(results, [](const BenchResult& result) { return result.name.starts_with("lock_"); });
  Table table{.columns = {{"MEASURE", false, false, true},
                          {of_locks ? "PAIRS/S" : "JOBS/S", false, true},
                          {"RAW/S", false, true},
                          {"OF RAW", false, false, true},
                          {"BY CPU", false, true},
                          {"OF OTHER RAW", false, true},
                          {of_locks ? "CPU US/PAIR" : "CPU US/JOB", false, true}},
              .rows = {}};
  for (const BenchResult& result : results) {
    if (!result.rate || !result.raw_rate) continue;
    table.rows.push_back({result.name, shown(result.rate), shown(result.raw_rate), with_range(result),
                          shown(find(result, "cpu_ratio")), shown(ratio_to_other(result)),
                          shown(find(result, "cpu_us"))});
  }
  if (!table.rows.empty()) {
    print_table(table);
    print_line("");
  }
  for (const BenchResult& result : results) {
    if (!result.skipped.empty()) print_line(result.name + ": not measured: " + result.skipped);
    if (!result.failed.empty()) print_line(result.name + ": FAILED: " + result.failed);
    if (!result.raw_rate && result.skipped.empty() && result.failed.empty()) {
      std::string line = result.name + ":";
      if (result.rate) line += " rate " + shown(*result.rate);
      if (result.ratio) line += " ratio " + shown(*result.ratio);
      if (result.p50_ms) line += " p50_ms " + shown(*result.p50_ms);
      if (result.p99_ms) line += " p99_ms " + shown(*result.p99_ms);
      for (const auto& [number, value] : result.more) line += " " + number + " " + shown(value);
      print_line(line);
    }
    if (result.raw_rate && result.p50_ms && result.p99_ms)
      print_line(result.name + ": p50_ms " + shown(*result.p50_ms) + " p99_ms " + shown(*result.p99_ms));
    for (const BenchMark& mark : result.marks) print_line("  " + result.name + ": " + mark_words(mark));
  }
}

}  // namespace fenceline::cli

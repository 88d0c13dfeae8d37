// How a bench tells what it found.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

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

std::vector<Table> bench_tables(const std::vector<BenchResult>& results) {
  const bool of_locks =
      std::ranges::any_of(results, [](const BenchResult& result) { return result.name.starts_with("lock_"); });
  const Column measure{.name = "measure", .whole = true};
  const auto number = [](std::string name, bool spare = false) {
    return Column{.name = std::move(name), .right = true, .spare = spare};
  };
  Table compared{{measure,
                  number(of_locks ? "pairs_per_s" : "jobs_per_s"),
                  number("raw_per_s"),
                  {.name = "of_raw", .whole = true},
                  number("by_cpu"),
                  number("of_other_raw", true),
                  number(of_locks ? "cpu_us_per_pair" : "cpu_us_per_job", true)},
                 {}};
  Table others{{measure, {.name = "number"}, number("value")}, {}};
  Table marks{{measure, {.name = "number"}, number("value"), {.name = "mark"}, {.name = "verdict", .whole = true}}, {}};
  Table missing{{measure, {.name = "result", .whole = true}, {.name = "why", .wraps = true}}, {}};
  for (const BenchResult& result : results) {
    const auto add = [&](const std::string& name, const std::optional<double>& value) {
      if (value) others.rows.push_back({result.name, name, shown(*value)});
    };
    if (!result.skipped.empty()) missing.rows.push_back({result.name, {"not measured", Tone::faint}, result.skipped});
    if (!result.failed.empty()) missing.rows.push_back({result.name, {"failed", Tone::bad}, result.failed});
    if (result.rate && result.raw_rate)
      compared.rows.push_back({result.name, shown(result.rate), shown(result.raw_rate), with_range(result),
                               shown(find(result, "cpu_ratio")), shown(ratio_to_other(result)),
                               shown(find(result, "cpu_us"))});
    if (!result.raw_rate) {
      add("rate", result.rate);
      add("ratio", result.ratio);
    }
    add("p50_ms", result.p50_ms);
    add("p99_ms", result.p99_ms);
    for (const auto& [name, value] : result.more) {
      if (!result.raw_rate) add(name, value);
    }
    for (const BenchMark& mark : result.marks)
      marks.rows.push_back({result.name, mark.number, shown(mark.value),
                            (mark.bound == Bound::at_least ? "at least " : "at most ") + shown(mark.limit),
                            mark.met() ? Cell("met", Tone::good) : Cell("missed", Tone::bad)});
  }
  std::vector<Table> tables;
  for (Table* table : {&compared, &others, &marks, &missing}) {
    if (!table->rows.empty()) tables.push_back(std::move(*table));
  }
  return tables;
}

void print_bench_tables(const std::vector<BenchResult>& results) {
  bool first = true;
  for (const Table& table : bench_tables(results)) {
    if (!std::exchange(first, false)) print_line("");
    print_table(table);
  }
}

std::string bench_plot(const std::vector<BenchResult>& results, int width) {
  constexpr int kSideWidth = 4;    // "ours"
  constexpr int kNumberWidth = 9;  // "123456 /s"
  constexpr int kBarLeast = 10;
  struct Bar {
    std::string side;
    double value = 0;
    std::string text;
  };
  std::size_t names = 0;
  for (const BenchResult& result : results) names = std::max(names, result.name.size());
  const int bar_most = std::max(kBarLeast, width - static_cast<int>(names) - kSideWidth - kNumberWidth - 6);
  std::string out;
  for (const BenchResult& result : results) {
    std::vector<Bar> bars;
    if (result.rate) bars.push_back({"ours", *result.rate, shown(*result.rate) + "/s"});
    if (result.rate && result.raw_rate) bars.push_back({"raw", *result.raw_rate, shown(*result.raw_rate) + "/s"});
    if (result.p50_ms) bars.push_back({"p50", *result.p50_ms, shown(*result.p50_ms) + "ms"});
    if (result.p99_ms) bars.push_back({"p99", *result.p99_ms, shown(*result.p99_ms) + "ms"});
    for (std::size_t i = 0; i < bars.size(); ++i) {
      const Bar& bar = bars[i];
      const bool of_time = bar.side.starts_with("p");
      double most = 0;
      for (const Bar& other : bars) {
        if (other.side.starts_with("p") == of_time) most = std::max(most, other.value);
      }
      const int length = most > 0 ? static_cast<int>(std::lround(bar.value / most * bar_most)) : 0;
      const std::string name = i == 0 ? result.name : "";
      out += name + std::string(names - name.size() + 2, ' ') + bar.side +
             std::string(kSideWidth - bar.side.size() + 2, ' ') + std::string(static_cast<std::size_t>(length), '#') +
             (length > 0 ? " " : "") + bar.text + "\n";
    }
  }
  return out.empty() ? out : out + "\nEach measure has its own scale.\n";
}

}  // namespace fenceline::cli

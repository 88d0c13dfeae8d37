// What the measures of `fenceline bench` share: sizes, the scratch folder, results and their marks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "bench/places.hpp"
#include "bench/raw_queue.hpp"
#include "bench/scratch_folder.hpp"
#include "bench/statistics.hpp"
#include "bench/usage.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/table.hpp"

namespace fenceline::cli {

// What a number must reach.
struct BenchMark {
  enum class Bound { at_least, at_most };

  std::string number;  // its name in the result
  double value = 0;
  Bound bound = Bound::at_least;
  double limit = 0;

  bool met() const { return bound == Bound::at_least ? value >= limit : value <= limit; }
};

using Bound = BenchMark::Bound;

// One line of the report. Empty members were not measured.
struct BenchResult {
  std::string name;
  std::optional<double> rate;      // jobs a second
  std::optional<double> raw_rate;  // of the raw library, in the same rounds
  std::optional<double> ratio;     // median of the ratios of the rounds
  std::optional<double> p50_ms;
  std::optional<double> p99_ms;
  std::vector<std::pair<std::string, double>> more;
  std::vector<BenchMark> marks;
  std::string skipped;  // why there are no numbers
  std::string failed;   // what went wrong, if it was tried

  void add(const std::string& number, double value) { more.emplace_back(number, value); }
  void add(const std::string& number, const bench::Spread& spread) {
    add(number, spread.median);
    add_range(number, spread);
  }
  void add_range(const std::string& number, const bench::Spread& spread) {
    add(number + "_low", spread.low);
    add(number + "_high", spread.high);
  }
  void must(const std::string& number, double value, Bound bound, double limit) {
    marks.push_back({number, value, bound, limit});
  }
};

// One object, as scripts read it.
std::string bench_json(const std::string& store, const std::string& durability,
                       const std::vector<BenchResult>& results);
// For people: what was compared with the raw library, other numbers, marks, and what was not measured; those with rows.
std::vector<Table> bench_tables(const std::vector<BenchResult>& results);
void print_bench_tables(const std::vector<BenchResult>& results);
// Bars of rates and latencies, in lines of at most `width` characters.
std::string bench_plot(const std::vector<BenchResult>& results, int width);

struct BenchSizes {
  int rounds = 7;
  std::int64_t batch = 1000;
  std::int64_t jobs = 100'000;    // of a bulk enqueue and a drain
  std::int64_t one_by_one = 400;  // commits of one thread in a round
  std::int64_t block = 25;        // of these of one side, before it is the other's turn
  int threads = 64;
  std::int64_t per_thread = 100;  // commits of each of many threads in a round
  int process_rounds = 5;
  int processes = 4;
  Duration latency_for = std::chrono::seconds{10};
  std::int64_t deep = 1'000'000;  // waiting jobs
  std::int64_t shallow = 20'000;
  std::int64_t kept = 1'000'000;        // finished jobs
  std::int64_t slice = 10'000;          // jobs of one slice, in claims of `batch`
  std::int64_t slice_of_small = 1'000;  // in claims of ten
  int slices = 10;
  std::int64_t lines = 1'000'000;  // of the file that is enqueued
  Duration idle_for = std::chrono::seconds{10};
  std::int64_t done_before = 100'000;  // jobs finished under the held horizon before it is measured
  Duration held_for{};                 // at the least, before it is measured
  int peer_rounds = 3;
  std::int64_t peer_jobs = 5'000;

  static BenchSizes quick();
  static BenchSizes large();
  // For a server that answers from its memory: calls take microseconds there.
  void for_memory() {
    one_by_one *= 10;
    block = 100;
  }
  // Bytes at the most: of the embedded store's files; on a server's disk, its log included; in the memory of one that
  // keeps all of it there.
  std::int64_t room() const { return std::max(deep, kept) * 250 + (jobs + lines) * 700 + (std::int64_t{64} << 20); }
  std::int64_t room_on_server() const { return (std::max(deep, kept) + jobs) * 800 + (std::int64_t{2} << 30); }
  std::int64_t room_in_memory() const { return (std::max(deep, kept) + jobs) * 600 + (std::int64_t{64} << 20); }
};

// Where measures run. Everything they make lies in the folder and in the places.
struct Bench {
  Invocation& invocation;
  bench::ScratchFolder& folder;
  bench::Places& places;
  BenchSizes sizes;

  Runtime& runtime() const { return *invocation.runtime; }
  bool full() const { return !invocation.accepts("no-sync"); }  // synchronous=FULL on both sides; else NORMAL
  bool stopped() const { return invocation.stop.stop_requested(); }
  // Errors: held, once a signal came.
  Result<void> go_on(const std::string& what) const;

  Result<std::unique_ptr<Store>> open(const std::string& place) const;
  Result<std::unique_ptr<bench::RawQueue>> open_raw(const std::string& place, bench::RawStyle style) const;
  // A new place in which `sizes.jobs` jobs wait.
  Result<std::string> filled_place() const;
  // Fills such a place, has it drained by `drain` and removes it. What draining cost.
  Result<bench::Cost> drained(const std::function<Result<bench::Cost>(Store&)>& drain) const;
  // Does `part` with parts of `count` until all of it is done, and says now and then how far it is: millions take
  // minutes. `what` is what has become of them: "done".
  Result<void> in_parts(const std::string& name, std::int64_t count, const std::string& what,
                        const std::function<Result<void>(std::int64_t)>& part) const;
  // What the last process that failed had to say, to be put behind what failed.
  Error failed(const std::string& what) const;
  // Where processes of the bench write their words.
  std::string words_path() const { return folder.path() + "/words"; }
  // How a process of this program is told to use that place as we do.
  std::vector<std::string> with_store(std::vector<std::string> arguments, const std::string& place) const;
};

inline double in_milliseconds(Duration duration) { return static_cast<double>(duration.count()) / 1000; }

// Slices of the same work on two stores in turn; every other time the other one is first. `note` gets what both cost.
template <class Once, class Note>
Result<void> alternate(const Bench& bench, const std::string& name, Store& one, Store& other, std::int64_t batch,
                       Once once, Note note) {
  for (int i = 0; i < bench.sizes.slices; ++i) {
    const std::string words = name + ", claims of " + std::to_string(batch) + ", slice " + std::to_string(i + 1);
    if (auto ok = bench.go_on(words); !ok) return ok;
    const bool one_first = i % 2 == 0;
    const auto first = once(one_first ? one : other);
    if (!first) return std::unexpected(first.error());
    const auto second = once(one_first ? other : one);
    if (!second) return std::unexpected(second.error());
    note(one_first ? *first : *second, one_first ? *second : *first);
  }
  return {};
}

// Costs of the same work on several sides, a round each.
struct BenchSides {
  std::vector<bench::Cost> ours;
  std::vector<bench::Cost> raw;
  std::vector<bench::Cost> raw_set;  // may be empty
  std::string set_name = "set";      // what the numbers of these are called
};
// Rates, ratios of rounds with their range, CPU time a job, as named in the report.
BenchResult compare_sides(const std::string& name, const BenchSides& sides);

using BenchResults = Result<std::vector<BenchResult>>;
BenchResults measure_one_by_one(Bench& bench);                        // enqueue_one, enqueue_64
BenchResults measure_bulk_and_drain(Bench& bench);                    // enqueue_bulk, drain, drain_worker
BenchResults measure_two_processes(Bench& bench);                     // drain_2
BenchResults measure_four_processes(Bench& bench);                    // drain_4
BenchResults measure_guarded(Bench& bench);                           // guarded
BenchResults measure_start_latency(Bench& bench);                     // start_latency
BenchResults measure_backlog(Bench& bench);                           // backlog
BenchResults measure_kept(Bench& bench);                              // kept
BenchResults measure_held_horizon(Bench& bench);                      // held_horizon
BenchResults measure_memory(Bench& bench);                            // memory
BenchResults measure_idle(Bench& bench);                              // idle
BenchResults measure_waiting_bytes(Bench& bench);                     // waiting_bytes
BenchResults measure_lock_pairs(Bench& bench);                        // lock_one, lock_64
BenchResults measure_lock_hand_over(Bench& bench);                    // lock_hand_over
BenchResults measure_peer(Bench& bench, const std::string& program);  // peer

CommandSpec bench_part_command();  // hidden: one process of a bench

}  // namespace fenceline::cli

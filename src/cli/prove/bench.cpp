// `fenceline bench`: how fast this store is here, beside its own raw library at the same durability, in one run. It
// works beside the store, never in it (in a folder of its own on the same disk, in schemas of its own in the same
// database, or under prefixes of its own on the same server), and removes what it made, also after Ctrl-C.
#include "benches/bench.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "cli/frame/config.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "cli/prove/commands.hpp"
#include "runtime/child_process.hpp"
#include "session/open_store.hpp"

namespace fenceline::cli {
namespace {

struct Measure {
  std::vector<std::string> names;  // of its results
  std::function<BenchResults(Bench&)> run;
  bool of_locks = false;  // of `bench locks`; else of `bench`
};

constexpr const char* kPeer = "peer_drain";  // wanted whenever a peer is named

const std::vector<Measure>& measures() {
  static const std::vector<Measure> all{
      {{"enqueue_one", "enqueue_64"}, measure_one_by_one},
      {{"enqueue_bulk", "drain", "drain_beside", "drain_worker"}, measure_bulk_and_drain},
      {{"drain_2"}, measure_two_processes},
      {{"drain_4"}, measure_four_processes},
      {{"guarded"}, measure_guarded},
      {{"start_latency"}, measure_start_latency},
      {{"backlog"}, measure_backlog},
      {{"kept"}, measure_kept},
      {{"held_horizon"}, measure_held_horizon},
      {{"memory"}, measure_memory},
      {{"idle"}, measure_idle},
      {{"waiting_bytes"}, measure_waiting_bytes},
      {{"lock_one", "lock_64"}, measure_lock_pairs, true},
      {{"lock_hand_over"}, measure_lock_hand_over, true},
  };
  return all;
}

bool of_locks(const Invocation& invocation) { return !invocation.argument("WHAT").empty(); }

std::string all_names(bool of_locks) {
  std::string text;
  for (const Measure& measure : measures()) {
    if (measure.of_locks != of_locks) continue;
    for (const std::string& name : measure.names) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

// Empty: all of them.
Result<std::vector<std::string>> wanted_names(const Invocation& invocation) {
  const auto given = invocation.options.find("--only");
  if (given == invocation.options.end()) return std::vector<std::string>{};
  const auto knows = [](const std::string& names, const std::string& name) {
    return (", " + names + ",").find(", " + name + ",") != std::string::npos;
  };
  const bool locks = of_locks(invocation);
  for (const std::string& name : given->second) {
    if (knows(all_names(locks), name)) continue;
    if (knows(all_names(!locks), name))
      return std::unexpected(usage_error("--only " + name + " is a measure of 'fenceline bench" +
                                         (locks ? "" : " locks") + "'; use " + all_names(locks)));
    return std::unexpected(
        usage_error("--only '" + printable(name, 40) + "' is not a measure; use " + all_names(locks)));
  }
  return given->second;
}

struct Report {
  std::vector<BenchResult> results;
  std::optional<Error> first_failure;
};

// A measure that fails is told as such, and the others go on: minutes of measuring are not thrown away for one call
// without an answer.
Report run_all(Bench& bench, const std::vector<std::string>& wanted) {
  const bool locks = of_locks(bench.invocation);
  const auto is_wanted = [&](const std::string& name) {
    return wanted.empty() || name == kPeer || std::ranges::find(wanted, name) != wanted.end();
  };
  std::vector<Measure> chosen = measures();
  std::erase_if(chosen, [&](const Measure& measure) {
    return std::ranges::none_of(measure.names, is_wanted) || measure.of_locks != locks;
  });
  const auto peer = bench.invocation.value("--peer");
  if (peer) chosen.push_back({{kPeer}, [&](Bench& with) { return measure_peer(with, *peer); }});
  Report report;
  for (const Measure& measure : chosen) {
    BenchResults some = measure.run(bench);
    if (bench.stopped()) break;
    if (some) {
      for (BenchResult& result : *some) {
        if (is_wanted(result.name)) report.results.push_back(std::move(result));
      }
      continue;
    }
    if (!report.first_failure) report.first_failure = some.error();
    for (const std::string& name : measure.names) {
      if (!is_wanted(name)) continue;
      report.results.push_back({.name = name, .failed = error_text(some.error())});
      tell("bench: " + name + " failed: " + report.results.back().failed);
    }
    bench.places.drop_all();
  }
  return report;
}

// Errors: full, before anything is made.
Result<void> check_room(bench::Places& places, const BenchSizes& sizes) {
  const bool in_memory = places.kind() == bench::StoreKind::redis;
  const std::string where = in_memory ? "memory" : "disk";
  const std::int64_t needed = in_memory ? sizes.room_in_memory() : sizes.room_on_server();
  const bool large = std::max(sizes.deep, sizes.kept) > BenchSizes{}.deep;
  const std::optional<std::int64_t> room = places.free_room();
  const std::string amount = std::to_string(needed >> 20) + " MiB";
  if (!room && large)
    tell("bench: cannot tell how much room the server's " + where + " has; about " + amount + " are needed");
  if (room && *room < needed)
    return fail(Code::full, "the bench needs " + amount + " of the server's " + where + " and it has " +
                                std::to_string(*room >> 20) +
                                "; make room, or use fewer jobs with --waiting N and --done N");
  return {};
}

constexpr int kPlotWidth = 80;  // where there is no terminal

Result<int> run_bench(Invocation& invocation) {
  if (const std::string what = invocation.argument("WHAT"); !what.empty() && what != "locks")
    return std::unexpected(usage_error("'" + printable(what, 40) + "' cannot be measured; omit it, or use locks"));
  const bool quick = invocation.has("--quick");
  if (quick && invocation.has("--large"))
    return std::unexpected(usage_error("--quick and --large exclude each other; pass one"));
  if (quick && invocation.has("--check"))
    return std::unexpected(
        usage_error("--check and --quick exclude each other: a quick run is too short to judge speed"));
  const Result<std::vector<std::string>> wanted = wanted_names(invocation);
  if (!wanted) return std::unexpected(wanted.error());
  if (auto ok = check_store_url(invocation.store_url); !ok) return std::unexpected(usage_error(ok.error().message));
  if (const auto peer = invocation.value("--peer")) {
    if (auto found = find_program(*peer); !found)
      return fail(found.error().code, "--peer: " + found.error().message + "; nothing was measured");
  }
  BenchSizes sizes = quick ? BenchSizes::quick() : invocation.has("--large") ? BenchSizes::large() : BenchSizes{};
  const Result<std::int64_t> rounds = invocation.number("--rounds", sizes.rounds, 1, 100);
  if (!rounds) return std::unexpected(rounds.error());
  const Result<std::int64_t> waiting = invocation.number("--waiting", sizes.deep, 1'000, 1'000'000'000);
  if (!waiting) return std::unexpected(waiting.error());
  sizes.deep = *waiting;
  const Result<std::int64_t> done = invocation.number("--done", sizes.kept, 1'000, 1'000'000'000);
  if (!done) return std::unexpected(done.error());
  sizes.kept = *done;
  if (invocation.has("--rounds")) sizes.rounds = sizes.process_rounds = static_cast<int>(*rounds);
  // A measure that is asked for alone may take long.
  if (!quick && *wanted == std::vector<std::string>{"held_horizon"}) sizes.held_for = BenchSizes::large().held_for;
  // The folder on a server's disk is out of reach, and how much room there is, too.
  const bench::StoreKind kind = bench::kind_of(invocation.store_url);
  const bool server = kind != bench::StoreKind::sqlite;
  if (kind == bench::StoreKind::redis) sizes.for_memory();
  const std::filesystem::path store = invocation.store_url.substr(invocation.store_url.find(':') + 1);
  Result<bench::ScratchFolder> folder =
      server ? bench::ScratchFolder::make_in(std::filesystem::temp_directory_path().string(), sizes.lines * 120)
             : bench::ScratchFolder::make_in(store.parent_path().string(), sizes.room());
  if (!folder) return std::unexpected(folder.error());
  Result<std::unique_ptr<bench::Places>> places =
      kind == bench::StoreKind::postgres ? bench::postgres_places(invocation.store_url)
      : kind == bench::StoreKind::redis  ? bench::redis_places(*invocation.runtime, invocation.store_url)
                                         : bench::sqlite_places(*folder);
  if (!places) return std::unexpected(places.error());
  if (server) {
    if (auto ok = check_room(**places, sizes); !ok) return std::unexpected(ok.error());
  }

  Bench bench{invocation, *folder, **places, sizes};
  Report report = run_all(bench, *wanted);
  if (invocation.stop.stop_requested()) {
    tell("fenceline: interrupted; the scratch data was removed");
    return interrupted_exit();
  }
  std::vector<BenchResult>& results = report.results;
  // Too short to be judged.
  if (quick) std::ranges::for_each(results, [](BenchResult& result) { result.marks.clear(); });
  if (invocation.json)
    print_line(bench_json(shown_store_url(invocation.store_url),
                          server         ? "server"
                          : bench.full() ? "full"
                                         : "normal",
                          results));
  else print_bench_tables(results);
  if (invocation.has("--plot") && !invocation.json)
    print("\n" + bench_plot(results, stdout_is_terminal() ? terminal_width() : kPlotWidth));
  if (report.first_failure) {
    tell("fenceline: some measures failed; the report says why");
    return exit_code(*report.first_failure);
  }
  const bool missed = std::ranges::any_of(results, [](const BenchResult& result) {
    return std::ranges::any_of(result.marks, [](const BenchMark& mark) { return !mark.met(); });
  });
  return invocation.has("--check") && missed ? kExitFound : kExitOk;
}

}  // namespace

CommandSpec bench_command() {
  return {.name = "bench",
          .summary = "Benchmark this store against its own raw library",
          .details = "Runs in a scratch folder on the same disk, or in scratch schemas or keys on the same server.",
          .arguments = {{"WHAT", "'locks' measures locks; default jobs", false}},
          .options = {{"--quick", "", "a short run of a few seconds: shows that it works, not how fast"},
                      {"--large", "",
                       "a large run: 10,000,000 waiting jobs in `backlog`, 3,000,000 done in `kept`, and the horizon "
                       "held back for more than 60 s"},
                      {"--waiting", "N", "number of waiting jobs in `backlog`; default 1,000,000"},
                      {"--done", "N", "number of done jobs in `kept`; default 1,000,000"},
                      {"--only", "NAME", "only this measure; may be given more than once", true},
                      {"--rounds", "N", "rounds of each comparison; default 7, and 5 for processes"},
                      {"--plot", "", "also draw rates and latencies as bars"},
                      {"--check", "", "exit with 1 if a target is missed"},
                      {"--peer", "PROGRAM", "another queue to compare with; see bench/peers and script/bench"}},
          .sections =
              {{"Measures",
                {{"enqueue_one", "one commit per job, one thread"},
                 {"enqueue_64", "the same by 64 threads at once"},
                 {"enqueue_bulk", "1000 jobs per call"},
                 {"drain", "claims of 1000, settled as done with a result, one process"},
                 {"drain_beside", "the same, each batch settled while the next is claimed, for stores with a server"},
                 {"drain_worker", "the same by a whole worker with a handler that does nothing"},
                 {"drain_2", "the same by two processes, for stores with a server"},
                 {"drain_4", "four processes, and how evenly they share the work"},
                 {"guarded", "an application's own transactions, with and without a fence"},
                 {"start_latency", "from the enqueue call to the start of the handler in another process, 50 a second"},
                 {"backlog", "cost of a job with 1,000,000 waiting against 20,000"},
                 {"kept", "cost of a job with 1,000,000 done against none"},
                 {"held_horizon",
                  "claims of 10 while another transaction holds back the horizon, for stores that have one"},
                 {"memory", "a worker, and an enqueue of 1,000,000 lines"},
                 {"idle", "CPU of a worker with nothing to do"},
                 {"waiting_bytes", "of the server's memory for each waiting job, for stores that keep them there"},
                 {"lock_one",
                  "acquire and release a lock, one caller, against one-row commits or, on Redis, SET NX and a deleting "
                  "script; with `bench locks`"},
                 {"lock_64", "the same by 64 callers at once, each with its own lock; with `bench locks`"},
                 {"lock_hand_over", "one lock passed among 50 waiters; with `bench locks`"}}}},
          .examples = {{"fenceline bench", "everything, in a few minutes"},
                       {"fenceline bench --only drain --only enqueue_bulk --json", "two measures, for scripts"},
                       {"fenceline bench locks", "locks, in half a minute"},
                       {"fenceline bench --quick", "check that it runs here"}},
          .run = run_bench};
}

}  // namespace fenceline::cli

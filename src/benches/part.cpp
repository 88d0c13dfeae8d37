// One process of a bench: opens its side, says "ready", waits for a line, works, and tells what it cost in one line.
#include <unistd.h>

#include <iostream>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "benches/bench.hpp"
#include "benches/work.hpp"
#include "cli/frame/command.hpp"
#include "cli/frame/output.hpp"
#include "services/worker.hpp"

namespace fenceline::cli {
namespace {

constexpr std::int64_t kBatch = 1000;
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

void say(const std::string& line) {
  print_line(line);
  flush_output();
}

// False if the parent process is gone.
bool wait_for_the_word() {
  std::string line;
  return static_cast<bool>(std::getline(std::cin, line));
}

void tell_cost(const Invocation& invocation, const bench::Cost& cost) {
  const Instant ended = invocation.runtime->now();
  say(nlohmann::json{{"jobs", cost.jobs},
                     {"began_us", (ended - cost.wall).time_since_epoch().count()},
                     {"ended_us", ended.time_since_epoch().count()},
                     {"cpu_us", cost.cpu.count()},
                     {"peak_bytes", bench::peak_memory_of(::getpid()).value_or(0)}}
          .dump());
}

Result<int> drain_raw(Invocation& invocation) {
  const auto raw =
      bench::open_raw(*invocation.runtime, invocation.store_url,
                      invocation.has("--narrow") ? bench::RawStyle::set_based : bench::RawStyle::row_by_row,
                      !invocation.accepts("no-sync"));
  if (!raw) return std::unexpected(raw.error());
  say("ready");
  if (!wait_for_the_word()) return kExitOk;
  const bench::Stopwatch watch(*invocation.runtime);
  std::int64_t done = 0;
  for (std::int64_t last = 1; last > 0 && !invocation.stop.stop_requested(); done += last) {
    const Result<std::int64_t> taken = (*raw)->take_and_finish(kBatch);
    if (!taken) return std::unexpected(taken.error());
    last = *taken;
  }
  tell_cost(invocation, watch.stop(done));
  return kExitOk;
}

// How long ago each job was sent, at the start of its handler.
class StartTimes final : public Handler {
 public:
  explicit StartTimes(Runtime& runtime) : runtime_(runtime) {}

  RunResult run(const Run& run) override {
    const std::int64_t now = runtime_.now().time_since_epoch().count();
    const nlohmann::json payload = nlohmann::json::parse(run.job.payload, nullptr, false);
    const std::int64_t sent = payload.is_number_integer() ? payload.get<std::int64_t>() : 0;
    const std::lock_guard lock(mutex_);
    // A job without a time only shows that this worker works.
    if (sent == 0) say("started");
    else waits_.push_back(now - sent);
    return {.kind = OutcomeKind::done};
  }

  std::vector<std::int64_t> waits() const {
    const std::lock_guard lock(mutex_);
    return waits_;
  }

 private:
  Runtime& runtime_;
  mutable std::mutex mutex_;
  std::vector<std::int64_t> waits_;
};

Result<int> note_starts(Invocation& invocation, Store& store) {
  StartTimes handler(*invocation.runtime);
  std::stop_source enough;
  const std::stop_callback signalled(invocation.stop, [&] { enough.request_stop(); });
  const Task listener = invocation.runtime->spawn("bench_word", [&](std::stop_token) {
    wait_for_the_word();
    enough.request_stop();
  });
  JobWorker worker(*invocation.runtime, Log(*invocation.log_sink), store, handler,
                   {.ns = kBenchNamespace,
                    .queues = {kBenchQueue},
                    .concurrency = 4,
                    .host = "bench",
                    .pid = ::getpid(),
                    .version = "bench"});
  const Result<WorkReport> report = worker.run(enough.get_token());
  if (!report) return std::unexpected(report.error());
  say(nlohmann::json{{"waits_us", handler.waits()}}.dump());
  return kExitOk;
}

Result<int> run_bench_part(Invocation& invocation) {
  const std::string part = invocation.argument("PART");
  if (part == "raw-drain") return drain_raw(invocation);
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  if (part == "start") return note_starts(invocation, **store);
  say("ready");
  if (!wait_for_the_word()) return kExitOk;
  const Result<bench::Cost> cost =
      part == "worker" ? drain_with_worker(*invocation.runtime, Log(*invocation.log_sink), **store, invocation.stop)
                       : drain_in_batches(*invocation.runtime, **store, kAll, kBatch, invocation.stop);
  if (!cost) return std::unexpected(cost.error());
  tell_cost(invocation, *cost);
  return kExitOk;
}

}  // namespace

CommandSpec bench_part_command() {
  return {.name = "bench-part",
          .summary = "Be one process of a bench",
          .arguments = {{"PART", "drain, worker, raw-drain or start"}},
          .options = {{"--narrow", "", "the other raw side"}},
          .hidden = true,
          .run = run_bench_part};
}

}  // namespace fenceline::cli

// `fenceline drill lease-expiry`: the race this project is about, on a real store with real processes. A takes a job
// for one second and is held at a barrier for 2.5 s; B takes it over; A writes late and must be refused.
#include <atomic>
#include <fstream>
#include <mutex>
#include <vector>

#include "cli/frame/output.hpp"
#include "cli/frame/own_process.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "drills/commands.hpp"
#include "drills/fleet.hpp"
#include "drills/trace.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kHeld = std::chrono::milliseconds{2500};
constexpr Duration kRoundMost = std::chrono::seconds{60};
constexpr int kRoundsAtOnce = 20;

struct Round {
  std::vector<TraceEvent> trace;
  std::string fault;  // empty: it went as it must
};

// Reads events of one side into the trace until `last`, or its end.
bool read_until(OwnProcess& process, const std::string& last, Instant deadline, std::vector<TraceEvent>& trace) {
  while (const std::optional<std::string> line = process.read_line(deadline)) {
    const TraceEvent event = parse_trace_event(*line);
    if (event.event.empty()) continue;
    trace.push_back(event);
    if (event.event == last) return true;
  }
  return false;
}

class Drill {
 public:
  Drill(Invocation& invocation, Store& store, std::string ns)
      : runtime_(*invocation.runtime), invocation_(invocation), store_(store), ns_(std::move(ns)) {}

  Round play(int number) {
    Round round;
    round.fault = race("race-" + std::to_string(number), round.trace);
    return round;
  }

  // What all workers of all rounds did.
  std::string history() const { return folder_.path() + "/history"; }

 private:
  Result<std::unique_ptr<OwnProcess>> start(const std::string& who, const std::string& queue, const std::string& ttl) {
    return OwnProcess::start(runtime_,
                             {"drill-worker", who, queue, "--ttl", ttl, "--history", history(), "--store",
                              invocation_.store_url, "--namespace", ns_},
                             {}, words_of(who, queue));
  }
  std::string words_of(const std::string& who, const std::string& queue) const {
    return folder_.path() + "/" + who + "-" + queue;
  }
  // What a side said last, for a fault that has it as its cause.
  std::string said_by(const std::string& who, const std::string& queue) const {
    std::ifstream words(words_of(who, queue));
    std::string last;
    for (std::string line; std::getline(words, line);) last = line;
    return last.empty() ? "" : ": " + printable(last, 300);
  }

  std::string race(const std::string& queue, std::vector<TraceEvent>& trace) {
    const Instant deadline = runtime_.now() + kRoundMost;
    const JobId job = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random());
    if (auto added = store_.enqueue({.ns = ns_, .jobs = {{.id = job, .queue = queue}}}); !added)
      return "enqueue: " + added.error().message;

    auto a = start("A", queue, "1s");
    if (!a) return a.error().message;
    if (!read_until(**a, "execution_started", deadline, trace)) return "A did not get the job" + said_by("A", queue);
    const Instant a_may_go = runtime_.now() + kHeld;
    auto b = start("B", queue, "30s");
    if (!b) return b.error().message;
    if (!read_until(**b, "execution_started", deadline, trace)) return "B did not take the job over";

    if (!runtime_.sleep_until(a_may_go, invocation_.stop)) return "stopped";
    (*a)->write_line("go");
    read_until(**a, "worker_exit", deadline, trace);
    (*b)->write_line("go");
    read_until(**b, "worker_exit", deadline, trace);
    const Exit a_exit = (*a)->finish(deadline);
    const Exit b_exit = (*b)->finish(deadline);

    if (std::string fault = fault_of(trace); !fault.empty()) return fault;
    if (a_exit.status != kExitLost || b_exit.status != kExitOk)
      return "A exited with " + std::to_string(a_exit.status) + " and B with " + std::to_string(b_exit.status) +
             " instead of 76 and 0";
    const Result<std::optional<Job>> end = store_.job(ns_, job);
    if (!end || !*end) return "J1: the job is missing";
    if ((*end)->state != JobState::done || (*end)->result != "B" || (*end)->fence != trace[2].fence ||
        (*end)->deliveries != 2 || (*end)->losses != 1)
      return "J3: the job does not hold B's outcome under B's fence after two deliveries and one loss";
    return {};
  }

  Runtime& runtime_;
  Invocation& invocation_;
  Store& store_;
  std::string ns_;
  DrillFolder folder_;
};

// Plays rounds side by side; the first fault of each lands in `faults`.
struct Tally {
  std::mutex mutex;
  int played = 0;
  std::vector<std::string> faults;
  std::vector<TraceEvent> shown;  // of the first round, or of the first that failed
};

void play_rounds(Runtime& runtime, Drill& drill, int rounds, std::stop_token stop, Tally& tally) {
  std::atomic<int> next{0};
  std::vector<Task> players;
  for (int i = 0; i < std::min(rounds, kRoundsAtOnce); ++i) {
    players.push_back(runtime.spawn("drill", [&](std::stop_token) {
      for (int number = next++; number < rounds && !stop.stop_requested(); number = next++) {
        Round round = drill.play(number);
        // A Ctrl-C ends A and B too: what then looks broken says nothing of the store.
        if (!round.fault.empty() && was_interrupted(stop)) return;
        const std::lock_guard lock(tally.mutex);
        if (tally.shown.empty() || (!round.fault.empty() && tally.faults.empty())) tally.shown = std::move(round.trace);
        if (!round.fault.empty()) tally.faults.push_back("round " + std::to_string(number + 1) + ": " + round.fault);
        ++tally.played;
        if (stderr_is_terminal() && rounds > 1 && tally.played % 10 == 0)
          tell("lease-expiry: " + std::to_string(tally.played) + " of " + std::to_string(rounds) + " rounds, " +
               std::to_string(tally.faults.size()) + " faults");
      }
    }));
  }
  for (Task& player : players) player.join();
}

Result<int> run_drill_lease_expiry(Invocation& invocation) {
  const Result<std::int64_t> rounds = invocation.number("--repeat", 1, 1, 100'000);
  if (!rounds) return std::unexpected(rounds.error());
  Result<Session> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  Runtime& runtime = *invocation.runtime;
  const std::string ns = "drill-" + to_string(make_uuid7(runtime.wall_now(), runtime.random(), runtime.random()));

  Drill drill(invocation, **store, ns);
  Tally tally;
  play_rounds(runtime, drill, static_cast<int>(*rounds), invocation.stop, tally);
  const Result<void> removed =
      (*store)->remove_namespace(ns, {.actor = "drill", .reason = "drill lease-expiry is over"});

  const auto tell_faults = [&] {
    for (std::size_t i = 0; i < std::min<std::size_t>(tally.faults.size(), 5); ++i)
      tell("fenceline: " + tally.faults[i]);
  };
  if (tally.played < *rounds) {
    tell_faults();
    tell("fenceline: interrupted; " + std::to_string(tally.played) + " of " + std::to_string(*rounds) +
         " rounds were played, " + std::to_string(tally.faults.size()) + " of them broken" +
         (removed ? "" : "; namespace " + ns + " cannot be removed: " + error_text(removed.error())));
    return interrupted_exit();
  }
  DrillReport report;
  audit_history(runtime, drill.history(), {}, report);
  tally.faults.insert(tally.faults.end(), report.violations.begin(), report.violations.end());
  const bool held = tally.faults.empty();
  const bool for_people = stdout_is_terminal() && !invocation.json;
  for (const TraceEvent& event : tally.shown) print_line(for_people ? to_line(event) : to_json(event));
  if (invocation.json) {
    print_line("{\"drill\":\"lease-expiry\",\"rounds\":" + std::to_string(tally.played) + ",\"faults\":" +
               std::to_string(tally.faults.size()) + ",\"verdict\":\"" + (held ? "held" : "broken") + "\"}");
  } else {
    print_line("lease-expiry: " + std::to_string(tally.played) + " of " + std::to_string(*rounds) + " rounds, " +
               std::to_string(tally.faults.size()) +
               " faults: " + (held ? "every late write was refused" : "A PROMISE WAS BROKEN"));
  }
  tell_faults();
  if (!removed) return std::unexpected(removed.error());
  return held ? kExitOk : kExitFound;
}

}  // namespace

CommandSpec drill_lease_expiry_command() {
  return {.name = "drill lease-expiry",
          .summary = "Let a paused worker write late, and see it refused",
          .details = "Uses this store.",
          .arguments = {},
          .options = {{"--repeat", "N", "rounds to play (20 at a time); default 1"}},
          .examples = {{"fenceline drill lease-expiry", "one round, with its trace"},
                       {"fenceline drill lease-expiry --repeat 500 --json", "many rounds, one verdict"}},
          .run = run_drill_lease_expiry};
}

}  // namespace fenceline::cli

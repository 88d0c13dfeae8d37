// `fenceline drill terminate`: the server ends the sessions of real workers, as an operator or a failing server does:
// those that are in the middle of a transaction, its commit included (on Redis: that asked something and have no answer
// yet), and in turn all of them. What was acknowledged stays, and what was not is asked again.
#include "cli/frame/output.hpp"
#include "drills/away.hpp"
#include "drills/commands.hpp"
#include "drills/server.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kTerminate = "terminate";
constexpr const char* kEndedSessions = "sessions that the server ends";
constexpr Duration kSessionMost = 3s;  // for a transaction to end
constexpr Duration kBetweenSessions = 500us;
constexpr int kJobsOfTen = 24;

// False if the drill was interrupted.
bool play_end(DrillFleet& fleet, Runtime& runtime, SessionEnder& ender, bool all, DrillReport& report) {
  std::vector<pid_t> workers;
  for (int worker = 0; worker < fleet.workers(); ++worker) workers.push_back(fleet.pid(worker));
  for (const Instant end = runtime.now() + kSessionMost; runtime.now() < end;) {
    const std::int64_t ended = ender.end_sessions(workers, all);
    if (ended < 0) {
      report.violations.push_back("the server did not answer the drill, or the role may not end its own sessions");
      return true;
    }
    if (ended > 0) {
      ++report.faults;
      return true;
    }
    if (!fleet.wait(kBetweenSessions)) return false;
  }
  report.not_injected.push_back(all ? "no session was ended" : "no session in a transaction was found in time");
  return true;
}

Result<int> run_drill_terminate(Invocation& invocation) {
  const Result<std::int64_t> rounds = invocation.number("--repeat", 40, 1, 10000);
  if (!rounds) return std::unexpected(rounds.error());
  const Result<std::unique_ptr<DrillServer>> server = server_of(invocation.store_url);
  if (!server) return std::unexpected(server.error());
  if (!*server) return nothing_to_play(invocation, kTerminate, kEndedSessions);
  Result<Session> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  Runtime& runtime = *invocation.runtime;
  const std::string name = "fenceline-drill-" + std::to_string(runtime.random());
  const Result<std::unique_ptr<SessionEnder>> ender = (*server)->ender(runtime, name);
  if (!ender) return std::unexpected(ender.error());
  const auto storm = [&](DrillFleet& fleet, DrillReport& report) {
    if (!fleet.wait(500ms)) return false;
    for (int round = 0; round < *rounds; ++round) {
      // Anywhere in what they do next.
      if (!fleet.wait(Duration{static_cast<std::int64_t>(runtime.random() % 100'000)})) return false;
      if (fleet.unfinished() == 0) {
        report.not_injected.push_back("from the end of session " + std::to_string(round + 1) +
                                      " on: all jobs had finished before");
        return true;
      }
      if (!play_end(fleet, runtime, **ender, round % 4 == 3, report)) return false;
      fleet.tell_progress(std::to_string(round + 1) + " of " + std::to_string(*rounds));
    }
    return true;
  };
  return play_drill(invocation, **store,
                    {.name = kTerminate,
                     .store_url = (*server)->url_named(name),
                     .jobs = (static_cast<int>(*rounds) / 10 + 1) * kJobsOfTen,
                     .owes_doubts = true,
                     .environment = {},
                     .storm = storm});
}

}  // namespace

CommandSpec drill_terminate_command() {
  return {
      .name = "drill terminate",
      .summary = "End workers' sessions on the server in mid-transaction",
      .details = "An embedded store has no server.",
      .arguments = {},
      .options = {{"--repeat", "N", "times to end sessions, about ten in a second; default 40"}},
      .examples = {{"fenceline drill terminate --store postgres://localhost/app", "forty times, under three workers"}},
      .run = run_drill_terminate};
}

}  // namespace fenceline::cli

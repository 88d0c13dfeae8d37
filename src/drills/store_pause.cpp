// `fenceline drill store-pause`: the server of the store is stopped as a whole for longer than a lease lasts, and goes
// on: no connection breaks, nobody is told anything, and what was asked before is done when nobody waits for it any
// more. Workers must stop their commands in time all the same.
#include <csignal>

#include "cli/frame/output.hpp"
#include "drills/away.hpp"
#include "drills/commands.hpp"
#include "drills/server.hpp"
#include "runtime/process_tree.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kStorePause = "store-pause";
constexpr const char* kPauseOfServer = "a pause of the server";
constexpr const char* kWorkFor = "1.5";  // longer than a lease: a pause meets every command in its middle
constexpr int kJobsOfAPause = 10;

// How the server is paused and resumed. The drill resumes it in any case.
struct PausePlan {
  std::string pause;  // lines for a shell; empty: by signals to the server's processes, and in turn by a command of its
                      // own if it has one
  std::string go_on;
  const DrillServer& server;
};

Result<std::optional<PausePlan>> find_pause_plan(const Invocation& invocation, const DrillServer& server) {
  const auto pause = invocation.value("--pause-command");
  const auto go_on = invocation.value("--continue-command");
  if (pause.has_value() != go_on.has_value())
    return std::unexpected(usage_error("pass both --pause-command and --continue-command, or neither"));
  if (pause) return PausePlan{*pause, *go_on, server};
  if (!server.first_process()) return std::nullopt;
  return PausePlan{"", "", server};
}

// Stopped while this lives.
class Pause {
 public:
  Pause(Runtime& runtime, const PausePlan& plan, int round) : runtime_(runtime), plan_(plan) {
    if (!plan_.pause.empty()) {
      stopped_ = run_in_shell(plan_.pause);
      return;
    }
    held_ = round % 2 == 1 && plan_.server.hold(runtime_);
    if (held_) {
      stopped_ = true;
      return;
    }
    const pid_t first = plan_.server.first_process().value_or(0);
    // The first one begins the others: after it none is added.
    stopped_ = first != 0 && ::kill(first, SIGSTOP) == 0;
    if (!stopped_) return;
    processes_ = descendants_of(first);
    processes_.push_back(first);
    for (const pid_t pid : processes_) ::kill(pid, SIGSTOP);
  }
  ~Pause() { go_on(); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

  bool stopped() const { return stopped_; }
  bool go_on() {
    if (over_) return true;
    over_ = true;
    if (!plan_.go_on.empty()) return run_in_shell(plan_.go_on);
    if (held_) return plan_.server.let_go(runtime_);
    for (const pid_t pid : processes_) ::kill(pid, SIGCONT);
    return true;
  }

 private:
  Runtime& runtime_;
  const PausePlan& plan_;
  std::vector<pid_t> processes_;
  bool stopped_ = false;
  bool held_ = false;  // by the server's own command
  bool over_ = false;
};

// False if the drill was interrupted.
bool play_pause(DrillFleet& fleet, Runtime& runtime, const PausePlan& plan, int round, DrillReport& report) {
  Pause pause(runtime, plan, round);
  if (!pause.stopped()) {
    report.violations.push_back("cannot pause the server");
    return true;
  }
  const bool whole = fleet.wait(kPastALease);
  // Nobody could renew a lease meanwhile: what ran under one was to end before it did.
  std::size_t alive = 0;
  for (int worker = 0; worker < fleet.workers(); ++worker) alive += descendants_of(fleet.pid(worker)).size();
  if (whole && alive > 0)
    report.violations.push_back("L5: " + std::to_string(alive) +
                                " processes keep working under leases that could not be renewed");
  if (!pause.go_on())
    report.violations.push_back("cannot resume the server" +
                                (plan.go_on.empty() ? "" : ": `" + plan.go_on + "` failed"));
  ++report.faults;
  return whole;
}

Result<int> run_drill_store_pause(Invocation& invocation) {
  const Result<std::int64_t> rounds = invocation.number("--repeat", 3, 1, 1000);
  if (!rounds) return std::unexpected(rounds.error());
  const Result<std::unique_ptr<DrillServer>> server = server_of(invocation.store_url);
  if (!server) return std::unexpected(server.error());
  if (!*server) return nothing_to_play(invocation, kStorePause, kPauseOfServer);
  const Result<std::optional<PausePlan>> plan = find_pause_plan(invocation, **server);
  if (!plan) return std::unexpected(plan.error());
  if (!*plan)
    return tell_not_played(
        invocation, kStorePause,
        std::string(kPauseOfServer) + ": it is unknown how; pass --pause-command 'CMD' and --continue-command 'CMD'");
  Result<Session> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  const auto storm = [&](DrillFleet& fleet, DrillReport& report) {
    for (int round = 0; round < *rounds; ++round) {
      if (!fleet.wait(kBetweenFaults)) return false;
      if (fleet.unfinished() == 0) {
        report.not_injected.push_back("pause " + std::to_string(round + 1) + ": all jobs had finished before");
        return true;
      }
      if (!play_pause(fleet, *invocation.runtime, **plan, round, report)) return false;
      fleet.tell_progress(std::to_string(round + 1) + " of " + std::to_string(*rounds));
    }
    return fleet.wait(kBetweenFaults);
  };
  return play_drill(invocation, **store,
                    {.name = kStorePause,
                     .store_url = invocation.store_url,
                     .jobs = static_cast<int>(*rounds) * kJobsOfAPause,
                     .owes_takeovers = true,
                     .work_for = kWorkFor,
                     .environment = {},
                     .storm = storm});
}

}  // namespace

CommandSpec drill_store_pause_command() {
  return {.name = "drill store-pause",
          .summary = "Pause the store's server for longer than a lease",
          .details = "Real workers run all the time. An embedded store has no server.",
          .arguments = {},
          .options = {{"--pause-command", "CMD", "shell command that pauses the server, as SIGSTOP does"},
                      {"--continue-command", "CMD", "shell command that resumes the server"},
                      {"--repeat", "N", "pauses to play, 4 s each; default 3"}},
          .examples = {{"fenceline drill store-pause --pause-command ./stop --continue-command ./go",
                        "three pauses by your own scripts"}},
          .run = run_drill_store_pause};
}

}  // namespace fenceline::cli

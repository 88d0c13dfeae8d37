// `fenceline drill store-restart`: the server of the store is stopped without a goodbye and started again, under real
// workers: in the middle of commits, and in turn for longer than a lease lasts. What was acknowledged must be there
// afterwards; on a store that forgets its last moments (class C), what is older than these.
#include "cli/frame/output.hpp"
#include "drills/away.hpp"
#include "drills/commands.hpp"
#include "drills/server.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kRestartOfServer = "a restart of the server";
constexpr Duration kForgottenMost = 2s;  // by a store of class C
constexpr int kJobsOfARestart = 32;      // enough for all of it
constexpr Duration kAway = 2s;           // in turn; the leases are of one

// Empty if it is unknown how.
Result<std::optional<RestartPlan>> find_restart_plan(const Invocation& invocation, const DrillServer& server) {
  if (const auto told = invocation.value("--restart-command")) return RestartPlan{.stop = "", .start = *told};
  return server.restart_plan(*invocation.runtime);
}

// False if the drill was interrupted.
bool play_restart(DrillFleet& fleet, const RestartPlan& plan, int round, DrillReport& report) {
  const auto done_by = [&](const std::string& line) {
    if (line.empty() || run_in_shell(line)) return true;
    report.violations.push_back("cannot restart the server: `" + line + "` failed");
    return false;
  };
  if (!done_by(plan.stop)) return true;
  if (plan.forgets) fleet.store_crashed();
  const bool whole = plan.stop.empty() || round % 2 == 0 || fleet.wait(kAway);
  if (done_by(plan.start)) ++report.faults;
  return whole;
}

Result<int> not_played(const Invocation& invocation, const std::string& why) {
  return tell_not_played(invocation, "store-restart", std::string(kRestartOfServer) + ": " + why);
}

Result<int> run_drill_store_restart(Invocation& invocation) {
  const Result<std::int64_t> rounds = invocation.number("--repeat", 4, 1, 1000);
  if (!rounds) return std::unexpected(rounds.error());
  const Result<std::unique_ptr<DrillServer>> server = server_of(invocation.store_url);
  if (!server) return std::unexpected(server.error());
  if (!*server) return nothing_to_play(invocation, "store-restart", kRestartOfServer);
  const Result<std::optional<RestartPlan>> plan = find_restart_plan(invocation, **server);
  if (!plan && plan.error().code == Code::refused) return not_played(invocation, plan.error().message);
  if (!plan) return std::unexpected(plan.error());
  if (!*plan)
    return not_played(invocation,
                      "it is unknown how; pass --restart-command 'CMD', which returns when the server is up again");
  Result<Session> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  const bool forgets = (*plan)->forgets;
  const auto storm = [&](DrillFleet& fleet, DrillReport& report) {
    for (int round = 0; round < *rounds; ++round) {
      const std::map<JobId, Fence> finished = fleet.finished();
      if (!fleet.wait(forgets ? kBetweenFaults + kForgottenMost : kBetweenFaults)) return false;
      if (fleet.unfinished() == 0) {
        report.not_injected.push_back("restart " + std::to_string(round + 1) + ": all jobs had finished before");
        return true;
      }
      if (!play_restart(fleet, **plan, round, report)) return false;
      if (!report.violations.empty()) return true;
      fleet.look_for(finished, report);
      fleet.tell_progress(std::to_string(round + 1) + " of " + std::to_string(*rounds));
    }
    return fleet.wait(kBetweenFaults);
  };
  return play_drill(invocation, **store,
                    {.name = "store-restart",
                     .store_url = invocation.store_url,
                     .jobs = static_cast<int>(*rounds) * kJobsOfARestart * (forgets ? 2 : 1),
                     .crash_at_any_time = (*plan)->stop.empty() && (*store)->profile().guarantee > GuaranteeClass::b,
                     .environment = {},
                     .storm = storm});
}

}  // namespace

CommandSpec drill_store_restart_command() {
  return {.name = "drill store-restart",
          .summary = "Restart the store's server under real workers",
          .details = "An embedded store has no server.",
          .arguments = {},
          .options = {{"--restart-command", "CMD",
                       "shell command that restarts the server and returns when it is up again"},
                      {"--repeat", "N", "restarts to play; default 4"}},
          .examples = {{"fenceline drill store-restart --restart-command ./restart-server",
                        "four restarts by your own script"}},
          .run = run_drill_store_restart};
}

}  // namespace fenceline::cli

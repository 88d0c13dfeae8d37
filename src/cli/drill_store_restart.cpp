// `fenceline drill store-restart`: the server of the store is stopped without a goodbye and started again, under real workers: in
// the middle of commits, and in turn for longer than a lease lasts. What was acknowledged must be there afterwards.
#include "bench/postgres_url.hpp"
#include "cli/drill_away.hpp"
#include "cli/drill_server.hpp"
#include "cli/output.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kWhat = "a restart of the server";
constexpr Duration kBetween = 1500ms;
constexpr int kJobsOfARound = 32;  // enough for all of it
constexpr int kLonger = 2;  // seconds without a server; the leases are of one

// How the server is restarted in round `number`, for a shell.
struct RestartPlan {
  std::string at_once;
  std::string after_a_while;
  const std::string& of(int number) const { return number % 2 == 0 ? at_once : after_a_while; }
};

// Nothing if nobody says how.
Result<std::optional<RestartPlan>> find_plan(const Invocation& invocation) {
  if (const auto told = invocation.value("--restart-command")) return RestartPlan{*told, *told};
  const std::optional<std::string> data = data_folder_of_tests();
  if (!data) return std::nullopt;
  const Result<std::string> control = control_command(*data);
  if (!control) return std::unexpected(control.error());
  return RestartPlan{*control + "-m immediate restart", *control + "-m immediate stop && sleep " + std::to_string(kLonger) + " && " + *control + "start"};
}

Result<int> run(Invocation& invocation) {
  const Result<std::int64_t> rounds = invocation.number("--repeat", 4, 1, 1000);
  if (!rounds) return std::unexpected(rounds.error());
  if (!bench::is_postgres_url(invocation.store_url)) return nothing_to_play(invocation, "store-restart", kWhat);
  const Result<std::optional<RestartPlan>> plan = find_plan(invocation);
  if (!plan) return std::unexpected(plan.error());
  if (!*plan) {
    DrillReport report;
    report.not_injected.push_back(std::string(kWhat) + ": nobody says how; give --restart-command 'CMD', which returns when the server is up again");
    return tell_drill(invocation, "store-restart", report);
  }
  Result<std::unique_ptr<Store>> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  const auto storm = [&](DrillFleet& fleet, DrillReport& report) {
    for (int round = 0; round < *rounds; ++round) {
      if (!fleet.wait(kBetween)) return false;
      if (fleet.unfinished() == 0) {
        report.not_injected.push_back("restart " + std::to_string(round + 1) + ": every job had ended before");
        return true;
      }
      if (!run_in_shell((*plan)->of(round))) {
        report.violations.push_back("the server could not be restarted: `" + (*plan)->of(round) + "` failed");
        return true;
      }
      ++report.faults;
      if (stderr_is_terminal()) tell("store-restart: " + std::to_string(round + 1) + " of " + std::to_string(*rounds) + ", " + std::to_string(fleet.unfinished()) + " jobs left");
    }
    return fleet.wait(kBetween);
  };
  return play_drill(invocation, **store,
                    {.name = "store-restart",
                     .store_url = invocation.store_url,
                     .jobs = static_cast<int>(*rounds) * kJobsOfARound,
                     .environment = {},
                     .storm = storm});
}

}  // namespace

CommandSpec drill_store_restart_command() {
  return {.name = "drill store-restart",
          .summary = "Restarts the server of the store under real workers; an embedded store has none.",
          .arguments = {},
          .options = {{"--restart-command", "CMD", "a line for the shell that restarts the server and returns when it is up again"},
                      {"--repeat", "N", "restarts to play; default 4"}},
          .examples = {{"fenceline drill store-restart --restart-command ./restart-server", "four restarts by a script of yours"}},
          .run = run};
}

}  // namespace fenceline::cli

// `fenceline drill pause`: workers are stopped with SIGSTOP for longer than their leases, in turn with all they started
// and alone. Others take their jobs over; what the paused ones write later must be refused, and of the ones that were
// stopped alone nothing may work on.
#include <csignal>

#include "cli/frame/output.hpp"
#include "drills/commands.hpp"
#include "drills/fleet.hpp"
#include "runtime/process_tree.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kBetweenPauses = 500ms;

// False if the drill was interrupted.
bool pause(DrillFleet& fleet, int number, bool with_children) {
  const pid_t worker = fleet.pid(number);
  ::kill(worker, SIGSTOP);
  std::vector<pid_t> children;
  if (with_children) children = descendants_of(worker);
  for (const pid_t child : children) ::kill(child, SIGSTOP);
  const bool whole = fleet.wait(kPastALease);
  for (const pid_t child : children) ::kill(child, SIGCONT);
  ::kill(worker, SIGCONT);
  return whole;
}

Result<int> run_drill_pause(Invocation& invocation) {
  const Result<std::int64_t> rounds = invocation.number("--repeat", 4, 1, 1000);
  if (!rounds) return std::unexpected(rounds.error());
  Result<Session> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  const auto storm = [&](DrillFleet& fleet, DrillReport& report) {
    if (!fleet.wait(kBetweenPauses)) return false;
    for (int round = 0; round < *rounds; ++round) {
      if (!pause(fleet, round % fleet.workers(), round % 2 == 0) || !fleet.wait(kBetweenPauses)) return false;
      ++report.faults;
      fleet.tell_progress(std::to_string(round + 1) + " of " + std::to_string(*rounds) + " pauses");
    }
    return true;
  };
  return play_drill(invocation, **store,
                    {.name = "pause",
                     .store_url = invocation.store_url,
                     .jobs = static_cast<int>(*rounds) * 24,
                     .owes_takeovers = true,
                     .environment = {},
                     .storm = storm});
}

}  // namespace

CommandSpec drill_pause_command() {
  return {.name = "drill pause",
          .summary = "Pause workers past their leases; late writes are refused",
          .details = "Pauses real workers together with their commands, and alone.",
          .arguments = {},
          .options = {{"--repeat", "N", "pauses to play, 3 s each; default 4"}},
          .examples = {{"fenceline drill pause", "four pauses among three workers"}},
          .run = run_drill_pause};
}

}  // namespace fenceline::cli

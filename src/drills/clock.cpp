// `fenceline drill clock`: the wall clocks of two of three real workers jump by hours, in both directions, while they
// work. Leases run on another clock, and fences only grow: nothing may change for the jobs.
#include <unistd.h>

#include <array>
#include <fstream>

#include "cli/frame/output.hpp"
#include "drills/commands.hpp"
#include "drills/fleet.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 5> kJumps{"+1h", "-1h", "+30h", "-30h", "+0"};

// Where distributions put the library that lies about the time; empty: it is not installed.
std::string find_faketime() {
  for (const std::string_view folder : {"/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime",
                                        "/usr/lib/faketime", "/usr/lib64/faketime", "/usr/local/lib/faketime"}) {
    const std::string path = std::string(folder) + "/libfaketimeMT.so.1";
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

// The first one ahead when the second is behind.
void set_clock(const DrillFleet& fleet, int worker, std::string_view offset) {
  std::ofstream(fleet.folder() + "/clock-" + std::to_string(worker), std::ios::trunc) << offset << '\n';
}

Result<int> run_drill_clock(Invocation& invocation) {
  Result<Session> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  const std::string library = find_faketime();
  if (library.empty())
    return tell_not_played(invocation, "clock",
                           "jumps of the clock: libfaketime is not installed; install the package `faketime`");
  const auto environment = [&](const DrillFleet& fleet, int worker) -> std::map<std::string, std::string> {
    if (worker == 0) return {};  // one sees the time as it is
    set_clock(fleet, worker, "+0");
    return {{"LD_PRELOAD", library},
            {"FAKETIME_TIMESTAMP_FILE", fleet.folder() + "/clock-" + std::to_string(worker)},
            {"FAKETIME_NO_CACHE", "1"},
            {"FAKETIME_DONT_FAKE_MONOTONIC", "1"}};
  };
  const auto storm = [&](DrillFleet& fleet, DrillReport& report) {
    for (std::size_t i = 0; i < kJumps.size(); ++i) {
      if (!fleet.wait(kBetweenFaults)) return false;
      set_clock(fleet, 1, kJumps[i]);
      set_clock(fleet, 2, kJumps[(i + 1) % kJumps.size()]);
      report.faults += 2;
      fleet.tell_progress(std::to_string(report.faults) + " jumps");
    }
    set_clock(fleet, 2, "+0");
    return fleet.wait(kBetweenFaults);
  };
  // The library that lies about the time breaks the timers of guardians, which is not what this is about.
  return play_drill(invocation, **store,
                    {.name = "clock",
                     .store_url = invocation.store_url,
                     .jobs = 80,
                     .commands = false,
                     .environment = environment,
                     .storm = storm});
}

}  // namespace

CommandSpec drill_clock_command() {
  return {.name = "drill clock",
          .summary = "Move workers' wall clocks hours ahead and back",
          .arguments = {},
          .options = {},
          .examples = {{"fenceline drill clock", "ten jumps; needs the package faketime"}},
          .run = run_drill_clock};
}

}  // namespace fenceline::cli

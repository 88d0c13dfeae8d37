// `fenceline drill cut`: the connections of real workers to the server of the store fail in the ways that connections
// do. Each worker reaches the server through a proxy on this machine, which turns bad for a while and good again; the
// drill itself does not.
#include <array>

#include "cli/frame/output.hpp"
#include "drills/away.hpp"
#include "drills/commands.hpp"
#include "drills/server.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kCuts = "half-open, reset and slow connections";
constexpr int kJobsOfWeathers = 190;  // enough for all of it

struct Weather {
  LinkState state;
  Duration lasts;
  const char* name;
};
// Leases last one second: a longer fault lets them expire.
constexpr std::array<Weather, 6> kWeathers{
    {{LinkState::half_open, 2500ms, "half-open connections"},
     {LinkState::reset_after_apply, 700ms, "a reset after the request took effect"},
     {LinkState::slow, 2000ms, "slow connections"},
     {LinkState::reset_after_apply, 700ms, "a reset after the request took effect"},
     {LinkState::reset_after_send, 700ms, "a reset after the request was sent"},
     {LinkState::refuse, 2500ms, "a server that refuses connections"}}};

// What it did to the connections while it lasted.
bool was_felt(const Weather& weather, const FaultProxy::Counts& before, const FaultProxy::Counts& after) {
  if (weather.state == LinkState::half_open) return after.swallowed > before.swallowed;
  if (weather.state == LinkState::slow) return true;
  return after.resets > before.resets;
}

// False if the drill was interrupted.
bool play_weather(DrillFleet& fleet, FaultProxy& proxy, const Weather& weather, DrillReport& report) {
  if (fleet.unfinished() == 0) {
    report.not_injected.push_back(std::string(weather.name) + ": all jobs had finished before");
    return true;
  }
  const FaultProxy::Counts before = proxy.counts();
  const bool listens = proxy.play({.state = weather.state});
  const bool whole = fleet.wait(weather.lasts);
  const bool again = proxy.play({.state = LinkState::good});
  if (!listens || !again) report.violations.push_back("the drill's own port on this machine could not be opened again");
  if (was_felt(weather, before, proxy.counts())) ++report.faults;
  else report.not_injected.push_back(std::string(weather.name) + ": no data was sent over the connections meanwhile");
  return whole;
}

Result<int> run_drill_cut(Invocation& invocation) {
  const Result<std::int64_t> rounds = invocation.number("--repeat", 1, 1, 1000);
  if (!rounds) return std::unexpected(rounds.error());
  const Result<std::unique_ptr<DrillServer>> server = server_of(invocation.store_url);
  if (!server) return std::unexpected(server.error());
  if (!*server) return nothing_to_play(invocation, "cut", kCuts);
  const Result<FaultProxy::Target> place = (*server)->place();
  if (!place) return std::unexpected(place.error());
  Result<Session> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  const auto proxy = FaultProxy::open(*invocation.runtime, *place);
  if (!proxy) return std::unexpected(proxy.error());
  const auto storm = [&](DrillFleet& fleet, DrillReport& report) {
    for (int round = 0; round < *rounds; ++round) {
      for (const Weather& weather : kWeathers) {
        if (!fleet.wait(kBetweenFaults) || !play_weather(fleet, **proxy, weather, report)) return false;
        fleet.tell_progress(weather.name);
      }
    }
    return fleet.wait(kBetweenFaults);
  };
  return play_drill(invocation, **store,
                    {.name = "cut",
                     .store_url = (*server)->url_at((*proxy)->port()),
                     .jobs = static_cast<int>(*rounds) * kJobsOfWeathers,
                     .environment = {},
                     .storm = storm});
}

}  // namespace

CommandSpec drill_cut_command() {
  return {.name = "drill cut",
          .summary = "Break workers' connections: half-open, reset, slow",
          .details = "An embedded store has no server.",
          .arguments = {},
          .options = {{"--repeat", "N", "rounds of six faults, 18 s each; default 1"}},
          .examples = {{"fenceline drill cut --store postgres://localhost/app", "six faults under three workers"}},
          .run = run_drill_cut};
}

}  // namespace fenceline::cli

// `fenceline drill kill`: real processes of this program are killed with SIGKILL at each named point, on the store at
// hand, and the next ones must find everything in order: no acknowledged job lost, each job done with its own result,
// the file whole, and nothing in the histories that breaks a promise. The drill has a namespace of its own, removed
// after.
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/crash_point.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "drills/commands.hpp"
#include "drills/fleet.hpp"
#include "drills/kill_effect.hpp"
#include "drills/kill_gate.hpp"
#include "drills/kill_lock.hpp"
#include "drills/kill_point.hpp"

namespace fenceline::cli {
namespace {

constexpr int kPointsAtOnce = 3;

int list(const Invocation& invocation) {
  for (const CrashPointInfo& info : crash_points()) {
    if (invocation.json) print_line(nlohmann::ordered_json{{"point", info.name}, {"meaning", info.meaning}}.dump());
    else print_line(std::string(info.name) + "\t" + std::string(info.meaning));
  }
  return kExitOk;
}

void tell_point(const Invocation& invocation, const CrashPointInfo& point, const std::string& fault) {
  const std::string where = is_of_a_gate(point) ? "its own gates" : needs_new_file(point) ? "a new file" : "this store";
  if (invocation.json)
    print_line(nlohmann::ordered_json{
        {"point", point.name}, {"on", where}, {"verdict", fault.empty() ? "held" : "broken"}, {"fault", fault}}
                   .dump());
  else
    print_line(std::string(point.name) + "\t" + (fault.empty() ? "held" : "BROKEN: " + fault) +
               (needs_new_file(point) ? " (on a new file beside the store)"
                : is_of_a_gate(point) ? " (at its own gates)"
                                      : ""));
  flush_output();
}

// All of them, some at a time. How many were played to their end; fewer than there are: it was interrupted.
std::size_t play_points(Invocation& invocation, const std::string& ns, const std::vector<CrashPointInfo>& points,
                        DrillReport& report) {
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  std::size_t played = 0;
  std::vector<Task> players;
  for (int i = 0; i < kPointsAtOnce; ++i) {
    players.push_back(invocation.runtime->spawn("drill", [&](std::stop_token) {
      for (std::size_t at = next++; at < points.size() && !invocation.stop.stop_requested(); at = next++) {
        DrillReport part;
        const std::string fault = is_of_a_gate(points[at])      ? KillAtGate(invocation, points[at]).play()
                                  : is_of_an_effect(points[at]) ? KillAtEffect(invocation, ns, points[at]).play()
                                  : is_of_a_lock(points[at])    ? KillAtLock(invocation, ns, points[at]).play(part)
                                                                : KillAtPoint(invocation, ns, points[at]).play(part);
        // A Ctrl-C ends the drill's processes too: what then looks broken says nothing of the store.
        if (!fault.empty() && was_interrupted(invocation.stop)) return;
        const std::lock_guard lock(mutex);
        ++played;
        ++report.faults;
        report.takeovers += part.takeovers;
        report.refused += part.refused;
        report.events += part.events;
        if (!fault.empty()) report.violations.push_back(std::string(points[at].name) + ": " + fault);
        tell_point(invocation, points[at], fault);
      }
    }));
  }
  for (Task& player : players) player.join();
  return played;
}

Result<int> run_drill_kill(Invocation& invocation) {
  if (invocation.has("--list")) return list(invocation);
  const std::optional<std::string> only = invocation.value("--point");
  if (only && !find_crash_point(*only))
    return std::unexpected(usage_error("unknown crash point '" + *only + "'; see 'fenceline drill kill --list'"));
  DrillReport report;
  std::vector<CrashPointInfo> points;
  for (const CrashPointInfo& info : crash_points()) {
    if (only && info.name != *only) continue;
    if (std::string why = cannot_be_met(info, invocation.store_url); !why.empty())
      report.not_injected.push_back(std::move(why));
    else points.push_back(info);
  }
  Result<Session> store = invocation.open_store(true);
  if (!store) return std::unexpected(store.error());
  Runtime& runtime = *invocation.runtime;
  const std::string ns = "drill-" + to_string(make_uuid7(runtime.wall_now(), runtime.random(), runtime.random()));
  const std::size_t played = play_points(invocation, ns, points, report);
  const Result<void> removed = (*store)->remove_namespace(ns, {.actor = "drill", .reason = "drill kill is over"});
  if (played < points.size()) {
    tell("fenceline: interrupted; " + std::to_string(played) + " of " + std::to_string(points.size()) +
         " points were played, " + std::to_string(report.violations.size()) + " of them broken" +
         (removed ? "" : "; namespace " + ns + " cannot be removed: " + error_text(removed.error())));
    return interrupted_exit();
  }
  const int exit = tell_drill(invocation, "kill", report);
  if (!removed) return std::unexpected(removed.error());
  return exit;
}

}  // namespace

CommandSpec drill_kill_command() {
  return {.name = "drill kill",
          .summary = "Kill processes at every named point, and see nothing lost",
          .details = "Covers the life of a job, a lock and a write gate on this store.",
          .arguments = {},
          .options = {{"--list", "", "list the points and what is true at each, and play nothing"},
                      {"--point", "NAME", "play only this point"}},
          .examples = {{"fenceline drill kill", "all points, three at a time"},
                       {"fenceline drill kill --point settle_before", "one point"}},
          .run = run_drill_kill};
}

}  // namespace fenceline::cli

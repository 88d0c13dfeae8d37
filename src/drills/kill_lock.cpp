#include "drills/kill_lock.hpp"

#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace fenceline::cli {

bool is_of_a_lock(const CrashPointInfo& point) { return point.name.starts_with("lock_"); }

std::vector<std::string> KillAtLock::lock(const std::vector<std::string>& command) const {
  std::vector<std::string> words{"lock", key(), "--ttl", "2s", "--wait", "50s", "--history", history(), "--"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Ended KillAtLock::run(std::vector<std::string> arguments, bool armed) {
  return run_armed(invocation_, std::move(arguments),
                   {.store_url = invocation_.store_url,
                    .ns = ns_,
                    .folder = folder_.path(),
                    .mark = mark(),
                    .dies_at = armed ? point_.name : ""});
}

Fence KillAtLock::newest_fence() {
  const nlohmann::json row = nlohmann::json::parse(run({"locks", "show", key(), "--json"}).output, nullptr, false);
  return row.is_object() ? row.value("fence", Fence{0}) : 0;
}

std::string KillAtLock::play(DrillReport& report) {
  const std::string did = folder_.path() + "/did";
  const Ended killed = run(lock({"/bin/sh", "-c", "echo done >\"$0\"", did}), true);
  if (!std::filesystem::exists(mark())) return "the point was never reached, so the drill proves nothing";
  if (killed.exit.signal != SIGKILL)
    return "the holder was not killed: it ended with " + std::to_string(killed.exit.status);
  const bool began = std::filesystem::exists(did);
  if (began != point_.name.starts_with("lock_release"))
    return began ? "the command ran before its lock was known to be held" : "the command did not run";
  const Fence first = newest_fence();
  if (first == 0) return "the store does not know of the grant";
  const Ended next = run(lock({"/bin/sh", "-c", "echo $FENCELINE_FENCE"}));
  Fence second = 0;
  std::from_chars(next.output.data(), next.output.data() + next.output.size(), second);
  if (next.exit.status != kExitOk)
    return "the next process did not get the lock: exit " + std::to_string(next.exit.status);
  if (second <= first)
    return "L2: the next holder's fence " + std::to_string(second) + " is not larger than " + std::to_string(first);
  // The checker verifies that it was not granted before the dead holder's lease expired or was released.
  DrillReport audited;
  audit_history(*invocation_.runtime, history(), {"--whole"}, audited);
  report.events += audited.events;
  report.takeovers += 1;
  if (!audited.violations.empty()) return audited.violations.front();
  if (audited.grants != 2) return "the history contains " + std::to_string(audited.grants) + " grants, expected 2";
  return {};
}

}  // namespace fenceline::cli

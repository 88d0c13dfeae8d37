// `fenceline drill kill`: real processes of this program are killed with SIGKILL at each named point, on a scratch
// store, and the next ones must find everything in order: no acknowledged job lost, each job done with its own
// result, the file whole.
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/crash_point.hpp"
#include "cli/command.hpp"
#include "cli/drill_fleet.hpp"
#include "cli/drill_process.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kProcessMost = std::chrono::seconds{60};
constexpr int kPointsAtOnce = 3;
constexpr int kJobs = 4;

struct Ended {
  Exit exit;
  std::string output;
};

// The story of one point on a store of its own.
class KillAt {
 public:
  KillAt(Invocation& invocation, const CrashPointInfo& point) : invocation_(invocation), runtime_(*invocation.runtime), point_(point) {}

  // What is wrong, as a sentence; empty if all held.
  std::string play() {
    write_payloads();
    if (std::string fault = kill_somebody(); !fault.empty()) return fault;
    if (!was_met()) return "the point was never met: the drill does not show what it claims";
    return all_is_in_order();
  }

 private:
  bool starts_with(std::string_view prefix) const { return point_.name.starts_with(prefix); }
  bool was_met() const {
    struct stat info{};
    return ::stat((folder_.path() + "/mark").c_str(), &info) == 0;
  }

  // Large ones for the checkpoint's sake: it comes after a thousand pages.
  void write_payloads() const {
    std::ofstream lines(folder_.path() + "/jobs.jsonl");
    const std::string padding(starts_with("sqlite_checkpoint") ? 900'000 : 10, 'x');
    for (int i = 0; i < kJobs; ++i) lines << "{\"n\":" << i << ",\"pad\":\"" << padding << "\"}\n";
  }

  Ended run(std::vector<std::string> arguments, bool armed) {
    std::map<std::string, std::string> environment{{"FENCELINE_STORE", "sqlite:" + folder_.path() + "/drill.db"}, {"FENCELINE_LOG", "info"}};
    environment["FENCELINE_CRASH_AT"] = armed ? std::string(point_.name) : "";
    environment["FENCELINE_CRASH_MARK"] = folder_.path() + "/mark";
    auto process = DrillProcess::start(runtime_, arguments, environment, folder_.path() + "/stderr");
    if (!process) return {{kExitBug, 0}, process.error().message};
    Ended ended;
    ended.exit = (*process)->finish(runtime_.now() + kProcessMost, &ended.output);
    return ended;
  }

  std::string history() const { return folder_.path() + "/history"; }
  std::vector<std::string> enqueue() const { return {"enqueue", "drill", "--jsonl", folder_.path() + "/jobs.jsonl", "--json"}; }
  // The command outlives a third of the ttl, so that leases are renewed under it.
  std::vector<std::string> work() const {
    return {"work", "drill", "--ttl", "1s", "--concurrency", "2", "--drain", "--history", history(), "--", "/bin/sh", "-c", "cat; sleep 0.5"};
  }

  // Every command of a job's life under the order to die at the point; the one that met it is then repeated without.
  std::string kill_somebody() {
    std::vector<std::vector<std::string>> life{{"migrate"}, enqueue(), work()};
    if (starts_with("give_back")) life.insert(life.begin() + 2, {"drill-worker", "doubt", "drill", "--ttl", "1s"});
    for (const std::vector<std::string>& step : life) {
      if (invocation_.stop.stop_requested()) return "stopped";
      const bool met_before = was_met();
      Ended ended = run(step, true);
      note_ids(ended.output);
      const bool died = ended.exit.signal == SIGKILL;
      if (died && !was_met()) return step.front() + " was killed by something else";
      // A guardian that dies leaves its worker alive: then the worker must have coped.
      const bool met_now = !met_before && was_met();
      if (!died && ended.exit.status != kExitOk && step.front() != "drill-worker")
        return step.front() + " ended with " + std::to_string(ended.exit.status) + (met_now ? " after the kill" : "") + ": " + last_words();
      if (died && step.front() != "drill-worker") {
        ended = run(step, false);
        note_ids(ended.output);
        if (ended.exit.status != kExitOk) return step.front() + " could not be repeated after the kill: exit " + std::to_string(ended.exit.status) + ": " + last_words();
      }
    }
    return {};
  }

  void note_ids(const std::string& output) {
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
      if (!json.is_object() || !json.contains("ids")) continue;
      for (const auto& id : json["ids"]) acknowledged_.insert(id.get<std::string>());
    }
  }

  // A killed guardian costs its job an attempt: a drain leaves it behind until its retry is due.
  std::string work_until_nothing_is_left() {
    const Instant deadline = runtime_.now() + kProcessMost;
    for (;;) {
      if (const Ended rest = run(work(), false); rest.exit.status != kExitOk) return "the last worker ended with " + std::to_string(rest.exit.status) + ": " + last_words();
      const nlohmann::json ready = nlohmann::json::parse(run({"jobs", "--state", "ready", "--json"}, false).output, nullptr, false);
      if (ready.is_object() && ready["jobs"].empty()) return {};
      if (!runtime_.sleep_for(std::chrono::milliseconds{200}, invocation_.stop)) return "stopped";
      if (runtime_.now() > deadline) return "J8: a job stays ready";
    }
  }

  std::string all_is_in_order() {
    if (std::string fault = work_until_nothing_is_left(); !fault.empty()) return fault;
    const Ended listed = run({"jobs", "--queue", "drill", "--all", "--json"}, false);
    const nlohmann::json listing = nlohmann::json::parse(listed.output, nullptr, false);
    if (!listing.is_object() || !listing.contains("jobs")) return "the jobs could not be listed: " + last_words();
    std::set<std::string> found;
    for (const auto& job : listing["jobs"]) {
      const std::string id = job["id"];
      found.insert(id);
      if (job["state"] != "done") return "job " + id + " is " + job["state"].get<std::string>() + " instead of done";
      const nlohmann::json shown = nlohmann::json::parse(run({"job", "show", id, "--payload", "--json"}, false).output, nullptr, false);
      if (!shown.is_object() || !same(shown)) return "job " + id + " does not hold the result of its own payload";
    }
    for (const std::string& id : acknowledged_) {
      if (!found.contains(id)) return "J1: job " + id + " was acknowledged and is gone";
    }
    if (found.size() < acknowledged_.size() || found.empty()) return "J1: jobs are missing";
    const Ended doctor = run({"doctor", "--json"}, false);
    if (doctor.exit.status != kExitOk && doctor.exit.status != kExitFound) return "doctor ended with " + std::to_string(doctor.exit.status);
    DrillReport report;
    audit_history(runtime_, history(), {}, report);
    return report.violations.empty() ? std::string{} : report.violations.front();
  }

  // /bin/cat answers with what it was given.
  static bool same(const nlohmann::json& shown) {
    if (!shown.contains("result") || !shown.contains("payload")) return false;
    const nlohmann::json result = shown["result"].is_string() ? nlohmann::json::parse(shown["result"].get<std::string>(), nullptr, false) : shown["result"];
    return result == shown["payload"];
  }

  std::string last_words() const {
    std::ifstream in(folder_.path() + "/stderr");
    std::string last;
    for (std::string line; std::getline(in, line);) last = line;
    return last;
  }

  Invocation& invocation_;
  Runtime& runtime_;
  const CrashPointInfo& point_;
  DrillFolder folder_;
  std::set<std::string> acknowledged_;
};

int list(const Invocation& invocation) {
  for (const CrashPointInfo& info : crash_points()) {
    if (invocation.json) print_line(nlohmann::ordered_json{{"point", info.name}, {"meaning", info.meaning}}.dump());
    else print_line(std::string(info.name) + "\t" + std::string(info.meaning));
  }
  return kExitOk;
}

Result<int> run(Invocation& invocation) {
  if (invocation.has("--list")) return list(invocation);
  std::vector<CrashPointInfo> points;
  for (const CrashPointInfo& info : crash_points()) {
    if (!invocation.has("--point") || info.name == *invocation.value("--point")) points.push_back(info);
  }
  if (points.empty()) return std::unexpected(usage_error("there is no crash point '" + *invocation.value("--point") + "'; see fenceline drill kill --list"));

  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  std::size_t faults = 0;
  std::size_t played = 0;
  std::vector<Task> players;
  for (int i = 0; i < kPointsAtOnce; ++i) {
    players.push_back(invocation.runtime->spawn("drill", [&](std::stop_token) {
      for (std::size_t at = next++; at < points.size() && !invocation.stop.stop_requested(); at = next++) {
        const std::string fault = KillAt(invocation, points[at]).play();
        // A Ctrl-C ends the drill's processes too: what then looks broken says nothing of the store.
        if (!fault.empty() && was_interrupted(invocation.stop)) return;
        const std::lock_guard lock(mutex);
        ++played;
        if (!fault.empty()) ++faults;
        if (!invocation.json) print_line(std::string(points[at].name) + "\t" + (fault.empty() ? "held" : "BROKEN: " + fault));
        else print_line(nlohmann::ordered_json{{"point", points[at].name}, {"verdict", fault.empty() ? "held" : "broken"}, {"fault", fault}}.dump());
        flush_output();
      }
    }));
  }
  for (Task& player : players) player.join();
  if (played < points.size()) {
    tell("fenceline: interrupted; " + std::to_string(played) + " of " + std::to_string(points.size()) + " points were played, " + std::to_string(faults) +
         " of them broken");
    return interrupted_exit();
  }
  const bool held = faults == 0;
  if (!invocation.json)
    print_line("kill: " + std::to_string(played) + " of " + std::to_string(points.size()) + " points, " + std::to_string(faults) + " faults: " +
               (held ? "nothing was lost" : "NOT HELD"));
  return held ? kExitOk : kExitFound;
}

}  // namespace

CommandSpec drill_kill_command() {
  return {.name = "drill kill",
          .summary = "Kills real processes at every named point of a job's life, on a scratch store, and sees nothing lost.",
          .arguments = {},
          .options = {{"--list", "", "only list the points and what is true at each"}, {"--point", "NAME", "only this one"}},
          .examples = {{"fenceline drill kill", "all points, three at a time"}, {"fenceline drill kill --point settle_before", "one of them"}},
          .run = run};
}

}  // namespace fenceline::cli

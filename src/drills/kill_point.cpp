#include "drills/kill_point.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace fenceline::cli {
namespace {

constexpr int kFewJobs = 4;
// A checkpoint comes after a thousand pages. One enqueue writes them all, so that this process makes the checkpoint.
constexpr int kLargeJobs = 6;
constexpr std::size_t kLarge = 900'000;

// /bin/cat answers with what it was given.
bool holds_its_own_result(const nlohmann::json& shown) {
  if (!shown.is_object() || !shown.contains("result") || !shown.contains("payload")) return false;
  const nlohmann::json result = shown["result"].is_string()
                                    ? nlohmann::json::parse(shown["result"].get<std::string>(), nullptr, false)
                                    : shown["result"];
  return result == shown["payload"];
}

}  // namespace

bool needs_new_file(const CrashPointInfo& point) { return point.name.starts_with("sqlite_migrate"); }

std::string cannot_be_met(const CrashPointInfo& point, const std::string& store_url) {
  if (!point.name.starts_with("sqlite_") || store_url.starts_with(kEmbedded)) return {};
  return std::string(point.name) + ": only the embedded store reaches it";
}

KillAtPoint::KillAtPoint(Invocation& invocation, std::string ns, const CrashPointInfo& point)
    : invocation_(invocation), runtime_(*invocation.runtime), point_(point), ns_(std::move(ns)) {
  if (needs_new_file(point)) new_file_.emplace(folder_of_store(invocation.store_url));
}

std::string KillAtPoint::play(DrillReport& report) {
  std::string fault = play_and_look();
  count_words(folder_.path() + "/words", report);
  if (!fault.empty()) return fault;
  DrillReport audited;
  audit_history(runtime_, history(), {"--whole", "--drained"}, audited);
  report.events += audited.events;
  return audited.violations.empty() ? std::string{} : audited.violations.front();
}

std::string KillAtPoint::play_and_look() {
  write_payloads();
  if (std::string fault = kill_somebody(); !fault.empty()) return fault;
  if (!was_met()) return "the point was never reached, so the drill proves nothing";
  return all_is_in_order();
}

bool KillAtPoint::was_met() const { return std::filesystem::exists(folder_.path() + "/mark"); }

void KillAtPoint::write_payloads() const {
  const bool large = starts_with("sqlite_checkpoint");
  std::ofstream lines(folder_.path() + "/jobs.jsonl");
  const std::string padding(large ? kLarge : 10, 'x');
  for (int i = 0; i < (large ? kLargeJobs : kFewJobs); ++i)
    lines << "{\"n\":" << i << ",\"pad\":\"" << padding << "\"}\n";
}

std::vector<std::string> KillAtPoint::enqueue() const {
  return {"enqueue", queue(), "--jsonl", folder_.path() + "/jobs.jsonl", "--history", history(), "--json"};
}

// The command outlives a third of the ttl, so that leases are renewed under it.
std::vector<std::string> KillAtPoint::work() const {
  return {"work",    queue(), "--ttl",   "1s", "--concurrency", "2", "--drain", "--history",
          history(), "--",    "/bin/sh", "-c", "cat; sleep 0.5"};
}

std::vector<std::vector<std::string>> KillAtPoint::life() const {
  std::vector<std::vector<std::string>> steps;
  if (new_file_) steps.push_back({"migrate"});
  steps.push_back(enqueue());
  if (starts_with("give_back"))
    steps.push_back({"drill-worker", "doubt", queue(), "--ttl", "1s", "--history", history()});
  steps.push_back(work());
  return steps;
}

Ended KillAtPoint::run(std::vector<std::string> arguments, bool armed) {
  const std::string new_url = new_file_ ? std::string(kEmbedded) + new_file_->path() + "/drill.db" : "";
  return run_armed(invocation_, std::move(arguments),
                   {.store_url = new_file_ ? new_url : invocation_.store_url,
                    .ns = ns_,
                    .folder = folder_.path(),
                    .mark = folder_.path() + "/mark",
                    .dies_at = armed ? point_.name : ""});
}

// Every command of a job's life under the order to die at the point; the one that met it is then repeated without.
std::string KillAtPoint::kill_somebody() {
  for (const std::vector<std::string>& step : life()) {
    if (invocation_.stop.stop_requested()) return "stopped";
    const bool met_before = was_met();
    Ended ended = run(step, true);
    note_ids(ended.output);
    const bool died = ended.exit.signal == SIGKILL;
    if (died && !was_met()) return step.front() + " was killed by another signal";
    // A guardian that dies leaves its worker alive: then the worker must have coped.
    const bool met_now = !met_before && was_met();
    if (!died && ended.exit.status != kExitOk && step.front() != "drill-worker")
      return step.front() + " ended with " + std::to_string(ended.exit.status) + (met_now ? " after the kill" : "") +
             ": " + last_words();
    if (died && step.front() != "drill-worker") {
      ended = run(step, false);
      note_ids(ended.output);
      if (ended.exit.status != kExitOk)
        return step.front() + " cannot be repeated after the kill: exit " + std::to_string(ended.exit.status) + ": " +
               last_words();
    }
  }
  return {};
}

void KillAtPoint::note_ids(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("ids")) continue;
    for (const auto& id : json["ids"]) acknowledged_.insert(id.get<std::string>());
  }
}

// A killed guardian costs its job an attempt: a drain leaves it behind until its retry is due.
std::string KillAtPoint::work_until_nothing_is_left() {
  const Instant deadline = runtime_.now() + kProcessMost;
  for (;;) {
    if (const Ended rest = run(work(), false); rest.exit.status != kExitOk)
      return "the last worker ended with " + std::to_string(rest.exit.status) + ": " + last_words();
    const nlohmann::json ready = nlohmann::json::parse(
        run({"jobs", "--queue", queue(), "--state", "ready", "--json"}, false).output, nullptr, false);
    if (ready.is_object() && ready["jobs"].empty()) return {};
    if (!runtime_.sleep_for(std::chrono::milliseconds{200}, invocation_.stop)) return "stopped";
    if (runtime_.now() > deadline) return "J8: a job stays ready";
  }
}

std::string KillAtPoint::all_is_in_order() {
  if (std::string fault = work_until_nothing_is_left(); !fault.empty()) return fault;
  const Ended listed = run({"jobs", "--queue", queue(), "--all", "--json"}, false);
  if (std::string fault = each_is_done(listed.output); !fault.empty()) return fault;
  const Ended doctor = run({"doctor", "--json"}, false);
  if (doctor.exit.status != kExitOk && doctor.exit.status != kExitFound)
    return "doctor ended with " + std::to_string(doctor.exit.status);
  return {};
}

std::string KillAtPoint::each_is_done(const std::string& output) {
  const nlohmann::json listing = nlohmann::json::parse(output, nullptr, false);
  if (!listing.is_object() || !listing.contains("jobs")) return "cannot list the jobs: " + last_words();
  std::set<std::string> found;
  for (const auto& job : listing["jobs"]) {
    const std::string id = job["id"];
    found.insert(id);
    if (job["state"] != "done") return "job " + id + " is " + job["state"].get<std::string>() + " instead of done";
    const nlohmann::json shown =
        nlohmann::json::parse(run({"job", "show", id, "--payload", "--json"}, false).output, nullptr, false);
    if (!holds_its_own_result(shown)) return "job " + id + " does not hold the result of its own payload";
  }
  for (const std::string& id : acknowledged_) {
    if (!found.contains(id)) return "J1: job " + id + " was acknowledged and is missing";
  }
  return found.empty() ? "J1: jobs are missing" : std::string{};
}

std::string KillAtPoint::last_words() const {
  std::ifstream in(folder_.path() + "/words");
  std::string last;
  for (std::string line; std::getline(in, line);) last = line;
  return last;
}

}  // namespace fenceline::cli

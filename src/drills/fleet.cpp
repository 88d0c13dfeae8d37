#include "drills/fleet.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "history/recorder.hpp"
#include "runtime/process_tree.hpp"

namespace fenceline::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration kStopMost = 60s;
constexpr Duration kEndMost = 120s;
constexpr Duration kLookMost = 30s;  // for an answer
constexpr std::size_t kViolationsShown = 5;
const std::string kFleetQueue = "drill";

}  // namespace

DrillFleet::DrillFleet(Invocation& invocation, Store& store, DrillPlan plan)
    : invocation_(invocation),
      runtime_(*invocation.runtime),
      store_(store),
      plan_(std::move(plan)),
      ns_("drill-" + to_string(make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()))) {}

// A worker that is killed does not take its stopped descendants with it.
DrillFleet::~DrillFleet() {
  for (const auto& worker : workers_) {
    if (worker->pid() <= 0) continue;
    for (const pid_t pid : descendants_of(worker->pid())) ::kill(pid, SIGKILL);
  }
}

Result<void> DrillFleet::start() {
  EnqueueRequest request{.ns = ns_};
  for (int i = 0; i < plan_.jobs; ++i) {
    NewJob job{.id = make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()),
               .queue = kFleetQueue,
               .payload = std::to_string(i)};
    payloads_[job.id] = job.payload;
    request.jobs.push_back(std::move(job));
  }
  Result<Session> recorded = Session::over(runtime_, *invocation_.log_sink, store_, {.ns = ns_, .history = history()});
  if (!recorded) return std::unexpected(recorded.error());
  recorded_ = std::move(*recorded);
  if (const Result<EnqueueReply> added = (*recorded_)->enqueue(request); !added) return std::unexpected(added.error());
  for (int i = 0; i < plan_.workers; ++i) {
    std::map<std::string, std::string> environment =
        plan_.environment ? plan_.environment(*this, i) : std::map<std::string, std::string>{};
    environment["FENCELINE_LOG"] = "info";
    std::vector<std::string> arguments = plan_.commands
                                             ? std::vector<std::string>{"work", kFleetQueue, "--concurrency", "2"}
                                             : std::vector<std::string>{"drill-worker", "steady", kFleetQueue};
    for (const std::string& word : std::vector<std::string>{"--store", plan_.store_url, "--namespace", ns_, "--ttl",
                                                            "1s", "--history", history()})
      arguments.push_back(word);
    if (plan_.commands) arguments.insert(arguments.end(), {"--", "/bin/sh", "-c", "cat; sleep " + plan_.work_for});
    auto worker = OwnProcess::start(runtime_, arguments, environment, folder_.path() + "/words");
    if (!worker) return std::unexpected(worker.error());
    workers_.push_back(std::move(*worker));
  }
  return {};
}

bool DrillFleet::wait(Duration how_long) {
  return runtime_.sleep_for(how_long, invocation_.stop) && !was_interrupted(invocation_.stop);
}

void DrillFleet::tell_progress(const std::string& words) {
  if (stderr_is_terminal()) tell(plan_.name + ": " + words + ", " + std::to_string(unfinished()) + " jobs left");
}

std::int64_t DrillFleet::unfinished() {
  const Result<std::vector<QueueRow>> queues = store_.queues(ns_);
  if (!queues) return -1;
  std::int64_t left = 0;
  for (const QueueRow& row : *queues) {
    for (std::size_t state = 0; state < row.depth.size(); ++state) {
      if (!is_finished(static_cast<JobState>(state))) left += row.depth[state];
    }
  }
  return left;
}

// A server that has just come back may have ended the connection.
Result<std::optional<Job>> DrillFleet::look_at(const JobId& id) {
  const Instant deadline = runtime_.now() + kLookMost;
  for (;;) {
    Result<std::optional<Job>> job = store_.job(ns_, id);
    if (job || runtime_.now() >= deadline || !wait(50ms)) return job;
  }
}

std::map<JobId, Fence> DrillFleet::finished() {
  std::map<JobId, Fence> found;
  for (const auto& [id, payload] : payloads_) {
    const Result<std::optional<Job>> job = look_at(id);
    if (job && *job && (*job)->state == JobState::done) found[id] = (*job)->fence;
  }
  return found;
}

void DrillFleet::look_for(const std::map<JobId, Fence>& finished, DrillReport& report) {
  for (const auto& [id, fence] : finished) {
    const Result<std::optional<Job>> job = look_at(id);
    if (!job) return report.violations.push_back("the store does not answer: " + job.error().message);
    if (!*job || (*job)->state != JobState::done || (*job)->fence != fence)
      report.violations.push_back("J3: job " + to_string(id) + " was done under fence " + std::to_string(fence) +
                                  " before the fault, and is not done any more");
  }
}

void DrillFleet::store_crashed() { recorded_->recorder()->mark(history::Kind::crash); }

std::string DrillFleet::wait_for_the_end(Duration most) {
  const Instant deadline = runtime_.now() + most;
  for (;;) {
    const std::int64_t left = unfinished();
    if (left == 0) return {};
    if (runtime_.now() >= deadline) return "J8: " + std::to_string(left) + " jobs have not ended";
    if (!wait(50ms)) return "interrupted";
  }
}

void DrillFleet::judge(DrillReport& report) {
  for (const auto& worker : workers_) {
    for (const pid_t pid : descendants_of(worker->pid())) ::kill(pid, SIGCONT);
    ::kill(worker->pid(), SIGCONT);
    ::kill(worker->pid(), SIGTERM);
  }
  for (const auto& worker : workers_) worker->finish(runtime_.now() + kStopMost);
  workers_.clear();
  recorded_.reset();
  count_words(folder_.path() + "/words", report);
  look_at_the_jobs(report);
  audit(report);
}

void count_words(const std::string& path, DrillReport& report) {
  std::ifstream words(path);
  for (std::string line; std::getline(words, line);) {
    const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object()) continue;
    const std::string name = event.value("event", "");
    if (name == "lease_acquired" && event.value("forced", false)) ++report.takeovers;
    if (name == "stale_write_refused") ++report.refused;
  }
}

// Every job ended once, as done, with the result of its own payload: /bin/cat answers with what it was given.
void DrillFleet::look_at_the_jobs(DrillReport& report) {
  for (const auto& [id, payload] : payloads_) {
    const Result<std::optional<Job>> job = store_.job(ns_, id);
    if (!job) return report.violations.push_back("the store does not answer: " + job.error().message);
    if (!*job) report.violations.push_back("J1: job " + to_string(id) + " was acknowledged and is missing");
    else if ((*job)->state != JobState::done)
      report.violations.push_back("J8: job " + to_string(id) + " is " + std::string(to_string((*job)->state)) +
                                  " instead of done");
    else if ((*job)->result != payload)
      report.violations.push_back("J3: job " + to_string(id) + " does not hold the result of its own payload");
  }
}

void DrillFleet::audit(DrillReport& report) {
  std::vector<std::string> options{"--whole", "--drained"};
  if (plan_.crash_at_any_time) options.push_back("--crashed");
  audit_history(runtime_, history(), options, report);
}

Result<void> DrillFleet::clean_up() {
  return store_.remove_namespace(ns_, {.actor = "drill", .reason = "drill " + plan_.name + " is over"});
}

Result<int> play_drill(Invocation& invocation, Store& store, DrillPlan plan) {
  DrillFleet fleet(invocation, store, plan);
  if (const Result<void> started = fleet.start(); !started) {
    (void)fleet.clean_up();
    return std::unexpected(started.error());
  }
  DrillReport report;
  const std::string late = plan.storm(fleet, report) ? fleet.wait_for_the_end(kEndMost) : std::string{};
  if (was_interrupted(invocation.stop)) {
    const Result<void> removed = fleet.clean_up();
    tell("fenceline: interrupted; " + std::to_string(report.faults) + " faults were played, and nothing was proved");
    if (!removed) return std::unexpected(removed.error());
    return interrupted_exit();
  }
  fleet.judge(report);
  if (!late.empty()) report.violations.push_back(late);
  if (plan.owes_takeovers && report.takeovers == 0)
    report.violations.push_back("no job was taken over, so the drill proves nothing");
  if (plan.owes_doubts && report.unanswered == 0)
    report.violations.push_back("every call was answered, so the drill proves nothing");
  const int exit = tell_drill(invocation, plan.name, report);
  if (const Result<void> removed = fleet.clean_up(); !removed) return std::unexpected(removed.error());
  return exit;
}

void audit_history(Runtime& runtime, const std::string& path, const std::vector<std::string>& options,
                   DrillReport& report) {
  std::vector<std::string> arguments{"audit", path, "--json"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  auto checker = OwnProcess::start(runtime, arguments);
  if (!checker) return report.violations.push_back("cannot start the checker: " + checker.error().message);
  std::string output;
  const Exit exit = (*checker)->finish(runtime.now() + kStopMost, &output);
  const nlohmann::json verdict = nlohmann::json::parse(output, nullptr, false);
  if (!verdict.is_object() || (exit.status != kExitOk && exit.status != kExitFound))
    return report.violations.push_back("checking the histories failed: exit " + std::to_string(exit.status));
  report.events += verdict.value("events", std::int64_t{0});
  report.grants += verdict.value("grants", std::int64_t{0});
  report.unanswered += verdict.value("unknown", std::int64_t{0});
  for (const auto& violation : verdict.value("found", nlohmann::json::array()))
    report.violations.push_back(violation.value("promise", "") + ": " + violation.value("sentence", "") +
                                " (by its history)");
}

int tell_drill(const Invocation& invocation, const std::string& name, const DrillReport& report) {
  const bool held = report.violations.empty();
  const bool played = report.faults > 0;
  const std::string verdict = !held ? "broken" : played ? "held" : "not played";
  if (invocation.json) {
    print_line(nlohmann::ordered_json{
        {"drill", name},
        {"faults", report.faults},
        {"takeovers", report.takeovers},
        {"refused", report.refused},
        {"events", report.events},
        {"not_injected", report.not_injected},
        {"violations", report.violations},
        {"verdict",
         verdict}}.dump());
  } else {
    for (std::size_t i = 0; i < std::min(report.violations.size(), kViolationsShown); ++i)
      print_line(report.violations[i]);
    for (const std::string& missing : report.not_injected) print_line("not injected: " + missing);
    print_line(name + ": " + std::to_string(report.faults) + " faults, " + std::to_string(report.takeovers) +
               " takeovers, " + std::to_string(report.refused) + " late writes refused, " +
               std::to_string(report.events) + " events checked: " +
               (!held    ? "A PROMISE WAS BROKEN"
                : played ? "every promise held"
                         : "no fault could be injected here, so nothing was proved"));
  }
  if (!held) return kExitFound;
  return played ? kExitOk : kExitTryLater;
}

int tell_not_played(const Invocation& invocation, const std::string& name, const std::string& why) {
  DrillReport report;
  report.not_injected.push_back(why);
  return tell_drill(invocation, name, report);
}

std::vector<std::string> accepting(const Invocation& invocation, std::vector<std::string> arguments) {
  const auto accepted = invocation.options.find("--accept");
  if (accepted == invocation.options.end()) return arguments;
  for (const std::string& what : accepted->second)
    arguments.insert(arguments.insert(std::ranges::find(arguments, "--"), what), "--accept");
  return arguments;
}

}  // namespace fenceline::cli

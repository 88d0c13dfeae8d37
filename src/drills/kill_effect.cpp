#include "drills/kill_effect.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drills/fleet.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kBetweenLooks = std::chrono::milliseconds{100};
constexpr int kJobs = 3;
const std::string kHold = "hold";

std::string last_line(const std::string& path) {
  std::ifstream in(path);
  std::string last;
  for (std::string line; std::getline(in, line);) last = line;
  return last;
}

}  // namespace

bool is_of_an_effect(const CrashPointInfo& point) {
  return point.name.starts_with("effect_") || point.name.starts_with("stopped_");
}

// Only a doubt that was met while its worker lives has that worker say stopped.
bool KillAtEffect::ends_in_doubt() const { return point_.name.starts_with("stopped_"); }

// Before the intent nothing has happened, and a recorded result is known: only between the two a person must find out.
std::size_t KillAtEffect::doubts_owed(const std::string& policy) const {
  if (policy != kHold) return 0;
  if (ends_in_doubt()) return kJobs;
  return point_.name == "effect_begin_after" || point_.name == "effect_finish_before" ? 1 : 0;
}

// Under `repeat` the books know keys, as a provider does then; under `hold` they take every line that comes.
std::vector<std::string> KillAtEffect::work(const std::string& policy) const {
  const std::string entry =
      policy == kHold ? "echo \"$FENCELINE_EFFECT_KEY\" >>\"$0\""
                      : "grep -qx \"$FENCELINE_EFFECT_KEY\" \"$0\" || echo \"$FENCELINE_EFFECT_KEY\" >>\"$0\"";
  std::vector<std::string> words{"work",
                                 queue(policy),
                                 "--ttl",
                                 "1s",
                                 "--concurrency",
                                 "2",
                                 "--drain",
                                 "--",
                                 std::filesystem::read_symlink("/proc/self/exe").string()};
  const std::vector<std::string> effect =
      accepting(invocation_, {"effect", "entry", "--in-doubt", policy, "--", "/bin/sh", "-c",
                              entry + (ends_in_doubt() ? "; exit 1" : ""), books(policy)});
  words.insert(words.end(), effect.begin(), effect.end());
  return words;
}

Ended KillAtEffect::run(std::vector<std::string> arguments, const std::string& armed_mark) {
  return run_armed(invocation_, std::move(arguments),
                   {.store_url = invocation_.store_url,
                    .ns = ns_,
                    .folder = folder_.path(),
                    .mark = armed_mark,
                    .dies_at = armed_mark.empty() ? "" : point_.name});
}

std::string KillAtEffect::play() {
  for (const std::string& policy : {kHold, std::string("repeat")}) {
    if (policy != kHold && ends_in_doubt()) break;  // no job waits then
    if (std::string fault = play_under(policy); !fault.empty()) return "under " + policy + ": " + fault;
  }
  return {};
}

std::string KillAtEffect::play_under(const std::string& policy) {
  jobs_.clear();
  resolved_.clear();
  std::ofstream(books(policy)).flush();
  for (int i = 0; i < kJobs; ++i) {
    const Ended added = run({"enqueue", queue(policy), "--backoff", "10ms", "--backoff-max", "10ms"});
    if (added.exit.status != kExitOk) return "enqueue ended with " + std::to_string(added.exit.status);
    jobs_.push_back(added.output.substr(0, added.output.find('\n')));
  }
  const Ended worked = run(work(policy), mark(policy));
  const bool met = std::filesystem::exists(mark(policy));
  if (worked.exit.signal != 0 && !met) return "the worker was killed by another signal";
  if (worked.exit.signal == 0 && worked.exit.status != kExitOk)
    return "the worker ended with " + std::to_string(worked.exit.status) + ": " + last_line(folder_.path() + "/words");
  if (std::string fault = finish_them(policy); !fault.empty()) return fault;
  // A worker that only drains may be over before there is anything to die of.
  if (!met && !std::filesystem::exists(mark(policy))) return "the point was never reached, so the drill proves nothing";
  if (resolved_.size() != doubts_owed(policy))
    return "E2: " + std::to_string(resolved_.size()) + " effects in doubt were named, expected " +
           std::to_string(doubts_owed(policy));
  const std::map<std::string, int> entered = entries(policy);
  for (const std::string& id : jobs_) {
    const auto found = entered.find(id + ".entry");
    if (found == entered.end() || found->second != 1)
      return "E1: the effect of job " + id + " happened " + std::to_string(found == entered.end() ? 0 : found->second) +
             " times";
  }
  return {};
}

std::string KillAtEffect::finish_them(const std::string& policy) {
  const Instant deadline = invocation_.runtime->now() + kProcessMost;
  while (unfinished() > 0) {
    if (std::string fault = decide(policy); !fault.empty()) return fault;
    if (const Ended worked = run(work(policy)); worked.exit.status != kExitOk)
      return "the last worker ended with " + std::to_string(worked.exit.status) + ": " +
             last_line(folder_.path() + "/words");
    if (!invocation_.runtime->sleep_for(kBetweenLooks, invocation_.stop)) return "stopped";
    if (invocation_.runtime->now() > deadline) return "J8: a job does not finish";
  }
  return {};
}

std::size_t KillAtEffect::unfinished() {
  std::size_t left = 0;
  for (const std::string& id : jobs_) {
    const nlohmann::json job = nlohmann::json::parse(run({"job", "show", id, "--json"}).output, nullptr, false);
    if (!job.is_object() || job["state"] != "done") ++left;
  }
  return left;
}

std::string KillAtEffect::decide(const std::string& policy) {
  for (const std::string& id : jobs_) {
    const nlohmann::json job = nlohmann::json::parse(run({"job", "show", id, "--json"}).output, nullptr, false);
    if (!job.is_object() || job["state"] != "waiting") continue;
    const nlohmann::json listed =
        nlohmann::json::parse(run({"effects", "list", "--job", id, "--in-doubt", "--json"}).output, nullptr, false);
    if (!listed.is_object() || listed["effects"].size() != 1 || listed["effects"][0]["name"] != "entry")
      return "E2: job " + id + " waits, and its effect in doubt is not named";
    const std::string found_out = entries(policy).contains(id + ".entry") ? "--done" : "--none";
    const int status = run({"effects", "resolve", id, "entry", found_out, "--as", "drill"}).exit.status;
    if (status == kExitOk) ++resolved_[id];
    // Its worker was killed before it could say that it stopped: until its lease would have ended, it may still be at
    // it.
    else if (status != kExitTryLater)
      return "the resolution of the effect of job " + id + " was not accepted: exit " + std::to_string(status);
  }
  return {};
}

std::map<std::string, int> KillAtEffect::entries(const std::string& policy) const {
  std::map<std::string, int> counted;
  std::ifstream in(books(policy));
  for (std::string line; std::getline(in, line);) ++counted[line];
  return counted;
}

}  // namespace fenceline::cli

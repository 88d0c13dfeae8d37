#include "drills/lock.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/text.hpp"
#include "drills/fleet.hpp"

namespace fenceline::cli {
namespace {

constexpr Duration kSoon = std::chrono::seconds{30};  // far more than a busy machine needs to start a process
constexpr Duration kSaidAlready = std::chrono::milliseconds{50};

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string to_line(const LockBeat& beat) {
  return beat.who + " " + std::to_string(beat.fence) + " " + std::to_string(beat.at.time_since_epoch().count());
}

std::optional<LockBeat> parse_beat(const std::string& line) {
  std::istringstream words(line);
  std::string who, fence, at;
  LockBeat beat;
  std::int64_t microseconds = 0;
  if (!(words >> who >> fence >> at) || !read_number(fence, beat.fence) || !read_number(at, microseconds))
    return std::nullopt;
  beat.who = who;
  beat.at = Instant{Duration{microseconds}};
  return beat;
}

LockDrill::LockDrill(Invocation& invocation, Store& store, std::string name)
    : invocation_(invocation),
      runtime_(*invocation.runtime),
      store_(store),
      name_(std::move(name)),
      ns_("drill-" + to_string(make_uuid7(runtime_.wall_now(), runtime_.random(), runtime_.random()))) {}

LockDrill::~LockDrill() = default;

Result<std::unique_ptr<OwnProcess>> LockDrill::start(const std::string& who, std::vector<std::string> words,
                                                     const std::map<std::string, std::string>& environment) {
  const std::vector<std::string> where{"--store", invocation_.store_url, "--namespace", ns_};
  const bool holds = words.front() == "lock" || words.front() == "elect" || words.front() == "drill-locker";
  words.insert(std::ranges::find(words, "--"), where.begin(), where.end());
  if (holds) {
    const std::vector<std::string> noted{"--history", folder_.path() + "/history"};
    words.insert(std::ranges::find(words, "--"), noted.begin(), noted.end());
  }
  return OwnProcess::start(runtime_, words, environment, folder_.path() + "/" + who);
}

std::string LockDrill::said_by(const std::string& who) const {
  std::ifstream words(folder_.path() + "/" + who);
  std::string last;
  for (std::string line; std::getline(words, line);) last = line;
  return last.empty() ? "" : ": " + printable(last, 300);
}

int LockDrill::run(const std::string& who, std::vector<std::string> words,
                   const std::map<std::string, std::string>& environment) {
  auto process = start(who, std::move(words), environment);
  return process ? (*process)->finish(runtime_.now() + kSoon).status : -1;
}

std::optional<LockBeat> LockDrill::next_beat(OwnProcess& process, Instant deadline) {
  while (const std::optional<std::string> line = process.read_line(deadline)) {
    if (std::optional<LockBeat> beat = parse_beat(*line)) return beat;
  }
  return std::nullopt;
}

std::vector<LockBeat> LockDrill::beats_so_far(OwnProcess& process) {
  std::vector<LockBeat> beats;
  while (std::optional<LockBeat> beat = next_beat(process, runtime_.now() + kSaidAlready))
    beats.push_back(std::move(*beat));
  return beats;
}

bool LockDrill::wait(Duration how_long) { return runtime_.sleep_for(how_long, invocation_.stop); }

std::string LockDrill::figures() const {
  std::string all;
  for (const auto& [figure, duration] : figures_)
    all += (all.empty() ? "" : ", ") + figure + " " + in_seconds(duration);
  return all;
}

void LockDrill::audit() {
  DrillReport report;
  audit_history(runtime_, folder_.path() + "/history", {"--whole"}, report);
  grants_ = report.grants;
  faults_.insert(faults_.end(), report.violations.begin(), report.violations.end());
  if (whole() && grants_ < 2)
    fault("the history contains " + std::to_string(grants_) + " grants, so the drill proves nothing");
}

Result<int> LockDrill::finish(const std::string& words) {
  if (!was_interrupted(invocation_.stop)) audit();
  const Result<void> removed =
      store_.remove_namespace(ns_, {.actor = "drill", .reason = "drill " + name_ + " is over"});
  if (was_interrupted(invocation_.stop)) {
    tell("fenceline: interrupted; nothing was proved" +
         (removed ? "" : "; namespace " + ns_ + " cannot be removed: " + error_text(removed.error())));
    return interrupted_exit();
  }
  if (invocation_.json) {
    nlohmann::ordered_json json{{"drill", name_}};
    for (const auto& [figure, duration] : figures_)
      json[figure + "_ms"] = std::chrono::floor<std::chrono::milliseconds>(duration).count();
    json["grants"] = grants_;
    json["violations"] = faults_;
    json["verdict"] = whole() ? "held" : "broken";
    print_line(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    for (const std::string& sentence : faults_) print_line(sentence);
    print_line(name_ + ": " +
               (whole() ? words + "; " + std::to_string(grants_) + " grants checked by their history"
                        : "A PROMISE WAS BROKEN"));
  }
  if (!removed) return std::unexpected(removed.error());
  return whole() ? kExitOk : kExitFound;
}

std::string in_seconds(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f s", std::chrono::duration<double>(duration).count());
  return text.data();
}

}  // namespace fenceline::cli

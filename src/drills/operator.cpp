// `fenceline drill operator`: every fault that an operator is told of, brought about from outside on stores of the
// drill's own. For each: the metric of a real worker moves, the alert rule fires, doctor names it, and the command that
// doctor gives fixes it.
#include "drills/operator.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "bench/places.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/signals.hpp"
#include "cli/frame/table.hpp"
#include "cli/frame/text.hpp"
#include "drills/commands.hpp"
#include "drills/lock.hpp"
#include "drills/operator_rules.hpp"

namespace fenceline::cli {
namespace {

using bench::StoreKind;

constexpr int kAtATime = 3;  // they wait most of their time: for leases to end
constexpr std::int64_t kRoom = 64 << 20;

// The faults, with what became of them, in the order of the table.
struct Played {
  OperatorFault fault;
  OperatorVerdict verdict;
};

// As Markdown, for docs/operating.md.
void print_docs_table(const std::vector<OperatorFault>& faults) {
  print_line("| fault, from outside | metric | alert | doctor | fixed by |");
  print_line("| --- | --- | --- | --- | --- |");
  for (const OperatorFault& fault : faults) {
    const std::string command = fault.fix ? fault.command : "`" + fault.command + "`";
    print_line("| " + fault.what + " | `" + fault.metric + "` | [" + alert_of(fault) + "](runbooks/" +
               runbook_of(fault) + ") | `" + fault.check + "` | " + command + " |");
  }
}

Json listed(const OperatorFault& fault) {
  return {{"fault", fault.name},      {"what", fault.what},   {"metric", fault.metric},
          {"alert", alert_of(fault)}, {"check", fault.check}, {"command", fault.command}};
}

std::string word_of(const OperatorVerdict& verdict) {
  return !verdict.not_played.empty() ? "not played" : verdict.held() ? "held" : "broken";
}

// The whole of a drill. Several threads play faults, each on a store of its own.
class OperatorDrill {
 public:
  OperatorDrill(const Invocation& invocation, std::unique_ptr<DrillServer> server, bench::Places& places,
                std::string rules_path)
      : invocation_(invocation), server_(std::move(server)), places_(places), rules_path_(std::move(rules_path)) {}

  // Side by side, and then, one after the other, those that take the server away under everybody.
  std::vector<Played> play(std::vector<OperatorFault> faults) {
    for (OperatorFault& fault : faults) played_.push_back({std::move(fault), {}});
    std::vector<Played*> alone;
    for (Played& one : played_) {
      one.verdict.not_played = cannot_be_played(one.fault);
      if (!one.verdict.not_played.empty()) continue;
      ++wanted_;
      if (one.fault.takes_the_server) alone.push_back(&one);
      else waiting_.push_back(&one);
    }
    std::vector<Task> players;
    for (int i = 0; i < kAtATime; ++i)
      players.push_back(invocation_.runtime->spawn("operator", [this](std::stop_token) { play_on(); }));
    for (Task& player : players) player.join();
    for (Played* one : alone) play_one(*one);
    return std::move(played_);
  }

 private:
  std::string cannot_be_played(const OperatorFault& fault) const {
    if (!fault.only_on.empty() && std::ranges::find(fault.only_on, places_.kind()) == fault.only_on.end())
      return "this kind of store cannot have it";
    if (fault.takes_the_server && server_ != nullptr && !server_->first_process())
      return "it is unknown how to stop this server; script/with_postgres and script/with_redis start servers that can "
             "be stopped";
    return {};
  }

  void play_on() {
    while (Played* const one = next()) play_one(*one);
  }

  Played* next() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return nullptr;
    Played* const one = waiting_.front();
    waiting_.pop_front();
    return one;
  }

  void play_one(Played& one) {
    if (was_interrupted(invocation_.stop)) return;
    std::string place;
    std::string url;
    {
      const std::lock_guard lock(mutex_);
      place = places_.fresh(one.fault.name);
      url = places_.url_of(place);
    }
    {
      OperatorScene scene(invocation_, url, server_.get());
      one.verdict = play_fault(one.fault, scene, rules_path_);
    }
    const std::lock_guard lock(mutex_);
    places_.drop(place);
    ++done_;
    if (stderr_is_terminal())
      tell("operator: " + std::to_string(done_) + " of " + std::to_string(wanted_) + ": " + one.fault.name + " " +
           word_of(one.verdict) + " in " + in_seconds(one.verdict.took));
  }

  const Invocation& invocation_;
  const std::unique_ptr<DrillServer> server_;
  bench::Places& places_;
  const std::string rules_path_;
  std::vector<Played> played_;
  std::mutex mutex_;  // of what follows, and of the places
  std::deque<Played*> waiting_;
  int wanted_ = 0;
  int done_ = 0;
};

void print_text(const std::vector<Played>& played) {
  Table table{{{.name = "fault", .whole = true},
               {"metric"},
               {"before", false, true},
               {"during", false, true},
               {.name = "alert"},
               {.name = "finding"},
               {"command"},
               {.name = "verdict", .whole = true}},
              {}};
  const auto shown = [](double value) { return Json(value).dump(); };
  const auto seen = [](bool so, const std::string& what) { return Cell(what, so ? Tone::good : Tone::bad); };
  for (const auto& [fault, verdict] : played) {
    const bool was_played = verdict.not_played.empty();
    const Tone tone = !was_played ? Tone::faint : verdict.held() ? Tone::good : Tone::bad;
    table.rows.push_back({fault.name, was_played ? seen(verdict.moved, fault.metric) : Cell(fault.metric),
                          was_played ? shown(verdict.before) : "", was_played ? shown(verdict.during) : "",
                          was_played ? seen(verdict.fired, alert_of(fault)) : Cell(alert_of(fault)),
                          was_played ? seen(verdict.named, fault.check) : Cell(fault.check),
                          was_played ? seen(verdict.fixed, fault.command) : Cell(fault.command),
                          Cell(word_of(verdict), tone)});
  }
  print_table(table);
  for (const auto& [fault, verdict] : played) {
    if (!verdict.not_played.empty()) print_line(fault.name + ": not played: " + verdict.not_played);
    else if (!verdict.held()) print_line(fault.name + ": " + (verdict.trouble.empty() ? "broken" : verdict.trouble));
  }
}

Json as_json(const std::vector<Played>& played, std::string_view verdict) {
  Json list = Json::array();
  for (const auto& [fault, one] : played) {
    Json row = listed(fault);
    row["verdict"] = word_of(one);
    if (!one.not_played.empty()) {
      row["why"] = one.not_played;
    } else {
      row.update(Json{{"before", one.before},
                      {"during", one.during},
                      {"moved", one.moved},
                      {"fired", one.fired},
                      {"named", one.named},
                      {"fixed", one.fixed},
                      {"status", one.finding.status},
                      {"detail", one.finding.detail},
                      {"remedy", one.finding.remedy},
                      {"trouble", one.trouble},
                      {"took_ms", std::chrono::floor<std::chrono::milliseconds>(one.took).count()}});
    }
    list.push_back(std::move(row));
  }
  return {{"drill", "operator"}, {"faults", list}, {"verdict", verdict}};
}

int tell_verdict(const Invocation& invocation, const std::vector<Played>& played) {
  const auto is_played = [](const Played& one) { return one.verdict.not_played.empty(); };
  const auto number = std::ranges::count_if(played, is_played);
  const auto held = std::ranges::count_if(played, [](const Played& one) { return one.verdict.held(); });
  const std::string verdict = number == 0 ? "not played" : held == number ? "held" : "broken";
  if (invocation.json) {
    print_line(as_json(played, verdict).dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    print_text(played);
    if (number == 0) print_line("operator: no fault was played; each line says why");
    else
      print_line("operator: " + std::to_string(held) + " of " + std::to_string(number) +
                 " faults moved their metric, fired their alert, were named and were fixed" +
                 (held == number ? "" : ": A PROMISE WAS BROKEN"));
  }
  if (held != number) return kExitFound;
  return number > 0 ? kExitOk : kExitTryLater;
}

// By its own name, by the check that names it, or by the runbook of its alert: store_finding.
bool is_meant(const OperatorFault& fault, const std::string& word) {
  std::string runbook = word + ".md";
  std::ranges::replace(runbook, '_', '-');
  return fault.name == word || fault.check == word || runbook_of(fault) == runbook;
}

Result<std::vector<OperatorFault>> chosen(const Invocation& invocation) {
  std::vector<OperatorFault> faults = operator_faults();
  const auto only = invocation.options.find("--only");
  if (only == invocation.options.end()) return faults;
  for (const std::string& word : only->second) {
    if (std::ranges::none_of(faults, [&](const OperatorFault& fault) { return is_meant(fault, word); }))
      return std::unexpected(
          usage_error("--only '" + printable(word, 60) +
                      "' is not a fault of this drill; 'fenceline drill operator --table --json' lists them"));
  }
  std::erase_if(faults, [&](const OperatorFault& fault) {
    return std::ranges::none_of(only->second, [&](const std::string& word) { return is_meant(fault, word); });
  });
  return faults;
}

Result<std::unique_ptr<bench::Places>> places_beside(const Invocation& invocation, bench::ScratchFolder& folder) {
  switch (bench::kind_of(invocation.store_url)) {
    case StoreKind::sqlite: return bench::sqlite_places(folder);
    case StoreKind::postgres: return bench::postgres_places(invocation.store_url);
    case StoreKind::redis: return bench::redis_places(*invocation.runtime, invocation.store_url);
  }
  return nullptr;
}

// Beside the store's own file, so that the disk is the same.
Result<bench::ScratchFolder> folder_for(const Invocation& invocation) {
  if (!invocation.store_url.starts_with(kEmbedded))
    return bench::ScratchFolder::make_in(std::filesystem::temp_directory_path().string(), kRoom);
  return bench::ScratchFolder::make_in(folder_of_store(invocation.store_url), kRoom);
}

// Errors: not_found (a file that was named and is not there), unavailable.
Result<std::string> rules_in(const Invocation& invocation, const std::string& folder) {
  if (const std::optional<std::string> named = invocation.value("--rules")) {
    std::error_code unknown;
    const std::filesystem::path path = std::filesystem::absolute(*named, unknown);
    if (!std::filesystem::is_regular_file(path, unknown))
      return fail(Code::not_found,
                  "no file " + *named + " with alert rules; omit --rules to use the rules of this program");
    return path.string();
  }
  const std::vector<RuleFile> files = alert_rules();
  if (files.empty()) return fail(Code::unavailable, "this program was built without alert rules; pass --rules FILE");
  std::string path = folder + "/" + std::string(files.front().name);
  std::ofstream file(path);
  file << files.front().text;
  if (!file.flush()) return fail(Code::unavailable, path + " cannot be written");
  return path;
}

Result<int> run_drill_operator(Invocation& invocation) {
  const Result<std::vector<OperatorFault>> faults = chosen(invocation);
  if (!faults) return std::unexpected(faults.error());
  if (invocation.has("--table")) {
    if (!invocation.json) {
      print_docs_table(*faults);
      return kExitOk;
    }
    Json list = Json::array();
    for (const OperatorFault& fault : *faults) list.push_back(listed(fault));
    print_line(Json{{"drill", "operator"}, {"faults", list}}.dump());
    return kExitOk;
  }
  if (auto there = find_promtool(); !there) return std::unexpected(there.error());
  Result<std::unique_ptr<DrillServer>> server = server_of(invocation.store_url);
  if (!server) return std::unexpected(server.error());
  Result<bench::ScratchFolder> folder = folder_for(invocation);
  if (!folder) return std::unexpected(folder.error());
  const Result<std::string> rules = rules_in(invocation, folder->path());
  if (!rules) return std::unexpected(rules.error());
  const Result<std::unique_ptr<bench::Places>> places = places_beside(invocation, *folder);
  if (!places) return std::unexpected(places.error());
  const std::vector<Played> played = OperatorDrill(invocation, std::move(*server), **places, *rules).play(*faults);
  (*places)->drop_all();
  if (was_interrupted(invocation.stop)) {
    tell("fenceline: interrupted; all processes were stopped, and nothing was proved");
    return interrupted_exit();
  }
  return tell_verdict(invocation, played);
}

}  // namespace

std::vector<OperatorFault> operator_faults() {
  std::vector<OperatorFault> all;
  for (const auto& family : {job_faults, worker_faults, lock_faults, schedule_faults, server_faults, setting_faults}) {
    for (OperatorFault& fault : family()) all.push_back(std::move(fault));
  }
  return all;
}

CommandSpec drill_operator_command() {
  return {
      .name = "drill operator",
      .summary = "Cause every fault that has an alert, and fix it by doctor",
      .details =
          "Causes each fault from outside and checks that the metric moves, the alert fires, doctor names it, and the "
          "command it names fixes it.",
      .options = {{.name = "--only",
                   .value = "FAULT",
                   .help = "play this fault, or the faults of a doctor check or a runbook",
                   .repeated = true},
                  {"--rules", "FILE", "your own alert rules, instead of those of the program"},
                  {"--table", "",
                   "print the table of faults, alerts, findings and commands as Markdown, and play nothing"}},
      .sections =
          {{"Where it runs",
            {{"the store",
              "beside your data, which is not touched: in its own files, schemas or prefixes, removed at the end"},
             {"the server", "is stopped or reconfigured only if script/with_postgres or script/with_redis started it"},
             {"promtool",
              "evaluates the alert rules over the scraped values, as if they had lasted for minutes; package "
              "prometheus"}}},
           {"What is printed",
            {{"before, during", "the metric of a real worker, before the fault and during it"},
             {"held",
              "the metric moved, the alert fired (and not before), doctor named the fault, and no longer did after its "
              "command"},
             {"not played", "this store cannot have it"}}}},
      .examples = {{"fenceline drill operator", "all faults of this store, in about a minute"},
                   {"fenceline drill operator --only dead_letters --json", "one fault, for a script"}},
      .run = run_drill_operator};
}

}  // namespace fenceline::cli

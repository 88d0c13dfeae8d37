// fenceline schedule import: the lines of a crontab as schedules.
#include <nlohmann/json.hpp>

#include "backends/memory/memory_store.hpp"
#include "base/utf8.hpp"
#include "cli/frame/acts.hpp"
#include "cli/frame/line_reader.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/place.hpp"
#include "cli/frame/schedule_settings.hpp"
#include "cli/frame/text.hpp"
#include "cli/schedules/commands.hpp"
#include "cli/schedules/crontab.hpp"
#include "services/stage_store.hpp"

namespace fenceline::cli {
namespace {

constexpr std::size_t kFileMost = 1 << 20;

// The store is not even made: where there is none, all would be added.
Result<ReconcileReport> foresee(Invocation& invocation, const std::vector<NamedSpec>& schedules) {
  const auto store = invocation.open_store(false);
  if (!store && store.error().code != Code::not_found) return std::unexpected(store.error());
  MemoryStore nothing(*invocation.runtime);
  return ScheduleActs(*invocation.runtime, store ? static_cast<Store&>(store->stages()) : nothing,
                      {.ns = invocation.ns, .place = lock_place()}, invocation.stop)
      .foresee(schedules);
}

Result<ReconcileReport> reconcile(Invocation& invocation, const std::vector<NamedSpec>& schedules, const Act& act) {
  const auto store = invocation.open_or_make_store();
  if (!store) return std::unexpected(store.error());
  return ScheduleActs(*invocation.runtime, store->stages(), {.ns = invocation.ns, .place = lock_place()},
                      invocation.stop)
      .reconcile(schedules, act);
}

Result<int> run_schedule_import(Invocation& invocation) {
  if (!invocation.has("--queue"))
    return std::unexpected(usage_error("--queue is missing; name the queue that the commands go to"));
  const Result<ScheduleSpec> base = spec_from_options(invocation);
  if (!base) return std::unexpected(base.error());
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const std::string path = invocation.argument("FILE");
  const Result<std::string> text = read_file(path, kFileMost);
  if (!text) return std::unexpected(text.error());
  if (!is_valid_utf8(*text))
    return fail(Code::invalid, "file '" + printable(path, 200) + "' is not valid UTF-8; nothing was changed");
  Result<Crontab> crontab = parse_crontab(path, *text, *base, invocation.has("--tz"));
  if (!crontab) return fail(Code::invalid, crontab.error().message + "; nothing was changed");
  for (const std::string& word : crontab->left_out) tell("fenceline: " + word);
  const bool dry = invocation.has("--dry-run");
  const Result<ReconcileReport> report =
      dry ? foresee(invocation, crontab->schedules) : reconcile(invocation, crontab->schedules, *act);
  if (!report) return std::unexpected(report.error());
  if (invocation.json) {
    print_line(nlohmann::ordered_json{
        {"added", report->added}, {"changed", report->changed}, {"unchanged", report->same}, {"dry_run", dry}}
                   .dump());
  } else {
    for (const std::string& name : report->added) print_line(name + (dry ? " would be added" : " added"));
    for (const std::string& name : report->changed) print_line(name + (dry ? " would be changed" : " changed"));
    for (const std::string& name : report->same) print_line(name + (dry ? " would stay as it is" : " unchanged"));
  }
  if (report->failed.empty()) return kExitOk;
  const auto& [name, error] = report->failed.front();
  return fail(error.code, "schedule " + name + ": " + error.message + "; " + std::to_string(report->failed.size()) +
                              " of " + std::to_string(crontab->schedules.size()) +
                              " stay as they are, run it again for these");
}

}  // namespace

CommandSpec schedule_import_command() {
  std::vector<OptionSpec> options =
      schedule_options({"queue", "tz", "catch_up", "window", "cap", "overlap", "jitter", "max_attempts", "timeout"});
  options.push_back({"--dry-run", "", "say what it would do, and change nothing"});
  return {.name = "schedule import",
          .summary = "Make a schedule from each line of a crontab",
          .details = "The payload of the jobs holds the command. If a line is wrong, nothing changes.",
          .arguments = {{"FILE", "what 'crontab -l' prints; - for stdin"}},
          .options = with_act_options(std::move(options)),
          .sections = {{"A line becomes",
                        {{"a name",
                          "the command's first word and six letters of a hash of the command: the same again, at "
                          "whatever time and place in the file, is the same schedule"},
                         {"a payload",
                          "{\"command\": ...}, and \"stdin\" for what follows a %; a handler such as sh -c 'jq -r "
                          ".command | sh' runs it"},
                         {"a zone", "of CRON_TZ=ZONE above it, else of --tz; it is not guessed"}}},
                       {"What is left out",
                        {{"NAME=VALUE", "is named on stderr"},
                         {"@reboot", "is no tick, and refused"},
                         {"a user", "in a sixth field, as /etc/crontab has it, is not known: take it off"}}},
                       {"Exit status",
                        {{"65", "a line is not possible; the message names it, and nothing was changed"},
                         {"66", "there is no such file"}}}},
          .examples = {{"fenceline schedule import tab --queue cron --tz Europe/Berlin --dry-run", "what would it do?"},
                       {"crontab -l | fenceline schedule import - --queue cron --tz Europe/Berlin", "all of yours"},
                       {"fenceline work cron -- sh -c 'jq -r .command | sh'", "and who runs them"}},
          .run = run_schedule_import};
}

}  // namespace fenceline::cli

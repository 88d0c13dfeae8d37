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
Result<ReconcileReport> dry_run(Invocation& invocation, const std::vector<NamedSpec>& schedules) {
  const auto store = invocation.open_store(false);
  if (!store && store.error().code != Code::not_found) return std::unexpected(store.error());
  MemoryStore nothing(*invocation.runtime);
  return ScheduleActs(*invocation.runtime, store ? static_cast<Store&>(store->stages()) : nothing,
                      {.ns = invocation.ns, .place = lock_place()}, invocation.stop)
      .dry_run(schedules);
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
    return std::unexpected(usage_error("--queue is missing; name the queue for the commands"));
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
      dry ? dry_run(invocation, crontab->schedules) : reconcile(invocation, crontab->schedules, *act);
  if (!report) return std::unexpected(report.error());
  if (invocation.json) {
    print_line(nlohmann::ordered_json{
        {"added", report->added}, {"changed", report->changed}, {"unchanged", report->same}, {"dry_run", dry}}
                   .dump());
  } else {
    for (const std::string& name : report->added) print_line(name + (dry ? " would be added" : " added"));
    for (const std::string& name : report->changed) print_line(name + (dry ? " would be changed" : " changed"));
    for (const std::string& name : report->same) print_line(name + (dry ? " would stay unchanged" : " unchanged"));
  }
  if (report->failed.empty()) return kExitOk;
  const auto& [name, error] = report->failed.front();
  return fail(error.code, "schedule " + name + ": " + error.message + "; " + std::to_string(report->failed.size()) +
                              " of " + std::to_string(crontab->schedules.size()) +
                              " were not changed; run it again for these");
}

}  // namespace

CommandSpec schedule_import_command() {
  std::vector<OptionSpec> options =
      schedule_options({"queue", "tz", "catch_up", "window", "cap", "overlap", "jitter", "max_attempts", "timeout"});
  options.push_back(history_option());
  options.push_back({"--dry-run", "", "show what would change, and change nothing"});
  return {
      .name = "schedule import",
      .summary = "Make a schedule from each line of a crontab",
      .details = "The payload of the jobs holds the command. If a line is wrong, nothing changes.",
      .arguments = {{"FILE", "output of 'crontab -l'; - for stdin"}},
      .options = with_act_options(std::move(options)),
      .sections = {{"A line becomes",
                    {{"a name",
                      "the command's first word and six letters of a hash of the command: the same command is the same "
                      "schedule, wherever it is in the file"},
                     {"a payload",
                      "{\"command\": ...}, and \"stdin\" for what follows a %; a handler such as sh -c 'jq -r "
                      ".command | sh' runs it"},
                     {"a zone", "from CRON_TZ=ZONE above the line, else from --tz; never guessed"}}},
                   {"What is not imported",
                    {{"NAME=VALUE", "named on stderr"},
                     {"@reboot", "not supported; refused"},
                     {"a user", "a sixth field with a user, as in /etc/crontab, is not supported: remove it"}}},
                   {"Exit status",
                    {{"65", "a line is invalid; the message names it, and nothing was changed"},
                     {"66", "no such file"}}}},
      .examples = {{"fenceline schedule import tab --queue cron --tz Europe/Berlin --dry-run", "show what it would do"},
                   {"crontab -l | fenceline schedule import - --queue cron --tz Europe/Berlin",
                    "import your own crontab"},
                   {"fenceline work cron -- sh -c 'jq -r .command | sh'", "run the imported commands"}},
      .run = run_schedule_import};
}

}  // namespace fenceline::cli

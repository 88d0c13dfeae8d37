// fenceline config show: which settings are in force, and where they come from.

#include "cli/frame/config.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/table.hpp"
#include "cli/operate/commands.hpp"

namespace fenceline::cli {
namespace {

// One that was typed wrongly is shown as it is: only the command that uses it looks.
Json number_or_text(const std::string& text) {
  const Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_number_integer() ? parsed : Json(text);
}

Result<int> run_config_show(Invocation& invocation) {
  const bool origin = invocation.has("--origin");
  if (invocation.json) {
    Json settings = Json::array();
    for (const Setting& setting : invocation.settings) {
      Json one{{"name", setting.name}, {"value", setting.value}};
      if (is_number(setting.name)) one["value"] = number_or_text(setting.value);
      if (origin) one["origin"] = setting.origin;
      settings.push_back(std::move(one));
    }
    print_line(Json{{"settings", settings}}.dump());
    return kExitOk;
  }
  Table table{{{.name = "name", .whole = true}, {.name = "value", .whole = true}}, {}};
  if (origin) table.columns.push_back({.name = "origin", .whole = true});
  for (const Setting& setting : invocation.settings) {
    std::vector<Cell> row{setting.name, setting.value};
    if (origin) row.push_back({setting.origin, Tone::faint});
    table.rows.push_back(std::move(row));
  }
  print_table(table);
  return kExitOk;
}

}  // namespace

CommandSpec config_show_command() {
  return {.name = "config show",
          .summary = "Show the settings in force and where they come from",
          .details = "A setting comes from an option, the environment, fenceline.toml or the default.",
          .options = {{"--origin", "", "show where each setting comes from"}},
          .sections = {{"fenceline.toml",
                        {{"store, namespace",
                          "as the options with these names; a relative store path is relative to the file"},
                         {"gates", "folder of the write gates; default the store's file name with '-gates'"},
                         {"[work]", "ttl, concurrency, grace (--drain-timeout)"},
                         {"[trace]",
                          "endpoint (http://HOST:4318, an OpenTelemetry collector), service; without an endpoint there "
                          "are no traces"},
                         {"[enqueue]", "priority, max_attempts, timeout, backoff, backoff_max"},
                         {"[lock.NAME]",
                          "a lock class, for 'lock --class NAME': pattern, ttl, renewal, failures, wait, contention, "
                          "on_acquire_error, on_renewal_error, on_release_error, hold_at_least, delay, every; job, "
                          "loop, run and writer are built in"},
                         {"[schedule.NAME]",
                          "a schedule, which 'work' adds or changes when it starts, and never removes: cron or every, "
                          "queue, tz and the other options of 'schedule add', with _ for -; tags = \"a,b\""}}}},
          .examples = {{"fenceline config show --origin", "find out why it uses that store"}},
          .run = run_config_show};
}

}  // namespace fenceline::cli

// fenceline schedule list, schedule show and schedule next: what there is, and when.
#include <nlohmann/json.hpp>

#include "cli/frame/output.hpp"
#include "cli/frame/schedule_settings.hpp"
#include "cli/frame/text.hpp"
#include "cli/frame/time_text.hpp"
#include "cli/schedules/commands.hpp"
#include "cli/schedules/schedule_view.hpp"
#include "model/time_zone.hpp"

namespace fenceline::cli {
namespace {

Result<int> run_schedule_list(Invocation& invocation) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<std::vector<ScheduleRow>> rows = all_schedules(invocation, **store);
  if (!rows) return std::unexpected(rows.error());
  if (!invocation.json) {
    print_list(
        schedule_table(*rows, stdout_is_terminal() ? std::optional(invocation.runtime->wall_now()) : std::nullopt),
        "no schedules in namespace " + invocation.ns);
    return kExitOk;
  }
  std::string text = "{\"schedules\":[";
  for (const ScheduleRow& row : *rows) text += (&row == &rows->front() ? "" : ",") + schedule_json(row);
  print_line(text + "]}");
  return kExitOk;
}

Result<int> run_schedule_show(Invocation& invocation) {
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<FoundSchedule> found = find_schedule(invocation, **store, invocation.argument("NAME"));
  if (!found) return std::unexpected(found.error());
  if (invocation.json) print_line(schedule_json(found->row, true));
  else print_card(schedule_card(found->row));
  return kExitOk;
}

struct Asked {
  ScheduleSpec spec;
  TickRule rule;
  WallTime now;
  bool paused = false;
};

// Of a schedule of the store, or of what the options say.
Result<Asked> asked(Invocation& invocation) {
  const std::string name = invocation.argument("NAME");
  const bool tried = invocation.has("--cron") || invocation.has("--every");
  if (tried == !name.empty())
    return std::unexpected(usage_error("name a schedule, or try a rule with --cron or --every"));
  if (name.empty()) {
    ScheduleSpec any;
    any.queue = "any";
    Result<ScheduleSpec> spec = spec_from_options(invocation, any);
    if (!spec) return std::unexpected(spec.error());
    if (auto ok = check_spec(*spec); !ok) return std::unexpected(ok.error());
    return Asked{*spec, *rule_of(*spec), invocation.runtime->wall_now()};
  }
  if (invocation.has("--tz") || invocation.has("--anchor"))
    return std::unexpected(usage_error("--tz and --anchor need --cron or --every; a schedule has its own"));
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  Result<FoundSchedule> found = find_schedule(invocation, **store, name);
  if (!found) return std::unexpected(found.error());
  Result<KnownSchedule> schedule = known(std::move(found->row));
  if (!schedule) return std::unexpected(schedule.error());
  return Asked{schedule->spec, schedule->rule, found->now, schedule->row.paused.has_value()};
}

Result<int> run_schedule_next(Invocation& invocation) {
  const Result<std::int64_t> count = invocation.number("--count", 10, 1, 1000);
  if (!count) return std::unexpected(count.error());
  std::optional<WallTime> from;
  if (const auto text = invocation.value("--from")) {
    const Result<WallTime> parsed = parse_time(*text);
    if (!parsed) return std::unexpected(usage_error("--from " + parsed.error().message));
    from = *parsed;
  }
  const Result<Asked> of = asked(invocation);
  if (!of) return std::unexpected(of.error());
  nlohmann::ordered_json ticks = nlohmann::ordered_json::array();
  Table table{{{.name = "utc", .whole = true}, {.name = "local", .whole = true}, {.name = "tz"}}, {}};
  std::optional<WallTime> tick = next_tick(of->spec, of->rule, from.value_or(of->now));
  for (std::int64_t n = 0; tick && n < *count; ++n, tick = next_tick(of->spec, of->rule, *tick)) {
    const std::string utc = local_text(*tick, "UTC"), local = local_text(*tick, of->spec.zone);
    ticks.push_back({{"tick", utc}, {"local", local}});
    table.rows.push_back({utc, local, of->spec.zone});
  }
  if (invocation.json) {
    print_line(nlohmann::ordered_json{{"tz", of->spec.zone}, {"paused", of->paused}, {"ticks", ticks}}.dump());
    return kExitOk;
  }
  print_list(table, "");
  flush_output();
  if (table.rows.empty()) tell("fenceline: there is no future tick");
  if (of->paused) tell("fenceline: the schedule is paused: these ticks are skipped unless it is resumed before");
  return kExitOk;
}

}  // namespace

CommandSpec schedule_list_command() {
  return {.name = "schedule list",
          .summary = "List schedules: rule, queue, next and last tick",
          .examples = {{"fenceline schedule list", "all schedules"},
                       {"fenceline schedule list --json | jq '.schedules[] | select(.paused)'", "paused schedules"}},
          .run = run_schedule_list};
}

CommandSpec schedule_show_command() {
  return {.name = "schedule show",
          .summary = "Show one schedule and the payload of its jobs",
          .arguments = {{"NAME", "its name"}},
          .sections = {{"Fields",
                        {{"next", "the first tick that has neither fired nor been skipped"},
                         {"last_fired", "the last tick that fired; none fired after it"},
                         {"resolved_to", "every tick up to here has fired or been skipped"},
                         {"counts_from", "time of the last edit: a rewind goes back no further"}}},
                       {"Exit status", {{"66", "no such schedule"}}}},
          .examples = {{"fenceline schedule show nightly", "all its settings"}},
          .run = run_schedule_show};
}

CommandSpec schedule_next_command() {
  std::vector<OptionSpec> options{{"--count", "N", "number of ticks, 1 to 1000; default 10"},
                                  {"--from", "TIME", "ticks after this time; default now"}};
  for (OptionSpec& option : schedule_options({"cron", "every", "anchor", "tz"})) options.push_back(std::move(option));
  return {.name = "schedule next",
          .summary = "Show the next ticks of a schedule, or of a rule to try",
          .details = "Times are shown in UTC and in the schedule's time zone.",
          .arguments = {{.name = "NAME",
                         .help = "name of the schedule; omit it to try --cron or --every, which needs no store",
                         .required = false}},
          .options = options,
          .sections = {{"Exit status",
                        {{"65",
                          "the expression or the time zone is invalid; the message names the field and what is valid"},
                         {"66", "no such schedule"}}}},
          .examples = {{"fenceline schedule next nightly --count 3", "its next three ticks"},
                       {"fenceline schedule next --cron '30 2 * * *' --tz Europe/Berlin",
                        "try a rule; --from a day before the clocks change shows what happens then"}},
          .run = run_schedule_next};
}

}  // namespace fenceline::cli

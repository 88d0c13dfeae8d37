// fenceline schedule pause, resume, remove, rewind and run: what operators do to a schedule.
#include <utility>

#include "cli/frame/acts.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/place.hpp"
#include "cli/frame/text.hpp"
#include "cli/frame/time_text.hpp"
#include "cli/schedules/commands.hpp"
#include "cli/schedules/schedule_view.hpp"
#include "services/schedule_acts.hpp"
#include "services/stage_store.hpp"

namespace fenceline::cli {
namespace {

// Opens the store, and lets `change` act on the schedule that was named.
template <class Change>
auto act_on(Invocation& invocation, Change change)
    -> decltype(change(std::declval<ScheduleActs&>(), std::string(), Act{})) {
  const std::string name = invocation.argument("NAME");
  if (auto ok = check_schedule_name(name); !ok) return std::unexpected(ok.error());
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  ScheduleActs acts(*invocation.runtime, store->stages(), {.ns = invocation.ns, .place = lock_place()},
                    invocation.stop);
  auto changed = change(acts, name, *act);
  if (!changed) return std::unexpected(with_nearest_schedule(invocation, **store, name, changed.error()));
  return changed;
}

// "next tick ...", for what was resumed or opened again.
std::string next_words(const ScheduleRow& row) {
  const Result<KnownSchedule> schedule = known(row);
  const std::optional<WallTime> next = schedule ? due_at(*schedule) : std::nullopt;
  if (!next) return row.paused ? "it is paused" : "it has no future tick";
  return "next tick " + tick_words(*next, schedule->spec.zone);
}

Result<int> print_row(const Invocation& invocation, const Result<ScheduleRow>& row, const std::string& done) {
  if (!row) return std::unexpected(row.error());
  if (invocation.json) print_line(schedule_json(*row, true));
  else print_line(invocation.argument("NAME") + " " + done);
  return kExitOk;
}

Result<int> run_schedule_pause(Invocation& invocation) {
  const Result<ScheduleRow> row = act_on(
      invocation, [](ScheduleActs& acts, const std::string& name, const Act& act) { return acts.pause(name, act); });
  return print_row(invocation, row,
                   row && row->paused
                       ? "is paused by " + printable(row->paused->by) + " since " + format_time(row->paused->at)
                       : "");
}

Result<int> run_schedule_resume(Invocation& invocation) {
  const Result<ScheduleRow> row = act_on(
      invocation, [](ScheduleActs& acts, const std::string& name, const Act& act) { return acts.resume(name, act); });
  return print_row(invocation, row, row ? "is resumed; " + next_words(*row) : "");
}

Result<int> run_schedule_remove(Invocation& invocation) {
  const Result<ScheduleRow> row = act_on(
      invocation, [](ScheduleActs& acts, const std::string& name, const Act& act) { return acts.remove(name, act); });
  if (!row) return std::unexpected(row.error());
  if (invocation.json) print_line(Json{{"name", invocation.argument("NAME")}, {"removed", true}}.dump());
  else print_line(invocation.argument("NAME") + " is removed; the jobs it enqueued stay");
  return kExitOk;
}

Result<int> run_schedule_rewind(Invocation& invocation) {
  const std::optional<std::string> text = invocation.value("--to");
  if (!text)
    return std::unexpected(usage_error("--to is missing; name the time after which skipped ticks are reopened"));
  const Result<WallTime> to = parse_time(*text);
  if (!to) return std::unexpected(usage_error("--to " + to.error().message));
  Result<ScheduleRow> row = act_on(invocation, [&](ScheduleActs& acts, const std::string& name, const Act& act) {
    return acts.rewind(name, *to, act);
  });
  if (!row && row.error().code == Code::refused)
    row.error().code = Code::conflict;  // the schedule is fine: the moment is not
  return print_row(invocation, row,
                   row ? "is rewound to " + format_time(row->resolved_to) + "; " + next_words(*row) : "");
}

Result<int> run_schedule_run(Invocation& invocation) {
  const Result<JobId> id = act_on(
      invocation, [](ScheduleActs& acts, const std::string& name, const Act& act) { return acts.run(name, act); });
  if (!id) return std::unexpected(id.error());
  if (invocation.json) print_line(Json{{"id", to_string(*id)}}.dump());
  else print_line(to_string(*id));
  return kExitOk;
}

SectionSpec exit_section() { return {"Exit status", {{"66", "no such schedule"}}}; }

}  // namespace

CommandSpec schedule_pause_command() {
  return {.name = "schedule pause",
          .summary = "Stop firing ticks of a schedule",
          .details = "Jobs that it has enqueued still run.",
          .arguments = {{"NAME", "name of the schedule"}},
          .options = with_act_options({history_option()}),
          .sections = {exit_section()},
          .examples = {{"fenceline schedule pause nightly --reason 'the warehouse moves'",
                        "'schedule list' names you and the reason"}},
          .run = run_schedule_pause};
}

CommandSpec schedule_resume_command() {
  return {.name = "schedule resume",
          .summary = "Fire ticks of a paused schedule again",
          .details = "Ticks that fell into the pause are skipped and recorded as one range.",
          .arguments = {{"NAME", "name of the schedule"}},
          .options = with_act_options({history_option()}),
          .sections = {exit_section()},
          .examples = {{"fenceline schedule resume nightly", "fire its ticks again"},
                       {"fenceline schedule rewind nightly --to 2026-11-16T00:00:00Z",
                        "then catch up on ticks that the pause skipped"}},
          .run = run_schedule_resume};
}

CommandSpec schedule_remove_command() {
  return {.name = "schedule remove",
          .summary = "Remove a schedule; its jobs stay",
          .details = "Its history is kept for a while: if you add the schedule again, no tick fires twice.",
          .arguments = {{"NAME", "name of the schedule"}},
          .options = with_act_options({history_option()}),
          .sections = {exit_section()},
          .examples = {{"fenceline schedule remove nightly --reason 'weekly now'", "gone"}},
          .run = run_schedule_remove};
}

CommandSpec schedule_rewind_command() {
  return {.name = "schedule rewind",
          .summary = "Reopen skipped ticks after a point in time",
          .details = "They then fire or are skipped as the catch-up rule says. A tick that fired never fires again.",
          .arguments = {{"NAME", "name of the schedule"}},
          .options = with_act_options(
              {{"--to", "TIME", "reopen ticks after this time; not before the last edit or the recorded history"},
               history_option()}),
          .sections = {{"Exit status",
                        {{"65", "no tick after that time was skipped, or it is too far back"},
                         {"66", "no such schedule"}}}},
          .examples = {{"fenceline schedule rewind nightly --to 2026-11-15T00:00:00Z",
                        "reopen what was skipped since then"}},
          .run = run_schedule_rewind};
}

CommandSpec schedule_run_command() {
  return {.name = "schedule run",
          .summary = "Enqueue a job of a schedule now, besides its ticks",
          .details = "Prints the job's id.",
          .arguments = {{"NAME", "name of the schedule"}},
          .options = with_act_options({history_option()}),
          .sections = {exit_section()},
          .examples = {{"fenceline job wait $(fenceline schedule run nightly)", "run it once by hand and wait"}},
          .run = run_schedule_run};
}

}  // namespace fenceline::cli

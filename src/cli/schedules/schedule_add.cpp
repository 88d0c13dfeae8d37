// fenceline schedule add: a schedule becomes what the options say.
#include "cli/frame/acts.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/place.hpp"
#include "cli/frame/schedule_settings.hpp"
#include "cli/schedules/commands.hpp"
#include "cli/schedules/schedule_view.hpp"
#include "services/pipeline_book.hpp"
#include "services/stage_store.hpp"

namespace fenceline::cli {
namespace {

Result<int> run_schedule_add(Invocation& invocation) {
  const std::string name = invocation.argument("NAME");
  if (auto ok = check_schedule_name(name); !ok) return std::unexpected(ok.error());
  if (invocation.has("--cron") == invocation.has("--every"))
    return std::unexpected(usage_error("a schedule needs --cron EXPR or --every D; pass one"));
  if (!invocation.has("--queue"))
    return std::unexpected(usage_error("--queue is missing; name the queue for its jobs"));
  Result<ScheduleSpec> spec = spec_from_options(invocation);
  if (!spec) return std::unexpected(spec.error());
  if (auto ok = check_spec(*spec); !ok) return std::unexpected(ok.error());
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const auto store = invocation.open_or_make_store();
  if (!store) return std::unexpected(store.error());
  if (auto ok = check_stage_of_pipeline(store->stages(), invocation.ns, {spec->queue}, spec->stage); !ok)
    return std::unexpected(ok.error());
  Result<std::string> stage = store->stages().stage_of_new_job(spec->queue, spec->stage);
  if (!stage) return std::unexpected(stage.error());
  spec->stage = std::move(*stage);
  ScheduleActs acts(*invocation.runtime, store->stages(), {.ns = invocation.ns, .place = lock_place()},
                    invocation.stop);
  const Result<PutReport> put = acts.put(name, *spec, *act);
  if (!put) return std::unexpected(put.error());
  if (invocation.json) {
    print_line(schedule_json(put->schedule, true));
    return kExitOk;
  }
  const std::string done = put->outcome == PutOutcome::added     ? "added"
                           : put->outcome == PutOutcome::changed ? "changed"
                                                                 : "unchanged";
  const Result<KnownSchedule> schedule = known(put->schedule);
  const std::optional<WallTime> next = schedule ? due_at(*schedule) : std::nullopt;
  print_line(name + " " + done + "; " +
             (next                   ? "next tick " + tick_words(*next, spec->zone)
              : put->schedule.paused ? "it is paused"
                                     : "it has no future tick"));
  return kExitOk;
}

}  // namespace

CommandSpec schedule_add_command() {
  std::vector<OptionSpec> options = schedule_options();
  options.push_back(history_option());
  return {
      .name = "schedule add",
      .summary = "Add a schedule, or change the one with that name",
      .details = "Each tick enqueues exactly one job, or is recorded as skipped.",
      .arguments = {{"NAME", "name of the schedule; see docs/schedules.md"}},
      .options = with_act_options(std::move(options)),
      .sections =
          {{"What it does",
            {{"who fires", "every 'fenceline work' in the namespace, whatever its queues; no other process is needed"},
             {"an edit", "changes only later ticks; omitted options get their defaults. Repeating it changes nothing"},
             {"a payload",
              "'{\"day\":\"${tick.local}\"}' becomes {\"day\":\"2026-03-29T03:00:00+02:00\"}; $${ is a plain ${"}}},
           {"--overlap",
            {{"allow", "it fires"},
             {"skip", "it is skipped"},
             {"queue-one", "it fires if no other job waits: one runs, one waits, the rest are skipped"},
             {"cancel-running", "the earlier jobs are cancelled, and it fires"}}}},
      .examples = {{"fenceline schedule add nightly --cron '30 2 * * *' --tz Asia/Tokyo --queue q",
                    "at 02:30, Tokyo time"},
                   {"fenceline schedule add poll --every 90s --queue feeds --overlap skip",
                    "not while the previous job is unfinished"}},
      .run = run_schedule_add};
}

}  // namespace fenceline::cli

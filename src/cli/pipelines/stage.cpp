// fenceline stage approve, reject, move, hold and release: what people decide about an item of a pipeline; and move,
// from inside the command that works on it.

#include "backends/trackers/open_tracker.hpp"
#include "cli/frame/acts.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/current_job.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/pipelines/commands.hpp"
#include "cli/pipelines/pipeline_view.hpp"
#include "cli/pipelines/sent_back.hpp"
#include "cli/pipelines/tracker_place.hpp"

namespace fenceline::cli {
namespace {

bool inside_a_handler() { return from_environment("FENCELINE_JOB").has_value(); }

// A worker's command must not decide about its own work.
Result<void> only_by_people(const std::string& what) {
  if (!inside_a_handler()) return {};
  return fail(Code::denied,
              what +
                  " is for people, and this is a command that 'fenceline work' runs (FENCELINE_JOB is set); a command "
                  "sends its item back with: fenceline stage move --to STAGE --reason TEXT");
}

// What a person writes on an issue tracker.
std::string with_stage(const std::string& command, const Invocation& invocation) {
  const std::string to = invocation.value("--to").value_or("");
  return to.empty() ? command : command + " " + to;
}

Result<void> say_why(const Invocation& invocation) {
  if (!invocation.value("--reason").value_or("").empty()) return {};
  return std::unexpected(usage_error("--reason is missing; it tells the next worker why"));
}

void print_report(const Invocation& invocation, const ItemReport& report) {
  const std::string id = to_string(report.item.job.id);
  if (invocation.json) {
    Json out = Json::parse(item_json(report.spec, report.now_item));
    print_line(Json{{"id", id}, {"changed", report.changed}, {"state", to_string(report.item.job.state)}, {"item", out}}
                   .dump());
    return;
  }
  const std::string waits = waits_for(report.spec, report.now_item);
  print_line(id + " is " + (report.changed ? "" : "nothing to change: ") + "at " +
             stage_words(report.spec, report.now_item.stage) + ", " + std::string(to_string(report.item.job.state)) +
             (waits.empty() ? "" : "; waits for " + waits));
}

template <class Decide>
Result<int> decide(Invocation& invocation, Decide what) {
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  const Result<JobId> id = id_of(invocation, **store);
  if (!id) return std::unexpected(id.error());
  ItemActs acts(*invocation.runtime, **store, invocation.ns, invocation.stop);
  const Result<ItemReport> report = what(acts, *id, *act);
  if (!report) return std::unexpected(report.error());
  print_report(invocation, *report);
  return kExitOk;
}

Result<int> run_stage_approve(Invocation& invocation) {
  if (auto ok = only_by_people("an approval"); !ok) return std::unexpected(ok.error());
  if (is_tracker_url(invocation.store_url)) return say_on_tracker(invocation, "/approve");
  std::optional<std::int64_t> generation;
  if (invocation.has("--generation")) {
    const Result<std::int64_t> number = invocation.number("--generation", 0, 0, kFenceMax);
    if (!number) return std::unexpected(number.error());
    generation = *number;
  }
  return decide(invocation,
                [&](ItemActs& acts, const JobId& id, const Act& act) { return acts.approve(id, generation, act); });
}

Result<int> run_stage_reject(Invocation& invocation) {
  if (auto ok = only_by_people("a rejection"); !ok) return std::unexpected(ok.error());
  if (is_tracker_url(invocation.store_url)) return say_on_tracker(invocation, with_stage("/reject", invocation));
  if (auto ok = say_why(invocation); !ok) return std::unexpected(ok.error());
  return decide(invocation, [&](ItemActs& acts, const JobId& id, const Act& act) {
    return acts.reject(id, invocation.value("--to").value_or(""), act);
  });
}

// The current job, under its fence; a typed ID must name it.
Result<int> send_back(Invocation& invocation, const std::string& to) {
  if (auto ok = say_why(invocation); !ok) return std::unexpected(ok.error());
  const Result<Holding> delivery = current_job("stage move");
  if (!delivery) return std::unexpected(delivery.error());
  Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  if (!invocation.has("--as")) act->actor = "worker";
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  if (!invocation.argument("ID").empty()) {
    const Result<JobId> id = id_of(invocation, **store);
    if (!id) return std::unexpected(id.error());
    if (*id != delivery->id)
      return fail(Code::denied,
                  "a command that works on item " + to_string(delivery->id) + " can move only that item; omit the ID");
  }
  ItemActs acts(*invocation.runtime, **store, invocation.ns, invocation.stop);
  const Result<ItemReport> report = acts.send_back(*delivery, to, *act);
  if (!report) return std::unexpected(report.error());
  print_report(invocation, *report);
  return kExitOk;
}

// On an issue tracker its worker does so when the command has ended.
Result<int> send_back_on_tracker(const Invocation& invocation, const std::string& to) {
  if (auto ok = say_why(invocation); !ok) return std::unexpected(ok.error());
  if (!invocation.argument("ID").empty())
    return fail(Code::denied, "a command that works on an item can move only that item; omit the ID");
  if (auto asked = ask_to_be_sent_back(to, invocation.value("--reason").value_or("")); !asked)
    return std::unexpected(asked.error());
  print_line(invocation.json ? Json{{"to", to}, {"asked", true}}.dump()
                             : "goes back to " + to + " when this command ends, whatever its exit status");
  return kExitOk;
}

Result<int> run_stage_move(Invocation& invocation) {
  const std::optional<std::string> to = invocation.value("--to");
  if (!to || to->empty()) return std::unexpected(usage_error("--to is missing; name the stage"));
  const bool on_tracker = is_tracker_url(invocation.store_url);
  if (inside_a_handler()) return on_tracker ? send_back_on_tracker(invocation, *to) : send_back(invocation, *to);
  if (on_tracker) return say_on_tracker(invocation, with_stage("/move", invocation));
  if (invocation.argument("ID").empty())
    return std::unexpected(
        usage_error("ID is missing; name the item (only a command that works on an item may omit it)"));
  return decide(invocation, [&](ItemActs& acts, const JobId& id, const Act& act) { return acts.move(id, *to, act); });
}

Result<int> run_stage_hold(Invocation& invocation) {
  if (auto ok = only_by_people("a hold"); !ok) return std::unexpected(ok.error());
  if (is_tracker_url(invocation.store_url)) return say_on_tracker(invocation, "/hold");
  return decide(invocation, [](ItemActs& acts, const JobId& id, const Act& act) { return acts.hold(id, act); });
}

Result<int> run_stage_release(Invocation& invocation) {
  if (auto ok = only_by_people("a release"); !ok) return std::unexpected(ok.error());
  if (is_tracker_url(invocation.store_url)) return say_on_tracker(invocation, "/release");
  return decide(invocation, [](ItemActs& acts, const JobId& id, const Act& act) { return acts.release(id, act); });
}

SectionSpec exit_section() {
  return {"Exit status",
          {{"65", "not possible at the item's current stage"},
           {"66", "no such job"},
           {"77", "not allowed for this person, or not from a worker's command"}}};
}

}  // namespace

CommandSpec stage_approve_command() {
  return {
      .name = "stage approve",
      .summary = "Approve an item that waits to enter a stage",
      .details = "When enough people have approved, the item enters. Each person counts once, and only for this visit.",
      .arguments = {{"ID", kIdHelp}},
      .options =
          with_act_options({pipeline_file_option(),
                            history_option(),
                            {"--generation", "N", "only for this visit to the stage, as 'board --json' shows it"}}),
      .sections = {exit_section()},
      .examples = {{"fenceline stage approve 0198f3c1-7a3e --reason 'read it twice'", "as yourself"},
                   {"fenceline stage approve $ID --as ana",
                    "as someone else: anyone who can write to the store may do so"}},
      .run = run_stage_approve};
}

CommandSpec stage_reject_command() {
  return {
      .name = "stage reject",
      .summary = "Send an item back to an earlier stage, with a reason",
      .details = "An item that was sent back more often than the pipeline allows is put on hold.",
      .arguments = {{"ID", kIdHelp}},
      .options = with_act_options(
          {pipeline_file_option(), history_option(), {"--to", "STAGE", "an earlier stage; default the previous one"}}),
      .sections = {exit_section()},
      .examples = {{"fenceline stage reject $ID --reason 'the second chapter is missing'",
                    "the previous stage runs again"}},
      .run = run_stage_reject};
}

CommandSpec stage_move_command() {
  return {.name = "stage move",
          .summary = "Move an item to another stage, if it may enter",
          .details =
              "A command that works on an item may send it back this way, under its fence. Its own result then does "
              "not count.",
          .arguments = {{.name = "ID",
                         .help = std::string(kIdHelp) + "; omitted in a worker's command",
                         .required = false}},
          .options = with_act_options(
              {pipeline_file_option(),
               history_option(),
               {"--to", "STAGE", "target stage: one that 'moves' allows, or any earlier stage and the next one"}}),
          .sections = {exit_section()},
          .examples = {{"fenceline stage move $ID --to ready --reason 'start over'", "by a person"},
                       {"fenceline stage move --to write --reason 'no tests' && exit 0", "in the review script"}},
          .run = run_stage_move};
}

CommandSpec stage_hold_command() {
  return {.name = "stage hold",
          .summary = "Put an item on hold until it is released",
          .details = "A running command finishes first; the item then waits where its result leads.",
          .arguments = {{"ID", kIdHelp}},
          .options = with_act_options({pipeline_file_option(), history_option()}),
          .sections = {exit_section()},
          .examples = {{"fenceline stage hold $ID --reason 'ask legal'", "'board' names you and the reason"}},
          .run = run_stage_hold};
}

CommandSpec stage_release_command() {
  return {.name = "stage release",
          .summary = "Release an item that is on hold; it continues from there",
          .arguments = {{"ID", kIdHelp}},
          .options = with_act_options({pipeline_file_option(), history_option()}),
          .sections = {exit_section()},
          .examples = {{"fenceline stage release $ID", "let it continue"}},
          .run = run_stage_release};
}

}  // namespace fenceline::cli

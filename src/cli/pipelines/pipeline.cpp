// fenceline pipeline apply, show and remove.

#include "cli/frame/acts.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/output.hpp"
#include "cli/pipelines/commands.hpp"
#include "cli/pipelines/pipeline_file.hpp"
#include "cli/pipelines/pipeline_view.hpp"
#include "services/pipeline_acts.hpp"

namespace fenceline::cli {
namespace {

// A person who leaves items behind is told which.
void tell_stranded(const ApplyReport& report, const std::string& name) {
  for (const auto& [stage, count] : report.stranded)
    tell("fenceline: " + counted(count, "item") + " at '" + stage + "', which is no stage of " + name +
         " now: 'fenceline board " + name + "' names them, 'fenceline stage move' moves them");
}

Result<int> run_pipeline_apply(Invocation& invocation) {
  const Result<DeclaredPipeline> declared = read_pipeline_file(invocation.argument("FILE"));
  if (!declared) return std::unexpected(declared.error());
  const PipelineSpec* const spec = &declared->spec;
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const auto store = invocation.open_or_make_store();
  if (!store) return std::unexpected(store.error());
  PipelineActs acts(*invocation.runtime, **store, invocation.ns, invocation.stop);
  const Result<ApplyReport> report = acts.apply(*spec, invocation.has("--force"), *act);
  if (!report) return std::unexpected(report.error());
  const std::string done = report->outcome == ApplyOutcome::added     ? "added"
                           : report->outcome == ApplyOutcome::changed ? "changed"
                                                                      : "unchanged";
  if (invocation.json) {
    Json out = Json::parse(pipeline_json(report->row, *spec));
    out["outcome"] = done;
    out["items_moved"] = report->refitted;
    print_line(out.dump());
  } else {
    std::string stages;
    for (const std::string& name : spec->names()) stages += (stages.empty() ? "" : " -> ") + name;
    print_line(spec->name + " " + done + ": " + stages +
               (report->refitted > 0 ? "; " + counted(report->refitted, "item") + " at gates moved" : ""));
  }
  flush_output();
  tell_stranded(*report, spec->name);
  return kExitOk;
}

Result<int> run_pipeline_show(Invocation& invocation) {
  const std::string name = invocation.argument("NAME");
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  if (!name.empty()) {
    const Result<FoundPipeline> found = find_pipeline(invocation, **store, name);
    if (!found) return std::unexpected(found.error());
    if (invocation.json) print_line(pipeline_json(found->row, found->spec));
    else print_table(stages_table(found->spec));
    return kExitOk;
  }
  const Result<std::vector<PipelineRow>> rows = (*store)->pipelines(invocation.ns);
  if (!rows) return std::unexpected(rows.error());
  if (!invocation.json) {
    print_table(pipelines_table(*rows));
    return kExitOk;
  }
  std::string text = "{\"pipelines\":[";
  bool first = true;
  for (const PipelineRow& row : *rows) {
    const Result<PipelineSpec> spec = parse_pipeline(row.spec);
    text += (first ? "" : ",") +
            (spec ? pipeline_json(row, *spec)
                  : Json{{"name", row.name}, {"revision", row.revision}, {"error", spec.error().message}}.dump());
    first = false;
  }
  print_line(text + "]}");
  return kExitOk;
}

Result<int> run_pipeline_remove(Invocation& invocation) {
  const std::string name = invocation.argument("NAME");
  const Result<Act> act = act_of(invocation);
  if (!act) return std::unexpected(act.error());
  const auto store = invocation.open_store(false);
  if (!store) return std::unexpected(store.error());
  if (const Result<FoundPipeline> found = find_pipeline(invocation, **store, name);
      !found && found.error().code == Code::not_found)
    return std::unexpected(found.error());
  PipelineActs acts(*invocation.runtime, **store, invocation.ns, invocation.stop);
  if (auto ok = acts.remove(name, invocation.has("--force"), *act); !ok) return std::unexpected(ok.error());
  if (invocation.json) print_line(Json{{"name", name}, {"removed", true}}.dump());
  else print_line(name + " is removed; its queue stays, as one without stages");
  return kExitOk;
}

}  // namespace

CommandSpec pipeline_apply_command() {
  return {.name = "pipeline apply",
          .summary = "Create or change a pipeline from a file",
          .details =
              "The file lists the stages in order and the entry condition of each. The items are the jobs of the queue "
              "with the pipeline's name.",
          .arguments = {{"FILE", "TOML, or - for stdin; docs/pipelines.md explains it all"}},
          .options = with_act_options(
              {history_option(),
               {"--force", "", "also if items are at stages that the file does not have any more: people move them"}}),
          .sections = {{"The file",
                        {{"[pipeline]",
                          "name = \"docs\", stages = [\"ready\", \"review\", \"publish\"]; loops = 3: so often an item "
                          "goes back before a person is asked; critical = true: never on a store without fences"},
                         {"[stage.NAME]",
                          "ttl, timeout, attempts, concurrency: of the work there; moves = [\"ready\"]: where a person "
                          "may move an item from there, any earlier stage and the next one if not given"},
                         {"gate of a stage", "left out: items are let in as they come"},
                         {"an approval",
                          "gate = { approval = { count = 1, by = [\"ana\"], within = \"2d\", then = \"reject\" } }; "
                          "all but count may be left out; then is reject, approve or hold"},
                         {"a check",
                          "gate = { check = [\"cmd\", \"arg\"], every = \"1m\" }: exit 0 lets the item in, 65 sends it "
                          "back, all else asks again; run by workers with --run-checks"}}},
                       {"An edit",
                        {{"while items are in it",
                          "they stay where they are; those at a gate are looked at by the new rule at once. The same "
                          "file again changes nothing"}}},
                       {"Exit status", {{"65", "the file is wrong, or items would be left at no stage"}}}},
          .examples = {{"fenceline pipeline apply docs.toml",
                        "then: fenceline enqueue docs, fenceline work docs --stage ready -- ./write"},
                       {"fenceline pipeline apply docs.toml --reason 'two reviewers now'",
                        "'fenceline trail' says who and why"}},
          .run = run_pipeline_apply};
}

CommandSpec pipeline_show_command() {
  return {
      .name = "pipeline show",
      .summary = "List pipelines, or show the stages of one",
      .details = "Shows each stage's entry condition, ttl, timeout, attempts and concurrency.",
      .arguments = {{.name = "NAME", .help = "its name; all of them if not given", .required = false}},
      .sections = {{"Exit status", {{"66", "there is no such pipeline"}}}},
      .examples = {{"fenceline pipeline show", "which there are"},
                   {"fenceline pipeline show docs --json | jq '.stages[].gate'", "what lets an item into each stage"}},
      .run = run_pipeline_show};
}

CommandSpec pipeline_remove_command() {
  return {
      .name = "pipeline remove",
      .summary = "Remove a pipeline; its queue and jobs stay",
      .details = "Refused while items are unfinished.",
      .arguments = {{"NAME", "its name"}},
      .options = with_act_options(
          {history_option(), {"--force", "", "also with unfinished items: they stay at their stages, as plain jobs"}}),
      .sections = {{"Exit status", {{"65", "it has unfinished items"}, {"66", "there is no such pipeline"}}}},
      .examples = {{"fenceline pipeline remove docs --reason 'moved to the tracker'", "gone"}},
      .run = run_pipeline_remove};
}

}  // namespace fenceline::cli

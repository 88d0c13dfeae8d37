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
    tell("fenceline: " + counted(count, "item") + " at '" + stage + "', which is not a stage of " + name +
         " now: 'fenceline board " + name + "' lists them, 'fenceline stage move' moves them");
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
               (report->refitted > 0 ? "; " + counted(report->refitted, "item") + " at entry conditions moved" : ""));
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
    print_list(pipelines_table(*rows), "no pipelines; create one with: fenceline pipeline apply FILE");
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
  else print_line(name + " is removed; its queue stays, without stages");
  return kExitOk;
}

}  // namespace

CommandSpec pipeline_apply_command() {
  return {
      .name = "pipeline apply",
      .summary = "Create or change a pipeline from a file",
      .details =
          "The file lists the stages in order and the entry condition of each. The items are the jobs of the queue "
          "with the pipeline's name.",
      .arguments = {{"FILE", "TOML file, or - for stdin; see docs/pipelines.md"}},
      .options = with_act_options(
          {history_option(),
           {"--force", "", "apply it even if items are at stages that the file no longer has; move them by hand"}}),
      .sections = {{"The file",
                    {{"[pipeline]",
                      "name = \"docs\", stages = [\"ready\", \"review\", \"publish\"]; loops = 3: how often an item "
                      "may be sent back before it is put on hold; critical = true: never on a store without fences"},
                     {"[stage.NAME]",
                      "ttl, timeout, attempts, concurrency: for the work at this stage; moves = [\"ready\"]: stages "
                      "that a person may move an item to from here; default any earlier stage and the next one"},
                     {"entry condition", "omitted: items enter as they come"},
                     {"an approval",
                      "entry = { approval = { count = 1, by = [\"ana\"], within = \"2d\", then = \"reject\" } }; only "
                      "count is required; then is reject, approve or hold"},
                     {"a check",
                      "entry = { check = [\"cmd\", \"arg\"], every = \"1m\" }: exit 0 lets the item in, 65 sends it "
                      "back, anything else asks again later; run by workers with --run-checks"}}},
                   {"Changing a pipeline",
                    {{"while items are in it",
                      "they stay where they are; the new entry conditions apply at once. Applying the same file again "
                      "changes nothing"}}},
                   {"Exit status", {{"65", "the file is invalid, or items would be at no stage"}}}},
      .examples = {{"printf '[pipeline]\\nname=\"d\"\\nstages=[\"a\",\"b\"]\\n' | fenceline pipeline apply -",
                    "the smallest pipeline, without a file"},
                   {"fenceline pipeline apply docs.toml",
                    "then: fenceline enqueue docs, fenceline work docs --stage ready -- ./write"},
                   {"fenceline pipeline apply docs.toml --reason 'two reviewers now'",
                    "'fenceline trail' shows who and why"}},
      .run = run_pipeline_apply};
}

CommandSpec pipeline_show_command() {
  return {
      .name = "pipeline show",
      .summary = "List pipelines, or show the stages of one",
      .details = "Shows each stage's entry condition, ttl, timeout, attempts and concurrency.",
      .arguments = {{.name = "NAME", .help = "name of the pipeline; default all", .required = false}},
      .sections = {{"Exit status", {{"66", "no such pipeline"}}}},
      .examples = {{"fenceline pipeline show", "all pipelines"},
                   {"fenceline pipeline show docs --json | jq '.stages[].entry'", "the entry condition of each stage"}},
      .run = run_pipeline_show};
}

CommandSpec pipeline_remove_command() {
  return {.name = "pipeline remove",
          .summary = "Remove a pipeline; its queue and jobs stay",
          .details = "Refused while items are unfinished.",
          .arguments = {{"NAME", "name of the pipeline"}},
          .options = with_act_options(
              {history_option(),
               {"--force", "", "remove it even with unfinished items: they stay as plain jobs with a stage"}}),
          .sections = {{"Exit status", {{"65", "it has unfinished items"}, {"66", "no such pipeline"}}}},
          .examples = {{"fenceline pipeline remove docs --reason 'moved to the tracker'", "gone"}},
          .run = run_pipeline_remove};
}

}  // namespace fenceline::cli

#include "cli/pipelines/pipeline_view.hpp"

#include <algorithm>

#include "base/nearest.hpp"
#include "cli/frame/json.hpp"
#include "cli/frame/text.hpp"

namespace fenceline::cli {
namespace {

Json or_null(Duration duration) { return duration == Duration{0} ? Json(nullptr) : Json(whole_milliseconds(duration)); }
Json or_null(int number) { return number == 0 ? Json(nullptr) : Json(number); }

Json entry_json(const StageEntry& entry) {
  if (entry.kind == EntryKind::automatic) return {{"kind", "automatic"}};
  if (entry.kind == EntryKind::check)
    return {{"kind", "check"}, {"command", entry.command}, {"every_ms", whole_milliseconds(entry.every)}};
  return {{"kind", "approval"},
          {"count", entry.count},
          {"by", entry.by},
          {"within_ms", or_null(entry.within)},
          {"then", entry.within == Duration{0} ? Json(nullptr) : Json(to_string(entry.then))}};
}

Json word_json(const ItemWord& word) {
  return {{"by", word.by}, {"at", format_time(word.at)}, {"reason", word.reason}};
}

std::string words(const ItemWord& word) {
  return "by " + word.by + " at " + format_time(word.at) + (word.reason.empty() ? "" : ": " + word.reason);
}

}  // namespace

std::string pipeline_json(const PipelineRow& row, const PipelineSpec& spec) {
  Json stages = Json::array();
  for (const StageSpec& stage : spec.stages) {
    stages.push_back({{"name", stage.name},
                      {"ttl_ms", or_null(stage.ttl)},
                      {"timeout_ms", or_null(stage.timeout)},
                      {"attempts", or_null(stage.attempts)},
                      {"concurrency", or_null(stage.concurrency)},
                      {"moves", stage.moves ? Json(*stage.moves) : Json(nullptr)},
                      {"input", to_string(stage.input)},
                      {"entry", entry_json(stage.entry)}});
  }
  return Json{{"name", spec.name},   {"revision", row.revision},  {"changed_at", format_time(row.changed_at)},
              {"loops", spec.loops}, {"critical", spec.critical}, {"stages", stages}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Table pipelines_table(const std::vector<PipelineRow>& rows) {
  Table table{{{.name = "name", .whole = true},
               {.name = "stages"},
               {.name = "loops", .right = true},
               {.name = "critical"},
               {.name = "revision", .right = true, .spare = true},
               {.name = "changed_at", .wide_only = true}},
              {}};
  for (const PipelineRow& row : rows) {
    const Result<PipelineSpec> spec = parse_pipeline(row.spec);
    if (!spec) {
      table.rows.push_back({row.name,
                            {spec.error().message, Tone::bad},
                            "",
                            "",
                            std::to_string(row.revision),
                            format_time(row.changed_at)});
      continue;
    }
    std::string stages;
    for (const std::string& name : spec->names()) stages += (stages.empty() ? "" : " -> ") + name;
    table.rows.push_back({row.name, stages, std::to_string(spec->loops), spec->critical ? "yes" : "no",
                          std::to_string(row.revision), format_time(row.changed_at)});
  }
  return table;
}

Table stages_table(const PipelineSpec& spec) {
  Table table{{{.name = "stage", .whole = true},
               {.name = "entry"},
               {.name = "ttl", .right = true},
               {.name = "timeout", .right = true},
               {.name = "attempts", .right = true},
               {.name = "concurrency", .right = true},
               {.name = "moves", .spare = true}},
              {}};
  for (std::size_t i = 0; i < spec.stages.size(); ++i) {
    const StageSpec& stage = spec.stages[i];
    table.rows.push_back({stage.name, i == 0 ? "" : entry_words(stage.entry), or_empty(stage.ttl),
                          or_empty(stage.timeout), or_empty(stage.attempts), or_empty(stage.concurrency),
                          stage.moves ? joined(*stage.moves) : ""});
  }
  return table;
}

std::string item_json(const PipelineSpec& spec, const ItemNow& item) {
  const std::optional<Position> at = position_of(spec, item.stage);
  const std::optional<WallTime> deadline = deadline_of(spec, item);
  const ItemRecord& record = item.record;
  Json approvals = Json::array();
  for (const ItemWord& approval : record.approvals) approvals.push_back(word_json(approval));
  Json returned = nullptr;
  if (record.returned)
    returned = {{"from", record.returned->from},
                {"to", record.returned->to},
                {"by", record.returned->word.by},
                {"at", format_time(record.returned->word.at)},
                {"reason", record.returned->word.reason}};
  return Json{{"pipeline", spec.name},
              {"stage", at ? spec.stages[at->stage].name : item.stage},
              {"at_entry", at && at->at_entry},
              {"generation", record.generation},
              {"approvals", approvals},
              {"deadline", deadline ? Json(format_time(*deadline)) : Json(nullptr)},
              {"overdue", record.overdue},
              {"returns", record.returns},
              {"returned", returned},
              {"on_hold", record.hold ? word_json(*record.hold) : Json(nullptr)},
              {"waits_for", waits_for(spec, item)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::vector<Cell>> item_fields(const PipelineSpec& spec, const ItemNow& item) {
  const ItemRecord& record = item.record;
  std::vector<std::vector<Cell>> rows;
  rows.push_back({"waits_for", waits_for(spec, item)});
  rows.push_back({"on_hold", record.hold ? words(*record.hold) : ""});
  for (const ItemWord& approval : record.approvals) rows.push_back({"approved", words(approval)});
  rows.push_back({"generation", std::to_string(record.generation)});
  rows.push_back({"returns", std::to_string(record.returns)});
  rows.push_back({"returned", record.returned ? record.returned->from + " -> " + record.returned->to + " " +
                                                    words(record.returned->word)
                                              : ""});
  return rows;
}

Result<FoundPipeline> find_pipeline(const Invocation& invocation, Store& store, const std::string& name) {
  if (auto ok = check_name("pipeline", name); !ok) return std::unexpected(ok.error());
  Result<std::vector<PipelineRow>> rows = store.pipelines(invocation.ns);
  if (!rows) return std::unexpected(rows.error());
  const auto row = std::ranges::find(*rows, name, &PipelineRow::name);
  if (row == rows->end()) {
    std::vector<std::string> names;
    for (const PipelineRow& one : *rows) names.push_back(one.name);
    const std::optional<std::string> near = nearest(name, names);
    return fail(Code::not_found, "no pipeline " + name + " in namespace " + invocation.ns + "; " +
                                     (near ? "did you mean '" + *near + "'?" : "'fenceline pipeline show' lists them"));
  }
  Result<PipelineSpec> spec = parse_pipeline(row->spec);
  if (!spec) return fail(spec.error().code, "pipeline " + name + ": " + spec.error().message);
  return FoundPipeline{std::move(*row), std::move(*spec)};
}

StageNames::StageNames(Store& store, const std::string& ns) {
  Result<KnownPipelines> known = read_pipelines(store, ns);
  if (known) known_ = std::move(*known);
}

const PipelineSpec* StageNames::of(const std::string& queue) const {
  const auto found = known_.find(queue);
  return found == known_.end() ? nullptr : &found->second.spec;
}

JobState StageNames::shown_state(const std::string& queue, const std::string& stage, JobState state) const {
  const PipelineSpec* const spec = of(queue);
  if (spec == nullptr || spec->stages.empty() || is_finished(state)) return state;
  const std::optional<Position> at = position_of(*spec, stage);
  const bool waits = at && at->at_entry && spec->stages[at->stage].entry.kind == EntryKind::approval;
  return waits ? JobState::waiting : state;
}

bool StageNames::has_approvals(const std::optional<std::string>& queue) const {
  return std::ranges::any_of(known_, [&](const auto& one) {
    return (!queue || one.first == *queue) && std::ranges::any_of(one.second.spec.stages, [](const StageSpec& stage) {
             return stage.entry.kind == EntryKind::approval;
           });
  });
}

void StageNames::name(Job& job) const {
  job.state = shown_state(job.queue, job.stage, job.state);
  const PipelineSpec* const spec = job.stage.empty() ? of(job.queue) : nullptr;
  if (spec != nullptr) job.stage = spec->first().name;
}

}  // namespace fenceline::cli

// Pipelines: a text under a name and a revision.
#include "backends/sqlite/verbs.hpp"

namespace fenceline::sqlite {
namespace {

constexpr const char* kFindPipeline =
    "SELECT spec, revision, changed_at FROM fenceline_pipeline WHERE ns_id = ?1 AND name = ?2";
constexpr const char* kPutPipeline =
    "INSERT OR REPLACE INTO fenceline_pipeline (ns_id, name, revision, changed_at, spec) VALUES (?1, ?2, ?3, ?4, ?5)";
constexpr const char* kCountPipelines =
    "SELECT count(*) FROM fenceline_pipeline INDEXED BY fenceline_pipeline_there WHERE ns_id = ?1 AND spec <> ''";
constexpr const char* kAllPipelines =
    "SELECT name, spec, revision, changed_at FROM fenceline_pipeline WHERE ns_id = ?1 AND spec <> '' ORDER BY name";

PipelineRow find(Call& call, std::int64_t ns_id, const std::string& name) {
  PipelineRow row;
  row.name = name;
  auto found = call.db.query(kFindPipeline, ns_id, name);
  if (!found.next()) return row;
  row.spec = found.text(0);
  row.revision = found.integer(1);
  row.changed_at = wall_time(found.integer(2));
  return row;
}

}  // namespace

Result<PipelineRow> put_pipeline(Call& call, const PutPipelineRequest& request) {
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  PipelineRow row = find(call, ns_id, request.name);
  if (row.spec == request.spec) return row;
  const bool is_there = !row.spec.empty();
  if (request.revision != (is_there ? row.revision : 0))
    return fail(Code::conflict,
                "pipeline " + request.name + (is_there ? " was changed" : " is not there") + "; read it again");
  if (!is_there && call.db.number(kCountPipelines, ns_id).value_or(0) >= kPipelinesMax)
    return fail(Code::refused, "namespace " + request.ns + " has " + std::to_string(kPipelinesMax) +
                                   " pipelines already; remove one first");
  row.spec = request.spec;
  row.revision += 1;
  row.changed_at = call.wall;
  call.db.execute(kPutPipeline, ns_id, row.name, row.revision, call.wall_us(), row.spec);
  call.ordered.insert(request.ns);
  enter_in_trail(call, request.ns, request.act, row.spec.empty() ? "pipeline_removed" : "pipeline_applied",
                 request.name);
  return row;
}

Result<std::vector<PipelineRow>> list_pipelines(Call& call, const std::string& ns) {
  std::vector<PipelineRow> rows;
  const auto ns_id = call.names.find_namespace(ns);
  if (!ns_id) return rows;
  auto found = call.db.query(kAllPipelines, *ns_id);
  while (found.next()) rows.push_back({found.text(0), found.text(1), found.integer(2), wall_time(found.integer(3))});
  return rows;
}

bool has_pipeline(Call& call, const std::string& ns, const std::string& queue) {
  const auto ns_id = call.names.find_namespace(ns);
  return ns_id && !find(call, *ns_id, queue).spec.empty();
}

}  // namespace fenceline::sqlite

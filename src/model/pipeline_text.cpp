// A pipeline's spec as stores keep it: one line of JSON, durations in microseconds.
#include "model/json_members.hpp"
#include "model/pipeline.hpp"

namespace fenceline {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kPipelineVersion = 1;

Json stage_json(const StageSpec& stage) {
  const StageEntry& entry = stage.entry;
  Json out{{"name", stage.name},
           {"ttl", stage.ttl.count()},
           {"timeout", stage.timeout.count()},
           {"attempts", stage.attempts},
           {"concurrency", stage.concurrency},
           {"moves", stage.moves ? Json(*stage.moves) : Json(nullptr)},
           {"gate", to_string(entry.kind)},
           {"count", entry.count},
           {"by", entry.by},
           {"within", entry.within.count()},
           {"then", to_string(entry.then)},
           {"command", entry.command},
           {"every", entry.every.count()}};
  if (stage.input != StageInput::payload) out["input"] = to_string(stage.input);
  return out;
}

StageSpec stage_from(const Json& object, Members& whole) {
  Members members(object);
  StageSpec stage;
  stage.name = members.text("name");
  stage.ttl = members.duration("ttl");
  stage.timeout = members.duration("timeout");
  stage.attempts = static_cast<int>(members.number("attempts"));
  stage.concurrency = static_cast<int>(members.number("concurrency"));
  if (!object.contains("moves") || !object.at("moves").is_null()) stage.moves = members.texts("moves");
  stage.entry.kind = members.word("gate", parse_entry_kind);
  stage.entry.count = static_cast<int>(members.number("count"));
  stage.entry.by = members.texts("by");
  stage.entry.within = members.duration("within");
  stage.entry.then = members.word("then", parse_entry_end);
  stage.entry.command = members.texts("command");
  stage.entry.every = members.duration("every");
  if (object.contains("input")) stage.input = members.word("input", parse_stage_input);
  whole.also(members);
  return stage;
}

}  // namespace

std::string pipeline_text(const PipelineSpec& spec) {
  Json stages = Json::array();
  for (const StageSpec& stage : spec.stages) stages.push_back(stage_json(stage));
  const Json out{{"version", kPipelineVersion},
                 {"name", spec.name},
                 {"loops", spec.loops},
                 {"critical", spec.critical},
                 {"stages", stages}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<PipelineSpec> parse_pipeline(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return fail(Code::invalid, "this is not a pipeline");
  Members members(object);
  if (const std::int64_t version = members.number("version"); version > kPipelineVersion)
    return fail(Code::invalid, "this pipeline has version " + std::to_string(version) +
                                   ", which is newer than this program knows; update fenceline");
  PipelineSpec spec;
  spec.name = members.text("name");
  spec.loops = static_cast<int>(members.number("loops"));
  spec.critical = members.flag("critical");
  for (const Json& stage : members.objects("stages")) spec.stages.push_back(stage_from(stage, members));
  if (!members.wrong().empty())
    return fail(Code::invalid, "this is not a pipeline: '" + members.wrong() + "' is missing or has the wrong type");
  if (auto ok = check_pipeline(spec); !ok) return std::unexpected(ok.error());
  return spec;
}

}  // namespace fenceline

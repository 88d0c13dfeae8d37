// What is known of an item as stores keep it: one line of JSON, moments in microseconds.
#include "model/json_members.hpp"
#include "model/pipeline_item.hpp"

namespace fenceline {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRecordVersion = 1;

Json word_json(const ItemWord& word) {
  return {{"by", word.by}, {"at", word.at.time_since_epoch().count()}, {"reason", word.reason}};
}

ItemWord word_from(const Json& object, Members& whole) {
  Members members(object);
  ItemWord word{.by = members.text("by"), .at = members.at("at"), .reason = members.text("reason")};
  whole.also(members);
  return word;
}

ItemReturn return_from(const Json& object, Members& whole) {
  Members members(object);
  ItemReturn returned{.from = members.text("from"), .to = members.text("to"), .word = word_from(object, members)};
  whole.also(members);
  return returned;
}

}  // namespace

std::string record_text(const ItemRecord& record) {
  Json approvals = Json::array();
  for (const ItemWord& approval : record.approvals) approvals.push_back(word_json(approval));
  Json returned = nullptr;
  if (record.returned) {
    returned = {{"from", record.returned->from}, {"to", record.returned->to}};
    returned.update(word_json(record.returned->word));
  }
  Json out{{"version", kRecordVersion},
           {"generation", record.generation},
           {"entered", record.entered ? Json(record.entered->time_since_epoch().count()) : Json(nullptr)},
           {"approvals", approvals},
           {"overdue", record.overdue},
           {"returns", record.returns},
           {"returned", returned},
           {"hold", record.hold ? word_json(*record.hold) : Json(nullptr)},
           {"moved_under", record.moved_under}};
  if (record.due) out["due"] = record.due->time_since_epoch().count();
  if (!record.outputs.empty()) out["outputs"] = record.outputs;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ItemRecord> parse_record(std::string_view text) {
  if (text.empty()) return ItemRecord{};
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return fail(Code::invalid, "this is not an item's record");
  Members members(object);
  if (const std::int64_t version = members.number("version"); version > kRecordVersion)
    return fail(Code::invalid, "this item's record has version " + std::to_string(version) +
                                   ", which is newer than this program knows; update fenceline");
  ItemRecord record;
  record.generation = members.number("generation");
  record.entered = members.maybe_at("entered");
  for (const Json& approval : members.objects("approvals")) record.approvals.push_back(word_from(approval, members));
  record.overdue = members.flag("overdue");
  record.returns = static_cast<int>(members.number("returns"));
  if (const Json returned = members.maybe_object("returned"); returned.is_object())
    record.returned = return_from(returned, members);
  if (const Json hold = members.maybe_object("hold"); hold.is_object()) record.hold = word_from(hold, members);
  record.moved_under = members.number("moved_under");
  if (object.contains("due")) record.due = members.at("due");  // records from before there was one do not have it
  if (object.contains("outputs")) {
    const Json outputs = members.maybe_object("outputs");
    Members texts(outputs);
    for (const auto& [stage, output] : outputs.items()) record.outputs.emplace(stage, texts.text(stage.c_str()));
    members.also(texts);
  }
  if (!members.wrong().empty())
    return fail(Code::invalid,
                "this is not an item's record: '" + members.wrong() + "' is missing or has the wrong type");
  return record;
}

}  // namespace fenceline

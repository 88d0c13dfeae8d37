#include "tracker/protocol.hpp"

#include <algorithm>
#include <tuple>

#include "base/duration_text.hpp"
#include "base/text.hpp"

namespace fenceline::tracker {

bool Protocol::is_worker(const Account& account) const {
  return std::ranges::find(workers, account.id) != workers.end();
}

bool Protocol::is_trusted(const Account& account) const {
  return !is_worker(account) && std::ranges::find(people, account.id) != people.end();
}

Duration Protocol::ttl_of(std::string_view place) const {
  const std::optional<Position> at = find_place(pipeline, place);
  const Duration own = at ? pipeline.stages[at->stage].ttl : Duration{0};
  return own > Duration{0} ? own : kTtlDefault;
}

std::string Protocol::label_of(std::string_view place) const {
  if (place == kProcessing && !in_progress.empty()) return in_progress;
  return (can.labels ? std::string(kStagePrefix) : std::string()) + std::string(place);
}

std::string Protocol::place_of(std::string_view label) const {
  if (!in_progress.empty() && label == in_progress) return std::string(kProcessing);
  if (can.labels) {
    if (!label.starts_with(kStagePrefix)) return {};
    label.remove_prefix(kStagePrefix.size());
  }
  const bool processing = in_progress.empty() && label == kProcessing;
  return processing || label == kDead || has_place(label) ? std::string(label) : std::string();
}

bool Protocol::has_place(std::string_view place) const { return find_place(pipeline, place).has_value(); }

void Protocol::spell(std::vector<std::string>& labels) const {
  if (!can.labels) return;
  std::vector<std::string> ours{claimed, std::string(kContestedLabel), std::string(kHoldLabel), label_of(kProcessing),
                                label_of(kDead)};
  for (const StageSpec& stage : pipeline.stages) {
    ours.push_back(label_of(stage.name));
    ours.push_back(label_of(std::string(kEntryPrefix) + stage.name));
  }
  for (std::string& label : labels) {
    const auto known =
        std::ranges::find(ours, lower_case(label), [](const std::string& own) { return lower_case(own); });
    if (known != ours.end()) label = *known;
  }
  std::ranges::sort(labels);
}

void Protocol::spell(Item& item) const {
  if (item.state) spell(item.state->labels);
  if (!item.moves) return;
  for (Move& move : *item.moves) {
    std::vector<std::string> one{move.what};
    spell(one);
    move.what = one.front();
  }
}

std::optional<Position> find_place(const PipelineSpec& spec, std::string_view place) {
  const bool entry = place.starts_with(kEntryPrefix);
  const std::optional<std::size_t> stage = spec.find(entry ? place.substr(kEntryPrefix.size()) : place);
  if (!stage || (entry && spec.stages[*stage].entry.kind == EntryKind::automatic)) return std::nullopt;
  return Position{*stage, entry};
}

std::string place_name(const PipelineSpec& spec, Position position) {
  return (position.at_entry ? std::string(kEntryPrefix) : std::string()) + spec.stages[position.stage].name;
}

std::string place_after(const PipelineSpec& spec, std::string_view place) {
  const std::optional<Position> at = find_place(spec, place);
  if (!at) return {};
  if (at->at_entry) return spec.stages[at->stage].name;
  if (at->stage + 1 == spec.stages.size()) return std::string(kDone);
  return place_name(spec, {at->stage + 1, spec.stages[at->stage + 1].entry.kind != EntryKind::automatic});
}

std::string place_to_enter(const PipelineSpec& spec, std::string_view place) {
  const std::optional<Position> at = find_place(spec, place);
  return at ? place_name(spec, {at->stage, spec.stages[at->stage].entry.kind != EntryKind::automatic})
            : std::string(place);
}

bool may_move_to(const PipelineSpec& spec, std::string_view from, std::string_view to) {
  const std::optional<Position> at = find_place(spec, from);
  const std::optional<Position> there = find_place(spec, to);
  return !at || !there || may_move(spec, *at, there->stage);
}

std::string place_before(const PipelineSpec& spec, std::string_view place) {
  const std::optional<Position> at = find_place(spec, place);
  return spec.stages[at && at->stage > 0 ? at->stage - 1 : 0].name;
}

namespace {

// A label with two meanings would be moved against itself.
Result<void> check_labels(const Protocol& protocol) {
  std::vector<std::string> taken{std::string(kContestedLabel), std::string(kHoldLabel), protocol.label_of(kDead)};
  for (const StageSpec& stage : protocol.pipeline.stages) {
    taken.push_back(protocol.label_of(stage.name));
    taken.push_back(protocol.label_of(std::string(kEntryPrefix) + stage.name));
  }
  for (const std::string& label : {protocol.claimed, protocol.label_of(kProcessing)}) {
    const auto same =
        std::ranges::find(taken, lower_case(label), [](const std::string& one) { return lower_case(one); });
    if (same != taken.end())
      return fail(Code::invalid, "label '" + label + "' has another meaning in this pipeline; choose another name in " +
                                     "[tracker] claim");
    taken.push_back(label);
  }
  return {};
}

}  // namespace

Result<void> check_protocol(const Protocol& protocol) {
  const PipelineSpec& spec = protocol.pipeline;
  if (const Result<void> good = check_pipeline(spec); !good) return good;
  if (spec.critical) {
    return fail(Code::refused, "pipeline " + spec.name +
                                   " is critical, and on an issue tracker work can happen twice; keep its items in a "
                                   "job store (sqlite, postgres, redis)");
  }
  if (auto ok = check_labels(protocol); !ok) return ok;
  for (const StageSpec& stage : spec.stages) {
    for (const std::string_view taken : {kProcessing, kDone, kDead, kContestedLabel}) {
      if (stage.name == taken)
        return fail(Code::invalid, "stage name " + stage.name + " is reserved on issue trackers; rename the stage");
    }
    if (stage.entry.kind == EntryKind::approval && protocol.people.empty()) {
      return fail(Code::refused, "stage " + stage.name +
                                     " needs an approval, but the pipeline's file names no people who may approve; add "
                                     "their account ids: [tracker] people = [\"ID\"]");
    }
    const Duration ttl = protocol.ttl_of(stage.name);
    if (protocol.signing.key.empty() && (stage.timeout == Duration{0} || stage.timeout > ttl)) {
      return fail(Code::refused, "stage " + stage.name + " may run longer than its ttl of " + format_duration(ttl) +
                                     ", and claims are renewed only with a key; make one with 'fenceline tracker key "
                                     "--out FILE' and set FENCELINE_TRACKER_KEY_FILE to FILE for all workers, or give "
                                     "the stage a timeout of at most its ttl");
    }
  }
  return {};
}

bool comes_before(const Comment& a, const Comment& b, const Capabilities& can) {
  // Shorter numbers are smaller ones.
  const auto by_id = [](const Comment& comment) { return std::tuple(comment.id.size(), std::string_view(comment.id)); };
  if (!can.ordered_ids && a.created_at != b.created_at) return a.created_at < b.created_at;
  return by_id(a) < by_id(b);
}

}  // namespace fenceline::tracker

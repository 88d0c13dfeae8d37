#include "model/pipeline_item.hpp"

#include <algorithm>
#include <utility>

#include "base/duration_text.hpp"
#include "base/utc_text.hpp"
#include "base/utf8.hpp"

namespace fenceline {
namespace {

constexpr std::size_t kReasonBytesKept = 120;  // so that a record with all its approvals stays small
constexpr Duration kDeadlineSlack = std::chrono::minutes{1};
const std::string kNobody = "fenceline";  // who holds an item by a rule

ItemWord word(const std::string& by, WallTime at, const std::string& reason) {
  std::size_t end = 0;
  while (end < reason.size()) {
    const std::size_t length = utf8_sequence_length(std::string_view(reason).substr(end));
    if (length == 0 || end + length > kReasonBytesKept) break;
    end += length;
  }
  return {.by = by, .at = at, .reason = reason.substr(0, end)};
}

bool may_approve(const StageEntry& entry, const std::string& person) {
  return entry.by.empty() || std::ranges::find(entry.by, person) != entry.by.end();
}

bool enough(const StageEntry& entry, const ItemRecord& record) { return approvals_of(entry, record) >= entry.count; }

// Where an item that waits to be let into `stage` belongs, by its record.
ItemPlace place_at_entry(const PipelineSpec& spec, std::size_t stage, ItemRecord& record, WallTime now) {
  const StageEntry& entry = spec.stages[stage].entry;
  const bool open = entry.kind == EntryKind::automatic || (entry.kind == EntryKind::approval && enough(entry, record));
  if (open && !record.hold) {
    record.entered.reset();
    record.overdue = false;
    return {.stage = stored_stage(spec, stage)};
  }
  ItemPlace place{.stage = stored_entry(spec, stage), .state = JobState::waiting};
  if (record.hold) return place;
  if (entry.kind == EntryKind::check) return {.stage = place.stage, .state = JobState::ready};
  if (entry.within == Duration{0} || record.overdue) return place;
  return {.stage = place.stage,
          .state = JobState::ready,
          .delay = std::clamp(*record.entered + entry.within - now, Duration{0}, kDelayRange.most)};
}

// An item meets the entry condition of a stage, whoever sends it there and wherever it comes from.
ItemPlace enter(const PipelineSpec& spec, std::size_t stage, ItemRecord& record, WallTime now) {
  record.approvals.clear();
  record.overdue = false;
  record.entered.reset();
  record.due.reset();
  if (spec.stages[stage].entry.kind == EntryKind::automatic)
    return {.stage = stored_stage(spec, stage), .state = record.hold ? JobState::waiting : JobState::ready};
  record.generation += 1;
  record.entered = now;
  return place_at_entry(spec, stage, record, now);
}

std::string from_to(const PipelineSpec& spec, const ItemNow& item, std::size_t to) {
  return stage_words(spec, item.stage) + " -> " + spec.stages[to].name;
}

// Back to an earlier stage. Beyond the cap a person is asked before it goes on.
ItemStep go_back(const PipelineSpec& spec, const ItemNow& item, std::size_t to, const std::string& act,
                 const std::string& by, const std::string& reason, WallTime now) {
  ItemStep step{.record = item.record, .act = act, .about = from_to(spec, item, to), .reason = reason};
  step.record.returns += 1;
  step.record.returned =
      ItemReturn{.from = stage_words(spec, item.stage), .to = spec.stages[to].name, .word = word(by, now, reason)};
  if (step.record.returns > spec.loops && !step.record.hold) {
    step.record.hold =
        word(kNobody, now,
             "it went back " + std::to_string(step.record.returns) + (step.record.returns == 1 ? " time" : " times") +
                 ", more than loops = " + std::to_string(spec.loops) + " allows");
    step.about += ", held";
  }
  step.place = enter(spec, to, step.record, now);
  return step;
}

Error nowhere(const PipelineSpec& spec, const ItemNow& item) {
  return {Code::conflict, "it is at '" + item.stage + "', which is not a stage of pipeline " + spec.name +
                              " any more; move it with: fenceline stage move ID --to STAGE"};
}

}  // namespace

int approvals_of(const StageEntry& entry, const ItemRecord& record) {
  return static_cast<int>(std::ranges::count_if(
      record.approvals, [&](const ItemWord& approval) { return may_approve(entry, approval.by); }));
}

std::optional<WallTime> deadline_of(const PipelineSpec& spec, const ItemNow& item) {
  const std::optional<Position> at = position_of(spec, item.stage);
  if (!at || !at->at_entry || !item.record.entered || item.record.overdue) return std::nullopt;
  const StageEntry& entry = spec.stages[at->stage].entry;
  if (entry.kind != EntryKind::approval || entry.within == Duration{0}) return std::nullopt;
  return *item.record.entered + entry.within;
}

ItemStep advanced(const PipelineSpec& spec, const ItemNow& item, Fence fence, WallTime now) {
  const std::size_t next = position_of(spec, item.stage)->stage + 1;
  ItemStep step{.record = item.record, .act = "item_advanced"};
  step.record.moved_under = fence;
  step.place = enter(spec, next, step.record, now);
  step.about = stage_words(spec, item.stage) + " -> " + stage_words(spec, step.place->stage) +
               (step.record.hold ? ", held" : "");
  return step;
}

Result<ItemStep> advanced(const PipelineSpec& spec, const ItemNow& item, Fence fence, const std::string& output,
                          WallTime now) {
  ItemStep step = advanced(spec, item, fence, now);
  const std::size_t stage = position_of(spec, item.stage)->stage;
  step.record.outputs.erase(spec.stages[stage].name);
  if (!hands_on(spec, stage)) return step;
  const std::string what = "stage " + spec.stages[stage + 1].name + " takes the output of " + spec.stages[stage].name;
  if (output.size() > kHandedOnBytesMax)
    return fail(Code::invalid, what + ", and this output has " + std::to_string(output.size()) + " bytes of at most " +
                                   std::to_string(kHandedOnBytesMax) + "; write a file and print its name");
  if (!is_valid_utf8(output)) return fail(Code::invalid, what + ", and this output is not text in UTF-8");
  step.record.outputs[spec.stages[stage].name] = output;
  return step;
}

std::optional<std::string> input_of(const PipelineSpec& spec, const ItemNow& item) {
  const std::optional<Position> at = position_of(spec, item.stage);
  if (!at || at->at_entry || at->stage == 0 || spec.stages[at->stage].input != StageInput::previous)
    return std::nullopt;
  const auto output = item.record.outputs.find(spec.stages[at->stage - 1].name);
  return output == item.record.outputs.end() ? std::string() : output->second;
}

ItemStep stranded(const ItemNow& item, Fence fence, WallTime now) {
  ItemNow held_item = item;
  held_item.record.moved_under = fence;
  if (!held_item.record.hold) held_item.record.hold = word(kNobody, now, "its stage is no longer in the pipeline");
  return put_on_hold(held_item);
}

ItemStep never_came_there(const ItemNow& item, WallTime now) {
  ItemNow held_item = item;
  held_item.record.hold = word(kNobody, now, "it was enqueued past the earlier stages; release it if that is right");
  return put_on_hold(held_item);
}

ItemStep put_on_hold(const ItemNow& item, std::optional<WallTime> due) {
  ItemRecord record = item.record;
  record.due = due;
  return {.record = std::move(record),
          .place = ItemPlace{.stage = item.stage, .state = JobState::waiting, .fresh = false},
          .act = "item_held",
          .about = item.stage,
          .reason = item.record.hold ? item.record.hold->reason : ""};
}

Duration look_again_in(const PipelineSpec& spec, const ItemNow& item, WallTime now) {
  if (const std::optional<WallTime> deadline = deadline_of(spec, item))
    return std::clamp(*deadline - now, Duration{std::chrono::seconds{1}}, kDelayRange.most);
  const std::optional<Position> at = position_of(spec, item.stage);
  return at ? spec.stages[at->stage].entry.every : kCheckEveryDefault;
}

std::optional<ItemStep> entry_looked_at(const PipelineSpec& spec, const ItemNow& item, Fence fence, OutcomeKind said,
                                        const std::string& why, WallTime now) {
  const std::size_t stage = position_of(spec, item.stage)->stage;
  const StageEntry& entry = spec.stages[stage].entry;
  const auto finished = [&](ItemStep step) {
    step.record.moved_under = fence;
    return step;
  };
  ItemStep step{.record = item.record, .act = "item_advanced"};
  const auto let_in = [&](std::string act) {
    step.act = std::move(act);
    step.record.entered.reset();
    step.place = ItemPlace{.stage = stored_stage(spec, stage)};
    step.about = from_to(spec, item, stage);
    return finished(step);
  };
  if (entry.kind == EntryKind::check) {
    if (said == OutcomeKind::dead)
      return finished(
          go_back(spec, item, stage - 1, "item_returned", "check", why.empty() ? "its check said so" : why, now));
    if (said != OutcomeKind::done) return std::nullopt;
    // Held while it was checked: it is checked again when it is released.
    return item.record.hold ? finished(put_on_hold(item)) : let_in("item_advanced");
  }
  if (item.record.hold) return finished(put_on_hold(item));
  step.place = place_at_entry(spec, stage, step.record, now);
  if (step.place->stage == stored_stage(spec, stage)) return let_in("item_advanced");
  const std::optional<WallTime> deadline = deadline_of(spec, item);
  if (!deadline) {  // it waits for people, and nobody need have it
    step.about = stage_words(spec, item.stage);
    step.act = "item_held";
    step.reason = "it waits for an approval";
    return finished(step);
  }
  if (now < *deadline) return std::nullopt;
  const std::string late = "not approved within " + format_duration(entry.within);
  if (entry.then == EntryEnd::reject)
    return finished(go_back(spec, item, stage - 1, "item_expired", kNobody, late, now));
  step.reason = late;
  if (entry.then == EntryEnd::approve) return let_in("item_expired");
  step.act = "item_expired";
  step.about = stage_words(spec, item.stage) + ", waits on";
  step.record.overdue = true;
  step.place = ItemPlace{.stage = item.stage, .state = JobState::waiting, .fresh = false};
  return finished(step);
}

std::optional<ItemStep> fitted(const PipelineSpec& spec, const ItemNow& item, bool another, WallTime now) {
  const std::optional<Position> at = position_of(spec, item.stage);
  if (!at || !at->at_entry || is_finished(item.state)) return std::nullopt;
  if (item.state == JobState::running && !another && spec.stages[at->stage].entry.kind != EntryKind::automatic)
    return std::nullopt;
  ItemStep step{.record = item.record, .act = "item_moved", .about = stage_words(spec, *at)};
  if (!step.record.entered) step.record.entered = now;
  // The limit of time may lie ahead again.
  const StageEntry& entry = spec.stages[at->stage].entry;
  if (step.record.overdue && (entry.within == Duration{0} || *step.record.entered + entry.within > now))
    step.record.overdue = false;
  ItemPlace place = place_at_entry(spec, at->stage, step.record, now);
  // A step takes its time; and a check may have been told to look again later.
  const Duration early = item.run_at - (now + place.delay);
  const Duration off = place.state != JobState::ready   ? Duration{0}
                       : entry.kind == EntryKind::check ? std::max(Duration{0}, early - entry.every)
                                                        : std::chrono::abs(early);
  const bool in_place = place.stage == item.stage && place.state == item.state && off < kDeadlineSlack;
  if (in_place && step.record == item.record) return std::nullopt;
  place.fresh = place.stage != item.stage;
  if (place.stage != item.stage) step.about = from_to(spec, item, at->stage);
  if (!in_place) step.place = place;
  return step;
}

MaybeStep approved(const PipelineSpec& spec, const ItemNow& item, const std::string& by, const std::string& reason,
                   WallTime now) {
  const std::optional<Position> at = position_of(spec, item.stage);
  if (!at) return std::unexpected(nowhere(spec, item));
  const StageSpec& stage = spec.stages[at->stage];
  if (!at->at_entry)
    return fail(Code::conflict, "it is at stage " + stage.name +
                                    " and waits for no approval; 'fenceline board' shows who waits for what");
  if (stage.entry.kind == EntryKind::check)
    return fail(Code::conflict, "it waits for a check into stage " + stage.name +
                                    ", which nobody can approve; to send it back: fenceline stage reject");
  // What the file says then is done as soon as a worker looks, however late that is. Nobody looks at what only waits
  // for people: it came there by an older file.
  const bool looked_at = item.state != JobState::waiting || item.record.hold;
  if (const std::optional<WallTime> deadline = deadline_of(spec, item);
      deadline && looked_at && now > *deadline && stage.entry.then != EntryEnd::hold)
    return fail(Code::conflict, "the time for approvals of stage " + stage.name + " was over at " +
                                    utc_text(*deadline) + "; what the pipeline declares for that case (" +
                                    std::string(to_string(stage.entry.then)) +
                                    ") happens as soon as one of its workers runs");
  if (!may_approve(stage.entry, by))
    return fail(Code::denied, "'" + by + "' may not approve stage " + stage.name + "; ask " +
                                  people_words(stage.entry.by) + ", or say who you are with --as");
  if (std::ranges::find(item.record.approvals, by, &ItemWord::by) != item.record.approvals.end()) return std::nullopt;
  ItemStep step{.record = item.record, .act = "item_approved", .about = stage.name, .reason = reason};
  std::erase_if(step.record.approvals, [&](const ItemWord& approval) {
    return !may_approve(stage.entry, approval.by);
  });  // the list was another one then
  step.record.approvals.push_back(word(by, now, reason));
  if (stage.entry.kind == EntryKind::approval)
    step.about +=
        ", " + std::to_string(approvals_of(stage.entry, step.record)) + " of " + std::to_string(stage.entry.count);
  const ItemPlace place = place_at_entry(spec, at->stage, step.record, now);
  if (place.stage != item.stage) step.place = place;
  return step;
}

MaybeStep rejected(const PipelineSpec& spec, const ItemNow& item, std::optional<std::size_t> to, const std::string& by,
                   const std::string& reason, WallTime now) {
  const std::optional<Position> at = position_of(spec, item.stage);
  if (!at) return std::unexpected(nowhere(spec, item));
  const StageSpec& stage = spec.stages[at->stage];
  if (at->stage == 0)
    return fail(Code::conflict, "it is at stage " + stage.name +
                                    ", the first one, so it cannot go back; to end it: fenceline job cancel");
  if (at->at_entry && stage.entry.kind == EntryKind::approval && !may_approve(stage.entry, by))
    return fail(Code::denied, "'" + by + "' may not decide about stage " + stage.name + "; ask " +
                                  people_words(stage.entry.by) + ", or say who you are with --as");
  if (to && *to >= at->stage)
    return fail(Code::conflict,
                "stage " + spec.stages[*to].name + " is not before " + stage.name + "; a rejected item goes back");
  return go_back(spec, item, to.value_or(at->stage - 1), "item_rejected", by, reason, now);
}

MaybeStep moved(const PipelineSpec& spec, const ItemNow& item, std::size_t to, const std::string& by,
                const std::string& reason, WallTime now) {
  const std::optional<Position> at = position_of(spec, item.stage);
  const std::string& name = spec.stages[to].name;
  if (at && !at->at_entry && at->stage == to) return std::nullopt;
  if (at && at->at_entry && at->stage == to)
    return fail(Code::conflict,
                "it waits to be let into stage " + name + " already; let it in with: fenceline stage approve ID");
  if (at && !may_move(spec, *at, to)) {
    const std::string possible = moves_words(spec, *at);
    return fail(Code::conflict, "from " + stage_words(spec, *at) + " an item may not be moved to " + name + "; " +
                                    (possible.empty() ? "nowhere by hand" : "only to " + possible));
  }
  // A hold that no person asked for ends with a person's decision.
  ItemNow freed = item;
  if (freed.record.hold && freed.record.hold->by == kNobody) freed.record.hold.reset();
  if (at && to < at->stage) return go_back(spec, freed, to, "item_moved", by, reason, now);
  ItemStep step{.record = freed.record, .act = "item_moved", .reason = reason};
  step.place = enter(spec, to, step.record, now);
  step.about = stage_words(spec, item.stage) + " -> " + stage_words(spec, step.place->stage);
  return step;
}

MaybeStep held(const PipelineSpec& spec, const ItemNow& item, const std::string& by, const std::string& reason,
               WallTime now) {
  if (item.record.hold) return std::nullopt;
  ItemStep step{.record = item.record, .act = "item_held", .about = stage_words(spec, item.stage), .reason = reason};
  step.record.hold = word(by, now, reason);
  if (item.state != JobState::ready) return step;
  step.place = ItemPlace{.stage = item.stage, .state = JobState::waiting, .fresh = false};
  if (item.run_at > now) step.record.due = item.run_at;
  return step;
}

MaybeStep released(const PipelineSpec& spec, const ItemNow& item, WallTime now) {
  if (!item.record.hold) return std::nullopt;
  const std::optional<Position> at = position_of(spec, item.stage);
  if (!at) return std::unexpected(nowhere(spec, item));
  ItemStep step{.record = item.record, .act = "item_released", .about = stage_words(spec, item.stage)};
  step.record.hold.reset();
  step.record.due.reset();
  if (item.state != JobState::waiting) return step;
  if (at->at_entry && !step.record.entered) step.record.entered = now;
  ItemPlace place = at->at_entry ? place_at_entry(spec, at->stage, step.record, now) : ItemPlace{.stage = item.stage};
  if (!at->at_entry && item.record.due) place.delay = std::clamp(*item.record.due - now, Duration{0}, kDelayRange.most);
  place.fresh = place.stage != item.stage;
  if (place.stage != item.stage || place.state != item.state) step.place = place;
  return step;
}

MaybeStep sent_back(const PipelineSpec& spec, const ItemNow& item, std::size_t to, Fence fence, const std::string& by,
                    const std::string& reason, WallTime now) {
  const std::optional<Position> at = position_of(spec, item.stage);
  if (!at) return std::unexpected(nowhere(spec, item));
  if (at->at_entry || to >= at->stage)
    return fail(Code::conflict, "a handler can send its item back only to a stage before " +
                                    spec.stages[at->stage].name + "; to let it advance, exit with 0");
  ItemStep step = go_back(spec, item, to, "item_returned", by, reason, now);
  step.record.moved_under = fence;
  return step;
}

std::string waits_for(const PipelineSpec& spec, const ItemNow& item) {
  if (is_finished(item.state)) return "";
  const std::optional<Position> at = position_of(spec, item.stage);
  if (item.record.hold) {
    const ItemWord& hold = *item.record.hold;
    return (hold.by == kNobody ? "a person" : hold.by) + " to release it" +
           (hold.reason.empty() ? "" : " (" + hold.reason + ")");
  }
  if (!at) return "a person to move it: '" + item.stage + "' is not a stage of this pipeline";
  if (!at->at_entry) return item.state == JobState::waiting ? "a person" : "";
  const StageSpec& stage = spec.stages[at->stage];
  if (stage.entry.kind == EntryKind::automatic)
    return "a person to let it into " + stage.name + ", whose entry condition was removed (stage approve)";
  if (stage.entry.kind == EntryKind::check) {
    std::string command;
    for (const std::string& part : stage.entry.command) command += (command.empty() ? "" : " ") + part;
    return "check of " + stage.name + ": " + command;
  }
  std::string words =
      "approval of " + stage.name + (stage.entry.by.empty() ? "" : " by " + people_words(stage.entry.by)) + " (" +
      std::to_string(approvals_of(stage.entry, item.record)) + " of " + std::to_string(stage.entry.count) + ")";
  if (item.record.overdue) return words + ", overdue";
  if (const std::optional<WallTime> deadline = deadline_of(spec, item))
    words += ", until " + utc_text(*deadline) + ", then " + std::string(to_string(stage.entry.then));
  return words;
}

}  // namespace fenceline

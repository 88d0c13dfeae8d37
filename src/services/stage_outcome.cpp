#include "services/stage_outcome.hpp"

namespace fenceline {
namespace {

StageOutcome at_entry(const PipelineSpec& spec, const ItemNow& item, const Settlement& settlement, WallTime now) {
  const Outcome& outcome = settlement.outcome;
  // A check that did not end is run again. With other conditions, of an edited pipeline say, there is something to be
  // said now, and perhaps nobody who would look again.
  const bool check = spec.stages[position_of(spec, item.stage)->stage].entry.kind == EntryKind::check;
  if (check && outcome.kind == OutcomeKind::given_back)
    return {.step = {}, .result = {}, .error = {}, .plain = outcome};
  std::optional<ItemStep> step = entry_looked_at(spec, item, settlement.fence, outcome.kind, outcome.error, now);
  // Not yet: that costs nothing, however often.
  return {.step = std::move(step),
          .result = {},
          .error = {},
          .plain = {.kind = OutcomeKind::later,
                    .result = {},
                    .error = {},
                    .retry_in = look_again_in(spec, item, now),
                    .exit_status = outcome.exit_status}};
}

// Failures count by the stage, and may be more than the job itself has.
StageOutcome failed(const StageSpec& stage, const Item& item, const ItemNow& now_item, const Settlement& settlement,
                    WallTime now) {
  // To a store a delivery that leaves no error behind was done.
  StageOutcome made{.step = {},
                    .result = {},
                    .error = settlement.outcome.error.empty() ? "failed" : settlement.outcome.error,
                    .plain = settlement.outcome};
  const std::int64_t attempts = stage.attempts > 0 ? stage.attempts : item.job.attempts_max;
  const std::int64_t failures = item.job.failures + 1;
  if (failures >= attempts) {
    if (failures < item.job.attempts_max) made.plain.kind = OutcomeKind::dead;
    return made;
  }
  if (now_item.record.hold) {
    made.step = put_on_hold(now_item, now + settlement.outcome.retry_in);
  } else if (failures >= item.job.attempts_max) {
    made.step =
        ItemStep{.record = now_item.record,
                 .place = ItemPlace{.stage = now_item.stage,
                                    .state = JobState::ready,
                                    .delay = settlement.outcome.retry_in,
                                    .fresh = false},
                 .act = "item_retried",
                 .about = stage.name + ", failure " + std::to_string(failures) + " of " + std::to_string(attempts)};
  }
  if (made.step) made.step->record.moved_under = settlement.fence;
  return made;
}

}  // namespace

StageOutcome stage_outcome(const PipelineSpec& spec, const Item& item, const ItemNow& now_item,
                           const Settlement& settlement, WallTime now) {
  const Outcome& outcome = settlement.outcome;
  StageOutcome made{.step = {}, .result = outcome.result, .error = {}, .plain = outcome};
  const std::optional<Position> at = position_of(spec, now_item.stage);
  if (at && at->at_entry) return at_entry(spec, now_item, settlement, now);
  if (at && outcome.kind == OutcomeKind::failed) return failed(spec.stages[at->stage], item, now_item, settlement, now);
  if (outcome.kind != OutcomeKind::done) return made;
  if (!at) made.step = stranded(now_item, settlement.fence, now);
  if (!at || at->stage + 1 == spec.stages.size()) return made;
  Result<ItemStep> step = advanced(spec, now_item, settlement.fence, outcome.result, now);
  if (step && record_text(step->record).size() > kItemBytesMax)
    step = fail(Code::invalid,
                "the outputs that the stages of this item hand on are too large together; write files "
                "and print their names");
  if (!step) {  // another try would end in the same way
    made.plain = {.kind = OutcomeKind::dead,
                  .result = {},
                  .error = step.error().message,
                  .retry_in = {},
                  .exit_status = outcome.exit_status};
    return made;
  }
  made.step = std::move(*step);
  return made;
}

std::optional<ItemStep> not_to_run(const PipelineSpec& spec, const Item& item, const ItemNow& now_item, WallTime now) {
  if (now_item.record.hold) return put_on_hold(now_item);
  const std::optional<Position> at = position_of(spec, now_item.stage);
  if (at && (at->stage == 0 || item.revision > 0)) return std::nullopt;
  return never_came_there(now_item, now);
}

}  // namespace fenceline

// The rules about an item of a pipeline and its record (fenceline/pipelines.hpp): where an accepted outcome leads (P1),
// what an approval, a return, a move, a hold makes of it, what it waits for. Pure: `now` is the store's clock, as it
// stood when the item was read. Whoever decides sends the step to the store with the record's revision, and decides
// anew if that has changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/fence.hpp"
#include "model/job.hpp"
#include "model/pipeline.hpp"

namespace fenceline {

// One line of JSON and back; no text is a new record. Errors: invalid (no record, of a newer version).
std::string record_text(const ItemRecord& record);
Result<ItemRecord> parse_record(std::string_view text);

struct ItemPlace {
  std::string stage;  // as stored
  JobState state = JobState::ready;
  Duration delay{0};
  bool fresh = true;  // another stage: failures begin anew

  bool operator==(const ItemPlace&) const = default;
};

struct ItemStep {
  ItemRecord record;
  std::optional<ItemPlace> place = {};  // none: its job stays as it is
  std::string act;                      // of the trail: "item_advanced"
  std::string about;                    // "review -> publish"
  std::string reason = {};

  bool operator==(const ItemStep&) const = default;
};

// Its work at a stage that is not the last one is done: the next stage, or the wait to be let into it (P1). On hold, it
// waits there.
ItemStep advanced(const PipelineSpec& spec, const ItemNow& item, Fence fence, WallTime now);
// The same, with what its work handed on. Errors: invalid (it cannot be handed on: too large, or not UTF-8).
Result<ItemStep> advanced(const PipelineSpec& spec, const ItemNow& item, Fence fence, const std::string& output,
                          WallTime now);
// What a handler of the stage gets in place of the payload; none: the payload.
std::optional<std::string> input_of(const PipelineSpec& spec, const ItemNow& item);
// What is at no stage of the pipeline any more is held where it is.
ItemStep stranded(const ItemNow& item, Fence fence, WallTime now);
// What came to a stage, or to none of them, by no way that the pipeline has is held there.
ItemStep never_came_there(const ItemNow& item, WallTime now);
// A held one whose delivery ended otherwise, or began all the same. `due`: when it should be tried again.
ItemStep put_on_hold(const ItemNow& item, std::optional<WallTime> due = {});

// A worker looked at an item that waits to be let in: an approval that came or did not come in time, or what its check
// said: done lets it in, dead sends it back with `why`. None: it keeps waiting, and is looked at again after
// look_again_in.
std::optional<ItemStep> entry_looked_at(const PipelineSpec& spec, const ItemNow& item, Fence fence, OutcomeKind said,
                                        const std::string& why, WallTime now);
Duration look_again_in(const PipelineSpec& spec, const ItemNow& item, WallTime now);
// The pipeline was edited while the item waited to be let in. None: it is where it should be, or somebody looks at it
// just now, by the same entry condition unless it is `another`.
std::optional<ItemStep> fitted(const PipelineSpec& spec, const ItemNow& item, bool another, WallTime now);

// What people do. None: it is as asked for already. Errors: conflict (that is not possible where it is), denied (not by
// this person).
using MaybeStep = Result<std::optional<ItemStep>>;
MaybeStep approved(const PipelineSpec& spec, const ItemNow& item, const std::string& by, const std::string& reason,
                   WallTime now);
// `to`: an earlier stage; none: the one before.
MaybeStep rejected(const PipelineSpec& spec, const ItemNow& item, std::optional<std::size_t> to, const std::string& by,
                   const std::string& reason, WallTime now);
MaybeStep moved(const PipelineSpec& spec, const ItemNow& item, std::size_t to, const std::string& by,
                const std::string& reason, WallTime now);
MaybeStep held(const PipelineSpec& spec, const ItemNow& item, const std::string& by, const std::string& reason,
               WallTime now);
MaybeStep released(const PipelineSpec& spec, const ItemNow& item, WallTime now);
// By the handler that works on it, under its fence: back to an earlier stage.
MaybeStep sent_back(const PipelineSpec& spec, const ItemNow& item, std::size_t to, Fence fence, const std::string& by,
                    const std::string& reason, WallTime now);

// By when it must be approved.
std::optional<WallTime> deadline_of(const PipelineSpec& spec, const ItemNow& item);
// Approvals that count.
int approvals_of(const StageEntry& entry, const ItemRecord& record);

// What an unfinished item waits for, in words, without a full stop: "approval of publish by ana (0 of 1), until
// 2026-11-18T10:00:00Z, then reject". Empty: for a worker of its stage, or for nobody.
std::string waits_for(const PipelineSpec& spec, const ItemNow& item);

}  // namespace fenceline

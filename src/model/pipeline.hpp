// The pure rules about a pipeline; the pipeline as a value is public: fenceline/pipelines.hpp. What becomes of an item
// says pipeline_item.hpp.
//
// A pipeline is the queue of its name, an item one of its jobs. In a store a job without a stage is at the first one,
// so that whoever enqueues need not know of stages; one that waits to be let into stage S is at `gate:S`, where it can
// be claimed like any work by the worker that looks after entry conditions. Everybody else speaks of stages by their
// names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/pipelines.hpp"

namespace fenceline {

std::optional<EntryEnd> parse_entry_end(std::string_view text);
std::optional<EntryKind> parse_entry_kind(std::string_view text);
std::optional<StageInput> parse_stage_input(std::string_view text);
// Whether the output of this stage is handed to the next one.
bool hands_on(const PipelineSpec& spec, std::size_t stage);

inline constexpr Duration kCheckTimeout =
    std::chrono::minutes{10};  // one that takes longer is stopped, and tried again

// The spec as one line of JSON and back: what stores keep. The same spec gives the same bytes. Errors: invalid (no
// pipeline, of a newer version).
std::string pipeline_text(const PipelineSpec& spec);
Result<PipelineSpec> parse_pipeline(std::string_view text);

// Where an item is: at a stage, or waiting to be let into it.
struct Position {
  std::size_t stage = 0;  // index
  bool at_entry = false;

  bool operator==(const Position&) const = default;
};

// As stores know it.
std::string stored_stage(const PipelineSpec& spec, std::size_t stage);
std::string stored_entry(const PipelineSpec& spec, std::size_t stage);
// Empty for what is no stage of this pipeline.
std::optional<Position> position_of(const PipelineSpec& spec, std::string_view stored);
// As people know it: "review", "entry of publish"; what is no stage of this pipeline as it is stored.
std::string stage_words(const PipelineSpec& spec, std::string_view stored);
std::string stage_words(const PipelineSpec& spec, Position position);

// Whether a person may move an item from there to stage `to`.
bool may_move(const PipelineSpec& spec, Position from, std::size_t to);
// "ready, publish"; may be empty.
std::string moves_words(const PipelineSpec& spec, Position from);

// Who approves is known by the name: it is not empty and has no blanks at its ends.
bool is_persons_name(std::string_view name);
// "ana, bo or cy".
std::string people_words(const std::vector<std::string>& people);
// "approval by ana or bo, 2 of them, within 2d, then reject", "check ./ready.sh every 1m", "automatic".
std::string entry_words(const StageEntry& entry);

}  // namespace fenceline

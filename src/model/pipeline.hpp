// A pipeline as a value: its stages in order, and what lets an item into each. What becomes of an item says
// pipeline_item.hpp.
//
// A pipeline is the queue of its name, an item one of its jobs. In a store a job without a stage is at the first one,
// so that whoever enqueues need not know of stages; one that waits to be let into stage S is at `gate:S`, where it can
// be claimed like any work by whoever looks after gates. Everybody else speaks of stages by their names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace fenceline {

// What becomes of an item that nobody approved in time.
enum class GateEnd {
  hold,     // it waits on, for a person
  reject,   // it goes back to the stage before
  approve,  // it is let in
};
std::string_view to_string(GateEnd end);
std::optional<GateEnd> parse_gate_end(std::string_view text);

enum class GateKind { automatic, approval, check };
std::string_view to_string(GateKind kind);
std::optional<GateKind> parse_gate_kind(std::string_view text);

inline constexpr int kStagesMax = 50;
inline constexpr std::size_t kStageBytesMax = 60;  // so that `gate:S` is a name, and "S -> T" fits the trail
inline constexpr int kApprovalsMax = 20;
inline constexpr int kApproversMax = 50;
inline constexpr int kLoopsDefault = 3;
inline constexpr int kLoopsMost = 1000;
inline constexpr Duration kCheckEveryDefault = std::chrono::minutes{1};
inline constexpr Duration kCheckTimeout =
    std::chrono::minutes{10};  // one that takes longer is stopped, and tried again

// What lets an item into a stage.
struct StageGate {
  GateKind kind = GateKind::automatic;
  // approval
  int count = 1;                     // different people, 1 to kApprovalsMax
  std::vector<std::string> by = {};  // who may; empty: anybody
  Duration within{0};                // 0: no limit of time
  GateEnd then = GateEnd::hold;      // when that is over
  // check
  std::vector<std::string> command = {};
  Duration every = kCheckEveryDefault;  // until it lets the item in, or sends it back

  bool operator==(const StageGate&) const = default;
};

struct StageSpec {
  std::string name;     // as names are, without ':'
  Duration ttl{0};      // of a worker's leases there; 0: the worker's own
  Duration timeout{0};  // of one attempt; 0: the job's
  int attempts = 0;     // failures at this stage until the item is dead; 0: the job's
  int concurrency = 0;  // of one worker; 0: the worker's own
  StageGate gate = {};  // the first stage has none
  std::optional<std::vector<std::string>> moves =
      {};  // where a person may move an item from here; none: any earlier stage, and the next one

  bool operator==(const StageSpec&) const = default;
};

struct PipelineSpec {
  std::string name;
  std::vector<StageSpec> stages;  // 1 to kStagesMax, in order
  int loops = kLoopsDefault;      // so often an item goes back to an earlier stage before a person is asked
  bool critical = false;          // its work must not be done twice: refused by stores without fences

  bool operator==(const PipelineSpec&) const = default;

  const StageSpec& first() const { return stages.front(); }
  std::optional<std::size_t> find(std::string_view stage) const;
  std::vector<std::string> names() const;
};

// Errors: invalid, in one line that names the stage and what is possible.
Result<void> check_pipeline(const PipelineSpec& spec);

// The spec as one line of JSON and back: what stores keep. The same spec gives the same bytes. Errors: invalid (no
// pipeline, of a newer version).
std::string pipeline_text(const PipelineSpec& spec);
Result<PipelineSpec> parse_pipeline(std::string_view text);

// Where an item is: at a stage, or before it, at its gate.
struct Position {
  std::size_t stage = 0;  // index
  bool at_gate = false;

  bool operator==(const Position&) const = default;
};

// As stores know it.
std::string stored_stage(const PipelineSpec& spec, std::size_t stage);
std::string stored_gate(const PipelineSpec& spec, std::size_t stage);
// Empty for what is no stage of this pipeline.
std::optional<Position> position_of(const PipelineSpec& spec, std::string_view stored);
// As people know it: "review", "gate of publish"; what is no stage of this pipeline as it is stored.
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
std::string gate_words(const StageGate& gate);

}  // namespace fenceline

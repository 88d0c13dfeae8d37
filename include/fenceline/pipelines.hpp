// Pipelines for C++ programs: items move through stages, each with an entry condition (docs/pipelines.md).
//
//   fenceline::PipelineSpec docs{.name = "docs", .stages = {{.name = "write"}, {.name = "publish"}}};
//   docs.stages[1].entry = {.kind = fenceline::EntryKind::approval, .count = 1, .by = {"ana"}};
//   auto applied = client->pipelines().apply(docs, false, {.actor = "deploy", .reason = ""});
//   auto worked = client->work({.queues = {"docs"}, .stage = "write"}, handler);   // done moves the item on
//   auto approved = client->items().approve(id, {}, {.actor = "ana", .reason = "read it twice"});
//
// A pipeline is the queue of its name, an item one of its jobs: enqueue it without a stage, and it is at the first one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fenceline/act.hpp"
#include "fenceline/fence.hpp"
#include "fenceline/job.hpp"
#include "fenceline/result.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

// What happens to an item that was not approved in time.
enum class EntryEnd {
  hold,     // it waits on, for a person
  reject,   // it goes back to the stage before
  approve,  // it is let in
};
std::string_view to_string(EntryEnd end);

enum class EntryKind { automatic, approval, check };
std::string_view to_string(EntryKind kind);

inline constexpr int kStagesMax = 50;
inline constexpr std::size_t kStageBytesMax = 60;
inline constexpr int kApprovalsMax = 20;
inline constexpr int kApproversMax = 50;
inline constexpr int kLoopsDefault = 3;
inline constexpr int kLoopsMost = 1000;
inline constexpr Duration kCheckEveryDefault = std::chrono::minutes{1};

// The entry condition of a stage.
struct StageEntry {
  EntryKind kind = EntryKind::automatic;
  // approval
  int count = 1;                     // different people, 1 to kApprovalsMax
  std::vector<std::string> by = {};  // who may; empty: anybody
  Duration within{0};                // 0: no time limit
  EntryEnd then = EntryEnd::hold;    // when that is over
  // check: a command, run by `fenceline work --run-checks`
  std::vector<std::string> command = {};
  Duration every = kCheckEveryDefault;  // until it lets the item in, or sends it back

  bool operator==(const StageEntry&) const = default;
};

// What the handler of a stage gets: on stdin, or as the job's payload.
enum class StageInput {
  payload,   // what was enqueued
  previous,  // the output of the stage before; empty if that stage did not run (a person moved the item past it)
};
std::string_view to_string(StageInput input);
inline constexpr std::size_t kHandedOnBytesMax = 8 << 10;  // of an output that is handed on; UTF-8

struct StageSpec {
  std::string name;       // as a queue's name, without ':'
  Duration ttl{0};        // of a worker's leases there; 0: the worker's own
  Duration timeout{0};    // of one attempt; 0: the job's
  int attempts = 0;       // failures at this stage until the item is dead; 0: the job's
  int concurrency = 0;    // of one worker; 0: the worker's own
  StageEntry entry = {};  // the first stage has none
  std::optional<std::vector<std::string>> moves =
      {};  // where a person may move an item from here; none: any earlier stage, and the next one
  StageInput input = StageInput::payload;  // `previous` is not possible for the first stage

  bool operator==(const StageSpec&) const = default;
};

struct PipelineSpec {
  std::string name;
  std::vector<StageSpec> stages;  // 1 to kStagesMax, in order
  int loops = kLoopsDefault;      // an item goes back to an earlier stage this often before a person is asked
  bool critical = false;          // its work must not be done twice: refused by stores without fences

  bool operator==(const PipelineSpec&) const = default;

  const StageSpec& first() const { return stages.front(); }
  std::optional<std::size_t> find(std::string_view stage) const;
  std::vector<std::string> names() const;
};

// Errors: invalid, in one line that names the stage and what is possible.
Result<void> check_pipeline(const PipelineSpec& spec);

// What a store knows of a pipeline.
struct PipelineRow {
  std::string name;  // of its queue
  std::string spec;  // the PipelineSpec as one line of JSON
  std::int64_t revision =
      0;  // from 1; grows by one with every change, for a name never the same again while the namespace is there
  WallTime changed_at{};

  bool operator==(const PipelineRow&) const = default;
};

enum class ApplyOutcome { added, changed, same };

struct ApplyReport {
  ApplyOutcome outcome = ApplyOutcome::same;
  PipelineRow row;
  std::int64_t refitted = 0;  // waiting items that an edit let in, or made wait for something else
  std::map<std::string, std::int64_t>
      stranded;  // with force: unfinished items at what is no longer a stage, by what it is called in the store
};

// What people do to pipelines; Client::pipelines() has one. Items stay where they are, so an edit that would leave some
// at no stage, or at one of another meaning, is refused and names them. Safe to use from several threads.
//
// Errors: invalid; conflict (items would be left at no stage; others changed it at the same time: try again); not_found
// (remove); refused (too many pipelines); unavailable, in_doubt, full, denied, broken.
class PipelineControl {
 public:
  virtual ~PipelineControl() = default;

  // Adds or changes the pipeline; then items that wait are looked at by the new rules. The same again does only the
  // latter. With `force` items may be left behind: a person moves them.
  virtual Result<ApplyReport> apply(const PipelineSpec& spec, bool force, const Act& act) = 0;
  // With `force` also while there are unfinished items: they stay at their stages, as plain jobs.
  virtual Result<void> remove(const std::string& name, bool force, const Act& act) = 0;
};

// Who did something to an item, when and why; the reason is cut, the trail has all of it.
struct ItemWord {
  std::string by;
  WallTime at{};
  std::string reason = {};

  bool operator==(const ItemWord&) const = default;
};

struct ItemReturn {
  std::string from, to;  // stages, by name
  ItemWord word;

  bool operator==(const ItemReturn&) const = default;
};

// What is known of an item beside its job.
struct ItemRecord {
  std::int64_t generation = 0;              // grows each time it begins to wait; approvals count for one generation
  std::optional<WallTime> entered = {};     // when it began to wait, while it does
  std::vector<ItemWord> approvals = {};     // of this generation, no person twice
  bool overdue = false;                     // it was not approved in time, and still waits
  int returns = 0;                          // to an earlier stage, all in all
  std::optional<ItemReturn> returned = {};  // the last one
  std::optional<ItemWord> hold = {};        // by a person: it goes nowhere
  std::optional<WallTime> due =
      {};                 // of one that was put on hold before its time: not to run sooner when it is released
  Fence moved_under = 0;  // of the delivery that last moved it
  std::map<std::string, std::string> outputs = {};  // by stage: what its last accepted run hands to the next stage

  bool operator==(const ItemRecord&) const = default;
};

struct ItemNow {
  std::string stage;  // as stored: empty for the first one, "gate:S" for one that waits to be let into S
  JobState state = JobState::ready;
  WallTime run_at{};
  ItemRecord record = {};
};

// An item as a store keeps it, as it stood at one moment.
struct Item {
  Job job;                    // payload and result are left out
  std::int64_t revision = 0;  // of the record; 0: there is none yet
  std::string record;         // the ItemRecord as one line of JSON

  bool operator==(const Item&) const = default;
};

struct ItemReport {
  bool changed = false;  // false: it was as asked for already
  PipelineSpec spec;
  Item item;  // as it is now
  ItemNow now_item;
  WallTime now{};  // of the store
};

// What people do to items of pipelines; Client::items() has one. An approval is for the generation that was read first,
// and a rejection or a move is from where the item was read first: if it has left there meanwhile, the act is refused.
// A reply that was lost is asked for again with the same request. Safe to use from several threads.
//
// Errors of every act: not_found (no such job), conflict (its queue has no pipeline; that is not possible where it is;
// it is finished; too many concurrent changes), denied (not by this person), invalid, unavailable, in_doubt, full,
// broken.
class ItemControl {
 public:
  virtual ~ItemControl() = default;

  // `generation`: the one that was looked at; empty: whichever it is.
  virtual Result<ItemReport> approve(const JobId& id, std::optional<std::int64_t> generation, const Act& act) = 0;
  // `to`: a stage's name; empty: the one before.
  virtual Result<ItemReport> reject(const JobId& id, const std::string& to, const Act& act) = 0;
  virtual Result<ItemReport> move(const JobId& id, const std::string& to, const Act& act) = 0;
  // Put the item on hold, and take it off again.
  virtual Result<ItemReport> hold(const JobId& id, const Act& act) = 0;
  virtual Result<ItemReport> release(const JobId& id, const Act& act) = 0;
  // By the handler that works on it, back to an earlier stage: what it then returns does not count. Errors: lost (the
  // job is no longer under that fence).
  virtual Result<ItemReport> send_back(const Holding& delivery, const std::string& to, const Act& act) = 0;

  // The current state.
  virtual Result<ItemReport> look(const JobId& id) = 0;
};

}  // namespace fenceline

// What is durable about pipelines: which there are, and what is known of their items. An item is a job of the queue
// that has the pipeline's name, at one of its stages; a job enqueued without a stage is at the first one. Rules about
// stages, gates and approvals are those of model/pipeline.hpp: a store keeps texts that it does not read, and moves a
// job in one step with them.
//
// The rules for every verb of job_store.hpp hold here too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/pipelines.hpp"
#include "model/fence.hpp"
#include "model/job.hpp"
#include "store/job_store.hpp"
#include "store/reason.hpp"
#include "store/trail.hpp"

namespace fenceline {

inline constexpr std::size_t kPipelineBytesMax = 64 << 10;  // of a spec
inline constexpr std::size_t kItemBytesMax = 128 << 10;     // of a record, with the outputs that stages hand on
inline constexpr int kPipelinesMax = 1000;                  // in a namespace
inline constexpr int kItemsAtOnceMax = 1000;                // in one request

struct PutPipelineRequest {
  std::string ns;
  std::string name;
  std::string spec;           // UTF-8, at most kPipelineBytesMax; empty: it is removed
  std::int64_t revision = 0;  // of the row that the decision rests on; 0: there is none, or none any more
  Act act;
  Duration timeout = kCallTimeout;
};

struct ItemsRequest {
  std::string ns;
  std::vector<JobId> ids;  // 1 to kItemsAtOnceMax, none twice
  Duration timeout = kCallTimeout;
};

struct ItemsReply {
  std::vector<Item> items;  // in the request's order; those that are not there are left out
  WallTime now{};
};

// Where a change puts a job.
struct Placement {
  std::string stage;                 // may be empty
  JobState state = JobState::ready;  // all but running
  Duration delay{0};                 // of a ready one: not claimed before it is over
  bool fresh = true;                 // failures, losses in a row and laters begin anew: another stage
  std::string result;  // by a holder who puts it on done, of a delivery that ended well; else it is not kept
  std::string error;   // by a holder, not empty: the delivery failed, and this is the job's last one; by a person: of
                       // one that is put on dead, else it is not kept

  bool operator==(const Placement&) const = default;
};

struct ItemChange {
  JobId id;
  std::int64_t revision = 0;       // of the record that the decision rests on
  std::string record;              // UTF-8, 1 to kItemBytesMax: what is known of it from now on
  std::optional<Fence> fence;      // by the holder of a delivery, `owner` of the request; empty: by a person
  std::optional<JobState> only;    // by a person: the state that the decision rests on
  std::optional<Placement> place;  // empty: the job stays as it is
  std::string act;                 // of its entry in the trail (trail.hpp): "item_approved"
  std::string
      about;  // what follows the id in the entry's subject: "review -> publish"; no control characters; may be empty
  std::string reason;  // of the entry; empty: that of the request
};

struct ChangeItemsRequest {
  std::string ns;
  std::string owner;                // of the fences; may be empty if there is none
  std::string request;              // one try; a repeat after in_doubt carries the same
  std::vector<ItemChange> changes;  // 1 to kItemsAtOnceMax, no job twice
  Act act;
  Duration timeout = kCallTimeout;
};

// Why a change was not made, in the order in which they are looked for:
//   not_found        no such job in this namespace
//   superseded, other_owner, finished, settled  (by a holder) as of Refusal
//   finished         (by a person) the job is done, dead or cancelled
//   state            (by a person) it is not in the state `only`
//   effect_in_doubt  (by a person, with a place) it waits for an effect: say first what became of that
//   changed          the record's revision is another one
struct ItemRefusal {
  JobId id;
  Reason reason = Reason::none;
  Fence current = 0;          // the job's newest fence
  std::int64_t revision = 0;  // the record's

  bool operator==(const ItemRefusal&) const = default;
};

struct ChangeItemsReply {
  std::vector<ItemRefusal> refused;  // the others were made, now or by the same request before
};

class PipelineStore {
 public:
  virtual ~PipelineStore() = default;

  // Sets, or removes, what a pipeline is. The spec that stands already: ok, and nothing changes, whatever `revision`
  // says; nor does removing what is not there. Jobs stay as they are. The trail: pipeline_applied, pipeline_removed
  // (subject: NAME). Who watches orders of the namespace is told. Answers the row as it is now (of a removed one: no
  // spec). Errors: invalid; conflict (its revision is another one: read again); refused (kPipelinesMax are there).
  virtual Result<PipelineRow> put_pipeline(const PutPipelineRequest& request) = 0;
  // All, by name (bytewise).
  virtual Result<std::vector<PipelineRow>> pipelines(const std::string& ns) = 0;

  virtual Result<ItemsReply> items(const ItemsRequest& request) = 0;

  // Makes each change by itself, or says why not; all in one step of the store. The record's revision grows by one. A
  // record goes with its job, by retention too.
  //
  // With a place: the job's stage and state are those. By a holder the delivery ends as by settle (done, or failed if
  // there is an error; no exit status), with its slots; it needs the newest fence and its owner, not a live lease (J3,
  // P2). A person's change of a running job revokes the delivery as cancel does: a new fence at once (one that does not
  // run keeps its own), its attempt is `cancelled`, and the slot stays taken until its worker says stopped or the lease
  // would have ended; a job that is put on ready is claimable then. One that is put on done, dead or cancelled is
  // finished as by settle and cancel. Unique key and group stay until it is: an item at any stage is its group's head.
  // Its place among the ready ones is that of its priority, run time and own sequence number. Who watches the new stage
  // is told. The run time of what is put on waiting is now.
  //
  // Without one: only the record changes; the job runs on, if it runs.
  //
  // An entry in the trail for each that was changed (subject: "ID about"). A repeat of the request that changed an item
  // last changes nothing. Errors: invalid, refused (fences used up), full.
  virtual Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) = 0;
};

}  // namespace fenceline

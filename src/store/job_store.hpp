// What is durable about jobs: few verbs, each one atomic step in the store.
//
// For every verb: the store's clock alone decides what has expired, so requests carry durations and never
// instants. A call returns within its `timeout`, about: `unavailable` means it did not happen and will
// not, `in_doubt` that it may have or still may. Every mutating verb can be repeated with the same
// arguments. No verb crosses a namespace. A malformed request is `invalid` and changes nothing. A verb that writes may
// answer `full` (no room, nothing changed) and `broken` (the store must be opened anew). Safe to call from several
// threads or fibers.
//
// Slots. A running job has a slot in its queue, in its group and under its limit key, until it is settled: a lease that
// ran out keeps it, since the claim that takes the job over needs no other. A delivery revoked by an operator, or
// ended by a doubt about an effect, keeps its slot until its worker says stopped, or its lease would have ended. Of a
// group only the head may run: the unfinished job that is first by the store's own sequence; a slot of the group that
// is still taken holds back the next one (J7). Every fence minted for a job of a group, a revoked or buried one's too,
// is above all that the group had before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "fenceline/listing.hpp"
#include "model/fence.hpp"
#include "model/job.hpp"
#include "store/reason.hpp"

namespace fenceline {

struct EnqueueRequest {
  std::string ns;
  std::vector<NewJob> jobs;  // at most kBatchMax; all or none
  Duration timeout = kCallTimeout;
};

struct EnqueueReply {
  std::int64_t existing = 0;  // how many were there already: a repeat adds nothing
  std::vector<JobId> ids;     // in the request's order: of the job itself, or of the one that has its unique key
};

// A file that is enqueued again under the same name adds nothing: ids are made from this moment, the name and the line.
struct BatchRequest {
  std::string ns;
  std::string name;
  Duration timeout = kCallTimeout;
};

struct BatchReply {
  WallTime first_seen;
};

inline constexpr Duration kBatchRepeatableFor = std::chrono::hours{24};
inline constexpr Duration kAliasKeptFor = kBatchRepeatableFor + std::chrono::hours{1};  // at least: see enqueue
inline constexpr Duration kBatchRememberedFor = std::chrono::days{30};

struct ClaimRequest {
  std::string ns;
  std::vector<std::string> queues;  // served in this order
  std::string stage;
  std::string owner;    // one holder in one start of one process; never reused
  std::string request;  // one try; a repeat after in_doubt carries the same
  int limit = 1;
  Duration ttl{};
  bool holds_others = false;  // J5: then no job that must run alone is granted
  Duration timeout = kCallTimeout;
};

struct ClaimedJob {
  Job job;                     // as it stands after the claim: running, with its fence
  Duration left{};             // of the ttl; see Grant in model/trust.hpp
  bool forced = false;         // taken over from a lease that ran out
  std::string previous_owner;  // of that lease

  bool operator==(const ClaimedJob&) const = default;
};

struct ClaimReply {
  std::vector<ClaimedJob> jobs;
  Duration waited{};  // see Grant
  // If fewer jobs came than were asked for: in how long something may become claimable, from the run times of
  // ready jobs and the lease ends of other owners' jobs that lie ahead. Empty: nothing is known to come.
  std::optional<Duration> next_due;
  // A job that must run alone could have been granted to a worker that holds nothing, before what this claim granted.
  bool alone_waiting = false;
  // An operator wants this owner to be quiet or to stop, so nothing was looked for: it should ask for its orders.
  bool ordered = false;
  // How many jobs this call made dead, because their last delivery in a row was lost; a repeat tells of none.
  std::int64_t buried = 0;
};

// Why a write of a holder was not accepted. Reasons, in the order in which they are looked for:
//   not_found    no such job in this namespace (current is 0)
//   superseded   the job's newest fence is another one
//   other_owner  the fence is the newest, but was granted to someone else
//   finished     the job is done, dead or cancelled, by another outcome
//   settled      the delivery was settled otherwise; the job is ready or waiting again
//   expired      (extend only) the lease ran out; nobody took over yet
struct Refusal {
  JobId id;
  Fence sent = 0;
  Fence current = 0;
  Reason reason = Reason::none;

  bool operator==(const Refusal&) const = default;
};

struct ExtendRequest {
  std::string ns;
  std::string owner;
  std::vector<Holding> jobs;
  Duration ttl{};
  Duration timeout = kCallTimeout;
};

struct ExtendReply {
  Duration left{};  // for all that were extended; see Grant
  Duration waited{};
  std::vector<Refusal> refused;  // these are lost, the others were extended
};

struct Settlement {
  JobId id;
  Fence fence = 0;
  Outcome outcome;
};

struct SettleRequest {
  std::string ns;
  std::string owner;
  std::vector<Settlement> settlements;
  Duration timeout = kCallTimeout;
};

// An item of a pipeline whose accepted outcome led to another stage.
struct ItemMoved {
  JobId id{};
  Fence fence = 0;
  std::string to;     // the stage, as people name it
  std::string waits;  // "approval" or "check" if it waits to be let in
};

struct SettleReply {
  std::vector<Refusal> refused;       // the others were accepted, now or before
  std::vector<ItemMoved> moved = {};  // filled in by StageStore only
};

struct GiveBackRequest {
  std::string ns;
  std::string owner;
  std::string request;  // of a claim
  Duration ttl{};       // of that claim
  Duration timeout = kCallTimeout;
};

// What a handler says while it works.
struct Note {
  JobId id;
  Fence fence = 0;
  std::optional<Progress> progress;
  std::string log;  // bytes, at most kLogBytesMax
  std::int64_t log_at =
      0;  // where they begin in all that this delivery logged, at most 2^53: what is there already is not added twice
};

struct RecordRequest {
  std::string ns;
  std::vector<Note> notes;  // a job may be named more than once
  Duration timeout = kCallTimeout;
};

struct RecordReply {
  std::vector<Refusal> refused;  // not_found or superseded
};

struct LogRequest {
  std::string ns;
  JobId id;
  std::int64_t after = 0;  // cursor of the page before; 0: from the start
  int limit = 100;         // chunks, at most 1000
  Duration timeout = kCallTimeout;
};

struct LogChunk {
  std::int64_t delivery = 0;
  WallTime at;
  std::string bytes;

  bool operator==(const LogChunk&) const = default;
};

struct LogReply {
  std::vector<LogChunk> chunks;  // in the order in which they came
  std::int64_t dropped = 0;      // bytes of the job's log that had to go
  std::int64_t next = 0;         // cursor behind the last of these chunks; `after` itself if there is none
};

struct JobsRequest {
  std::string ns;
  std::optional<std::string> queue;
  std::optional<JobState> state;
  std::string tag;                 // empty: any
  std::string key;                 // empty: any
  std::string error;               // bytes that the last error contains, at most kErrorBytesMax; empty: any
  std::optional<WallTime> since;   // created_at >= since
  std::optional<WallTime> before;  // created_at < before
  bool newest_first = false;
  std::int64_t after = 0;     // cursor of the page before, of the same order; 0: from the start
  int limit = 100;            // at most 1000
  bool with_payload = false;  // payload and result are empty otherwise
  Duration timeout = kCallTimeout;
};

// Whether a job is one that was asked for by its key, error or time; queue, state and tag are not looked at.
bool matches_details(const JobsRequest& request, const Job& job);
inline bool asks_for_details(const JobsRequest& request) {
  return !request.key.empty() || !request.error.empty() || request.since || request.before;
}

using JobsReply = JobPage;

// How many ids of a namespace, the newest, a search by the end of an id looks at; a store may look at more.
inline constexpr int kNewestIds = 100'000;

// For people who typed the beginning or the end of an id.
struct IdsRequest {
  std::string ns;
  JobId first;  // both included
  JobId last;
  // Up to 32 lower-case hex digits without dashes. If it is not empty, only ids that end so, of the newest kNewestIds:
  // no index serves this.
  std::string suffix = {};
  int limit = 2;  // 1 to 1000
  Duration timeout = kCallTimeout;
};

struct BacklogRequest {
  std::string ns;
  std::vector<std::string> queues;
  std::string stage;
  Duration timeout = kCallTimeout;
};

struct BacklogReply {
  bool running = false;    // some job is leased, by anyone
  bool claimable = false;  // some job could be claimed now
  std::int64_t ahead = 0;  // ready, but not its time yet; counted up to 100,000
  // Ready and its time has come, but held back by its group, a limit, a pause or its own revoked delivery, each looked
  // at for itself; counted up to 100,000. So are expired leases of a paused queue.
  std::int64_t blocked = 0;
  std::optional<Duration> next_due;  // of those, the first
};

class JobStore {
 public:
  virtual ~JobStore() = default;

  // Adds the jobs, all or none. An id that is there already adds nothing if queue, stage and payload are
  // the same (J1), the stage as it was then, wherever change_items put it since. Nor does a job whose unique key is
  // taken in its queue (any stage) by one with the same payload as a JSON value, earlier in this request included: its
  // id then stands for that job for kAliasKeptFor at least (until a tidy finds it older), so that a repeat adds nothing
  // whatever became of it (J6); queue and payload of the repeat must be that job's, as long as it is there. A key
  // belongs to the job that took it last, while that is unfinished or its key_for since the finish is not over. Errors:
  // invalid, conflict (the id belongs to another job, or the key to a job with another payload: the message names it
  // and its state), full.
  virtual Result<EnqueueReply> enqueue(const EnqueueRequest& request) = 0;

  // When the store first saw this batch name. Errors: refused (longer ago than kBatchRepeatableFor; the name is free
  // again when kBatchRememberedFor is over).
  virtual Result<BatchReply> open_batch(const BatchRequest& request) = 0;

  // Grants up to `limit` jobs, each with a fence larger than any before it (L1, L2, J2): first those whose
  // lease ran out (lease end <= now), by lease end, then order of enqueue, over all queues; then ready ones whose
  // time has come (run time <= now), queue by queue, by priority, run time, order of enqueue. In the same step
  // every expired job of these queues whose fifth delivery in a row is now lost becomes dead, under a new fence
  // and no owner. A job that must run alone (an expired one counts the loss at hand) is granted only if
  // `holds_others` is false, then before all others and as the only one (J5); otherwise it is passed over. Passed over
  // are also: all jobs of a paused queue, expired and to be buried ones included; a ready job that is not its group's
  // head or whose group has its slot taken; one whose own revoked delivery still has its slot; one for which the queue
  // or its limit key has no slot left (J7). To an owner whose order is not `work` nothing is granted, nothing is buried
  // for it and nothing is said of what is due: an order is in force as soon as it was given (J2). A repeat of a request
  // that granted something, within its ttl, returns of those grants what is still held and alive, and grants nothing.
  // Errors: invalid, refused (fences used up).
  virtual Result<ClaimReply> claim(const ClaimRequest& request) = 0;

  // Gives back at no cost what `claim` granted under this request id and is still running under it; if that
  // claim arrives later it grants nothing. For a claim that stayed in doubt.
  virtual Result<void> give_back(const GiveBackRequest& request) = 0;

  // Starts the ttl again for each job that is alive under this very (owner, fence). An expired lease is never
  // renewed (L4).
  virtual Result<ExtendReply> extend(const ExtendRequest& request) = 0;

  // Records outcomes. Needs the newest fence and its owner, not a live lease: finished work is not thrown
  // away when nobody took over. At most one outcome is accepted for a (job, fence) (J3); the same kind sent
  // again, while no newer grant was made, is accepted as a repeat.
  virtual Result<SettleReply> settle(const SettleRequest& request) = 0;

  // Adds to progress and log, also of a finished job. Needs the newest fence, not a live lease and not an owner: a
  // fence has only one. At most kLogBytesMax of a job's log are kept, its end. A note whose log is already there adds
  // no chunk.
  virtual Result<RecordReply> record(const RecordRequest& request) = 0;
  // Empty if there is no such job.
  virtual Result<std::optional<LogReply>> log(const LogRequest& request) = 0;

  virtual Result<std::optional<Job>> job(const std::string& ns, const JobId& id) = 0;
  // In the order of enqueue, or newest first. A call looks at a bounded number of jobs, some thousands: a page may hold
  // fewer jobs than asked for, or none, and still have a `next`.
  virtual Result<JobsReply> jobs(const JobsRequest& request) = 0;
  // Of jobs between two ids, in the order of their ids. Newest, for a suffix, are those with the largest ids or those
  // enqueued last, as the store keeps them. Errors: invalid.
  virtual Result<std::vector<JobId>> ids(const IdsRequest& request) = 0;

  // What a draining worker asks before it ends.
  virtual Result<BacklogReply> backlog(const BacklogRequest& request) = 0;
};

}  // namespace fenceline

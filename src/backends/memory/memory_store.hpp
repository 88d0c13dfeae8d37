// The reference store: ordered maps and loops, as close to the words of store/job_store.hpp as code can be.
// It is the oracle of the differential tests and the store of the simulator, so it prefers the plain way to
// the fast one, shares no code with another store, and goes away with its process.
//
// One mutex guards everything and is never held across a callback. No call blocks or yields.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/clock.hpp"
#include "store/store.hpp"

namespace fenceline {

class MemoryStore final : public Store {
 public:
  // Where numbers begin, for tests of large ones.
  struct Counters {
    std::int64_t order = 0;       // of enqueue: the last one that was given
    std::int64_t deliveries = 0;  // of each new job
  };
  // All that a store keeps, at one moment. Changes of the store do not change it.
  class Snapshot;

  // The clock must outlive the store.
  explicit MemoryStore(Clock& clock);
  MemoryStore(Clock& clock, Counters counters);
  ~MemoryStore() override;

  std::shared_ptr<const Snapshot> snapshot() const;
  // What came after the snapshot never happened, as far as this store knows. Watchers stay and are not told.
  void restore(const Snapshot& snapshot);

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override;
  Result<BatchReply> open_batch(const BatchRequest& request) override;
  Result<ClaimReply> claim(const ClaimRequest& request) override;
  Result<void> give_back(const GiveBackRequest& request) override;
  Result<ExtendReply> extend(const ExtendRequest& request) override;
  Result<SettleReply> settle(const SettleRequest& request) override;
  Result<RecordReply> record(const RecordRequest& request) override;
  Result<std::optional<LogReply>> log(const LogRequest& request) override;
  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override;
  Result<JobsReply> jobs(const JobsRequest& request) override;
  Result<std::vector<JobId>> ids(const IdsRequest& request) override;
  Result<BacklogReply> backlog(const BacklogRequest& request) override;

  Result<ActReply> cancel(const ActRequest& request) override;
  Result<ActReply> retry(const ActRequest& request) override;
  Result<PurgeReply> purge(const PurgeRequest& request) override;
  Result<void> set_queue(const SetQueueRequest& request) override;
  Result<void> pause(const PauseRequest& request) override;
  Result<std::vector<QueueRow>> queues(const std::string& ns) override;
  Result<TidyReply> tidy(const TidyRequest& request) override;
  Result<Fence> raise_floor(const RaiseFloorRequest& request) override;
  Result<std::optional<JobFacts>> facts(const std::string& ns, const JobId& id) override;
  Result<std::vector<Attempt>> attempts(const std::string& ns, const JobId& id) override;

  Result<BeginEffectReply> begin_effect(const BeginEffectRequest& request) override;
  Result<FinishEffectReply> finish_effect(const FinishEffectRequest& request) override;
  Result<void> resolve_effect(const ResolveEffectRequest& request) override;
  Result<EffectsReply> effects(const EffectsRequest& request) override;

  Result<AcquireReply> acquire(const AcquireRequest& request) override;
  Result<RenewReply> renew(const RenewRequest& request) override;
  Result<ReleaseReply> release(const ReleaseRequest& request) override;
  Result<void> withdraw(const WithdrawRequest& request) override;
  Result<LocksReply> locks(const LocksRequest& request) override;
  Result<std::optional<LockRow>> lock(const std::string& ns, const std::string& resource) override;
  Result<BreakReply> break_lock(const BreakRequest& request) override;

  Result<SchedulesReply> schedules(const SchedulesRequest& request) override;
  Result<StepReply> step_ticks(const StepRequest& request) override;
  Result<ChangeScheduleReply> change_schedule(const ChangeScheduleRequest& request) override;
  Result<TicksReply> ticks(const TicksRequest& request) override;

  Result<PipelineRow> put_pipeline(const PutPipelineRequest& request) override;
  Result<std::vector<PipelineRow>> pipelines(const std::string& ns) override;
  Result<ItemsReply> items(const ItemsRequest& request) override;
  Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) override;

  Result<void> report_worker(const WorkerReport& report) override;
  Result<void> remove_worker(const std::string& ns, const std::string& owner) override;
  Result<void> order_worker(const OrderRequest& request) override;
  Result<OrdersReply> orders(const std::string& ns, const std::string& owner) override;
  Result<void> stopped(const StoppedRequest& request) override;
  Result<std::vector<WorkerRow>> workers(const std::string& ns) override;

  Result<std::vector<TrailEntry>> trail(const std::string& ns, int limit) override;
  Result<void> remove_namespace(const std::string& ns, const Act& act) override;
  Result<std::vector<std::string>> namespaces() override;

  StoreProfile profile() const override;
  Result<std::vector<Finding>> examine() override;
  // The callback runs on the thread of the caller whose change it tells of, after that change. The handle waits
  // for a callback under way, so it must not be destroyed from inside one.
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override;

 private:
  // By queue and name: unique keys, groups and limit keys belong to a queue.
  using InQueue = std::pair<std::string, std::string>;

  // A delivery that an operator, or a doubt about an effect, ended. It keeps its slot until its worker says stopped or
  // its lease would have ended.
  struct Revoked {
    Fence fence = 0;
    std::string owner;
    Instant lease_end{};
    Duration ttl{0};  // of that lease
  };
  struct NumberedChunk {
    std::int64_t number = 0;  // from 1, in the order in which they came
    LogChunk chunk;
  };
  struct NumberedEffect {
    std::int64_t number = 0;  // in the order in which they were first begun
    Effect effect;            // its in_doubt is left false: that depends on when one asks
  };
  // What change_items keeps of a job.
  struct ItemRecord {
    std::int64_t revision = 0;
    std::string record;
    std::string request;  // that changed it last
  };
  struct Entry {
    Job job;                       // its lease_left is left empty: that depends on when one asks
    std::string first_stage;       // at which it was enqueued
    std::int64_t order = 0;        // of enqueue
    std::int64_t group_order = 0;  // its place in its group
    Instant lease_end{};           // while running
    Duration ttl{0};               // as its lease was last granted or renewed
    std::string request;           // of the last grant
    std::optional<Revoked> revoked;
    std::string last_act;           // request of the last cancel or retry that was answered ok
    std::vector<Attempt> attempts;  // oldest first
    std::vector<NumberedChunk> log;
    std::int64_t log_chunks = 0;                    // that ever came
    std::int64_t log_dropped = 0;                   // bytes
    std::int64_t log_end = 0;                       // how far the delivery at hand has logged
    std::map<std::string, NumberedEffect> effects;  // by name
    ItemRecord item;
  };
  struct Granted {
    Holding holding;
    bool forced = false;
    std::string previous_owner;
  };
  // A claim that granted something or was given back: until its end it grants nothing (more).
  struct ClaimRecord {
    Instant end{};
    std::vector<Granted> granted;
  };
  struct Queue {
    QueueSettings settings;
    std::optional<QueuePause> paused;
  };
  // An id that was answered by another job's, which has its unique key.
  struct Alias {
    JobId holder;
    WallTime at;
  };
  // Someone to whom a lock was granted, in the phase at hand.
  struct Holder {
    std::string owner;
    std::string request;
    std::string place;
    std::string previous_owner;  // as its grant said
    WallTime granted_at;
    Duration ttl{0};  // as its lease was last granted or renewed
    Instant lease_end{};
    Instant known_until{};  // of a shared phase
    bool released = false;  // by itself or by a break
  };
  // One resource that was ever granted.
  struct Lock {
    Fence fence = 0;
    LockMode mode = LockMode::exclusive;
    bool to_its_end = false;
    std::string pattern;
    Duration delay{0};
    Duration bar_length{0};
    Instant bar = Instant::min();       // not granted before
    Instant freed_at = Instant::min();  // the last release or break of the phase
    std::vector<Holder> holders;        // of the phase, in the order of their grants
    std::string break_request;          // of the last break
    BreakReply broken;
  };
  struct LockQueuer {
    std::string name;
    std::string owner;
    std::string request;
    LockMode mode = LockMode::exclusive;
    std::string place;
    WallTime since;
    Instant seen_until{};

    Instant asked_at() const { return seen_until - kLockWaiterKeptFor; }
  };
  // What a schedule remembers of one that moved or changed it, so that a repeat is answered as the first was.
  struct Done {
    std::string request;
    std::vector<WallTime> duplicates;
  };
  // One name that ever had a schedule, until it is forgotten.
  struct Schedule {
    ScheduleRow row;                    // its fired_to and unfinished are left empty: they are made of the ticks
    std::map<WallTime, TickRow> ticks;  // by their (first) instant; disjoint
    Done last_change;
    Done last_move;  // of its account
  };
  struct Space {
    std::map<JobId, Entry> jobs;
    std::map<std::pair<std::string, std::string>, ClaimRecord> claims;  // by owner and request
    std::map<std::string, WorkerRow> workers;                           // by owner
    std::map<std::string, Queue> queues;                                // all that are known
    std::map<InQueue, JobId> keys;                                      // who took each unique key last
    std::map<InQueue, Fence> groups;                                    // the last fence of each
    std::map<JobId, Alias> aliases;
    std::map<std::string, WallTime> batches;                           // when each name was first seen
    std::map<std::string, Lock> locks;                                 // by resource
    std::map<std::int64_t, LockQueuer> lock_queue;                     // by place, of all names
    std::map<std::pair<std::string, std::string>, Instant> withdrawn;  // by owner and request: until when
    std::map<std::string, Schedule> schedules;                         // by name, removed ones too
    std::int64_t schedule_version = 0;                                 // how often one of them was changed
    WallTime schedule_bar{};                                           // of names that are not among them
    std::map<std::string, PipelineRow> pipelines;  // by name; removed ones too, without a spec: their revisions go on
  };
  struct Now {
    Instant lease;
    WallTime wall;
  };
  // Who has a slot at this moment, and who is first in each group.
  struct Slots {
    std::map<std::string, std::vector<const Entry*>> of_queue;
    std::map<InQueue, std::vector<const Entry*>> of_limit_key;
    std::map<InQueue, const Entry*> of_group;
    std::map<InQueue, const Entry*> heads;

    void take(const Entry& entry);
  };
  // Whom to tell of a change: watchers of these queues (and stages, if not of all), and of orders.
  struct Changes {
    std::set<std::pair<std::string, std::optional<std::string>>> claimable;
    bool orders = false;
    std::set<std::string> locks = {};  // names
  };
  struct Listener;
  class Handle;

  // Looks (memory_store.cpp).
  static Job shown(const Entry& entry, const Now& now);
  static std::optional<Duration> last_run(const Entry& entry, const Now& now);
  Now now() const { return {clock_.now(), clock_.wall_now()}; }
  Space* find_space(const std::string& ns);
  static Entry* find_job(Space& space, const JobId& id);

  // Slots (memory_slots.cpp).
  // After the clock that leases run on was ahead and came back: what ends later than it is long ends after its own
  // length from now on (L3).
  static Instant brought_back(Instant end, Duration length, const Now& now) {
    return std::min(end, now.lease + length);
  }
  static void bring_leases_back(Space& space, const ClaimRequest& request, const Now& now);
  static bool expired(const Entry& entry, const Now& now);
  static bool due(const Entry& entry, const Now& now);
  static bool keeps_slot(const Entry& entry, const Now& now);  // after it was revoked
  static bool must_run_alone_now(const Entry& entry, const Now& now);
  static Slots slots_of(const Space& space, const Now& now);
  static bool queue_is_full(const Space& space, const Slots& slots, const Job& job);
  static bool limit_key_is_full(const Space& space, const Slots& slots, const Job& job);
  // An expired job has its slot; a ready one needs one in its queue, its group and under its limit key.
  static bool has_room(const Space& space, const Slots& slots, const Entry& entry, const Now& now);
  static bool is_paused(const Space& space, const std::string& queue);
  static const Queue& queue_of(const Space& space, const std::string& queue);

  // Keys (memory_enqueue.cpp): who has the job's unique key at this moment.
  static const Entry* key_holder(const Space& space, const std::string& queue, const std::string& key, const Now& now);
  // Its id is new there, and its key free.
  void add_job(Space& space, const NewJob& wanted, const Now& now, Changes& changes);

  // Claims (memory_claim.cpp).
  static std::vector<Entry*> candidates(Space& space, const ClaimRequest& request, const Now& now);
  static bool alone_could_start(Space& space, const ClaimRequest& request, const Now& now);
  static std::optional<Duration> next_due(const Space& space, const ClaimRequest& request, const Now& now);
  static std::vector<ClaimedJob> still_held(const Space& space, const ClaimRecord& record, const ClaimRequest& request,
                                            const Now& now);
  Result<std::int64_t> bury(Space& space, const ClaimRequest& request, const Now& now);
  Result<void> grant(Space& space, const ClaimRequest& request, const Now& now, ClaimReply& reply);
  // The largest one that any job, group or lock here had.
  static Fence last_fence(const Space& space);
  // The next fence of the job, and of its group.
  Result<Fence> minted(Space& space, const Entry& entry, const Now& now);

  // Deliveries (memory_deliveries.cpp).
  static Reason refusal(const Entry* entry, const std::string& owner, Fence sent);
  static void begin_attempt(Entry& entry, const Now& now);
  static void end_attempt(Entry& entry, AttemptEnd end, const Outcome& outcome, const Now& now);
  static void settle_delivery(Space& space, Entry& entry, const Outcome& outcome, const Now& now, Changes& changes);
  // A slot of it became free: others may be claimable now.
  static void note_free_slot(const Space& space, const Entry& entry, Changes& changes);

  // Effects (memory_effects.cpp).
  static std::optional<Refusal> not_held(const Entry* entry, const BeginEffectRequest& request, const Now& now);
  static bool in_doubt(const Entry& entry, const Effect& effect, const Now& now);
  static std::vector<std::string> waited_for(const Entry& entry);
  static void wait_for_none(Entry& entry);
  static bool has_doubt(const Entry& entry, const Now& now);
  static void hold(Space& space, Entry& entry, Effect& effect, const Now& now, Changes& changes);
  static void end_effect(Space& space, Entry& entry, Effect& effect, EffectState state, const Now& now,
                         Changes& changes);
  static void begin(Effect& effect, const BeginEffectRequest& request, const Now& now);
  Result<BeginEffectReply> meet(Space& space, Entry& entry, const BeginEffectRequest& request, const Now& now,
                                Changes& changes);

  // Locks (memory_locks.cpp, memory_lock_turns.cpp).
  // How a request stands to one of its names: which resource it may have, and from when on.
  struct Standing {
    std::string resource;  // to be granted; if not now, the one that is free first
    Instant may_have = Instant::min();
    Instant free = Instant::min();  // that resource
    std::int64_t ahead = 0;
    std::vector<std::int64_t> silent = {};  // places of those who let their turn pass, if it is granted now
  };
  static const Lock* find_lock(const Space& space, const std::string& resource);
  static bool is_alive(const Holder& holder, const Now& now) {
    return !holder.released && holder.lease_end > now.lease;
  }
  static bool is_held(const Lock& lock, const Now& now);
  // As bring_leases_back, of a lock.
  static Lock brought_back(Lock lock, const Now& now);
  static void bring_locks_back(Space& space, const AcquireRequest& request, const Now& now);
  static Instant free_from(const Lock* lock);
  // Names that somebody has, or waits for.
  static std::set<std::string> locks_in_use(const Space& space, const Now& now);
  static const LockQueuer* find_queuer(const Space& space, const AcquireRequest& request, const std::string& name,
                                       const Now& now);
  static bool joins(const Lock* lock, const AcquireRequest& request, const Now& now);
  static Standing stand(const Space& space, const AcquireRequest& request, const std::string& name, const Now& now);
  static LockHeld held_by(const Space& space, const Standing& standing, const Now& now);
  static LockRow shown(const Space& space, const std::string& resource, const Lock& lock, const Now& now);
  static std::optional<Result<AcquireReply>> granted_before(const Space& space, const AcquireRequest& request,
                                                            const Now& now);
  void take_places(Space& space, const AcquireRequest& request, const Now& now);
  void send_to_the_end(Space& space, const std::vector<std::int64_t>& places);
  Result<std::vector<Fence>> mint_locks(const Space& space, const AcquireRequest& request,
                                        const std::vector<Standing>& standings, const Now& now) const;
  static LockGrant grant_lock(Lock& lock, const AcquireRequest& request, const Standing& standing, Fence fence,
                              const Now& now);
  static Reason lock_refusal(const Lock* lock, const LockHolding& sent);
  static Holder* find_holder(Lock& lock, const std::string& owner);
  std::int64_t tidy_locks(Space& space, int limit, bool& more, const Now& now);

  // Schedules (memory_schedules.cpp) and their ticks (memory_ticks.cpp).
  // Who moves an account, for the history.
  struct Mover {
    std::string request;
    std::string owner;
    std::string place;
  };
  static Schedule* find_schedule(Space& space, const std::string& name);
  static ScheduleRow shown(const Schedule& schedule);
  static Result<void> check_change(const Schedule* schedule, const ChangeScheduleRequest& request, const Now& now);
  static bool is_as_asked(const Schedule& schedule, ScheduleChange change);
  static std::string apply(Space& space, Schedule& schedule, const ChangeScheduleRequest& request, const Now& now);
  static WallTime fired_to(const Schedule& schedule);
  static bool has_fired(const Schedule& schedule, WallTime tick);
  static std::vector<UnfinishedRun> unfinished_runs(Space& space, const Schedule& schedule, WallTime wall);
  static Reason step_refusal(const Schedule* schedule, const TickStep& step, const Now& now);
  static Result<void> check_id_is_new(const Space& space, const NewJob& job);
  static Result<void> check_ids_are_new(const Space& space, const Schedule& schedule, const TickStep& step);
  void take_step(Space& space, Schedule& schedule, const TickStep& step, const Mover& mover, const Now& now,
                 Changes& changes);
  static void skip(Schedule& schedule, const SkippedTicks& range, const Mover& mover, const Now& now);
  static Result<void> check_rewind(const Schedule& schedule, const ChangeScheduleRequest& request);
  static void move_back(Schedule& schedule, WallTime to, const std::optional<SkippedTicks>& kept);
  static std::int64_t tidy_ticks(Space& space, int limit, bool& more, const Now& now);
  static std::int64_t forget_schedules(Space& space, int limit, bool& more, const Now& now);

  // Pipelines (memory_pipelines.cpp).
  static Reason change_refusal(const Entry* entry, const std::string& owner, const ItemChange& change);
  void move_item(Space& space, Entry& entry, const ItemChange& change, const Now& now, Changes& changes);

  // Acts (memory_acts.cpp).
  struct Acting {
    const ActRequest& request;
    Now now{};
    ActReply reply{};
    Changes changes{};

    void refuse(const JobId& id, Reason reason, std::optional<JobId> holder = std::nullopt) {
      reply.refused.push_back({id, reason, holder});
    }
  };
  using ActOnOne = std::function<void(Space&, Entry&, Acting&)>;
  Result<ActReply> act_on_each(const ActRequest& request, const ActOnOne& act);
  static Entry* find_acted_on(Space& space, const ActRequest& request, const JobId& id, ActReply& reply);
  Result<void> check_fence_left(const Space& space, const Entry& entry, const Now& now) const;
  Result<void> check_fences_left(Space& space, const ActRequest& request, const Now& now) const;
  void revoke(Space& space, Entry& entry, AttemptEnd end, const Now& now);
  void note_act(const std::string& ns, const Act& act, std::string verb, std::string subject, const Now& now);

  // Calls, without the mutex, everyone whom the changes concern.
  void tell(const std::string& ns, const Changes& changes);

  Clock& clock_;
  const Counters counters_;
  mutable std::mutex mutex_;
  std::map<std::string, Space> spaces_;
  std::int64_t last_order_ = 0;
  std::int64_t last_effect_ = 0;
  std::int64_t last_place_ = 0;  // in any queue for locks
  Fence floor_ = 0;              // the largest fence ever deleted, or more if an operator raised it
  std::vector<TrailEntry> trail_;
  std::vector<std::shared_ptr<Listener>> listeners_;  // in the order in which they came, so that a seed replays
};

}  // namespace fenceline

// What each verb of the store does inside a transaction that its caller opened: SQL and the rules about it, no
// locks, no threads, no commit. All throw SqliteFailure; an Error they return undoes the call alone.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/sqlite/database.hpp"
#include "backends/sqlite/names.hpp"
#include "base/time.hpp"
#include "runtime/clock.hpp"
#include "store/store.hpp"

namespace fenceline::sqlite {

// One call of the store in its transaction. Both clocks are read once, inside the transaction: what was read and
// what was decided then belong to one moment.
struct Call {
  using Depths = std::array<std::int64_t, 6>;  // by JobState

  Call(Database& database, Names& interned, const Clock& clock, Instant entered)
      : db(database), names(interned), now(clock.now()), wall(clock.wall_now()), waited(now - entered) {}

  std::int64_t now_us() const { return now.time_since_epoch().count(); }
  std::int64_t wall_us() const { return wall.time_since_epoch().count(); }

  Database& db;
  Names& names;
  Instant now;
  WallTime wall;
  Duration waited;                        // by the store, before this moment
  std::set<std::int64_t> awakened;        // queues in which something became claimable, or soon will
  std::set<std::string> ordered;          // namespaces in which some worker has new orders
  std::set<QueueName> freed;              // locks that may be had; see lock_name()
  std::map<std::int64_t, Depths> depths;  // what the call changed; see write_depths()
  std::optional<std::set<std::pair<std::int64_t, std::int64_t>>> choose_later;  // see ChoosingOnce

  void came(std::int64_t queue_id, JobState to, std::int64_t jobs = 1) {
    depths[queue_id][static_cast<std::size_t>(to)] += jobs;
  }
  void left(std::int64_t queue_id, JobState from, std::int64_t jobs = 1) {
    depths[queue_id][static_cast<std::size_t>(from)] -= jobs;
  }
  void moved(std::int64_t queue_id, JobState from, JobState to, std::int64_t jobs = 1) {
    left(queue_id, from, jobs);
    came(queue_id, to, jobs);
  }
};

// Adds to the queues' counters what the call did: once for each queue, at its end.
void write_depths(Call& call);

// The name under which orders of a namespace are waited for; no queue has it.
inline QueueName orders_of(const std::string& ns) { return {ns, "", "orders"}; }
// The name under which a lock is waited for, given one of its resources; no stage has it.
inline QueueName lock_name(const std::string& ns, const std::string& resource) {
  return {ns, resource.substr(0, resource.find('#')), "#lock"};
}

// Writing.
Result<EnqueueReply> enqueue(Call& call, const EnqueueRequest& request);
Result<ClaimReply> claim(Call& call, const ClaimRequest& request);
Result<void> give_back(Call& call, const GiveBackRequest& request);
Result<ExtendReply> extend(Call& call, const ExtendRequest& request);
Result<SettleReply> settle(Call& call, const SettleRequest& request);
Result<BatchReply> open_batch(Call& call, const BatchRequest& request);
Result<RecordReply> record(Call& call, const RecordRequest& request);
Result<ActReply> cancel(Call& call, const ActRequest& request);
Result<ActReply> retry(Call& call, const ActRequest& request);
Result<PurgeReply> purge(Call& call, const PurgeRequest& request);
Result<void> set_queue(Call& call, const SetQueueRequest& request);
Result<void> pause(Call& call, const PauseRequest& request);
Result<Fence> raise_floor(Call& call, const RaiseFloorRequest& request);
Result<TidyReply> tidy(Call& call, const TidyRequest& request);
Result<void> order_worker(Call& call, const OrderRequest& request);
Result<void> stopped(Call& call, const StoppedRequest& request);
Result<void> report_worker(Call& call, const WorkerReport& report);
Result<void> remove_worker(Call& call, const std::string& ns, const std::string& owner);
Result<void> remove_namespace(Call& call, const std::string& ns, const Act& act);
Result<std::vector<std::string>> namespaces(Call& call);

Result<BeginEffectReply> begin_effect(Call& call, const BeginEffectRequest& request);
Result<FinishEffectReply> finish_effect(Call& call, const FinishEffectRequest& request);
Result<void> resolve_effect(Call& call, const ResolveEffectRequest& request);

Result<AcquireReply> acquire(Call& call, const AcquireRequest& request);
Result<RenewReply> renew(Call& call, const RenewRequest& request);
Result<ReleaseReply> release(Call& call, const ReleaseRequest& request);
Result<void> withdraw(Call& call, const WithdrawRequest& request);
Result<BreakReply> break_lock(Call& call, const BreakRequest& request);

Result<StepReply> step_ticks(Call& call, const StepRequest& request);
Result<ChangeScheduleReply> change_schedule(Call& call, const ChangeScheduleRequest& request);

Result<PipelineRow> put_pipeline(Call& call, const PutPipelineRequest& request);
Result<ChangeItemsReply> change_items(Call& call, const ChangeItemsRequest& request);

// Reading.
Result<SchedulesReply> list_schedules(Call& call, const SchedulesRequest& request);
Result<TicksReply> list_ticks(Call& call, const TicksRequest& request);
Result<std::vector<PipelineRow>> list_pipelines(Call& call, const std::string& ns);
// Whether the jobs of this queue are items of a pipeline.
bool has_pipeline(Call& call, const std::string& ns, const std::string& queue);
Result<ItemsReply> list_items(Call& call, const ItemsRequest& request);
Result<LocksReply> list_locks(Call& call, const LocksRequest& request);
Result<std::optional<LockRow>> show_lock(Call& call, const std::string& ns, const std::string& resource);
Result<EffectsReply> effects(Call& call, const EffectsRequest& request);
Result<std::optional<Job>> find_job(Call& call, const std::string& ns, const JobId& id);
Result<JobsReply> list_jobs(Call& call, const JobsRequest& request);
Result<std::vector<JobId>> list_ids(Call& call, const IdsRequest& request);
Result<BacklogReply> backlog(Call& call, const BacklogRequest& request);
Result<std::optional<LogReply>> read_log(Call& call, const LogRequest& request);
Result<std::vector<QueueRow>> queues(Call& call, const std::string& ns);
Result<std::optional<JobFacts>> facts(Call& call, const std::string& ns, const JobId& id);
Result<std::vector<Attempt>> attempts(Call& call, const std::string& ns, const JobId& id);
Result<OrdersReply> orders(Call& call, const std::string& ns, const std::string& owner);
Result<std::vector<WorkerRow>> workers(Call& call, const std::string& ns);
Result<std::vector<TrailEntry>> trail(Call& call, const std::string& ns, int limit);

// The ids of those of these queues that have a row, in the request's order.
std::vector<std::int64_t> known_queues(Call& call, const std::string& ns, const std::vector<std::string>& queues,
                                       const std::string& stage);

// So many times what a step of tidy() may remove, it may look at.
inline constexpr std::size_t kLooksForEach = 10;

// What the worker was told last; empty: nobody knows it.
std::optional<WorkerOrder> order_told(Call& call, std::int64_t ns_id, const std::string& owner);

// In the trail, in the transaction of the act.
void enter_in_trail(Call& call, const std::string& ns, const Act& act, const std::string& what,
                    const std::string& subject);

inline WallTime wall_time(std::int64_t us) { return WallTime{Duration{us}}; }
inline JobId as_id(std::string_view bytes) {
  JobId id;
  std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size());
  return id;
}
inline std::string_view as_bytes(const JobId& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

}  // namespace fenceline::sqlite

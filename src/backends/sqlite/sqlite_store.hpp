// The embedded store: one SQLite file, shared by several processes of one machine.
//
// - Every write of this process goes through one writer thread, which commits the calls that wait for it
//   together; each is one savepoint, so that a refused call does not spoil its neighbours.
// - Writers of all processes take turns by `<file>-lock` (see lock_file.hpp). The same turn guards the only
//   place that checkpoints: libraries before 3.51.3 can corrupt a WAL when a checkpoint meets a commit.
// - Leases run on Clock::now() within one Clock::boot_id(). A process that meets another boot id ends them all,
//   and refuses while someone else still has the file open under the old one.
// - `:memory:` is a private store in direct mode: no thread, no file, every call runs on its caller and neither
//   blocks nor yields, so that fibers can use it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

// What SQLite waits for before a commit is acknowledged.
enum class SqliteSync {
  full,    // the disk: nothing acknowledged is lost (class B)
  normal,  // nothing: a power cut takes the last commits (class C)
};

struct SqliteOptions {
  std::string path = "fenceline.db";  // ":memory:": private, in this object only
  bool may_create = true;             // set up a missing or empty file
  bool accept_shared_fs = false;      // NFS, SMB, 9p, FUSE: their locks are not trusted otherwise
  SqliteSync synchronous = SqliteSync::full;
  int checkpoint_pages = 1000;      // of the WAL; a checkpoint is tried from there on
  std::int64_t seq_floor = 0;       // of a new one in memory: numbers of jobs begin above it, for tests of large ones
  std::string actor = "fenceline";  // who set the store up or met a new boot, in the trail
  Duration open_timeout = kCallTimeout;
};

class SqliteConnection;  // fenceline/sqlite.hpp
struct SqliteConnectOptions;

class SqliteStore final : public Store {
 public:
  // Opens the file, sets it up or brings its schema up to date. `runtime` runs the writer and the watchers;
  // `clock` is the store's own (in production the runtime itself). Both, and the log's sink, must outlive the
  // store. Errors: not_found (missing or empty, and may_create is false), refused (not ours, newer, read-only, a
  // shared file system, open under another boot id), full, broken, unavailable (another process holds the lock).
  static Result<std::unique_ptr<SqliteStore>> open(Runtime& runtime, Clock& clock, Log log, SqliteOptions options);
  // No call may be under way, and no watch alive.
  ~SqliteStore() override;

  // A connection for the application's own tables in the same file; see fenceline/sqlite.hpp. The store must outlive
  // it. Errors: refused (in memory, or after a fork), invalid, broken, full, unavailable.
  Result<SqliteConnection> connect(const SqliteConnectOptions& options);

  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

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
  // In direct mode the callback runs on the caller whose change it tells of, after that change.
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override;

 private:
  struct Parts;  // connections, writer, files: names SQLite, so not here
  explicit SqliteStore(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline

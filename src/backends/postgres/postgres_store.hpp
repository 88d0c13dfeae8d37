// The store of a fleet: one schema on a PostgreSQL server, shared by processes of any number of machines.
//
// - Each verb is one function on the server, called in one round trip as one transaction (see sql/). Requests are
// checked before
//   anything is sent.
// - The server's clock is the store's. Nothing depends on the clock of a machine that works.
// - Calls share a few connections, and one more listens for wake-ups. Behind a pooler that shares sessions
// (?pooler=transaction) nothing is
//   left in a session.
// - An answer that was lost is in_doubt; a call that was rolled back because of others is tried again until its
// timeout.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

struct PostgresOptions {
  std::string url;         // postgres://user@host:port/db?schema=NAME&pooler=transaction&listen=0, and what libpq knows
  bool may_create = true;  // set up a missing schema
  bool mends =
      false;  // put back functions of the schema that somebody dropped or changed, or that another build installed
  std::string actor = "fenceline";  // who set the store up, in the trail
  Duration open_timeout = kCallTimeout;
  Duration set_up_timeout =
      std::chrono::minutes{2};  // hundreds of statements: a slow server needs longer than for any call
  std::stop_token stop = {};    // ends the wait for a server that does not answer when it is opened: held
  // For tests. Claims look from the beginning each time; (lease, wall) in microseconds for a server whose clock() reads
  // the settings fenceline.lease and fenceline.wall.
  bool always_rescan = false;
  std::function<std::pair<std::int64_t, std::int64_t>()> test_clock = nullptr;
};

class PostgresStore final : public Store {
 public:
  // Connects, and sets the schema up if it may. `runtime` tells the time for deadlines and runs the listener; it must
  // outlive the store. Errors: invalid (the URL), not_found (not set up; no such database), refused (newer, a standby),
  // denied (password, rights, certificate), unavailable.
  static Result<std::unique_ptr<PostgresStore>> open(Runtime& runtime, Log log, PostgresOptions options);
  // No call may be under way, and no watch alive.
  ~PostgresStore() override;

  PostgresStore(const PostgresStore&) = delete;
  PostgresStore& operator=(const PostgresStore&) = delete;

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
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override;

 private:
  struct Parts;  // connections and what is prepared: names libpq, so not here
  explicit PostgresStore(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline

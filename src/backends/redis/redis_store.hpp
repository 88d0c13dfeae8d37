// A store on a Redis server, shared by processes of any number of machines.
//
// - Each verb is one script (see lua/), so one step; requests are checked before anything is sent.
// - The server's clock is the store's. Nothing depends on the clock of a machine that works.
// - All callers share one connection by pipelining, and one more listens for wake-ups.
// - What a crash of the server takes is as its own settings say: see profile().
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

struct RedisOptions {
  std::string url;                  // redis://, rediss:// or unix:, see redis_address.hpp
  std::string actor = "fenceline";  // who set the store up, in the trail
  bool accept_eviction = false;     // a server that may throw away what it was told to keep is refused otherwise
  Duration open_timeout = kCallTimeout;
  std::stop_token stop = {};  // ends the wait for a server that does not answer when it is opened: held
  // For tests: (lease, wall) in microseconds, in place of the server's clock.
  std::function<std::pair<std::int64_t, std::int64_t>()> test_clock = nullptr;
  // Keys that one call of the server looks at, of verbs that look at all locks or remove a namespace: a few
  // milliseconds. They call it as often as it takes.
  int walked_at_once = 1000;
};

class RedisStore final : public Store {
 public:
  // Connects. `runtime` tells the time for deadlines and runs the listener; it must outlive the
  // store. Errors: invalid (the URL), refused (a replica, an evicting policy), denied (password, rights, certificate),
  // unavailable.
  static Result<std::unique_ptr<RedisStore>> open(Runtime& runtime, Log log, RedisOptions options);
  // No call may be under way, and no watch alive.
  ~RedisStore() override;

  RedisStore(const RedisStore&) = delete;
  RedisStore& operator=(const RedisStore&) = delete;

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
  struct Parts;  // connections: see store_parts.hpp
  explicit RedisStore(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline

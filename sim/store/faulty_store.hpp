// The way from one simulated process to the store: a Store that loses, delays, repeats and refuses, as its
// weather says. A request under way belongs to nobody: it arrives even if its sender is paused or dead.
//
// Needs the whole simulation around it: calls block the fiber they come from, on virtual time.
#pragma once

#include <functional>

#include "sim/runtime/sim_runtime.hpp"
#include "sim/store/store_server.hpp"
#include "sim/store/tally.hpp"
#include "sim/store/weather.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

class FaultyStore final : public Store {
 public:
  // All must outlive it and what it has under way. `weather` may change at any time.
  FaultyStore(SimRuntime& process, Store& inner, StoreServer& server, const Weather& weather, Tally& tally)
      : process_(process), inner_(inner), server_(server), weather_(weather), tally_(tally) {}

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

  StoreProfile profile() const override { return inner_.profile(); }
  Result<std::vector<Finding>> examine() override { return inner_.examine(); }
  // Tells later than the store does, or not at all.
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override;

 private:
  enum class Kind { reads, changes };
  // What becomes of one request.
  struct Fate {
    bool refused = false;
    bool request_lost = false;
    bool reply_lost = false;
    bool again = false;
    Duration to_store{0};
    Duration in_queue{0};
    Duration to_caller{0};
    Duration until_again{0};
  };

  Fate draw_fate(Duration timeout);
  // `apply` makes the call on the real store, once or twice, from outside every fiber.
  template <class Answer>
  Answer deliver(Kind kind, std::string_view verb, Duration timeout, std::function<Answer()> apply);
  void note(std::string_view verb, std::string_view what);

  SimRuntime& process_;
  Store& inner_;
  StoreServer& server_;
  const Weather& weather_;
  Tally& tally_;
};

}  // namespace fenceline::sim

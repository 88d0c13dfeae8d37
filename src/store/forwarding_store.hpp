// A store that passes every call on to another one: override what should go differently. The base of every decorator.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/store.hpp"

namespace fenceline {

class ForwardingStore : public Store {
 public:
  // It must outlive this one.
  explicit ForwardingStore(Store& inner) : inner_(inner) {}

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override { return inner_.enqueue(request); }
  Result<BatchReply> open_batch(const BatchRequest& request) override { return inner_.open_batch(request); }
  Result<ClaimReply> claim(const ClaimRequest& request) override { return inner_.claim(request); }
  Result<void> give_back(const GiveBackRequest& request) override { return inner_.give_back(request); }
  Result<ExtendReply> extend(const ExtendRequest& request) override { return inner_.extend(request); }
  Result<SettleReply> settle(const SettleRequest& request) override { return inner_.settle(request); }
  Result<RecordReply> record(const RecordRequest& request) override { return inner_.record(request); }
  Result<std::optional<LogReply>> log(const LogRequest& request) override { return inner_.log(request); }
  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override { return inner_.job(ns, id); }
  Result<JobsReply> jobs(const JobsRequest& request) override { return inner_.jobs(request); }
  Result<std::vector<JobId>> ids(const IdsRequest& request) override { return inner_.ids(request); }
  Result<BacklogReply> backlog(const BacklogRequest& request) override { return inner_.backlog(request); }

  Result<ActReply> cancel(const ActRequest& request) override { return inner_.cancel(request); }
  Result<ActReply> retry(const ActRequest& request) override { return inner_.retry(request); }
  Result<PurgeReply> purge(const PurgeRequest& request) override { return inner_.purge(request); }
  Result<void> set_queue(const SetQueueRequest& request) override { return inner_.set_queue(request); }
  Result<void> pause(const PauseRequest& request) override { return inner_.pause(request); }
  Result<std::vector<QueueRow>> queues(const std::string& ns) override { return inner_.queues(ns); }
  Result<TidyReply> tidy(const TidyRequest& request) override { return inner_.tidy(request); }
  Result<Fence> raise_floor(const RaiseFloorRequest& request) override { return inner_.raise_floor(request); }
  Result<std::optional<JobFacts>> facts(const std::string& ns, const JobId& id) override {
    return inner_.facts(ns, id);
  }
  Result<std::vector<Attempt>> attempts(const std::string& ns, const JobId& id) override {
    return inner_.attempts(ns, id);
  }

  Result<BeginEffectReply> begin_effect(const BeginEffectRequest& request) override {
    return inner_.begin_effect(request);
  }
  Result<FinishEffectReply> finish_effect(const FinishEffectRequest& request) override {
    return inner_.finish_effect(request);
  }
  Result<void> resolve_effect(const ResolveEffectRequest& request) override { return inner_.resolve_effect(request); }
  Result<EffectsReply> effects(const EffectsRequest& request) override { return inner_.effects(request); }

  Result<AcquireReply> acquire(const AcquireRequest& request) override { return inner_.acquire(request); }
  Result<RenewReply> renew(const RenewRequest& request) override { return inner_.renew(request); }
  Result<ReleaseReply> release(const ReleaseRequest& request) override { return inner_.release(request); }
  Result<void> withdraw(const WithdrawRequest& request) override { return inner_.withdraw(request); }
  Result<LocksReply> locks(const LocksRequest& request) override { return inner_.locks(request); }
  Result<std::optional<LockRow>> lock(const std::string& ns, const std::string& resource) override {
    return inner_.lock(ns, resource);
  }
  Result<BreakReply> break_lock(const BreakRequest& request) override { return inner_.break_lock(request); }

  Result<SchedulesReply> schedules(const SchedulesRequest& request) override { return inner_.schedules(request); }
  Result<StepReply> step_ticks(const StepRequest& request) override { return inner_.step_ticks(request); }
  Result<ChangeScheduleReply> change_schedule(const ChangeScheduleRequest& request) override {
    return inner_.change_schedule(request);
  }
  Result<TicksReply> ticks(const TicksRequest& request) override { return inner_.ticks(request); }

  Result<PipelineRow> put_pipeline(const PutPipelineRequest& request) override { return inner_.put_pipeline(request); }
  Result<std::vector<PipelineRow>> pipelines(const std::string& ns) override { return inner_.pipelines(ns); }
  Result<ItemsReply> items(const ItemsRequest& request) override { return inner_.items(request); }
  Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) override {
    return inner_.change_items(request);
  }

  Result<void> report_worker(const WorkerReport& report) override { return inner_.report_worker(report); }
  Result<void> remove_worker(const std::string& ns, const std::string& owner) override {
    return inner_.remove_worker(ns, owner);
  }
  Result<void> order_worker(const OrderRequest& request) override { return inner_.order_worker(request); }
  Result<OrdersReply> orders(const std::string& ns, const std::string& owner) override {
    return inner_.orders(ns, owner);
  }
  Result<void> stopped(const StoppedRequest& request) override { return inner_.stopped(request); }
  Result<std::vector<WorkerRow>> workers(const std::string& ns) override { return inner_.workers(ns); }

  Result<std::vector<TrailEntry>> trail(const std::string& ns, int limit) override { return inner_.trail(ns, limit); }
  Result<void> remove_namespace(const std::string& ns, const Act& act) override {
    return inner_.remove_namespace(ns, act);
  }
  Result<std::vector<std::string>> namespaces() override { return inner_.namespaces(); }

  StoreProfile profile() const override { return inner_.profile(); }
  Result<std::vector<Finding>> examine() override { return inner_.examine(); }
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override {
    return inner_.watch(request, std::move(on_change));
  }

 protected:
  Store& inner_;
};

}  // namespace fenceline

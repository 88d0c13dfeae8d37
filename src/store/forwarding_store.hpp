// Stores that stand before another one. StoreAround has every verb once and leads all calls through one function of its
// decorator, around(); ForwardingStore passes every call on: override what should go differently.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/store.hpp"

namespace fenceline {

struct StoreVerb {
  std::string_view name;
  bool changes;  // something in the store; false: it only reads
};

// Way is the decorator itself, a class with
//   template <class Answer, class... Parameters, class... Given>
//   Answer around(const StoreVerb& verb, Answer (Store::*call)(Parameters...), const Given&... given);
// that makes the call on inner_, as (inner_.*call)(given...), or does not. A decorator that treats a verb differently
// overrides it. What the store is, and what it tells by itself, goes the straight way.
template <class Way>
class StoreAround : public Store {
 public:
  // It must outlive this one.
  explicit StoreAround(Store& inner) : inner_(inner) {}

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    return to({"enqueue", true}, &Store::enqueue, request);
  }
  Result<BatchReply> open_batch(const BatchRequest& request) override {
    return to({"open_batch", true}, &Store::open_batch, request);
  }
  Result<ClaimReply> claim(const ClaimRequest& request) override { return to({"claim", true}, &Store::claim, request); }
  Result<void> give_back(const GiveBackRequest& request) override {
    return to({"give_back", true}, &Store::give_back, request);
  }
  Result<ExtendReply> extend(const ExtendRequest& request) override {
    return to({"extend", true}, &Store::extend, request);
  }
  Result<SettleReply> settle(const SettleRequest& request) override {
    return to({"settle", true}, &Store::settle, request);
  }
  Result<RecordReply> record(const RecordRequest& request) override {
    return to({"record", true}, &Store::record, request);
  }
  Result<std::optional<LogReply>> log(const LogRequest& request) override {
    return to({"log", false}, &Store::log, request);
  }
  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override {
    return to({"job", false}, &Store::job, ns, id);
  }
  Result<JobsReply> jobs(const JobsRequest& request) override { return to({"jobs", false}, &Store::jobs, request); }
  Result<std::vector<JobId>> ids(const IdsRequest& request) override {
    return to({"ids", false}, &Store::ids, request);
  }
  Result<BacklogReply> backlog(const BacklogRequest& request) override {
    return to({"backlog", false}, &Store::backlog, request);
  }

  Result<ActReply> cancel(const ActRequest& request) override { return to({"cancel", true}, &Store::cancel, request); }
  Result<ActReply> retry(const ActRequest& request) override { return to({"retry", true}, &Store::retry, request); }
  Result<PurgeReply> purge(const PurgeRequest& request) override { return to({"purge", true}, &Store::purge, request); }
  Result<void> set_queue(const SetQueueRequest& request) override {
    return to({"set_queue", true}, &Store::set_queue, request);
  }
  Result<void> pause(const PauseRequest& request) override { return to({"pause", true}, &Store::pause, request); }
  Result<std::vector<QueueRow>> queues(const std::string& ns) override {
    return to({"queues", false}, &Store::queues, ns);
  }
  Result<TidyReply> tidy(const TidyRequest& request) override { return to({"tidy", true}, &Store::tidy, request); }
  Result<Fence> raise_floor(const RaiseFloorRequest& request) override {
    return to({"raise_floor", true}, &Store::raise_floor, request);
  }
  Result<std::optional<JobFacts>> facts(const std::string& ns, const JobId& id) override {
    return to({"facts", false}, &Store::facts, ns, id);
  }
  Result<std::vector<Attempt>> attempts(const std::string& ns, const JobId& id) override {
    return to({"attempts", false}, &Store::attempts, ns, id);
  }

  Result<BeginEffectReply> begin_effect(const BeginEffectRequest& request) override {
    return to({"begin_effect", true}, &Store::begin_effect, request);
  }
  Result<FinishEffectReply> finish_effect(const FinishEffectRequest& request) override {
    return to({"finish_effect", true}, &Store::finish_effect, request);
  }
  Result<void> resolve_effect(const ResolveEffectRequest& request) override {
    return to({"resolve_effect", true}, &Store::resolve_effect, request);
  }
  Result<EffectsReply> effects(const EffectsRequest& request) override {
    return to({"effects", false}, &Store::effects, request);
  }

  Result<AcquireReply> acquire(const AcquireRequest& request) override {
    return to({"acquire", true}, &Store::acquire, request);
  }
  Result<RenewReply> renew(const RenewRequest& request) override { return to({"renew", true}, &Store::renew, request); }
  Result<ReleaseReply> release(const ReleaseRequest& request) override {
    return to({"release", true}, &Store::release, request);
  }
  Result<void> withdraw(const WithdrawRequest& request) override {
    return to({"withdraw", true}, &Store::withdraw, request);
  }
  Result<LocksReply> locks(const LocksRequest& request) override {
    return to({"locks", false}, &Store::locks, request);
  }
  Result<std::optional<LockRow>> lock(const std::string& ns, const std::string& resource) override {
    return to({"lock", false}, &Store::lock, ns, resource);
  }
  Result<BreakReply> break_lock(const BreakRequest& request) override {
    return to({"break_lock", true}, &Store::break_lock, request);
  }

  Result<SchedulesReply> schedules(const SchedulesRequest& request) override {
    return to({"schedules", false}, &Store::schedules, request);
  }
  Result<StepReply> step_ticks(const StepRequest& request) override {
    return to({"step_ticks", true}, &Store::step_ticks, request);
  }
  Result<ChangeScheduleReply> change_schedule(const ChangeScheduleRequest& request) override {
    return to({"change_schedule", true}, &Store::change_schedule, request);
  }
  Result<TicksReply> ticks(const TicksRequest& request) override {
    return to({"ticks", false}, &Store::ticks, request);
  }

  Result<PipelineRow> put_pipeline(const PutPipelineRequest& request) override {
    return to({"put_pipeline", true}, &Store::put_pipeline, request);
  }
  Result<std::vector<PipelineRow>> pipelines(const std::string& ns) override {
    return to({"pipelines", false}, &Store::pipelines, ns);
  }
  Result<ItemsReply> items(const ItemsRequest& request) override {
    return to({"items", false}, &Store::items, request);
  }
  Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) override {
    return to({"change_items", true}, &Store::change_items, request);
  }

  Result<void> report_worker(const WorkerReport& report) override {
    return to({"report_worker", true}, &Store::report_worker, report);
  }
  Result<void> remove_worker(const std::string& ns, const std::string& owner) override {
    return to({"remove_worker", true}, &Store::remove_worker, ns, owner);
  }
  Result<void> order_worker(const OrderRequest& request) override {
    return to({"order_worker", true}, &Store::order_worker, request);
  }
  Result<OrdersReply> orders(const std::string& ns, const std::string& owner) override {
    return to({"orders", false}, &Store::orders, ns, owner);
  }
  Result<void> stopped(const StoppedRequest& request) override {
    return to({"stopped", true}, &Store::stopped, request);
  }
  Result<std::vector<WorkerRow>> workers(const std::string& ns) override {
    return to({"workers", false}, &Store::workers, ns);
  }

  Result<std::vector<TrailEntry>> trail(const std::string& ns, int limit) override {
    return to({"trail", false}, &Store::trail, ns, limit);
  }
  Result<void> remove_namespace(const std::string& ns, const Act& act) override {
    return to({"remove_namespace", true}, &Store::remove_namespace, ns, act);
  }
  Result<std::vector<std::string>> namespaces() override { return to({"namespaces", false}, &Store::namespaces); }
  Result<std::vector<Finding>> examine() override { return to({"examine", false}, &Store::examine); }

  StoreProfile profile() const override { return inner_.profile(); }
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override {
    return inner_.watch(request, std::move(on_change));
  }

 protected:
  Store& inner_;

 private:
  template <class Answer, class Part, class... Parameters, class... Given>
  Answer to(const StoreVerb& verb, Answer (Part::*call)(Parameters...), const Given&... given) {
    return static_cast<Way*>(this)->around(verb, static_cast<Answer (Store::*)(Parameters...)>(call), given...);
  }
};

// The base of decorators that treat few verbs differently.
class ForwardingStore : public StoreAround<ForwardingStore> {
 public:
  using StoreAround::StoreAround;

  template <class Answer, class... Parameters, class... Given>
  Answer around(const StoreVerb&, Answer (Store::*call)(Parameters...), const Given&... given) {
    return (inner_.*call)(given...);
  }
};

}  // namespace fenceline

// A Store directly around the real one: passes every call on as it is and tells an observer of each that may
// have changed something. It adds no faults, takes no time and calls no Runtime.
#pragma once

#include "runtime/clock.hpp"
#include "sim/store/applied.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::sim {

class RecordingStore final : public ForwardingStore {
 public:
  // All must outlive it; `clock` is the store's own.
  RecordingStore(Clock& clock, Store& inner, StoreObserver& observer)
      : ForwardingStore(inner), clock_(clock), observer_(observer) {}

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override {
    return recorded<EnqueueCall>(request, inner_.enqueue(request));
  }
  Result<ClaimReply> claim(const ClaimRequest& request) override {
    return recorded<ClaimCall>(request, inner_.claim(request));
  }
  Result<void> give_back(const GiveBackRequest& request) override {
    return recorded<GiveBackCall>(request, inner_.give_back(request));
  }
  Result<ExtendReply> extend(const ExtendRequest& request) override {
    return recorded<ExtendCall>(request, inner_.extend(request));
  }
  Result<SettleReply> settle(const SettleRequest& request) override {
    return recorded<SettleCall>(request, inner_.settle(request));
  }
  Result<RecordReply> record(const RecordRequest& request) override {
    return recorded<RecordCall>(request, inner_.record(request));
  }
  Result<BatchReply> open_batch(const BatchRequest& request) override {
    return recorded<BatchCall>(request, inner_.open_batch(request));
  }

  Result<ActReply> cancel(const ActRequest& request) override {
    return recorded<CancelCall>(request, inner_.cancel(request));
  }
  Result<ActReply> retry(const ActRequest& request) override {
    return recorded<RetryCall>(request, inner_.retry(request));
  }
  Result<PurgeReply> purge(const PurgeRequest& request) override {
    return recorded<PurgeCall>(request, inner_.purge(request));
  }
  Result<void> set_queue(const SetQueueRequest& request) override {
    return recorded<SetQueueCall>(request, inner_.set_queue(request));
  }
  Result<void> pause(const PauseRequest& request) override {
    return recorded<PauseCall>(request, inner_.pause(request));
  }
  Result<TidyReply> tidy(const TidyRequest& request) override {
    return recorded<TidyCall>(request, inner_.tidy(request));
  }

  Result<void> order_worker(const OrderRequest& request) override {
    return recorded<OrderCall>(request, inner_.order_worker(request));
  }
  Result<void> stopped(const StoppedRequest& request) override {
    return recorded<StoppedCall>(request, inner_.stopped(request));
  }

  Result<BeginEffectReply> begin_effect(const BeginEffectRequest& request) override {
    return recorded<BeginEffectCall>(request, inner_.begin_effect(request));
  }
  Result<FinishEffectReply> finish_effect(const FinishEffectRequest& request) override {
    return recorded<FinishEffectCall>(request, inner_.finish_effect(request));
  }
  Result<void> resolve_effect(const ResolveEffectRequest& request) override {
    return recorded<ResolveEffectCall>(request, inner_.resolve_effect(request));
  }
  Result<Fence> raise_floor(const RaiseFloorRequest& request) override {
    return recorded<RaiseFloorCall>(request, inner_.raise_floor(request));
  }

  Result<AcquireReply> acquire(const AcquireRequest& request) override {
    return recorded<AcquireCall>(request, inner_.acquire(request));
  }
  Result<RenewReply> renew(const RenewRequest& request) override {
    return recorded<RenewCall>(request, inner_.renew(request));
  }
  Result<ReleaseReply> release(const ReleaseRequest& request) override {
    return recorded<ReleaseCall>(request, inner_.release(request));
  }
  Result<void> withdraw(const WithdrawRequest& request) override {
    return recorded<WithdrawCall>(request, inner_.withdraw(request));
  }
  Result<BreakReply> break_lock(const BreakRequest& request) override {
    return recorded<BreakCall>(request, inner_.break_lock(request));
  }

  Result<StepReply> step_ticks(const StepRequest& request) override {
    return recorded<StepCall>(request, inner_.step_ticks(request));
  }
  Result<ChangeScheduleReply> change_schedule(const ChangeScheduleRequest& request) override {
    return recorded<ChangeScheduleCall>(request, inner_.change_schedule(request));
  }

 private:
  template <class AnyCall, class Request, class Answer>
  Answer recorded(const Request& request, Answer reply) {
    observer_.applied({clock_.now(), clock_.wall_now(), AnyCall{request, reply}});
    return reply;
  }

  Clock& clock_;
  StoreObserver& observer_;
};

}  // namespace fenceline::sim

// Ground truth: every changing call as it reached the real store, in the order in which it took effect there,
// with the store's own time and its own answer. Checks are computed from this and nothing else.
#pragma once

#include <string>
#include <type_traits>
#include <variant>

#include "base/result.hpp"
#include "base/time.hpp"
#include "store/store.hpp"

namespace fenceline::sim {

template <class Request, class Reply>
struct Call {
  const Request& request;
  const Result<Reply>& reply;
};
using EnqueueCall = Call<EnqueueRequest, EnqueueReply>;
using ClaimCall = Call<ClaimRequest, ClaimReply>;
using GiveBackCall = Call<GiveBackRequest, void>;
using ExtendCall = Call<ExtendRequest, ExtendReply>;
using SettleCall = Call<SettleRequest, SettleReply>;
using RecordCall = Call<RecordRequest, RecordReply>;
using BatchCall = Call<BatchRequest, BatchReply>;
// Both carry an ActRequest, so the verb is part of the type.
struct CancelCall : Call<ActRequest, ActReply> {};
struct RetryCall : Call<ActRequest, ActReply> {};
using PurgeCall = Call<PurgeRequest, PurgeReply>;
using SetQueueCall = Call<SetQueueRequest, void>;
using PauseCall = Call<PauseRequest, void>;
using TidyCall = Call<TidyRequest, TidyReply>;
using OrderCall = Call<OrderRequest, void>;
using StoppedCall = Call<StoppedRequest, void>;
using BeginEffectCall = Call<BeginEffectRequest, BeginEffectReply>;
using FinishEffectCall = Call<FinishEffectRequest, FinishEffectReply>;
using ResolveEffectCall = Call<ResolveEffectRequest, void>;
using RaiseFloorCall = Call<RaiseFloorRequest, Fence>;
using AcquireCall = Call<AcquireRequest, AcquireReply>;
using RenewCall = Call<RenewRequest, RenewReply>;
using ReleaseCall = Call<ReleaseRequest, ReleaseReply>;
using WithdrawCall = Call<WithdrawRequest, void>;
using BreakCall = Call<BreakRequest, BreakReply>;
using StepCall = Call<StepRequest, StepReply>;
using ChangeScheduleCall = Call<ChangeScheduleRequest, ChangeScheduleReply>;

using AnyCall =
    std::variant<EnqueueCall, ClaimCall, GiveBackCall, ExtendCall, SettleCall, RecordCall, BatchCall, CancelCall,
                 RetryCall, PurgeCall, SetQueueCall, PauseCall, TidyCall, OrderCall, StoppedCall, BeginEffectCall,
                 FinishEffectCall, ResolveEffectCall, RaiseFloorCall, AcquireCall, RenewCall, ReleaseCall, WithdrawCall,
                 BreakCall, StepCall, ChangeScheduleCall>;

struct Applied {
  Instant at;     // true time, which is what the store's leases run on
  WallTime wall;  // the store's
  AnyCall call;
};

// Whether observers are told of such a call.
template <class One, class Any = AnyCall>
inline constexpr bool is_observed = false;
template <class One, class... Calls>
inline constexpr bool is_observed<One, std::variant<Calls...>> = (std::is_same_v<One, Calls> || ...);

class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  virtual void applied(const Applied& applied) = 0;
};

// The last eight digits of an id: enough to tell jobs apart in a sentence.
std::string short_id(const JobId& id);

// One line for the trace: "claim owner-1 limit 2: 1 granted 5f3a90c1/1767225600000001".
std::string describe(const Applied& applied);

}  // namespace fenceline::sim

// Replies as text: two are the same exactly when their texts are. Of errors only the code counts; cursors are
// each store's own, so only whether there is one.
#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"

namespace fenceline::test {

std::string text_of(const Job& job);
std::string text_of(const EnqueueReply& reply);
std::string text_of(const ClaimReply& reply);
std::string text_of(const ExtendReply& reply);
std::string text_of(const SettleReply& reply);
std::string text_of(const std::optional<Job>& job);
std::string text_of(const JobsReply& reply);
std::string text_of(const BacklogReply& reply);
std::string text_of(const BatchReply& reply);
std::string text_of(const RecordReply& reply);
std::string text_of(const std::optional<LogReply>& reply);
std::string text_of(const ActReply& reply);
std::string text_of(const PurgeReply& reply);
std::string text_of(const std::vector<QueueRow>& rows);
std::string text_of(const std::optional<JobFacts>& facts);
std::string text_of(const std::vector<Attempt>& attempts);
std::string text_of(const OrdersReply& reply);
std::string text_of(const BeginEffectReply& reply);
std::string text_of(const FinishEffectReply& reply);
std::string text_of(const EffectsReply& reply);
std::string text_of(const AcquireReply& reply);
std::string text_of(const RenewReply& reply);
std::string text_of(const ReleaseReply& reply);
std::string text_of(const LocksReply& reply);
std::string text_of(const std::optional<LockRow>& row);
std::string text_of(const BreakReply& reply);
std::string text_of(const SchedulesReply& reply);
std::string text_of(const StepReply& reply);
std::string text_of(const ChangeScheduleReply& reply);
std::string text_of(const TicksReply& reply);
std::string text_of(const PipelineRow& row);
std::string text_of(const std::vector<PipelineRow>& rows);
std::string text_of(const ItemsReply& reply);
std::string text_of(const ChangeItemsReply& reply);
std::string text_of(Fence fence);
std::string text_of(const std::vector<JobId>& found);
std::string text_of(const std::vector<WorkerRow>& rows);
// The entries of namespaces; what a store says of itself is its own affair.
std::string text_of(const std::vector<TrailEntry>& entries);

template <class T>
std::string text_of(const Result<T>& result) {
  if (!result) return "error " + std::string(to_string(result.error().code));
  if constexpr (std::is_void_v<T>) return "ok";
  else return text_of(*result);
}

// For the report of a difference.
std::string text_of(const EnqueueRequest& request);
std::string text_of(const ClaimRequest& request);
std::string text_of(const ExtendRequest& request);
std::string text_of(const SettleRequest& request);
std::string text_of(const RecordRequest& request);
std::string text_of(const ActRequest& request);
std::string text_of(const AcquireRequest& request);
std::string text_of(const std::vector<LockHolding>& locks);
std::string text_of(const SchedulesRequest& request);
std::string text_of(const StepRequest& request);
std::string text_of(const ChangeScheduleRequest& request);
std::string text_of(const ChangeItemsRequest& request);

}  // namespace fenceline::test

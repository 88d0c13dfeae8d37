// A Store that writes every call that may change something, each look at one job, and what pipelines are, into a
// history: a line before the call and one after it. It changes nothing and waits for nothing but the file.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "history/recorder.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::history {

class HistoryStore final : public ForwardingStore {
 public:
  // Both must outlive it.
  HistoryStore(Recorder& recorder, Store& inner) : ForwardingStore(inner), recorder_(recorder) {}

  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override;
  Result<BatchReply> open_batch(const BatchRequest& request) override;
  Result<ClaimReply> claim(const ClaimRequest& request) override;
  Result<void> give_back(const GiveBackRequest& request) override;
  Result<ExtendReply> extend(const ExtendRequest& request) override;
  Result<SettleReply> settle(const SettleRequest& request) override;
  Result<RecordReply> record(const RecordRequest& request) override;
  Result<std::optional<Job>> job(const std::string& ns, const JobId& id) override;

  Result<ActReply> cancel(const ActRequest& request) override;
  Result<ActReply> retry(const ActRequest& request) override;
  Result<PurgeReply> purge(const PurgeRequest& request) override;
  Result<void> set_queue(const SetQueueRequest& request) override;
  Result<void> pause(const PauseRequest& request) override;
  Result<TidyReply> tidy(const TidyRequest& request) override;
  Result<Fence> raise_floor(const RaiseFloorRequest& request) override;

  Result<BeginEffectReply> begin_effect(const BeginEffectRequest& request) override;
  Result<FinishEffectReply> finish_effect(const FinishEffectRequest& request) override;
  Result<void> resolve_effect(const ResolveEffectRequest& request) override;

  Result<AcquireReply> acquire(const AcquireRequest& request) override;
  Result<RenewReply> renew(const RenewRequest& request) override;
  Result<ReleaseReply> release(const ReleaseRequest& request) override;
  Result<void> withdraw(const WithdrawRequest& request) override;
  Result<BreakReply> break_lock(const BreakRequest& request) override;

  // Each step is a call of its own, and so is the enqueue of each job.
  Result<StepReply> step_ticks(const StepRequest& request) override;
  Result<ChangeScheduleReply> change_schedule(const ChangeScheduleRequest& request) override;

  Result<PipelineRow> put_pipeline(const PutPipelineRequest& request) override;
  // Written when it shows a pipeline that was not written before, or has changed since.
  Result<std::vector<PipelineRow>> pipelines(const std::string& ns) override;
  Result<ChangeItemsReply> change_items(const ChangeItemsRequest& request) override;

  Result<void> stopped(const StoppedRequest& request) override;
  Result<void> remove_namespace(const std::string& ns, const Act& act) override;

 private:
  // Of the last requests about schedules: a repeat does not say whether it or the first one added a job.
  bool is_repeat(const std::string& request);
  bool is_news(const std::string& ns, const std::string& pipeline, std::int64_t revision);

  Recorder& recorder_;
  std::mutex mutex_;
  std::deque<std::string> requests_;
  std::map<std::pair<std::string, std::string>, std::int64_t> pipelines_;  // their newest revisions that were written
};

// What an error says of its call: `broken` and `in_doubt` leave it open whether it happened, all others do not.
Kind kind_of(const Error& error);

}  // namespace fenceline::history

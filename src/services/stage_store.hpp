// A store as a worker of a pipeline sees it. What a worker says of an item of its stage is looked at by the rules of
// the pipeline: `done` moves the item on and ends the delivery in one step of the store (P2), to the next stage or its
// entry condition (P1); failures count by the stage; what a person holds is not handed out. Jobs of queues without a
// pipeline pass through untouched, and so does all else.
//
// Stages are named as people name them: the first one of a pipeline too, also where jobs are enqueued or fired by a
// schedule. A pipeline that is applied while the worker runs is known within two seconds; an edit with the next claim
// and the next outcome. What a newer version wrote, a pipeline or the record of an item, is left to workers that can
// read it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/pipeline_book.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline {

struct StageStoreOptions {
  std::string ns = "default";
  std::vector<std::string> queues;  // of its worker
  bool run_checks = false;          // its process runs the check commands: a drain waits for them
};

// Whether workers of its pipeline look after such a condition; check commands are run only by those that are told to.
bool is_looked_after(const StageEntry& entry, bool run_checks);

class StageStore final : public ForwardingStore {
 public:
  // All references must outlive it.
  StageStore(Runtime& runtime, Store& inner, StageStoreOptions options);
  // For a worker that looks after one condition, as it is now: once it is edited nothing is handed out any more, and
  // what the worker says then of items there means nothing (P1).
  StageStore(const StageStore& like, StageEntry entry);

  // The pipelines of its queues, as they were two seconds ago at most.
  Result<std::shared_ptr<const KnownPipelines>> known() { return book_->recent(); }

  // Each job with the timeout, the attempts and the stage's name that its pipeline says. An item that is held, or came
  // to its stage by no way that the pipeline has, goes back at no cost, is put on waiting, and is not among the
  // answers. If that cannot be found out the answer is in doubt: a repeat brings the same grants. Queues in which the
  // stage is the first one are not served in one claim with others: whichever is named first counts.
  Result<ClaimReply> claim(const ClaimRequest& request) override;
  // A repeat of what moved an item is accepted, unless another delivery has moved it since.
  Result<SettleReply> settle(const SettleRequest& request) override;
  // Of a stage whose condition is looked after here: of both.
  Result<BacklogReply> backlog(const BacklogRequest& request) override;
  // Errors besides: those of stage_of_new_job().
  Result<EnqueueReply> enqueue(const EnqueueRequest& request) override;
  // The stage of a new job, as the store has it: an item begins at the first stage of its pipeline, which has no name
  // there. Errors: invalid (no such stage, or the pipeline is of a newer version), conflict (it is not the first one).
  Result<std::string> stage_of_new_job(const std::string& queue, const std::string& stage);
  Result<StepReply> step_ticks(const StepRequest& request) override;
  Result<ChangeScheduleReply> change_schedule(const ChangeScheduleRequest& request) override;
  Result<void> report_worker(const WorkerReport& report) override;
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override;

 private:
  using Known = std::shared_ptr<const KnownPipelines>;

  Result<void> give_back_strays(const ClaimRequest& request, const KnownPipelines& known, ClaimReply& reply);
  bool is_its_entry(const KnownPipelines& known, const std::string& queue, const std::string& stage) const;
  Result<void> as_stored(NewJob& job);
  Result<void> keep_what_may_run(const ClaimRequest& request, const KnownPipelines& known, ClaimReply& reply);
  Result<std::vector<Settlement>> decide_and_send(const SettleRequest& request, const KnownPipelines& known,
                                                  const std::vector<Settlement>& settlements,
                                                  std::vector<Settlement>& plain, std::vector<ItemMoved>& moved);

  Runtime& runtime_;
  const StageStoreOptions options_;
  const std::optional<StageEntry> entry_;  // that its worker looks after
  std::shared_ptr<PipelineBook> book_;     // of its queues
  std::shared_ptr<PipelineBook> all_;      // of the namespace
};

}  // namespace fenceline

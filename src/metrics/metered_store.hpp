// A Store that counts what its user asks of another one: how long calls take, whether they are answered, what they
// grant, renew and refuse. It changes nothing.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <variant>

#include "metrics/metrics.hpp"
#include "runtime/clock.hpp"
#include "store/forwarding_store.hpp"

namespace fenceline::metrics {

// A map that forgets what came first when it is full: for what may never be heard of again.
template <class Value>
class Remembered {
 public:
  static constexpr std::size_t kMost = 10'000;

  // What is there stays.
  void add(const std::string& key, Value value) {
    if (!values_.emplace(key, std::move(value)).second) return;
    order_.push_back(key);
    while (values_.size() > kMost || order_.size() > 2 * kMost) {
      values_.erase(order_.front());
      order_.pop_front();
    }
  }
  bool contains(const std::string& key) const { return values_.contains(key); }
  std::optional<Value> take(const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    Value value = std::move(found->second);
    values_.erase(found);
    return value;
  }

 private:
  std::map<std::string, Value> values_;
  std::deque<std::string> order_;  // of those that were added, gone ones included
};

class MeteredStore final : public ForwardingStore {
 public:
  // All must outlive it.
  MeteredStore(const Clock& clock, Metrics& metrics, Store& inner)
      : ForwardingStore(inner), clock_(clock), metrics_(metrics) {}

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
  Result<std::vector<Finding>> examine() override;

 private:
  template <class Call>
  auto timed(std::string_view verb, Call call) -> decltype(call());
  void count_call(std::string_view verb, Instant asked, const Error* error);
  void count_refused(std::string_view verb, std::size_t number);
  void count_granted(const AcquireRequest& request, const AcquireReply& reply);
  void count_settled(const SettleRequest& request, const SettleReply& reply);
  void lock_ended(const std::string& owner);

  const Clock& clock_;
  Metrics& metrics_;
  std::mutex mutex_;                          // guards what follows; never held across a call
  Remembered<Instant> asked_;                 // requests for locks, by request: when they first asked
  Remembered<Instant> held_;                  // locks, by owner: since when
  Remembered<std::monostate> last_attempts_;  // deliveries whose failure would end their job
};

}  // namespace fenceline::metrics

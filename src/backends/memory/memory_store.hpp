// The reference store: ordered maps and loops, as close to the words of store/job_store.hpp as code can be.
// It is the oracle of the differential tests and the store of the simulator, so it prefers the plain way to
// the fast one, shares no code with another store, and goes away with its process.
//
// One mutex guards everything and is never held across a callback. No call blocks or yields.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/clock.hpp"
#include "store/store.hpp"

namespace fenceline {

class MemoryStore final : public Store {
 public:
  // The clock must outlive the store.
  explicit MemoryStore(Clock& clock);
  ~MemoryStore() override;

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
  Result<BacklogReply> backlog(const BacklogRequest& request) override;

  Result<ActReply> cancel(const ActRequest& request) override;
  Result<ActReply> retry(const ActRequest& request) override;
  Result<PurgeReply> purge(const PurgeRequest& request) override;
  Result<void> set_queue(const SetQueueRequest& request) override;
  Result<void> pause(const PauseRequest& request) override;
  Result<std::vector<QueueRow>> queues(const std::string& ns) override;
  Result<TidyReply> tidy(const TidyRequest& request) override;
  Result<std::optional<JobFacts>> facts(const std::string& ns, const JobId& id) override;
  Result<std::vector<Attempt>> attempts(const std::string& ns, const JobId& id) override;

  Result<void> report_worker(const WorkerReport& report) override;
  Result<void> remove_worker(const std::string& ns, const std::string& owner) override;
  Result<void> order_worker(const OrderRequest& request) override;
  Result<OrdersReply> orders(const std::string& ns, const std::string& owner) override;
  Result<void> stopped(const StoppedRequest& request) override;
  Result<std::vector<WorkerRow>> workers(const std::string& ns) override;

  Result<std::vector<TrailEntry>> trail(const std::string& ns, int limit) override;
  Result<void> remove_namespace(const std::string& ns, const Act& act) override;

  StoreProfile profile() const override;
  Result<std::vector<Finding>> examine() override;
  // The callback runs on the thread of the caller whose change it tells of, after that change. The handle waits
  // for a callback under way, so it must not be destroyed from inside one.
  std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) override;

 private:
  struct Entry {
    Job job;                 // its lease_left is left empty: that depends on when one asks
    std::int64_t order = 0;  // of enqueue
    Instant lease_end{};     // while running
    std::string request;     // of the last grant
  };
  struct Granted {
    Holding holding;
    bool forced = false;
    std::string previous_owner;
  };
  // A claim that granted something or was given back: until its end it grants nothing (more).
  struct ClaimRecord {
    Instant end{};
    std::vector<Granted> granted;
  };
  struct Space {
    std::map<JobId, Entry> jobs;
    std::map<std::pair<std::string, std::string>, ClaimRecord> claims;  // by owner and request
    std::map<std::string, WorkerRow> workers;                           // by owner
  };
  struct Now {
    Instant lease;
    WallTime wall;
  };
  struct Listener;
  class Handle;

  static Job shown(const Entry& entry, const Now& now);
  static bool expired(const Entry& entry, const Now& now);
  static bool due(const Entry& entry, const Now& now);
  static bool must_run_alone_now(const Entry& entry, const Now& now);
  static std::vector<Entry*> claimable(Space& space, const ClaimRequest& request, const Now& now);
  static std::optional<Duration> next_due(const Space& space, const ClaimRequest& request, const Now& now);
  static std::vector<ClaimedJob> still_held(const Space& space, const ClaimRecord& record, const ClaimRequest& request, const Now& now);
  static std::string refusal(const Entry* entry, const std::string& owner, Fence sent);

  Now now() const { return {clock_.now(), clock_.wall_now()}; }
  Space* find_space(const std::string& ns);
  Result<std::vector<ClaimedJob>> grant(Space& space, const ClaimRequest& request, const Now& now);
  // Calls, without the mutex, everyone who watches one of these jobs.
  void tell(const std::string& ns, const std::vector<std::pair<std::string, std::string>>& queues_and_stages);

  Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Space> spaces_;
  std::int64_t last_order_ = 0;
  Fence floor_ = 0;  // the largest fence ever deleted
  std::vector<TrailEntry> trail_;
  std::vector<std::shared_ptr<Listener>> listeners_;  // in the order in which they came, so that a seed replays
};

}  // namespace fenceline

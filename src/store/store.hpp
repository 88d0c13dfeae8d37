// The Store seam: all that is durable, in one object. One header per concern; a backend implements them all
// and says in its profile what it can promise. What every backend needs (faults, metrics) is a decorator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/effect_ledger.hpp"
#include "store/job_control.hpp"
#include "store/job_store.hpp"
#include "store/lock_store.hpp"
#include "store/pipeline_store.hpp"
#include "store/schedule_store.hpp"
#include "store/trail.hpp"
#include "store/worker_registry.hpp"

namespace fenceline {

// What a crash can take. A: nothing, quorum; B: nothing on one machine; C: the last moments; D: best effort.
enum class GuaranteeClass { a, b, c, d };
constexpr char letter(GuaranteeClass c) { return static_cast<char>('A' + static_cast<int>(c)); }

struct StoreProfile {
  std::string kind;  // "sqlite"
  std::string url;   // as a user may see it: no secret
  GuaranteeClass guarantee = GuaranteeClass::d;
  std::vector<std::string> reasons;  // "synchronous=FULL: a commit is on disk before it is acknowledged"
};

enum class FindingStatus { ok, warning, bad };

// One thing `fenceline doctor` looked at.
struct Finding {
  std::string name;  // "wal_size"
  FindingStatus status = FindingStatus::ok;
  std::string detail;                  // "1.2 MiB"
  std::string remedy;                  // the command that mends it, or empty if ok
  std::string why = {};                // it matters; empty if ok
  std::optional<WallTime> since = {};  // when it began, if anybody knows
};

struct WatchRequest {
  std::string ns;
  std::vector<std::string> queues;
  std::string stage;
  bool orders =
      false;  // also when there may be new orders for some worker of the namespace, or a schedule of it was changed
  std::vector<std::string> locks =
      {};  // names: also when one of them was released, broken, or its queue became shorter
};

// Calls back when jobs of these queues may have become claimable, one of these locks may be had or was broken or, if
// asked for, orders may have come; from any thread, until the handle goes away. A hint that shortens a sleep: it may
// come too often, too late or never.
class Watch {
 public:
  virtual ~Watch() = default;
};

class Store : public JobStore,
              public JobControl,
              public EffectLedger,
              public LockStore,
              public ScheduleStore,
              public PipelineStore,
              public WorkerRegistry,
              public Trail {
 public:
  virtual StoreProfile profile() const = 0;
  virtual Result<std::vector<Finding>> examine() = 0;
  virtual std::unique_ptr<Watch> watch(const WatchRequest& request, std::function<void()> on_change) = 0;
};

// The checks every backend makes first, so that all answer alike. Errors: invalid.
Result<void> check_request(const EnqueueRequest& request);
Result<void> check_request(const ClaimRequest& request);
Result<void> check_request(const GiveBackRequest& request);
Result<void> check_request(const ExtendRequest& request);
Result<void> check_request(const SettleRequest& request);
Result<void> check_request(const JobsRequest& request);
Result<void> check_request(const IdsRequest& request);
Result<void> check_request(const BacklogRequest& request);
Result<void> check_request(const WorkerReport& report);
Result<void> check_request(const BatchRequest& request);
Result<void> check_request(const RecordRequest& request);
Result<void> check_request(const LogRequest& request);
Result<void> check_request(const ActRequest& request);
Result<void> check_request(const SetQueueRequest& request);
Result<void> check_request(const PauseRequest& request);
Result<void> check_request(const PurgeRequest& request);
Result<void> check_request(const TidyRequest& request);
Result<void> check_request(const OrderRequest& request);
Result<void> check_request(const StoppedRequest& request);
Result<void> check_request(const RaiseFloorRequest& request);
Result<void> check_request(const BeginEffectRequest& request);
Result<void> check_request(const FinishEffectRequest& request);
Result<void> check_request(const ResolveEffectRequest& request);
Result<void> check_request(const EffectsRequest& request);
Result<void> check_request(const AcquireRequest& request);
Result<void> check_request(const RenewRequest& request);
Result<void> check_request(const ReleaseRequest& request);
Result<void> check_request(const WithdrawRequest& request);
Result<void> check_request(const LocksRequest& request);
Result<void> check_request(const BreakRequest& request);
Result<void> check_request(const SchedulesRequest& request);
Result<void> check_request(const StepRequest& request);
Result<void> check_request(const ChangeScheduleRequest& request);
Result<void> check_request(const TicksRequest& request);
Result<void> check_request(const PutPipelineRequest& request);
Result<void> check_request(const ItemsRequest& request);
Result<void> check_request(const ChangeItemsRequest& request);

}  // namespace fenceline

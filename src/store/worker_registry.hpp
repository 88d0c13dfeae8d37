// Who works here. For people: a row of this registry never decides about a lease that was granted. Its order decides
// whether the next one is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "store/job_store.hpp"
#include "store/trail.hpp"

namespace fenceline {

struct WorkerReport {
  std::string ns;
  std::string owner;
  std::string host;
  std::int64_t pid = 0;
  std::string version;
  std::vector<std::string> queues;
  std::string stage;
  int concurrency = 1;
  Duration ttl{};                // a worker not seen for longer is gone, or cut off
  std::vector<Holding> holding;  // what it believes it holds
  Duration timeout = kCallTimeout;

  bool operator==(const WorkerReport&) const = default;
};

// What an operator wants of a worker. It goes on by itself from quiet to work, never back from stop.
enum class WorkerOrder {
  work,
  quiet,  // claims nothing more, finishes what it has, and stays
  stop,   // ends as on SIGTERM
};
std::string_view to_string(WorkerOrder order);

struct OrderRequest {
  std::string ns;
  std::string owner;
  WorkerOrder order = WorkerOrder::work;
  Act act;
  Duration timeout = kCallTimeout;
};

// What a worker asks for often, so it only reads.
struct OrdersReply {
  WorkerOrder order = WorkerOrder::work;
  std::vector<Holding> revoked;  // deliveries to this owner that an operator ended, or a doubt about an effect, and
                                 // that keep their slot, by id
  std::vector<Holding> held;  // those of them that a doubt ended, and no operator since: their job has no other fence
};

struct StoppedRequest {
  std::string ns;
  std::string owner;
  std::vector<Holding> jobs;
  Duration timeout = kCallTimeout;
};

struct WorkerRow {
  WorkerReport report;
  WorkerOrder order = WorkerOrder::work;
  WallTime started_at;  // both on the store's clock
  WallTime seen_at;
  Duration unseen{0};  // since then, by the store: a clock of another machine would be another time
};

// A worker that died without a word leaves its row behind for this long, for people to see.
inline constexpr Duration kWorkerForgottenAfter = std::chrono::hours{24};

class WorkerRegistry {
 public:
  virtual ~WorkerRegistry() = default;
  // Adds the worker or brings its row up to date, and forgets those of its namespace that were not seen for
  // kWorkerForgottenAfter.
  virtual Result<void> report_worker(const WorkerReport& report) = 0;
  // Repeated, or unknown: ok.
  virtual Result<void> remove_worker(const std::string& ns, const std::string& owner) = 0;

  // In force for every claim of that worker from then on, whether or not it has heard of it. The same again: ok, and no
  // second entry in the trail. Errors: not_found (no such worker), refused (it was told to stop).
  virtual Result<void> order_worker(const OrderRequest& request) = 0;
  // An owner that is not known gets `work`: its row may have been forgotten.
  virtual Result<OrdersReply> orders(const std::string& ns, const std::string& owner) = 0;
  // Nothing of these revoked deliveries runs any more: their slots are free. Repeated, or unknown: ok.
  virtual Result<void> stopped(const StoppedRequest& request) = 0;
  virtual Result<std::vector<WorkerRow>> workers(const std::string& ns) = 0;  // by start, then owner
};

}  // namespace fenceline

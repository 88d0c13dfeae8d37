#include "backends/sqlite/sqlite_store.hpp"

#include <unistd.h>

#include <utility>

#include "backends/sqlite/filesystem.hpp"
#include "backends/sqlite/opening.hpp"
#include "backends/sqlite/store_calls.hpp"
#include "backends/sqlite/store_parts.hpp"
#include "backends/sqlite/verbs.hpp"

namespace fenceline {
namespace {

using sqlite::read;
using sqlite::Weight;
using sqlite::write;

Weight weight_of(const EnqueueRequest& request) {
  Weight weight{request.jobs.size(), 0};
  for (const NewJob& job : request.jobs) weight.bytes += job.payload.size();
  return weight;
}
Weight weight_of(const SettleRequest& request) {
  Weight weight{request.settlements.size(), 0};
  for (const Settlement& settlement : request.settlements) weight.bytes += settlement.outcome.result.size();
  return weight;
}
Weight weight_of(const ClaimRequest& request) { return {static_cast<std::size_t>(request.limit), 0}; }
Weight weight_of(const ExtendRequest& request) { return {request.jobs.size(), 0}; }

struct WorkerName {
  std::string ns;
  std::string owner;
};
Result<void> remove_named_worker(sqlite::Call& call, const WorkerName& worker) {
  return sqlite::remove_worker(call, worker.ns, worker.owner);
}

struct NamespaceRemoval {
  std::string ns;
  Act act;
};
Result<void> remove_named_namespace(sqlite::Call& call, const NamespaceRemoval& removal) {
  return sqlite::remove_namespace(call, removal.ns, removal.act);
}

// The task follows the wake file; it ends with the handle.
class FollowingWatch final : public Watch {
 public:
  explicit FollowingWatch(Task task) : task_(std::move(task)) {}

 private:
  Task task_;
};

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(Runtime& runtime, Clock& clock, Log log, SqliteOptions options) {
  const std::string given_path = options.path;
  if (given_path != ":memory:") {
    Result<std::string> path = sqlite::canonical_path(given_path);
    if (!path) return std::unexpected(path.error());
    options.path = std::move(*path);
  }
  auto parts = std::make_unique<Parts>(Parts{runtime, clock, log, std::move(options), given_path, ::getpid(), nullptr,
                                             nullptr, nullptr, nullptr, nullptr, nullptr, nullptr});
  const SqliteOptions& chosen = parts->options;
  if (chosen.path == ":memory:") {
    try {
      parts->direct = std::make_unique<sqlite::DirectConnection>(clock, sqlite::open_in_memory(clock, chosen));
    } catch (const sqlite::SqliteFailure& failure) {
      return std::unexpected(failure.error(chosen.path));
    }
    return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(parts)));
  }
  Result<sqlite::OpenedFile> opened = sqlite::open_file(runtime, clock, chosen);
  if (!opened) return std::unexpected(opened.error());
  parts->locks = std::move(opened->locks);
  parts->writer_db = std::move(opened->writer);
  parts->wakes = std::make_unique<sqlite::WakeFile>(chosen.path + "-wake");
  parts->lock_watches = std::make_unique<sqlite::LockWatches>(runtime, *parts->wakes);
  parts->readers = std::make_unique<sqlite::Readers>(clock, chosen);
  parts->writer = std::make_unique<sqlite::Writer>(
      runtime, clock, log, *parts->writer_db, *parts->locks, *parts->wakes,
      sqlite::WriterOptions{chosen.path, chosen.checkpoint_pages, sqlite::StoreFiles(chosen.path)});
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(parts)));
}

SqliteStore::SqliteStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

SqliteStore::~SqliteStore() {
  // After a fork nothing of this is the child's to close: its threads are not there, its connections are the parent's.
  if (::getpid() != parts_->pid) static_cast<void>(parts_.release());
}

Result<EnqueueReply> SqliteStore::enqueue(const EnqueueRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, weight_of(request), request.timeout, &sqlite::enqueue);
}

Result<ClaimReply> SqliteStore::claim(const ClaimRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, weight_of(request), request.timeout, &sqlite::claim);
}

Result<void> SqliteStore::give_back(const GiveBackRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  return write(*parts_, request, {}, request.timeout, &sqlite::give_back);
}

Result<ExtendReply> SqliteStore::extend(const ExtendRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, weight_of(request), request.timeout, &sqlite::extend);
}

Result<SettleReply> SqliteStore::settle(const SettleRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return write(*parts_, request, weight_of(request), request.timeout, &sqlite::settle);
}

Result<std::optional<Job>> SqliteStore::job(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  return read<std::optional<Job>>(*parts_, [&](sqlite::Call& call) { return sqlite::find_job(call, ns, id); });
}

Result<JobsReply> SqliteStore::jobs(const JobsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return read<JobsReply>(*parts_, [&](sqlite::Call& call) { return sqlite::list_jobs(call, request); });
}

Result<std::vector<JobId>> SqliteStore::ids(const IdsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return read<std::vector<JobId>>(*parts_, [&](sqlite::Call& call) { return sqlite::list_ids(call, request); });
}

Result<BacklogReply> SqliteStore::backlog(const BacklogRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  return read<BacklogReply>(*parts_, [&](sqlite::Call& call) { return sqlite::backlog(call, request); });
}

Result<void> SqliteStore::report_worker(const WorkerReport& report) {
  if (auto ok = check_request(report); !ok) return ok;
  return write(*parts_, report, {}, report.timeout, &sqlite::report_worker);
}

Result<void> SqliteStore::remove_worker(const std::string& ns, const std::string& owner) {
  if (auto ok = check_name("namespace", ns); !ok) return ok;
  return write(*parts_, WorkerName{ns, owner}, {}, kCallTimeout, &remove_named_worker);
}

Result<std::vector<WorkerRow>> SqliteStore::workers(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  return read<std::vector<WorkerRow>>(*parts_, [&](sqlite::Call& call) { return sqlite::workers(call, ns); });
}

Result<std::vector<TrailEntry>> SqliteStore::trail(const std::string& ns, int limit) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  if (limit < 1) return fail(Code::invalid, "limit must be at least 1");
  return read<std::vector<TrailEntry>>(*parts_, [&](sqlite::Call& call) { return sqlite::trail(call, ns, limit); });
}

Result<std::vector<std::string>> SqliteStore::namespaces() {
  return read<std::vector<std::string>>(*parts_, [](sqlite::Call& call) { return sqlite::namespaces(call); });
}

Result<void> SqliteStore::remove_namespace(const std::string& ns, const Act& act) {
  if (auto ok = check_name("namespace", ns); !ok) return ok;
  return write(*parts_, NamespaceRemoval{ns, act}, {}, kCallTimeout, &remove_named_namespace);
}

std::unique_ptr<Watch> SqliteStore::watch(const WatchRequest& request, std::function<void()> on_change) {
  std::vector<sqlite::QueueName> queues;
  for (const std::string& queue : request.queues) queues.push_back({request.ns, queue, request.stage});
  if (request.orders) queues.push_back(sqlite::orders_of(request.ns));
  for (const std::string& name : request.locks) queues.push_back(sqlite::lock_name(request.ns, name));
  if (parts_->direct) return parts_->direct->watch(std::move(queues), std::move(on_change));
  if (request.queues.empty() && !request.orders)
    return parts_->lock_watches->watch(std::move(queues), std::move(on_change));
  sqlite::WakeFile& wakes = *parts_->wakes;
  // Counted here: what happens before its thread first runs is told, too.
  return std::make_unique<FollowingWatch>(parts_->runtime.spawn(
      "sqlite_watch", [&wakes, queues, seen = wakes.counts(queues), tell = std::move(on_change)](std::stop_token stop) {
        wakes.follow(queues, seen, stop, tell);
      }));
}

}  // namespace fenceline

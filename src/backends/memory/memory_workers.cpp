// Who works here, and what operators want of them.
#include <algorithm>
#include <tuple>

#include "backends/memory/memory_store.hpp"

namespace fenceline {

Result<void> MemoryStore::report_worker(const WorkerReport& report) {
  if (auto ok = check_request(report); !ok) return ok;
  const std::lock_guard lock(mutex_);
  const WallTime wall = clock_.wall_now();
  auto& workers = spaces_[report.ns].workers;
  // Not the one that reports: it is here, whatever the clock says, and keeps its order.
  std::erase_if(workers, [&](const auto& entry) {
    return entry.second.seen_at <= wall - kWorkerForgottenAfter && entry.first != report.owner;
  });
  const auto [place, is_new] = workers.try_emplace(report.owner);
  WorkerRow& row = place->second;
  row.report = report;
  if (is_new) row.started_at = wall;
  row.seen_at = wall;
  return {};
}

Result<void> MemoryStore::remove_worker(const std::string& ns, const std::string& owner) {
  if (auto ok = check_name("namespace", ns); !ok) return ok;
  const std::lock_guard lock(mutex_);
  if (Space* space = find_space(ns)) space->workers.erase(owner);
  return {};
}

Result<std::vector<WorkerRow>> MemoryStore::workers(const std::string& ns) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  std::vector<WorkerRow> rows;
  if (const Space* space = find_space(ns)) {
    for (const auto& [owner, row] : space->workers) rows.push_back(row);
    for (WorkerRow& row : rows) row.unseen = clock_.wall_now() - row.seen_at;
  }
  std::sort(rows.begin(), rows.end(), [](const WorkerRow& a, const WorkerRow& b) {
    return std::tie(a.started_at, a.report.owner) < std::tie(b.started_at, b.report.owner);
  });
  return rows;
}

Result<void> MemoryStore::order_worker(const OrderRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  {
    const std::lock_guard lock(mutex_);
    Space* space = find_space(request.ns);
    const auto found = space ? space->workers.find(request.owner) : std::map<std::string, WorkerRow>::iterator{};
    if (!space || found == space->workers.end())
      return fail(Code::not_found,
                  "no worker " + request.owner + " is registered; `fenceline workers list` shows them");
    WorkerOrder& order = found->second.order;
    if (order == request.order) return {};
    if (order == WorkerOrder::stop)
      return fail(Code::refused, "worker " + request.owner + " was told to stop; start another one");
    order = request.order;
    note_act(request.ns, request.act, "worker_" + std::string(to_string(order)), request.owner, now());
  }
  tell(request.ns, {.claimable = {}, .orders = true});
  return {};
}

Result<OrdersReply> MemoryStore::orders(const std::string& ns, const std::string& owner) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  OrdersReply reply;
  const Space* space = find_space(ns);
  if (!space) return reply;
  if (const auto found = space->workers.find(owner); found != space->workers.end()) reply.order = found->second.order;
  for (const auto& [id, entry] : space->jobs) {
    if (!keeps_slot(entry, now) || entry.revoked->owner != owner) continue;
    reply.revoked.push_back({id, entry.revoked->fence});
    if (entry.job.fence == entry.revoked->fence) reply.held.push_back(reply.revoked.back());
  }
  return reply;
}

Result<void> MemoryStore::stopped(const StoppedRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    Space& space = spaces_[request.ns];
    for (const Holding& holding : request.jobs) {
      Entry* entry = find_job(space, holding.id);
      if (!entry || !entry->revoked) continue;
      if (entry->revoked->owner != request.owner || entry->revoked->fence != holding.fence) continue;
      entry->revoked.reset();
      note_free_slot(space, *entry, changes);
      if (entry->job.state == JobState::ready) changes.claimable.emplace(entry->job.queue, entry->job.stage);
    }
  }
  tell(request.ns, changes);
  return {};
}

}  // namespace fenceline

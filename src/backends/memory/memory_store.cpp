#include "backends/memory/memory_store.hpp"

#include <algorithm>
#include <atomic>
#include <tuple>

namespace fenceline {

struct MemoryStore::Listener {
  WatchRequest request;
  std::function<void()> on_change;
  std::atomic<int> calls_under_way{0};
};

class MemoryStore::Handle final : public Watch {
 public:
  Handle(MemoryStore& store, std::shared_ptr<Listener> listener) : store_(store), listener_(std::move(listener)) {}
  // What the callback uses may be gone after this, so a call under way on another thread is waited for.
  ~Handle() override {
    {
      const std::lock_guard lock(store_.mutex_);
      std::erase(store_.listeners_, listener_);
    }
    for (int calls = listener_->calls_under_way; calls != 0; calls = listener_->calls_under_way) listener_->calls_under_way.wait(calls);
  }

 private:
  MemoryStore& store_;
  std::shared_ptr<Listener> listener_;
};

MemoryStore::MemoryStore(Clock& clock) : clock_(clock) {}
MemoryStore::~MemoryStore() = default;

MemoryStore::Space* MemoryStore::find_space(const std::string& ns) {
  const auto found = spaces_.find(ns);
  return found == spaces_.end() ? nullptr : &found->second;
}

Job MemoryStore::shown(const Entry& entry, const Now& now) {
  Job job = entry.job;
  if (job.state == JobState::running) job.lease_left = entry.lease_end - now.lease;
  return job;
}

Result<EnqueueReply> MemoryStore::enqueue(const EnqueueRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  EnqueueReply reply;
  std::vector<std::pair<std::string, std::string>> added;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    for (const NewJob& wanted : request.jobs) {
      const auto found = space.jobs.find(wanted.id);
      if (found == space.jobs.end()) continue;
      const Job& there = found->second.job;
      if (there.queue != wanted.queue || there.stage != wanted.stage || there.payload != wanted.payload)
        return fail(Code::conflict, "job " + to_string(wanted.id) + " is there already with another queue, stage or payload");
      reply.existing += 1;
    }
    for (const NewJob& wanted : request.jobs) {
      const auto [place, is_new] = space.jobs.try_emplace(wanted.id);
      if (!is_new) continue;
      Entry& entry = place->second;
      entry.order = ++last_order_;
      entry.job.id = wanted.id;
      entry.job.queue = wanted.queue;
      entry.job.stage = wanted.stage;
      entry.job.payload = wanted.payload;
      entry.job.priority = wanted.priority;
      entry.job.attempts_max = wanted.attempts_max;
      entry.job.created_at = now.wall;
      entry.job.run_at = now.wall + wanted.delay;
      added.emplace_back(wanted.queue, wanted.stage);
    }
  }
  tell(request.ns, added);
  for (const NewJob& job : request.jobs) reply.ids.push_back(job.id);
  return reply;
}

// The reasons that extend and settle share, in the order of the header; empty: sent by the newest holder.
std::string MemoryStore::refusal(const Entry* entry, const std::string& owner, Fence sent) {
  if (!entry) return "not_found";
  if (entry->job.fence != sent) return "superseded";
  if (entry->job.owner != owner) return "other_owner";
  return "";
}

Result<ExtendReply> MemoryStore::extend(const ExtendRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  Space& space = spaces_[request.ns];
  ExtendReply reply;
  reply.left = request.ttl;
  for (const Holding& holding : request.jobs) {
    const auto found = space.jobs.find(holding.id);
    Entry* entry = found == space.jobs.end() ? nullptr : &found->second;
    std::string reason = refusal(entry, request.owner, holding.fence);
    if (reason.empty()) {
      if (is_finished(entry->job.state)) reason = "finished";
      else if (entry->job.state != JobState::running) reason = "settled";
      else if (expired(*entry, now)) reason = "expired";
    }
    if (reason.empty()) entry->lease_end = now.lease + request.ttl;
    else reply.refused.push_back({holding.id, holding.fence, entry ? entry->job.fence : 0, reason});
  }
  return reply;
}

Result<SettleReply> MemoryStore::settle(const SettleRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  SettleReply reply;
  std::vector<std::pair<std::string, std::string>> ready_again;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    for (const Settlement& settlement : request.settlements) {
      const auto found = space.jobs.find(settlement.id);
      Entry* entry = found == space.jobs.end() ? nullptr : &found->second;
      std::string reason = refusal(entry, request.owner, settlement.fence);
      const bool running = entry && entry->job.state == JobState::running;
      const bool repeat = entry && !running && entry->job.last_outcome == settlement.outcome.kind;
      if (reason.empty() && !running && !repeat) reason = is_finished(entry->job.state) ? "finished" : "settled";
      if (!reason.empty()) {
        reply.refused.push_back({settlement.id, settlement.fence, entry ? entry->job.fence : 0, reason});
      } else if (running) {
        entry->job = settled(entry->job, settlement.outcome, now.wall);
        if (entry->job.state == JobState::ready) ready_again.emplace_back(entry->job.queue, entry->job.stage);
      }
    }
  }
  tell(request.ns, ready_again);
  return reply;
}

Result<std::optional<Job>> MemoryStore::job(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Space* space = find_space(ns);
  if (!space) return std::nullopt;
  const auto found = space->jobs.find(id);
  if (found == space->jobs.end()) return std::nullopt;
  return shown(found->second, now());
}

Result<JobsReply> MemoryStore::jobs(const JobsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  JobsReply reply;
  const Space* space = find_space(request.ns);
  if (!space) return reply;
  std::map<std::int64_t, const Entry*> matching;  // by order of enqueue
  for (const auto& [id, entry] : space->jobs) {
    if (entry.order <= request.after) continue;
    if (request.queue && entry.job.queue != *request.queue) continue;
    if (request.state && entry.job.state != *request.state) continue;
    matching[entry.order] = &entry;
  }
  std::int64_t last = request.after;
  for (const auto& [order, entry] : matching) {
    if (reply.jobs.size() == static_cast<std::size_t>(request.limit)) {
      reply.next = last;
      break;
    }
    last = order;
    reply.jobs.push_back(shown(*entry, now));
    if (!request.with_payload) {
      reply.jobs.back().payload.clear();
      reply.jobs.back().result.clear();
    }
  }
  return reply;
}

Result<void> MemoryStore::report_worker(const WorkerReport& report) {
  if (auto ok = check_request(report); !ok) return ok;
  const std::lock_guard lock(mutex_);
  const WallTime wall = clock_.wall_now();
  auto& workers = spaces_[report.ns].workers;
  std::erase_if(workers, [&](const auto& entry) { return entry.second.seen_at <= wall - kWorkerForgottenAfter; });
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
  }
  std::sort(rows.begin(), rows.end(), [](const WorkerRow& a, const WorkerRow& b) {
    return std::tie(a.started_at, a.report.owner) < std::tie(b.started_at, b.report.owner);
  });
  return rows;
}

Result<std::vector<TrailEntry>> MemoryStore::trail(const std::string& ns, int limit) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  if (limit < 1) return fail(Code::invalid, "limit must be at least 1");
  const std::lock_guard lock(mutex_);
  std::vector<TrailEntry> entries;
  for (const TrailEntry& entry : trail_) {
    if (entry.ns == ns || entry.ns.empty()) entries.push_back(entry);
  }
  const auto most = static_cast<std::size_t>(limit);
  if (entries.size() > most) entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(most));
  return entries;
}

Result<void> MemoryStore::remove_namespace(const std::string& ns, const Act& act) {
  if (auto ok = check_name("namespace", ns); !ok) return ok;
  const std::lock_guard lock(mutex_);
  if (const Space* space = find_space(ns)) {
    for (const auto& [id, entry] : space->jobs) floor_ = std::max(floor_, entry.job.fence);
    spaces_.erase(ns);
  }
  trail_.push_back({clock_.wall_now(), ns, act.actor, "namespace_removed", ns, act.reason});
  return {};
}

StoreProfile MemoryStore::profile() const {
  return {"memory", "memory:", GuaranteeClass::d, {"kept in memory: everything is gone with the process"}};
}

Result<std::vector<Finding>> MemoryStore::examine() {
  const std::lock_guard lock(mutex_);
  std::size_t jobs = 0;
  for (const auto& [ns, space] : spaces_) jobs += space.jobs.size();
  return std::vector<Finding>{
      {"durability", FindingStatus::warning, std::to_string(jobs) + " jobs are gone with the process", "--store sqlite:fenceline.db"}};
}

std::unique_ptr<Watch> MemoryStore::watch(const WatchRequest& request, std::function<void()> on_change) {
  auto listener = std::make_shared<Listener>();
  listener->request = request;
  listener->on_change = std::move(on_change);
  const std::lock_guard lock(mutex_);
  listeners_.push_back(listener);
  return std::make_unique<Handle>(*this, std::move(listener));
}

void MemoryStore::tell(const std::string& ns, const std::vector<std::pair<std::string, std::string>>& queues_and_stages) {
  if (queues_and_stages.empty()) return;
  const auto concerns = [&](const WatchRequest& request) {
    return request.ns == ns && std::any_of(queues_and_stages.begin(), queues_and_stages.end(), [&](const auto& changed) {
             const auto& [queue, stage] = changed;
             return request.stage == stage && std::find(request.queues.begin(), request.queues.end(), queue) != request.queues.end();
           });
  };
  std::vector<std::shared_ptr<Listener>> told;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& listener : listeners_) {
      if (!concerns(listener->request)) continue;
      listener->calls_under_way += 1;
      told.push_back(listener);
    }
  }
  for (const auto& listener : told) {
    listener->on_change();
    listener->calls_under_way -= 1;
    listener->calls_under_way.notify_all();
  }
}

}  // namespace fenceline

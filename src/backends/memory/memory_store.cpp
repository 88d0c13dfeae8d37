#include "backends/memory/memory_store.hpp"

#include <algorithm>
#include <atomic>

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
    for (int calls = listener_->calls_under_way; calls != 0; calls = listener_->calls_under_way)
      listener_->calls_under_way.wait(calls);
  }

 private:
  MemoryStore& store_;
  std::shared_ptr<Listener> listener_;
};

class MemoryStore::Snapshot {
 public:
  std::map<std::string, Space> spaces;
  std::int64_t last_order = 0;
  std::int64_t last_effect = 0;
  std::int64_t last_place = 0;
  Fence floor = 0;
  std::vector<TrailEntry> trail;
};

MemoryStore::MemoryStore(Clock& clock) : MemoryStore(clock, Counters{}) {}
MemoryStore::MemoryStore(Clock& clock, Counters counters)
    : clock_(clock), counters_(counters), last_order_(counters.order) {}
MemoryStore::~MemoryStore() = default;

std::shared_ptr<const MemoryStore::Snapshot> MemoryStore::snapshot() const {
  const std::lock_guard lock(mutex_);
  auto taken = std::make_shared<Snapshot>();
  taken->spaces = spaces_;
  taken->last_order = last_order_;
  taken->last_effect = last_effect_;
  taken->last_place = last_place_;
  taken->floor = floor_;
  taken->trail = trail_;
  return taken;
}

void MemoryStore::restore(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  spaces_ = snapshot.spaces;
  last_order_ = snapshot.last_order;
  last_effect_ = snapshot.last_effect;
  last_place_ = snapshot.last_place;
  floor_ = snapshot.floor;
  trail_ = snapshot.trail;
}

MemoryStore::Space* MemoryStore::find_space(const std::string& ns) {
  const auto found = spaces_.find(ns);
  return found == spaces_.end() ? nullptr : &found->second;
}

Job MemoryStore::shown(const Entry& entry, const Now& now) {
  Job job = entry.job;
  if (job.state == JobState::running) job.lease_left = brought_back(entry.lease_end, entry.ttl, now) - now.lease;
  return job;
}

std::optional<Duration> MemoryStore::last_run(const Entry& entry, const Now& now) {
  if (entry.attempts.empty()) return std::nullopt;
  const Attempt& last = entry.attempts.back();
  return std::max(Duration{0}, last.ended_at.value_or(now.wall) - last.started_at);
}

MemoryStore::Entry* MemoryStore::find_job(Space& space, const JobId& id) {
  const auto found = space.jobs.find(id);
  return found == space.jobs.end() ? nullptr : &found->second;
}

Result<std::optional<Job>> MemoryStore::job(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  Space* space = find_space(ns);
  const Entry* entry = space ? find_job(*space, id) : nullptr;
  if (!entry) return std::nullopt;
  return shown(*entry, now());
}

Result<JobsReply> MemoryStore::jobs(const JobsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  JobsReply reply;
  const Space* space = find_space(request.ns);
  if (!space) return reply;
  // By the order in which they are listed: of enqueue, or of its negative.
  const std::int64_t sign = request.newest_first ? -1 : 1;
  std::map<std::int64_t, const Entry*> matching;
  for (const auto& [id, entry] : space->jobs) {
    if (request.after > 0 && sign * entry.order <= sign * request.after) continue;
    if (request.queue && entry.job.queue != *request.queue) continue;
    if (request.state && entry.job.state != *request.state) continue;
    const std::vector<std::string>& tags = entry.job.tags;
    if (!request.tag.empty() && std::find(tags.begin(), tags.end(), request.tag) == tags.end()) continue;
    if (!matches_details(request, entry.job)) continue;
    matching[sign * entry.order] = &entry;
  }
  std::int64_t last = request.after;
  for (const auto& [place, entry] : matching) {
    if (reply.jobs.size() == static_cast<std::size_t>(request.limit)) {
      reply.next = last;
      break;
    }
    last = entry->order;
    reply.jobs.push_back(shown(*entry, now));
    reply.jobs.back().ran_for = last_run(*entry, now);
    if (!request.with_payload) {
      reply.jobs.back().payload.clear();
      reply.jobs.back().result.clear();
    }
  }
  return reply;
}

Result<std::vector<JobId>> MemoryStore::ids(const IdsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  std::vector<JobId> found;
  const Space* space = find_space(request.ns);
  if (!space) return found;
  const auto& jobs = space->jobs;
  const std::size_t searched = request.suffix.empty() ? jobs.size() : std::min<std::size_t>(jobs.size(), kNewestIds);
  for (auto job = std::prev(jobs.end(), static_cast<std::ptrdiff_t>(searched)); job != jobs.end(); ++job) {
    const JobId& id = job->first;
    if (id >= request.first && id <= request.last && hex_digits(id).ends_with(request.suffix) &&
        found.size() < static_cast<std::size_t>(request.limit))
      found.push_back(id);
  }
  return found;
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

Result<std::vector<std::string>> MemoryStore::namespaces() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [ns, space] : spaces_) {
    if (names.size() < kNamespacesShown) names.push_back(ns);
  }
  return names;
}

Result<void> MemoryStore::remove_namespace(const std::string& ns, const Act& act) {
  if (auto ok = check_name("namespace", ns); !ok) return ok;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    if (const Space* space = find_space(ns)) {
      floor_ = std::max(floor_, last_fence(*space));
      changes.locks = locks_in_use(*space, now());
      changes.orders = !space->schedules.empty() || !space->pipelines.empty();
      spaces_.erase(ns);
    }
    trail_.push_back({clock_.wall_now(), ns, act.actor, "namespace_removed", ns, act.reason});
  }
  tell(ns, changes);
  return {};
}

StoreProfile MemoryStore::profile() const {
  return {"memory", "memory:", GuaranteeClass::d, {"kept in memory: everything is lost when the process ends"}};
}

Result<std::vector<Finding>> MemoryStore::examine() {
  const std::lock_guard lock(mutex_);
  std::size_t jobs = 0;
  for (const auto& [ns, space] : spaces_) jobs += space.jobs.size();
  return std::vector<Finding>{{"durability", FindingStatus::warning, std::to_string(jobs) + " jobs, kept in memory",
                               "export FENCELINE_STORE=sqlite:fenceline.db",
                               "everything is lost when the process ends"}};
}

std::unique_ptr<Watch> MemoryStore::watch(const WatchRequest& request, std::function<void()> on_change) {
  auto listener = std::make_shared<Listener>();
  listener->request = request;
  listener->on_change = std::move(on_change);
  const std::lock_guard lock(mutex_);
  listeners_.push_back(listener);
  return std::make_unique<Handle>(*this, std::move(listener));
}

void MemoryStore::tell(const std::string& ns, const Changes& changes) {
  const auto concerns = [&](const WatchRequest& request) {
    if (request.ns != ns) return false;
    if (request.orders && changes.orders) return true;
    if (std::ranges::any_of(request.locks, [&](const std::string& name) { return changes.locks.contains(name); }))
      return true;
    return std::any_of(changes.claimable.begin(), changes.claimable.end(), [&](const auto& change) {
      const auto& [queue, stage] = change;
      return (!stage || request.stage == *stage) &&
             std::find(request.queues.begin(), request.queues.end(), queue) != request.queues.end();
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

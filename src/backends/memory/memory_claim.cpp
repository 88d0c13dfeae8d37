// How the memory store grants: who may be claimed, in which order, and what a grant changes.
#include <algorithm>
#include <tuple>

#include "backends/memory/memory_store.hpp"

namespace fenceline {
namespace {

template <class Request>
bool asks_for(const Request& request, const Job& job) {
  return job.stage == request.stage && std::find(request.queues.begin(), request.queues.end(), job.queue) != request.queues.end();
}

// A duration that lies ahead replaces a later one.
void take_sooner(std::optional<Duration>& first, Duration ahead) {
  if (ahead > Duration{0} && (!first || ahead < *first)) first = ahead;
}

}  // namespace

bool MemoryStore::expired(const Entry& entry, const Now& now) {
  return entry.job.state == JobState::running && entry.lease_end <= now.lease;
}

bool MemoryStore::due(const Entry& entry, const Now& now) { return entry.job.state == JobState::ready && entry.job.run_at <= now.wall; }

bool MemoryStore::must_run_alone_now(const Entry& entry, const Now& now) {
  return must_run_alone(entry.job.losses_in_row + (expired(entry, now) ? 1 : 0));
}

// In the order in which they are granted. A job whose fifth loss is at hand is not claimable: it dies.
std::vector<MemoryStore::Entry*> MemoryStore::claimable(Space& space, const ClaimRequest& request, const Now& now) {
  std::vector<Entry*> run_out;
  std::vector<Entry*> ready;
  for (auto& [id, entry] : space.jobs) {
    if (!asks_for(request, entry.job)) continue;
    if (expired(entry, now) && entry.job.losses_in_row + 1 < kLossesInRowMax) run_out.push_back(&entry);
    if (due(entry, now)) ready.push_back(&entry);
  }
  std::sort(run_out.begin(), run_out.end(),
            [](const Entry* a, const Entry* b) { return std::tie(a->lease_end, a->order) < std::tie(b->lease_end, b->order); });
  const auto place = [&](const Entry* entry) {
    const auto queue = std::find(request.queues.begin(), request.queues.end(), entry->job.queue) - request.queues.begin();
    return std::tuple(queue, -entry->job.priority, entry->job.run_at, entry->order);
  };
  std::sort(ready.begin(), ready.end(), [&](const Entry* a, const Entry* b) { return place(a) < place(b); });
  run_out.insert(run_out.end(), ready.begin(), ready.end());
  return run_out;
}

std::optional<Duration> MemoryStore::next_due(const Space& space, const ClaimRequest& request, const Now& now) {
  std::optional<Duration> first;
  for (const auto& [id, entry] : space.jobs) {
    if (!asks_for(request, entry.job)) continue;
    if (entry.job.state == JobState::ready) take_sooner(first, entry.job.run_at - now.wall);
    if (entry.job.state == JobState::running && entry.job.owner != request.owner) take_sooner(first, entry.lease_end - now.lease);
  }
  return first;
}

std::vector<ClaimedJob> MemoryStore::still_held(const Space& space, const ClaimRecord& record, const ClaimRequest& request,
                                                const Now& now) {
  std::vector<ClaimedJob> held;
  for (const Granted& granted : record.granted) {
    const auto found = space.jobs.find(granted.holding.id);
    if (found == space.jobs.end()) continue;
    const Entry& entry = found->second;
    const bool same_grant =
        entry.job.state == JobState::running && entry.job.fence == granted.holding.fence && entry.job.owner == request.owner;
    if (!same_grant || expired(entry, now)) continue;
    held.push_back({shown(entry, now), entry.lease_end - now.lease, granted.forced, granted.previous_owner});
  }
  return held;
}

// All fences are minted before anything changes: if one is refused, nothing happened.
Result<std::vector<ClaimedJob>> MemoryStore::grant(Space& space, const ClaimRequest& request, const Now& now) {
  const auto minted = [&](const Entry& entry) { return next_fence(entry.job.fence > 0 ? entry.job.fence : floor_, now.wall); };
  std::vector<std::pair<Entry*, Job>> buried;
  for (auto& [id, entry] : space.jobs) {
    if (!asks_for(request, entry.job) || !expired(entry, now)) continue;
    Job lost = lost_delivery(entry.job, now.wall);
    if (lost.state != JobState::dead) continue;
    const Result<Fence> fence = minted(entry);
    if (!fence) return std::unexpected(fence.error());
    lost.fence = *fence;
    lost.owner.clear();
    buried.emplace_back(&entry, std::move(lost));
  }

  std::vector<Entry*> chosen = claimable(space, request, now);
  const auto alone = [&](const Entry* entry) { return must_run_alone_now(*entry, now); };
  if (request.holds_others) {
    std::erase_if(chosen, alone);
  } else if (const auto first = std::find_if(chosen.begin(), chosen.end(), alone); first != chosen.end()) {
    chosen = {*first};
  }
  if (chosen.size() > static_cast<std::size_t>(request.limit)) chosen.resize(static_cast<std::size_t>(request.limit));

  std::vector<std::pair<Entry*, ClaimedJob>> grants;
  for (Entry* entry : chosen) {
    const Result<Fence> fence = minted(*entry);
    if (!fence) return std::unexpected(fence.error());
    ClaimedJob claimed;
    claimed.forced = expired(*entry, now);
    if (claimed.forced) claimed.previous_owner = entry->job.owner;
    claimed.job = claimed.forced ? lost_delivery(entry->job, now.wall) : entry->job;
    claimed.job.state = JobState::running;
    claimed.job.fence = *fence;
    claimed.job.owner = request.owner;
    claimed.job.deliveries += 1;
    claimed.left = request.ttl;
    grants.emplace_back(entry, std::move(claimed));
  }

  for (auto& [entry, dead] : buried) entry->job = std::move(dead);
  std::vector<ClaimedJob> jobs;
  for (auto& [entry, claimed] : grants) {
    entry->job = claimed.job;
    entry->lease_end = now.lease + request.ttl;
    entry->request = request.request;
    claimed.job = shown(*entry, now);
    jobs.push_back(std::move(claimed));
  }
  return jobs;
}

Result<ClaimReply> MemoryStore::claim(const ClaimRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  Space& space = spaces_[request.ns];
  std::erase_if(space.claims, [&](const auto& claim) { return claim.second.end <= now.lease; });

  ClaimReply reply;
  const std::pair key{request.owner, request.request};
  if (const auto repeated = space.claims.find(key); repeated != space.claims.end()) {
    reply.jobs = still_held(space, repeated->second, request, now);
  } else {
    Result<std::vector<ClaimedJob>> granted = grant(space, request, now);
    if (!granted) return std::unexpected(granted.error());
    reply.jobs = std::move(*granted);
    if (!reply.jobs.empty()) {
      ClaimRecord& record = space.claims[key];
      record.end = now.lease + request.ttl;
      for (const ClaimedJob& job : reply.jobs) record.granted.push_back({{job.job.id, job.job.fence}, job.forced, job.previous_owner});
    }
  }
  if (reply.jobs.size() < static_cast<std::size_t>(request.limit)) reply.next_due = next_due(space, request, now);
  if (request.holds_others) {
    const std::vector<Entry*> passed_over = claimable(space, request, now);
    reply.alone_waiting =
        std::any_of(passed_over.begin(), passed_over.end(), [&](const Entry* entry) { return must_run_alone_now(*entry, now); });
  }
  return reply;
}

Result<void> MemoryStore::give_back(const GiveBackRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  std::vector<std::pair<std::string, std::string>> returned;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    for (auto& [id, entry] : space.jobs) {
      if (entry.job.state != JobState::running || entry.job.owner != request.owner || entry.request != request.request) continue;
      entry.job = settled(entry.job, {.kind = OutcomeKind::given_back}, now.wall);
      returned.emplace_back(entry.job.queue, entry.job.stage);
    }
    ClaimRecord& record = space.claims[{request.owner, request.request}];
    record.end = std::max(record.end, now.lease + request.ttl);
  }
  tell(request.ns, returned);
  return {};
}

Result<BacklogReply> MemoryStore::backlog(const BacklogRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  constexpr std::int64_t kCountedMost = 100'000;
  const std::lock_guard lock(mutex_);
  const Now now = this->now();
  BacklogReply reply;
  const Space* space = find_space(request.ns);
  if (!space) return reply;
  for (const auto& [id, entry] : space->jobs) {
    if (!asks_for(request, entry.job)) continue;
    // One whose fifth loss is at hand counts: the claim that buries it is still to come.
    if (expired(entry, now) || due(entry, now)) reply.claimable = true;
    else if (entry.job.state == JobState::running) reply.running = true;
    else if (entry.job.state == JobState::ready) {
      reply.ahead = std::min(reply.ahead + 1, kCountedMost);
      take_sooner(reply.next_due, entry.job.run_at - now.wall);
    }
  }
  return reply;
}

}  // namespace fenceline

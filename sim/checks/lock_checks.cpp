#include "sim/checks/lock_checks.hpp"

#include <algorithm>
#include <cstdlib>

#include "sim/checks/find_refusal.hpp"

namespace fenceline::sim {
namespace {

std::string name_of(const std::string& resource) { return resource.substr(0, resource.find('#')); }

std::string slot_of(const std::string& name, int slot) { return slot == 1 ? name : name + "#" + std::to_string(slot); }

}  // namespace

bool LockTruth::KnownLock::held(Instant now) const {
  return std::ranges::any_of(holders, [&](const Holder& holder) { return holder.alive(now); });
}

Instant LockTruth::KnownLock::free_from() const {
  Instant from = std::max(bar, freed);
  for (const Holder& holder : holders) {
    if (!holder.released) from = std::max(from, holder.end + delay);
  }
  return from;
}

std::string_view LockTruth::KnownLock::rests() const {
  if (to_its_end) return "L6";
  if (bar != Instant::min() && bar == free_from()) return "bar";
  return delay > Duration{0} ? "delay" : "L3";
}

void LockChecks::applied(const Applied& when) {
  wall_high_ = std::max(wall_high_, when.wall);
  std::visit([&](const auto& call) { see(when, call); }, when.call);
}

void LockChecks::broken(std::string_view promise, const std::string& resource, std::string_view what) {
  violations_.add(promise, "lock " + resource + " " + std::string(what));
}

const LockTruth::KnownLock* LockChecks::find(const std::string& resource) const {
  const auto found = locks_.find(resource);
  return found == locks_.end() ? nullptr : &found->second;
}

LockTruth::Holder* LockChecks::holder_of(const LockHolding& held) {
  const auto lock = locks_.find(held.resource);
  if (lock == locks_.end() || lock->second.fence != held.fence) return nullptr;
  const auto found = std::ranges::find(lock->second.holders, held.owner, &Holder::owner);
  return found == lock->second.holders.end() ? nullptr : &*found;
}

bool LockChecks::has_place(const AcquireRequest& request, Instant now) const {
  return std::ranges::any_of(queue_, [&](const auto& queuer) {
    return queuer.second.owner == request.owner && queuer.second.request == request.request &&
           queuer.second.kept_until > now;
  });
}

void LockChecks::leave_queue(const std::string& owner, const std::string& request) {
  std::erase_if(queue_,
                [&](const auto& queuer) { return queuer.second.owner == owner && queuer.second.request == request; });
}

LockTruth::KnownLock LockChecks::brought_back(KnownLock lock, Instant now) {
  if (lock.bar_length > Duration{0}) lock.bar = std::min(lock.bar, now + lock.bar_length);
  lock.freed = std::min(lock.freed, now);
  for (Holder& holder : lock.holders) {
    holder.end = std::min(holder.end, now + holder.ttl);
    holder.known_until = std::min(holder.known_until, now + 2 * holder.ttl);
  }
  return lock;
}

void LockChecks::bring_back(const AcquireRequest& request, Instant now) {
  const auto is_asked = [&](const std::string& name) {
    return std::ranges::find(request.names, name) != request.names.end();
  };
  for (auto& [resource, lock] : locks_) {
    if (!is_asked(name_of(resource))) continue;
    const auto is_ahead = [&](const Holder& holder) { return !holder.released && holder.end > now + holder.ttl; };
    tally_.add(Count::leases_brought_back, std::ranges::count_if(lock.holders, is_ahead));
    lock = brought_back(std::move(lock), now);
  }
  for (auto& [place, queuer] : queue_) {
    if (is_asked(queuer.name)) queuer.kept_until = std::min(queuer.kept_until, now + kLockWaiterKeptFor);
  }
  // Who was silent for too long has left, also if the clock goes back behind that moment.
  std::erase_if(queue_,
                [&](const auto& queuer) { return queuer.second.kept_until <= now && is_asked(queuer.second.name); });
}

void LockChecks::clock_went_ahead() {
  leaps_ += 1;
  for (const auto& [resource, lock] : locks_) {
    for (const Holder& holder : lock.holders) forgotten_.insert({resource, holder.owner, lock.fence});
  }
}

void LockChecks::clock_came_back() {
  for (auto& [resource, lock] : locks_) lock.silent.reset();
}

// By elapsed time, whatever a clock showed that was set: a lock that was refused, and whose holders said nothing since,
// is free when the longest of their leases is over, its bar and its delay.
void LockChecks::see_silence(const Applied& when, const std::string& resource) {
  const auto found = locks_.find(resource);
  if (found == locks_.end() || found->second.free_from() <= when.at) return;
  KnownLock& lock = found->second;
  const Instant now = true_now(when);
  Duration longest = lock.bar_length;
  for (const Holder& holder : lock.holders) longest = std::max(longest, holder.ttl + lock.delay);
  if (!lock.silent) lock.silent = now;
  else if (now - *lock.silent > longest)
    broken("L3", resource, "is still held one ttl after it was first refused, though nobody renewed it");
}

LockTruth::Holder LockChecks::heard_of(const Applied& when, const AcquireRequest& request) const {
  return {.owner = request.owner,
          .request = request.request,
          .end = when.at + request.ttl,
          .known_until = when.at + 2 * request.ttl,
          .ttl = request.ttl,
          .heard = true_now(when),
          .leap = leaps_};
}

bool LockChecks::joins(const std::string& resource, const AcquireRequest& request, Instant now) const {
  const KnownLock* lock = find(resource);
  return lock && request.mode == LockMode::shared && lock->mode == LockMode::shared && lock->held(now);
}

LockChecks::Standing LockChecks::stand(const AcquireRequest& request, const std::string& name, Instant now) const {
  Standing standing{.resource = name, .free = Instant::min(), .may_have = Instant::min()};
  bool behind_exclusive = false;
  std::vector<std::pair<std::int64_t, Instant>> before;  // places, and when each was last heard of
  for (const auto& [place, queuer] : queue_) {
    if (queuer.kept_until <= now || queuer.name != name) continue;
    if (queuer.owner == request.owner && queuer.request == request.request) break;
    before.emplace_back(place, queuer.kept_until - kLockWaiterKeptFor);
    standing.ahead += 1;
    behind_exclusive = behind_exclusive || queuer.mode == LockMode::exclusive;
  }
  const std::int64_t k = request.mode == LockMode::exclusive || behind_exclusive ? standing.ahead : 0;
  if (k == 0 && joins(name, request, now)) return standing;

  std::vector<std::pair<Instant, int>> moments;  // since when each is free, or from when on
  for (int slot = 1; slot <= request.slots; ++slot) {
    const KnownLock* lock = find(slot_of(name, slot));
    moments.emplace_back(lock ? lock->free_from() : Instant::min(), slot);
  }
  std::ranges::sort(moments);
  standing.free = moments.front().first;
  standing.may_have = Instant::max();
  for (std::size_t j = 1; j <= moments.size(); ++j) {
    const Instant turn = standing.free + std::max<std::int64_t>(0, k - static_cast<std::int64_t>(j) + 1) * kLockTurn;
    standing.may_have = std::min(standing.may_have, std::max(moments[j - 1].first, turn));
  }
  int slot = moments.front().second;
  for (const auto& [from, number] : moments) {
    if (standing.may_have <= now && from <= now) slot = std::min(slot, number);
  }
  standing.resource = slot_of(name, slot);
  const std::int64_t free = std::ranges::count_if(moments, [&](const auto& moment) { return moment.first <= now; });
  for (std::int64_t i = 0; standing.may_have <= now && i < k - free + 1; ++i) {
    const auto& [place, heard] = before[static_cast<std::size_t>(i)];
    if (heard < standing.free) standing.silent.push_back(place);
  }
  return standing;
}

void LockChecks::see(const Applied& when, const AcquireCall& call) {
  const AcquireRequest& request = call.request;
  if (call.reply || call.reply.error().code != Code::invalid) bring_back(request, when.at);
  if (!call.reply) return see_error(when, call);
  const auto withdrawn = withdrawn_.find({request.owner, request.request});
  if (withdrawn != withdrawn_.end() && withdrawn->second > when.at)
    broken("withdraw", request.names.front(), "was asked for by a request that was withdrawn, and not refused");
  if (see_repeat(when, call)) return;

  std::vector<Standing> standings;
  for (const std::string& name : request.names) standings.push_back(stand(request, name, when.at));
  const bool may_have =
      std::ranges::all_of(standings, [&](const Standing& standing) { return standing.may_have <= when.at; });
  if (call.reply->grants.empty()) {
    if (may_have) broken("turn", request.names.front(), "was not granted to " + request.owner + ", who may have it");
    for (const Standing& standing : standings) see_silence(when, standing.resource);
    return see_held(when, call, standings);
  }
  if (call.reply->grants.size() != request.names.size())
    return broken("L1", request.names.front(), "was granted with some of its names, not with all");
  if (call.reply->left > request.ttl) broken("L4", request.names.front(), "was granted for more than its ttl");
  const bool waited = has_place(request, when.at);
  for (std::size_t i = 0; i < standings.size(); ++i) {
    see_grant(when, request, call.reply->grants[i], standings[i]);
    send_to_the_end(standings[i]);
  }
  if (waited) tally_.add(Count::lock_handovers);
  if (request.names.size() > 1) tally_.add(Count::locks_several);
  leave_queue(request.owner, request.request);
}

// A request is granted once. True: it had been.
bool LockChecks::see_repeat(const Applied& when, const AcquireCall& call) {
  const AcquireRequest& request = call.request;
  std::vector<LockGrant> alive;
  bool granted = false;
  for (const auto& [resource, lock] : locks_) {
    if (std::ranges::find(request.names, name_of(resource)) == request.names.end()) continue;
    for (const Holder& holder : lock.holders) {
      if (holder.owner != request.owner || holder.request != request.request) continue;
      granted = true;
      if (holder.alive(when.at)) alive.push_back({resource, lock.fence, ""});
    }
  }
  if (!granted) return false;
  if (alive.size() != request.names.size()) {
    if (call.reply) broken("L4", request.names.front(), "was granted again to a request whose lease had ended");
    return true;
  }
  if (!call.reply) return true;
  tally_.add(Count::lock_repeats);
  const bool same = std::ranges::equal(call.reply->grants, alive, [](const LockGrant& a, const LockGrant& b) {
    return a.resource == b.resource && a.fence == b.fence;
  });
  if (!same) broken("L1", request.names.front(), "answers the repeat of an acquire with other grants");
  return true;
}

void LockChecks::see_error(const Applied& when, const AcquireCall& call) {
  const AcquireRequest& request = call.request;
  const Code code = call.reply.error().code;
  const auto withdrawn = withdrawn_.find({request.owner, request.request});
  const bool is_withdrawn = withdrawn != withdrawn_.end() && withdrawn->second > when.at;
  if (code == Code::refused && !is_withdrawn && when.wall.time_since_epoch().count() <= kFenceMax)
    broken("withdraw", request.names.front(), "was refused to a request that nobody withdrew");
  if (code == Code::lost && !see_repeat(when, call))
    broken("L4", request.names.front(), "answers lost to a request that never had it");
}

void LockChecks::see_held(const Applied& when, const AcquireCall& call, const std::vector<Standing>& standings) {
  const AcquireRequest& request = call.request;
  const AcquireReply& reply = *call.reply;
  if (!reply.held || !reply.again_in)
    return broken("turn", request.names.front(), "was not granted, and the answer does not say why");
  tally_.add(Count::lock_waits);
  if (reply.held->reason == Reason::turn) tally_.add(Count::lock_turns);
  if (reply.held->reason == Reason::barred) tally_.add(Count::lock_bars);
  if (reply.held->reason == Reason::delayed) tally_.add(Count::lock_delays);
  const Standing& last = *std::ranges::max_element(standings, {}, &Standing::may_have);
  if (*reply.again_in != std::max<Duration>(last.may_have - when.at, std::chrono::milliseconds{1})) {
    const KnownLock* lock = last.free > when.at ? find(last.resource) : nullptr;
    // Far beyond all turns: its end lies further ahead than its lease is long.
    const bool too_long = lock && *reply.again_in > last.may_have - when.at + std::chrono::minutes{1};
    broken(lock && (too_long || lock->rests() != "L3") ? lock->rests() : "turn", last.resource,
           "may be had at another time than the answer says");
  }
  if (!request.wait) return;
  const bool has_places = has_place(request, when.at);
  for (auto& [place, queuer] : queue_) {
    if (has_places && queuer.owner == request.owner && queuer.request == request.request)
      queuer.kept_until = when.at + kLockWaiterKeptFor;
  }
  if (has_places) return;
  leave_queue(request.owner, request.request);
  if (rules_.one_waiter_a_process) {
    for (const auto& [place, queuer] : queue_) {
      if (queuer.place == request.place && queuer.kept_until > when.at && queuer.names == request.names)
        broken("layered", request.names.front(), "is waited for twice by " + request.place);
    }
  }
  for (const std::string& name : request.names) {
    queue_[++last_place_] = {
        name, request.names, request.owner, request.request, request.place, request.mode, when.at + kLockWaiterKeptFor};
  }
}

void LockChecks::send_to_the_end(const Standing& standing) {
  for (const std::int64_t place : standing.silent) {
    const Queuer queuer = queue_.at(place);
    queue_.erase(place);
    queue_[++last_place_] = queuer;
    tally_.add(Count::lock_turns_passed);
  }
}

void LockChecks::see_grant(const Applied& when, const AcquireRequest& request, const LockGrant& grant,
                           const Standing& standing) {
  tally_.add(Count::locks_granted);
  tally_.add(Count::lease_operations);
  if (grant.resource.contains('#')) tally_.add(Count::lock_slots);
  const std::string name = name_of(grant.resource);
  const bool asked = std::ranges::find(request.names, name) != request.names.end();
  if (!asked) return broken("L1", grant.resource, "was granted to " + request.owner + ", who did not ask for it");
  KnownLock& lock = locks_[grant.resource];
  const bool joined = joins(grant.resource, request, when.at);
  if (!joined) {
    if (lock.held(when.at))
      broken(lock.to_its_end ? "L6" : "L3", grant.resource,
             "was granted to " + request.owner + " while " + lock.holders.back().owner + " holds it");
    else if (lock.bar > when.at)
      broken(lock.to_its_end ? "L6" : "bar", grant.resource,
             "was granted to " + request.owner + " before its bar was over");
    else if (lock.free_from() > when.at)
      broken("delay", grant.resource, "was granted to " + request.owner + " before its delay was over");
    for (const Holder& holder : lock.holders) {
      if (!holder.released && holder.leap == leaps_ && true_now(when) < holder.heard + holder.ttl)
        broken("L3", grant.resource,
               "was granted to " + request.owner + " before the lease of " + holder.owner + " was over in true time");
    }
  }
  if (standing.may_have > when.at)
    broken("turn", grant.resource, "was granted to " + request.owner + " before its turn");
  if (standing.resource != grant.resource)
    broken("turn", grant.resource, "was granted, though " + standing.resource + " is free and comes first");
  see_hand_over(when, request, standing);

  if (joined) {
    tally_.add(Count::locks_joined);
    if (grant.fence != lock.fence) broken("L1", grant.resource, "was joined under another fence than its phase has");
    lock.silent.reset();
    std::erase_if(lock.holders, [&](const Holder& holder) { return holder.known_until <= when.at; });
    lock.holders.push_back(heard_of(when, request));
    return;
  }
  see_fence(when, grant.resource, grant.fence);
  const bool ran_out = std::ranges::any_of(lock.holders, [](const Holder& holder) { return !holder.released; });
  if (ran_out) tally_.add(Count::lock_takeovers);
  if (ran_out == grant.previous_owner.empty())
    broken("L1", grant.resource,
           ran_out ? "was taken over, and the grant does not say from whom"
                   : "was free, and the grant says that it was taken over");
  if (request.to_its_end) tally_.add(Count::lock_windows);
  lock = {.fence = grant.fence,
          .mode = request.mode,
          .to_its_end = request.to_its_end,
          .delay = request.delay,
          .broken_by = lock.broken_by,
          .broken = lock.broken};
  lock.bar_length = request.to_its_end ? request.ttl : request.hold_at_least;
  if (lock.bar_length > Duration{0}) lock.bar = when.at + lock.bar_length;
  lock.holders.push_back(heard_of(when, request));
}

// L2, over all that ever had this name; and what a lost tail had, unless the store's wall clock was set back since.
void LockChecks::see_fence(const Applied& when, const std::string& resource, Fence fence) {
  Fence& newest = fences_[resource];
  if (fence <= newest)
    broken("L2", resource, "has fence " + std::to_string(fence) + " after " + std::to_string(newest));
  const auto told = told_.find(resource);
  if (told != told_.end() && when.wall >= wall_high_ && fence <= told->second)
    broken("L2", resource,
           "has fence " + std::to_string(fence) + " after " + std::to_string(told->second) +
               " of a grant that the store forgot");
  newest = std::max(newest, fence);
}

void LockChecks::see_hand_over(const Applied& when, const AcquireRequest& request, const Standing& standing) {
  if (!rules_.nobody_is_overtaken || request.mode != LockMode::exclusive || request.slots > 1 ||
      request.names.size() > 1)
    return;
  if (standing.ahead > 0)
    broken("turn", standing.resource,
           "was granted to " + request.owner + " though " + std::to_string(standing.ahead) +
               " that came before it wait, and nothing is lost");
  if (has_place(request, when.at) && standing.free != Instant::min() && when.at - standing.free > kLockTurn)
    broken("turn", standing.resource,
           "was free for longer than a turn with somebody waiting for it, and nothing is lost");
}

void LockChecks::see(const Applied& when, const RenewCall& call) {
  if (!call.reply) return;
  if (call.reply->left > call.request.ttl) violations_.add("L4", "a renewal of locks gave more than its ttl");
  for (const LockHolding& sent : call.request.locks) {
    Holder* holder = holder_of(sent);
    const bool rightful = holder && holder->alive(when.at) && !find(sent.resource)->to_its_end;
    const LockRefusal* refusal = find_refusal(call.reply->refused, sent, &LockRefusal::sent);
    tally_.add(refusal ? Count::lock_refusals : Count::lock_renewals);
    tally_.add(Count::lease_operations);
    if (refusal && rightful)
      broken("L4", sent.resource, "was not renewed for its holder " + sent.owner + ": " + word_of(refusal->reason));
    if (!refusal && !rightful)
      broken("L4", sent.resource, "was renewed for " + sent.owner + ", who does not hold it, or not any more");
    if (refusal || !rightful) continue;
    holder->end = when.at + call.reply->left;
    holder->known_until = holder->end + call.request.ttl;
    holder->ttl = call.request.ttl;
    holder->heard = true_now(when);
    holder->leap = leaps_;
    locks_[sent.resource].silent.reset();
  }
}

void LockChecks::let_go(const Applied& when, KnownLock& lock, Holder& holder) {
  if (holder.released) return;
  holder.released = true;
  lock.freed = when.at;
  lock.silent.reset();
}

void LockChecks::see(const Applied& when, const ReleaseCall& call) {
  if (!call.reply) return;
  for (const LockHolding& sent : call.request.locks) {
    Holder* holder = holder_of(sent);
    const bool rightful = holder && !find(sent.resource)->to_its_end;
    const LockRefusal* refusal = find_refusal(call.reply->refused, sent, &LockRefusal::sent);
    if (refusal && rightful)
      broken("L4", sent.resource, "was not released for its holder " + sent.owner + ": " + word_of(refusal->reason));
    if (!refusal && !rightful)
      broken(holder ? "L6" : "L4", sent.resource,
             "was released for " + sent.owner +
                 (holder ? ", though it is held to the end of its window" : ", who does not hold it"));
    if (refusal) tally_.add(Count::lock_refusals);
    if (refusal || !rightful) continue;
    tally_.add(Count::locks_released);
    tally_.add(Count::lease_operations);
    const auto handle = handles_.find(sent);
    if (handle != handles_.end() && !handle->second.stop_requested())
      broken("L5", sent.resource, "was released by " + sent.owner + " before its own work was told to end");
    let_go(when, locks_[sent.resource], *holder);
  }
}

void LockChecks::see(const Applied& when, const WithdrawCall& call) {
  if (!call.reply) return;
  const WithdrawRequest& request = call.request;
  tally_.add(Count::locks_withdrawn);
  withdrawn_[{request.owner, request.request}] = when.at + request.ttl;
  leave_queue(request.owner, request.request);
  for (auto& [resource, lock] : locks_) {
    if (lock.to_its_end || std::ranges::find(request.names, name_of(resource)) == request.names.end()) continue;
    for (Holder& holder : lock.holders) {
      if (holder.owner == request.owner && holder.request == request.request) let_go(when, lock, holder);
    }
  }
}

void LockChecks::see(const Applied& when, const BreakCall& call) {
  const BreakRequest& request = call.request;
  const auto found = locks_.find(request.resource);
  const bool repeat = found != locks_.end() && found->second.broken_by == request.request;
  const bool there = found != locks_.end() && found->second.free_from() > when.at;
  if (!call.reply) {
    if (call.reply.error().code == Code::not_found && (there || repeat))
      broken("break", request.resource, "is held, and there was nothing to break");
    return;
  }
  if (repeat) {
    if (call.reply->current != found->second.broken.current)
      broken("break", request.resource, "was broken twice by one request");
    return;
  }
  if (!there) return broken("break", request.resource, "was broken though it is free");
  KnownLock& lock = found->second;
  if (call.reply->ended != lock.fence || (request.only && *request.only != lock.fence))
    broken("break", request.resource, "was broken under another fence than it has");
  tally_.add(Count::locks_broken);
  for (Holder& holder : lock.holders) {
    if (holder.alive(when.at)) ended_by_break_.insert({request.resource, holder.owner, lock.fence});
    holder.released = true;
  }
  see_fence(when, request.resource, call.reply->current);
  lock.fence = call.reply->current;
  lock.bar = Instant::min();
  lock.delay = Duration{0};
  lock.freed = when.at;
  lock.silent.reset();
  lock.broken_by = request.request;
  lock.broken = *call.reply;
}

void LockChecks::see(const Applied& when, const TidyCall& call) {
  tidied_ = 0;
  if (!call.reply) return;
  // What is over is forgotten, also if the clock goes back behind that moment.
  std::erase_if(queue_, [&](const auto& queuer) { return queuer.second.kept_until <= when.at; });
  std::erase_if(withdrawn_, [&](const auto& until) { return until.second <= when.at; });
  std::vector<std::string> gone;
  for (auto& [resource, lock] : locks_) {
    lock = brought_back(std::move(lock), when.at);
    const Result<std::optional<LockRow>> shown = store_.lock(ns_, resource);
    if (!shown || *shown) continue;
    if (lock.free_from() + kFreeLockKeptFor > when.at) broken("L2", resource, "was forgotten before its time");
    const bool waited_for = std::ranges::any_of(queue_, [&](const auto& queuer) {
      return queuer.second.kept_until > when.at && queuer.second.name == name_of(resource);
    });
    if (waited_for) broken("turn", resource, "was forgotten while somebody waits for it");
    gone.push_back(resource);
  }
  for (const std::string& resource : gone) locks_.erase(resource);
  tidied_ = static_cast<std::int64_t>(gone.size());
  tally_.add(Count::locks_tidied, tidied_);
}

void LockChecks::compare_all(Instant now) {
  for (const auto& [resource, known] : locks_) {
    const KnownLock lock = brought_back(known, now);
    const Result<std::optional<LockRow>> shown = store_.lock(ns_, resource);
    if (!shown) continue;
    if (!*shown) {
      broken("L2", resource, "is not in the inventory");
      continue;
    }
    const LockRow& row = **shown;
    const auto holds = std::ranges::count_if(lock.holders, [](const Holder& holder) { return !holder.released; });
    if (row.fence != lock.fence)
      broken("L2", resource, "shows fence " + std::to_string(row.fence) + ", it must be " + std::to_string(lock.fence));
    if (row.holders_count != holds)
      broken(lock.to_its_end ? "L6" : "L3", resource,
             "shows " + std::to_string(row.holders_count) + " holders, it must be " + std::to_string(holds));
    const Duration left = lock.free_from() > now ? lock.free_from() - now : Duration{0};
    if (row.free_in.value_or(Duration{0}) != left)
      broken(lock.rests(), resource, "shows another time until it is free");
    const bool first_slot = !resource.contains('#');
    const auto waits = std::ranges::count_if(queue_, [&](const auto& queuer) {
      return first_slot && queuer.second.kept_until > now && queuer.second.name == resource;
    });
    if (row.waiters_count != waits)
      broken("turn", resource,
             "shows " + std::to_string(row.waiters_count) + " waiters, it must be " + std::to_string(waits));
  }
}

void LockChecks::went_back(const LockTruth& before, GuaranteeClass guarantee) {
  if (guarantee > GuaranteeClass::b) {
    for (const auto& [resource, fence] : fences_) told_[resource] = std::max(told_[resource], fence);
    for (const auto& [resource, lock] : locks_) {
      for (const Holder& holder : lock.holders) forgotten_.insert({resource, holder.owner, lock.fence});
    }
    // A release that was answered and then forgotten: its holder may hear the answer only now.
    for (const auto& [resource, lock] : before.locks_) {
      const KnownLock* now = find(resource);
      if (now && now->fence == lock.fence) continue;
      for (const Holder& holder : lock.holders) releases_forgotten_.insert({resource, holder.owner, lock.fence});
    }
  }
  static_cast<LockTruth&>(*this) = before;
}

void LockChecks::acts(const SimRuntime& process, const LockHolding& held) {
  tally_.add(Count::lock_acts);
  if (std::abs(process.machine().rate_ppm()) > rules_.drift_promised) return;
  if (forgotten_.contains(held) || ended_by_break_.contains(held)) return;
  const Holder* holder = holder_of(held);
  if (!holder || !holder->alive(store_now(process)))
    broken("L5", held.resource,
           "was acted under by " + held.owner + " in " + process.name() + " after the store had ended its lease");
}

void LockChecks::says_released(const SimRuntime& process, const LockHolding& held) {
  const Holder* holder = holder_of(held);
  const KnownLock* lock = find(held.resource);
  if (holder && holder->alive(store_now(process)) && !lock->to_its_end && !forgotten_.contains(held) &&
      !releases_forgotten_.contains(held))
    broken("L4", held.resource, "is still held by " + held.owner + ", who was told that it is released");
}

}  // namespace fenceline::sim

#include "services/lock_holdings.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace fenceline {
namespace {

// What was planned for a lock that is gone by now stays planned: to wake up once for nothing is cheaper than to be
// woken for every lock that comes and goes.
std::optional<Instant> plan(Instant& sleeps_until, std::optional<Instant> earliest, Instant now) {
  if (sleeps_until > now && sleeps_until != Instant::max()) take_earlier(earliest, sleeps_until);
  sleeps_until = earliest.value_or(Instant::max());
  return earliest;
}

bool may_renew(const LockState& state) { return state.renewable() && !state.told && !state.lost && !state.over; }

// By the clock alone, whether or not the trust watch has seen it.
bool trust_ended(const LockState& state, Instant now) {
  return !state.open && !state.goes_on_open() && now >= state.trusted;
}

std::string word_for_the_end(const LockState& state) {
  return state.options.pattern == LockPattern::loop ? "window_over" : "trust_ended";
}

// After the last try there is none, unless the work goes on without trust: then the store is asked until it answers.
std::optional<Instant> try_after(const LockState& state, Instant now) {
  if (const std::optional<Duration> offset = renewal_try(state.tries, state.times, state.options.renewal_tries))
    return counted_from(state.trusted, state.times) + *offset;
  return state.goes_on_open() ? std::optional(now + state.times.renew_after) : std::nullopt;
}

}  // namespace

std::vector<LockHolding> LockState::holdings() const {
  std::vector<LockHolding> all;
  for (const LockGrant& grant : grants) all.push_back({grant.resource, owner, grant.fence});
  return all;
}

std::size_t keeper_of(Duration ttl) {
  const auto seconds = static_cast<std::uint64_t>(
      std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::seconds>(ttl).count()));
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(seconds) - 1), kLockKeepers - 1);
}

LockHoldings::Sleepers LockHoldings::add(const LockStatePtr& state, Instant now) {
  const std::lock_guard lock(mutex_);
  state->number = ++numbers_;
  state->added_at = now;
  if (state->renewable()) state->next_try = try_after(*state, now);
  all_.emplace(state->number, state);
  const auto past = [](Instant& sleeps_until, std::optional<Instant> need) {
    if (!need || *need >= sleeps_until) return false;
    sleeps_until = *need;  // one notification is enough
    return true;
  };
  return {.keeper = past(keepers_sleep_until_[keeper_of(state->times.ttl)], state->next_try),
          .watch = past(watch_sleeps_until_, deadline_of(*state)),
          .attendant = past(attendant_sleeps_until_, now + kAttendedAfter)};
}

bool LockHoldings::enter(LockState& state) {
  const std::lock_guard lock(mutex_);
  if (state.lost || state.over) return false;
  state.entries += 1;
  return true;
}

LockStatePtr LockHoldings::find(const std::string& holder, const std::vector<std::string>& names) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, state] : all_) {
    if (state->options.holder == holder && state->options.names == names && !state->lost) return state;
  }
  return nullptr;
}

LockStatePtr LockHoldings::find_in_the_way(const LockOptions& options) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, state] : all_) {
    const LockOptions& has = state->options;
    if (has.holder != options.holder || state->lost) continue;
    const bool meets = std::ranges::any_of(
        has.names, [&](const std::string& name) { return std::ranges::binary_search(options.names, name); });
    if (meets && (has.names != options.names || has.mode != options.mode || has.slots != options.slots)) return state;
  }
  return nullptr;
}

LockHoldings::Left LockHoldings::leave(LockState& state, Instant now) {
  const std::lock_guard lock(mutex_);
  if (--state.entries > 0) return Left::entered;
  const bool was_lost = state.lost;
  if (!was_lost && trust_ended(state, now)) {
    state.lost = true;
    state.why_lost = word_for_the_end(state);
  }
  state.over = true;
  forget(state);
  if (was_lost) return Left::lost;
  return state.lost ? Left::lost_now : Left::last;
}

LockHoldings::Left LockHoldings::abandon(LockState& state) {
  const std::lock_guard lock(mutex_);
  if (--state.entries > 0) return Left::entered;
  state.over = true;
  forget(state);
  return state.lost ? Left::lost : Left::last;
}

bool LockHoldings::may_act(const LockState& state, Instant now) const {
  const std::lock_guard lock(mutex_);
  return !state.lost && !state.over && (state.open || now < state.trusted);
}

bool LockHoldings::holds(const LockState& state) const {
  const std::lock_guard lock(mutex_);
  return !state.lost && !state.over;
}

bool LockHoldings::lost(const LockState& state, Instant now) const {
  const std::lock_guard lock(mutex_);
  return state.lost || (!state.over && trust_ended(state, now));
}

bool LockHoldings::open(const LockState& state) const {
  const std::lock_guard lock(mutex_);
  return state.open;
}

std::string LockHoldings::why_lost(const LockState& state, Instant now) const {
  const std::lock_guard lock(mutex_);
  return !state.lost && !state.over && trust_ended(state, now) ? word_for_the_end(state) : state.why_lost;
}

std::size_t LockHoldings::count() const {
  const std::lock_guard lock(mutex_);
  return all_.size();
}

std::optional<Instant> LockHoldings::plan_renewal(std::size_t keeper, Instant now) {
  const std::lock_guard lock(mutex_);
  std::optional<Instant> earliest;
  for (const auto& [number, state] : all_) {
    if (keeper_of(state->times.ttl) == keeper && may_renew(*state)) take_earlier(earliest, state->next_try);
  }
  return plan(keepers_sleep_until_[keeper], earliest, now);
}

std::vector<LockHoldings::Group> LockHoldings::begin_renewal(std::size_t keeper, Instant now, std::size_t most) {
  const std::lock_guard lock(mutex_);
  std::map<Duration, std::vector<LockStatePtr>> live;  // by ttl
  std::map<Duration, bool> due;
  for (const auto& [number, state] : all_) {
    if (keeper_of(state->times.ttl) != keeper || !may_renew(*state)) continue;
    if (trust_ended(*state,
                    now)) {  // after a pause, and the trust watch has not seen it yet: it is not renewed any more
      state->next_try.reset();
      continue;
    }
    live[state->times.ttl].push_back(state);
    // After a pause several tries lie behind us; they are one.
    while (state->next_try && *state->next_try <= now) {
      due[state->times.ttl] = true;
      state->tries += 1;
      state->next_try = try_after(*state, now);
    }
  }
  std::vector<Group> groups;
  for (auto& [ttl, locks] : live) {
    if (!due[ttl]) continue;
    std::size_t resources = most;  // so that the first one begins a group
    for (LockStatePtr& state : locks) {
      if (resources + state->grants.size() > most) {
        groups.push_back({.ttl = ttl, .call_timeout = std::min(state->times.call_timeout, kCallTimeout), .locks = {}});
        resources = 0;
      }
      resources += state->grants.size();
      groups.back().locks.push_back(std::move(state));
    }
  }
  return groups;
}

bool LockHoldings::renewed(LockState& state, Instant answered_at, Instant trusted) {
  const std::lock_guard lock(mutex_);
  if (!may_renew(state)) return false;
  if (answered_at >= state.trusted && !state.goes_on_open()) return false;
  state.trusted = trusted;
  state.tries = 0;
  state.open = false;
  state.next_try = try_after(state, answered_at);
  return true;
}

bool LockHoldings::refused(LockState& state, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (state.lost || state.over) return false;
  state.lost = true;
  state.why_lost = reason;
  forget(state);
  return true;
}

LockHoldings::Overdue LockHoldings::overdue(Instant now) {
  const std::lock_guard lock(mutex_);
  Overdue overdue;
  for (const auto& [number, state] : all_) {
    if (state->open) continue;
    if (state->goes_on_open()) {
      if (now < state->trusted) continue;
      state->open = true;
      overdue.opened.push_back(state);
      continue;
    }
    if (!state->told && now >= stop_work_at(state->trusted, state->times)) {
      state->told = true;
      overdue.told.push_back(state);
    }
    if (now >= state->trusted) overdue.lost.push_back(state);
  }
  for (const LockStatePtr& state : overdue.lost) {
    state->lost = true;
    state->why_lost = word_for_the_end(*state);
    forget(*state);
  }
  return overdue;
}

std::optional<Instant> LockHoldings::deadline_of(const LockState& state) {
  if (state.open) return std::nullopt;
  if (state.told || state.goes_on_open()) return state.trusted;
  return stop_work_at(state.trusted, state.times);
}

std::optional<Instant> LockHoldings::plan_watch(Instant now) {
  const std::lock_guard lock(mutex_);
  std::optional<Instant> earliest;
  for (const auto& [number, state] : all_) take_earlier(earliest, deadline_of(*state));
  return plan(watch_sleeps_until_, earliest, now);
}

std::vector<LockStatePtr> LockHoldings::begin_attending(Instant now) {
  const std::lock_guard lock(mutex_);
  std::vector<LockStatePtr> found;
  for (const auto& [number, state] : all_) {
    if (state->attended || state->grants.empty() || now < state->added_at + kAttendedAfter) continue;
    state->attended = true;
    found.push_back(state);
  }
  return found;
}

std::optional<Instant> LockHoldings::plan_attending(Instant now, std::optional<Instant> at_latest) {
  const std::lock_guard lock(mutex_);
  std::optional<Instant> earliest;
  for (const auto& [number, state] : all_) {
    if (!state->attended && !state->grants.empty()) take_earlier(earliest, state->added_at + kAttendedAfter);
  }
  earliest = plan(attendant_sleeps_until_, earliest, now);
  take_earlier(earliest, at_latest);
  return earliest;
}

}  // namespace fenceline

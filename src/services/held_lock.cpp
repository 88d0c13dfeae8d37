#include "fenceline/held_lock.hpp"

#include <algorithm>
#include <utility>

#include "base/crash_point.hpp"
#include "base/verdict_text.hpp"
#include "services/backoff.hpp"
#include "services/lock_parts.hpp"

namespace fenceline {
namespace {

using std::chrono::seconds;

constexpr int kReleaseSends = 3;
constexpr Duration kReleaseBudget = seconds{10};  // of its own: whoever stops still frees what it held

Error lost_error(const LockState& state, const std::string& why) {
  return {Code::lost,
          "lock " + state.resource() + " was lost under fence " + std::to_string(state.fence()) + ": " + why};
}

// Whether the store has no lease of this holder left: a release whose answer was lost has taken effect.
bool is_gone(LockParts& parts, const LockState& state) {
  return std::ranges::all_of(state.grants, [&](const LockGrant& grant) {
    const Result<std::optional<LockRow>> row = parts.store.lock(parts.options.ns, grant.resource);
    if (!row) return false;
    if (!*row || (*row)->fence != grant.fence) return true;
    return std::cmp_equal((*row)->holders.size(), (*row)->holders_count) &&
           std::ranges::find((*row)->holders, state.owner, &LockHolder::owner) == (*row)->holders.end();
  });
}

// A repeat changes nothing, so all that is left open is whether the lock is free now or ends by itself. The lock was
// trusted when the first release was sent: once that one is in doubt, a lock that is another's, or gone, was released.
Result<void> send_release(LockParts& parts, const LockState& state) {
  ReleaseRequest request{.ns = parts.options.ns, .locks = state.holdings()};
  const Instant until = parts.runtime.now() + kReleaseBudget;
  bool in_doubt = false;
  for (int sends = 1;; ++sends) {
    const Instant now = parts.runtime.now();
    request.timeout = std::clamp(std::min(state.times.ttl / 3, until - now), Duration{seconds{1}}, kReleaseBudget / 2);
    const Result<ReleaseReply> reply = parts.store.release(request);
    if (reply && (reply->refused.empty() || in_doubt)) return {};
    if (reply) return std::unexpected(lost_error(state, std::string(to_string(reply->refused.front().reason))));
    const Instant again = parts.runtime.now() + backoff(sends, kBackoffMost, parts.runtime.random());
    in_doubt = in_doubt || reply.error().code == Code::in_doubt;
    if (sends == kReleaseSends || !may_repeat(reply.error().code) || again >= until) {
      if (!in_doubt) return std::unexpected(reply.error());
      if (is_gone(parts, state)) return {};
      return fail(Code::in_doubt, without_verdict(reply.error().message));
    }
    parts.runtime.sleep_until(again, {});
  }
}

}  // namespace

TrustDeadline& trust_of(const HeldLock& held) { return LockParts::state_of(held).trust; }
const LeaseTimes& times_of(const HeldLock& held) { return LockParts::state_of(held).times; }

HeldLock& HeldLock::operator=(HeldLock&& other) noexcept {
  HeldLock old(std::move(*this));
  parts_ = other.parts_;
  state_ = std::move(other.state_);
  over_ = other.over_;
  return *this;
}

// Memory only: neither the store nor anybody who waits is told from a destructor.
HeldLock::~HeldLock() {
  if (!state_ || over_) return;
  const LockHoldings::Left left = parts_->holdings.abandon(*state_);
  if (left == LockHoldings::Left::entered) return;
  if (state_->turn) state_->turn->drop();
  if (left == LockHoldings::Left::lost || !state_->renewable()) return;
  parts_->counts.abandoned += 1;
  parts_->log.warn(
      "lock_abandoned",
      {{"lock", state_->resource()}, {"owner", state_->owner}, {"fence", state_->fence()}, {"why", "dropped"}});
}

const std::vector<LockGrant>& HeldLock::grants() const { return state_->grants; }
Fence HeldLock::fence() const { return state_->fence(); }

Fence HeldLock::fence_of(std::string_view resource) const {
  const auto found = std::ranges::find(state_->grants, resource, &LockGrant::resource);
  return found == state_->grants.end() ? 0 : found->fence;
}

const std::string& HeldLock::resource() const { return state_->resource(); }
const std::string& HeldLock::owner() const { return state_->owner; }
bool HeldLock::held() const { return !over_ && parts_->holdings.may_act(*state_, parts_->runtime.now()); }
bool HeldLock::lost() const { return parts_->holdings.lost(*state_, parts_->runtime.now()); }
std::string HeldLock::why_lost() const { return parts_->holdings.why_lost(*state_, parts_->runtime.now()); }
bool HeldLock::failed_open() const { return parts_->holdings.open(*state_); }
std::stop_token HeldLock::stop() const { return state_->stop.get_token(); }
void HeldLock::request_stop() const { state_->stop.request_stop(); }

Result<HeldLock> HeldLock::enter() const {
  if (over_ || !parts_->holdings.enter(*state_))
    return fail(Code::lost, "lock " + resource() + " is no longer held, so it cannot be entered again");
  return HeldLock(*parts_, state_);
}

Result<void> HeldLock::release() {
  if (over_) return {};
  over_ = true;
  const LockHoldings::Left left = parts_->holdings.leave(*state_, parts_->runtime.now());
  if (left == LockHoldings::Left::entered) return {};
  state_->stop.request_stop();
  if (left == LockHoldings::Left::lost || left == LockHoldings::Left::lost_now) {
    if (left == LockHoldings::Left::lost_now) parts_->log_lost(*state_, why_lost());
    parts_->turns.leave(state_->turn);
    return std::unexpected(lost_error(*state_, why_lost()));
  }
  if (!state_->renewable()) {
    parts_->turns.leave(state_->turn);
    if (!state_->grants.empty()) parts_->will_be_free();
    return {};
  }
  FENCELINE_CRASH_POINT(lock_release_before);
  const Result<void> released = send_release(*parts_, *state_);
  FENCELINE_CRASH_POINT(lock_release_after);
  // Only now: the next one of this process finds it free.
  parts_->turns.leave(state_->turn);
  if (released) {
    parts_->counts.released += 1;
    parts_->will_be_free();
    parts_->log.info("lock_released", {{"lock", state_->resource()},
                                       {"owner", state_->owner},
                                       {"place", parts_->options.place},
                                       {"fence", state_->fence()}});
    return {};
  }
  if (released.error().code == Code::lost) {
    parts_->log_lost(*state_, "release_refused");
    return released;
  }
  parts_->counts.release_failures += 1;
  parts_->log.warn("lock_release_failed", {{"lock", state_->resource()},
                                           {"owner", state_->owner},
                                           {"fence", state_->fence()},
                                           {"code", to_string(released.error().code)},
                                           {"message", released.error().message}});
  if (state_->options.on_release_error == OnReleaseError::ignore) return {};
  const std::string why = without_verdict(released.error().message);
  if (released.error().code == Code::in_doubt)
    return fail(Code::in_doubt, "the release of lock " + state_->resource() +
                                    " was not confirmed, so it is free now or when its lease ends: " + why);
  return fail(released.error().code, "lock " + state_->resource() + " could not be released and will expire: " + why);
}

}  // namespace fenceline

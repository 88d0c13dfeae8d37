#include "services/lock_asker.hpp"

#include <algorithm>
#include <utility>

#include "base/crash_point.hpp"
#include "base/duration_text.hpp"
#include "base/verdict_text.hpp"
#include "services/backoff.hpp"
#include "services/fresh_id.hpp"

namespace fenceline {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kSendsInDoubt = 3;  // of one request, though nobody waits
constexpr Duration kRetryPauseMost = seconds{2};
constexpr Duration kFirstCallLeast = seconds{1};    // however short the wait: a connection may have to be made
constexpr Duration kCallLeast = milliseconds{500};  // of later ones, so that a store that is only slow is not in doubt
constexpr Duration kWithdrawTimeout =
    seconds{1};  // on the caller's time, when its wait is over; then the attendant goes on
// A release concerns only the first that waits. The second looks a moment later, as a hint may stand for two, and each
// of the others so much later than the one before it.
constexpr Duration kSecondLook = milliseconds{3};
constexpr Duration kLookStep = milliseconds{250};
// Only so many are woken by each hint. The others see so often how far things have moved, in case that those before
// them died.
constexpr std::int64_t kWokenEachTime = 4;
constexpr Duration kTurnLookEvery = milliseconds{500};

Duration look_in(std::int64_t before) {
  return before == 0 ? Duration{0} : before == 1 ? kSecondLook : kLookStep * (before - 1);
}

}  // namespace

LockAsker::LockAsker(LockParts& parts, const LockOptions& options, LockTurns::TurnPtr turn, Instant deadline,
                     std::stop_token stop)
    : parts_(parts),
      options_(options),
      times_(times_of(options)),
      turn_(std::move(turn)),
      deadline_(deadline),
      stop_(std::move(stop)),
      call_most_(std::clamp(options.ttl / 3, Duration{kFirstCallLeast}, kCallTimeout)) {
  request_ = {.ns = parts.options.ns,
              .names = options.names,
              .mode = options.mode,
              .slots = options.slots,
              .ttl = options.ttl,
              .to_its_end = options.pattern == LockPattern::loop,
              .hold_at_least = options.hold_at_least,
              .delay = options.delay,
              .wait = options.contention == Contention::in_turn && options.wait > Duration{0},
              .pattern = std::string(to_string(options.pattern)),
              .place = parts.options.place};
}

// An owner is never used for another acquire, so that nothing late can be taken for this one.
void LockAsker::begin() {
  request_.owner = fresh_id(parts_.runtime);
  request_.request = fresh_id(parts_.runtime);
  sent_ = in_doubt_ = false;
}

Result<LockStatePtr> LockAsker::ask() {
  begin();
  // Whoever does not wait for the lock still wants an answer, and asks for it again if it was lost.
  const bool waits = options_.contention != Contention::skip && options_.wait > Duration{0};
  answer_by_ = waits ? deadline_ : parts_.runtime.now() + 2 * call_most_;
  if (request_.wait) {
    for (const std::string& name : options_.names) marks_.push_back(parts_.hints.mark(name));
  }
  Result<LockStatePtr> state = ask_and_wait();
  if (listener_) {
    for (const std::string& name : options_.names) parts_.hints.unlisten(name, listener_);
  }
  if (contended_) parts_.counts.contended += 1;
  if (contended_ && state) parts_.counts.waited += 1;
  return state;
}

Result<LockStatePtr> LockAsker::ask_and_wait() {
  while (true) {
    const Instant asked_at = parts_.runtime.now();
    request_.timeout = call_timeout(asked_at);
    sent_ = true;
    if (listener_)
      seen_ = listener_->hints;  // before the question: what is told while the answer is under way is not in it
    const Result<AcquireReply> reply = parts_.store.acquire(request_);
    const Instant now = parts_.runtime.now();
    Next next = Next::ask;
    if (reply && !reply->grants.empty()) {
      FENCELINE_CRASH_POINT(lock_acquire_after);
      if (Result<LockStatePtr> state = accept(*reply, asked_at, now)) return state;
      next = over(now) ? Next::give_up : Next::ask;
    } else if (reply) {
      next = not_granted(*reply, now);
    } else {
      next = failed(reply.error(), now);
    }
    if (next == Next::ask) continue;
    const bool unsure = in_doubt_;
    const bool withdrawn = !sent_ || !(in_doubt_ || request_.wait) || withdraw();
    Error error = why_not();
    // What was taken back did not happen.
    if (unsure && may_repeat(error.code)) {
      error.code = withdrawn ? Code::unavailable : Code::in_doubt;
      error.message = without_verdict(std::move(error.message)) +
                      (withdrawn ? ", and the request was withdrawn" : ", and the request could not be withdrawn yet");
    }
    return std::unexpected(std::move(error));
  }
}

Result<LockStatePtr> LockAsker::accept(const AcquireReply& reply, Instant asked_at, Instant answered_at) {
  const Grant grant{.left = reply.left, .waited = reply.waited};
  const Instant trusted = trusted_until(asked_at, answered_at, grant, times_);
  error_.reset();
  held_.reset();
  late_ = answered_at >= stop_work_at(trusted, times_);
  if (!late_ && !stop_.stop_requested()) {
    return std::make_shared<LockState>(options_, request_.owner, reply.grants, trusted);
  }
  // Nobody would have the time to work under it.
  if (late_) {
    parts_.counts.acquire_failures += 1;
    parts_.log.warn(
        "lock_granted_too_late",
        {{"lock", reply.grants.front().resource}, {"owner", request_.owner}, {"fence", reply.grants.front().fence}});
  }
  withdraw();
  begin();
  return fail(Code::lost, "too late");
}

LockAsker::Next LockAsker::not_granted(const AcquireReply& reply, Instant now) {
  error_.reset();
  late_ = false;
  failures_ = 0;
  contended_ = true;
  answered_ = true;
  held_ = reply.held;
  free_at_ = reply.again_in ? std::optional(now + *reply.again_in) : std::nullopt;
  parts_.turns.wait_at_store(turn_);
  if (options_.contention == Contention::skip || over(now)) return Next::give_up;
  if (options_.contention == Contention::in_turn) {
    wait_in_turn(reply, now);
  } else {
    // In its first half a pause can be short, so that those who met do not meet again.
    const Duration whole = std::min(kRetryPauseMost, Duration{milliseconds{100}} * (1 << std::min(retries_++, 10)));
    const Duration pause = std::min(backoff(20, whole, parts_.runtime.random()),
                                    std::max(reply.again_in.value_or(whole), Duration{milliseconds{10}}));
    parts_.runtime.sleep_until(std::min(deadline_, now + pause), stop_);
  }
  return over(parts_.runtime.now()) ? Next::give_up : Next::ask;
}

void LockAsker::wait_in_turn(const AcquireReply& reply, Instant now) {
  if (!listener_) {
    event_ = std::shared_ptr<Event>(parts_.runtime.make_event());
    listener_ = std::make_shared<LockHints::Listener>(event_);
    bool missed = false;
    for (std::size_t i = 0; i < options_.names.size(); ++i) {
      const std::optional<LockHints::Mark> mark = parts_.hints.listen(options_.names[i], listener_);
      // What was told between the question and our listening counts as if we had heard it; where that is not known, it
      // may be the release, so it is asked again.
      if (mark && marks_[i] && mark->watch == marks_[i]->watch) seen_ -= mark->told - marks_[i]->told;
      else missed = true;
    }
    if (missed) return;
  }
  const std::stop_callback on_stop(stop_, [this] { event_->notify(); });
  Instant ask_at = std::min({deadline_, now + kLockAskAgain,
                             now + std::max(reply.again_in.value_or(kLockAskAgain), Duration{milliseconds{1}})});
  const std::int64_t steps = reply.ahead + 1;  // each hint may be one, up to our turn
  listener_->wake_at = seen_ + std::max<std::int64_t>(1, steps - kWokenEachTime + 1);
  while (!stop_.stop_requested()) {
    // Each hint may mean that one of those before us has had its turn; if that was thought too often, the store says
    // how many there are.
    const std::int64_t moved = listener_->hints - seen_;
    const Instant now_at = parts_.runtime.now();
    if (moved > 0) ask_at = std::min(ask_at, now_at + look_in(std::max<std::int64_t>(0, steps - moved)));
    if (now_at >= ask_at) return;
    event_->wait_until(std::min(ask_at, now_at + kTurnLookEvery));
  }
}

LockAsker::Next LockAsker::failed(const Error& error, Instant now) {
  error_ = error;
  late_ = false;
  parts_.counts.acquire_failures += 1;
  if (error.code == Code::lost) {  // it was granted, and ended before we heard of it
    error_->code = Code::unavailable;
    withdraw();  // of several names the others may still be leased to it
    begin();
    return over(now) ? Next::give_up : Next::ask;
  }
  if (!may_repeat(error.code)) return Next::give_up;
  in_doubt_ = in_doubt_ || error.code == Code::in_doubt;
  failures_ += 1;
  parts_.log.warn("lock_acquire_failed", {{"lock", options_.names.front()},
                                          {"owner", request_.owner},
                                          {"code", to_string(error.code)},
                                          {"message", error.message}});
  if (stop_.stop_requested()) return Next::give_up;
  if (now >= deadline_ && (!in_doubt_ || failures_ >= kSendsInDoubt || now >= answer_by_)) return Next::give_up;
  const Duration pause = backoff(failures_ - 1, std::min(kBackoffMost, times_.renew_after), parts_.runtime.random());
  if (!parts_.runtime.sleep_until(std::min(now >= deadline_ ? answer_by_ : deadline_, now + pause), stop_))
    return Next::give_up;
  return Next::ask;
}

// A call does not last much longer than its caller wants to wait, and leaves time to use what it brings.
Duration LockAsker::call_timeout(Instant now) const {
  return std::clamp(answer_by_ - now, answered_ || failures_ > 0 ? kCallLeast : kFirstCallLeast, call_most_);
}

bool LockAsker::withdraw() {
  const WithdrawRequest back{.ns = request_.ns,
                             .names = request_.names,
                             .slots = request_.slots,
                             .owner = request_.owner,
                             .request = request_.request,
                             .ttl = request_.ttl,
                             .timeout = std::min(kWithdrawTimeout, kCallTimeout)};
  const Result<void> taken = parts_.store.withdraw(back);
  if (taken) return true;
  const Duration at_the_store = std::max(options_.ttl, kLockWaiterKeptFor);
  parts_.give_to_attendant({.request = back, .until = parts_.runtime.now() + at_the_store});
  return false;
}

// Of one that nobody holds and nobody gets yet.
std::string LockAsker::for_how_long() const {
  const Duration left = free_at_ ? *free_at_ - parts_.runtime.now() : Duration{0};
  if (left <= Duration{0}) return "";
  const Duration rounded = left < seconds{2}   ? Duration{std::chrono::ceil<milliseconds>(left)}
                           : left < minutes{2} ? Duration{std::chrono::ceil<seconds>(left)}
                                               : Duration{std::chrono::ceil<minutes>(left)};
  return " for " + format_duration(rounded) + " more";
}

Error LockAsker::why_not() const {
  const std::string lock = "lock " + options_.names.front();
  if (stop_.stop_requested()) return {Code::held, lock + " was not acquired: the request was cancelled"};
  if (error_) return {error_->code, lock + " cannot be acquired: " + error_->message};
  if (late_ && options_.pattern == LockPattern::loop)
    return {Code::unavailable, lock +
                                   " was granted too late to use, because the store is slow: no one gets it until its "
                                   "window of " +
                                   format_duration(options_.ttl) + " is over; use a longer window or a faster store"};
  if (late_ || !held_) return {Code::unavailable, lock + " was granted too late to use: the store is slow"};
  const std::string which = "lock " + held_->resource;
  if (held_->reason == Reason::turn) return {Code::held, which + " is free, but others are waiting for it"};
  if (held_->reason == Reason::barred)
    return {Code::held,
            which + " is kept" + for_how_long() + " after its last holder, fence " + std::to_string(held_->fence)};
  if (held_->reason == Reason::delayed)
    return {Code::held,
            which + " rests" + for_how_long() + " after its holder was lost, fence " + std::to_string(held_->fence)};
  return {Code::held, which + " is held by " + (held_->place.empty() ? held_->owner : held_->place) + ", fence " +
                          std::to_string(held_->fence)};
}

}  // namespace fenceline

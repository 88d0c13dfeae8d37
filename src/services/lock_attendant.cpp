#include "services/lock_attendant.hpp"

#include <algorithm>
#include <utility>

#include "services/backoff.hpp"
#include "services/worker_context.hpp"

namespace fenceline {
namespace {

constexpr Duration kLockLookPause =
    std::chrono::milliseconds{250};  // between two looks at one lock, however many hints came
constexpr Duration kTidyPause = std::chrono::milliseconds{20};  // a long backlog is no reason to keep the store busy

}  // namespace

void LockAttendant::attend(std::stop_token stop) {
  Event& event = *parts_.attendant;
  const std::stop_callback wake(stop, [&event] { event.notify(); });
  while (!stop.stop_requested()) {
    begin_attending();
    std::optional<Instant> due = look_after();
    take_earlier(due, take_back(stop));
    take_earlier(due, tidy());
    const Instant now = parts_.runtime.now();
    due = parts_.holdings.plan_attending(now, due);
    if (!due || now < *due) event.wait_until(due.value_or(now + kUntilNotified));
  }
  for (const auto& [number, attended] : attended_) {
    for (const std::string& name : attended.state->options.names) parts_.hints.unlisten(name, attended.listener);
  }
}

void LockAttendant::begin_attending() {
  for (const LockStatePtr& state : parts_.holdings.begin_attending(parts_.runtime.now())) {
    Attended attended{.state = state, .listener = std::make_shared<LockHints::Listener>(parts_.attendant)};
    for (const std::string& name : state->options.names) parts_.hints.listen(name, attended.listener);
    attended_.emplace(state->number,
                      std::move(attended));  // it is looked at: it may have been broken before we listened
  }
}

std::optional<Instant> LockAttendant::look_after() {
  std::optional<Instant> due;
  for (auto it = attended_.begin(); it != attended_.end();) {
    Attended& attended = it->second;
    if (!parts_.holdings.holds(*attended.state)) {
      for (const std::string& name : attended.state->options.names) parts_.hints.unlisten(name, attended.listener);
      it = attended_.erase(it);
      continue;
    }
    ++it;
    const std::int64_t hints = attended.listener->hints;
    attended.wanted = attended.wanted || hints != attended.seen;
    attended.seen = hints;
    if (attended.wanted && parts_.runtime.now() >= attended.look_again) look(attended);
    if (attended.wanted) take_earlier(due, attended.look_again);
  }
  return due;
}

// A newer fence is the end of the lease, whoever has it. So no renewal is needed to see a break, and none is moved by a
// hint.
void LockAttendant::look(Attended& attended) {
  LockState& state = *attended.state;
  bool answered = true;
  for (const LockGrant& grant : state.grants) {
    const Result<std::optional<LockRow>> row = parts_.store.lock(parts_.options.ns, grant.resource);
    answered = answered && row.has_value();
    if (!row || !*row || (*row)->fence <= grant.fence) continue;
    if (!parts_.holdings.refused(state, "superseded")) return;
    parts_.log_lost(state, "superseded");
    state.trust.cut_at(parts_.runtime.now() + stop_grace(state.times), Cut::revoked);
    state.stop.request_stop();
    return;
  }
  attended.wanted = !answered;
  attended.look_again = parts_.runtime.now() + kLockLookPause;
}

std::optional<Instant> LockAttendant::take_back(const std::stop_token& stop) {
  for (Unanswered& unanswered : parts_.take_unanswered()) unanswered_.push_back(std::move(unanswered));
  while (!unanswered_.empty() && parts_.runtime.now() >= take_back_at_ && !stop.stop_requested()) {
    const Unanswered& next = unanswered_.front();
    const Result<void> taken = parts_.store.withdraw(next.request);
    const Instant now = parts_.runtime.now();
    if (!taken && may_repeat(taken.error().code) && now < next.until) {
      take_back_at_ = now + backoff(take_back_tries_++, kBackoffMost, parts_.runtime.random());
      break;
    }
    if (!taken) {
      parts_.counts.abandoned += 1;
      parts_.log.warn("lock_abandoned",
                      {{"lock", next.request.names.front()}, {"owner", next.request.owner}, {"why", "in_doubt"}});
    }
    take_back_tries_ = 0;
    unanswered_.pop_front();
  }
  return unanswered_.empty() ? std::nullopt : std::optional(take_back_at_);
}

// Free locks stay at the store for a while; somebody must have them removed then, though nothing is released any more.
// One call at a time: looks go between.
std::optional<Instant> LockAttendant::tidy() {
  const Duration every = parts_.options.tidy_every;
  if (every <= Duration{0}) return std::nullopt;
  const Instant now = parts_.runtime.now();
  const std::int64_t releases = parts_.releases;
  if (releases > 0) tidy_until_ = now + kFreeLockKeptFor + every;
  if (!tidy_until_) return std::nullopt;
  if (!tidy_at_) tidy_at_ = now + every;
  if (now < *tidy_at_ && releases < kReleasesBeforeTidy) return tidy_at_;
  parts_.releases -= releases;
  const Result<TidyReply> reply = parts_.store.tidy({.ns = parts_.options.ns});
  if (!reply)
    parts_.log.warn("lock_tidy_failed", {{"code", to_string(reply.error().code)}, {"message", reply.error().message}});
  const bool more = reply && reply->more;
  tidy_at_ = parts_.runtime.now() + (more ? kTidyPause : every);
  if (!more && now >= *tidy_until_) {
    tidy_until_.reset();
    tidy_at_.reset();
  }
  return tidy_at_;
}

}  // namespace fenceline

#include "services/schedule_lead.hpp"

#include <algorithm>
#include <utility>

#include "services/backoff.hpp"
#include "services/fresh_id.hpp"

namespace fenceline {
namespace {

using std::chrono::seconds;

// A hint may come with every enqueue of the namespace.
constexpr Duration kAskPauseLeast = seconds{1};
// What waiting a moment cannot mend.
constexpr Duration kLongPause = std::chrono::minutes{1};
constexpr Duration kLastCall = seconds{1};

}  // namespace

ScheduleLead::ScheduleLead(Runtime& runtime, Log log, Store& store, std::string ns, std::string place, Duration window)
    : runtime_(runtime),
      log_(log),
      store_(store),
      ns_(std::move(ns)),
      place_(std::move(place)),
      times_(LeaseTimes::of(window)) {}

void ScheduleLead::keep() {
  if (fence_ != 0 && !has()) {
    log_.info("scheduler_follows", {{"lock", kSchedulerLock}, {"owner", owner_}, {"place", place_}, {"fence", fence_}});
    forget();
    next_ = Instant::min();
  }
  if (runtime_.now() < next_) return;
  if (fence_ != 0) renew();
  else ask();
}

void ScheduleLead::hint() {
  if (fence_ == 0 && tries_ == 0 && runtime_.now() >= offered_until_ && asked_at_ != Instant::min())
    next_ = std::min(next_, asked_at_ + kAskPauseLeast);
}

void ScheduleLead::ask() {
  if (owner_.empty()) {
    owner_ = fresh_id(runtime_);
    request_ = fresh_id(runtime_);
  }
  asked_at_ = runtime_.now();
  const Result<AcquireReply> reply = store_.acquire({.ns = ns_,
                                                     .names = {kSchedulerLock},
                                                     .owner = owner_,
                                                     .request = request_,
                                                     .ttl = times_.ttl,
                                                     .pattern = "schedules",
                                                     .place = place_,
                                                     .timeout = std::min(kCallTimeout, times_.ttl)});
  const Instant now = runtime_.now();
  if (!reply) return failed("acquire", reply.error());
  tries_ = 0;
  told_ = false;
  if (reply->grants.empty()) {
    const Duration pause = reply->again_in.value_or(times_.ttl);
    next_ = now + pause +
            Duration{static_cast<Duration::rep>(runtime_.random() % static_cast<std::uint64_t>(times_.margin.count()))};
    return;
  }
  fence_ = reply->grants.front().fence;
  until_ = trusted_until(asked_at_, now, {reply->left, reply->waited}, times_);
  next_ = asked_at_ + times_.renew_after;
  log_.info("scheduler_leads", {{"lock", kSchedulerLock},
                                {"owner", owner_},
                                {"place", place_},
                                {"fence", fence_},
                                {"previous_owner", reply->grants.front().previous_owner}});
}

void ScheduleLead::renew() {
  const Instant asked = runtime_.now();
  const Result<RenewReply> reply = store_.renew({.ns = ns_,
                                                 .locks = {{kSchedulerLock, owner_, fence_}},
                                                 .ttl = times_.ttl,
                                                 .timeout = std::min(kCallTimeout, times_.renew_after)});
  if (!reply) return failed("renew", reply.error());
  tries_ = 0;
  told_ = false;
  if (!reply->refused.empty()) {
    until_ = Instant::min();  // keep() says so, and asks anew
    return;
  }
  until_ = trusted_until(asked, runtime_.now(), {reply->left, reply->waited}, times_);
  next_ = asked + times_.renew_after;
}

void ScheduleLead::failed(std::string_view verb, const Error& error) {
  const Instant now = runtime_.now();
  next_ = now + backoff(tries_++, std::min(kBackoffMost, times_.renew_after), runtime_.random());
  if (may_repeat(error.code)) return;
  // A grant that has ended, or was withdrawn, is asked for under another name.
  if (fence_ == 0) forget();
  if (error.code != Code::lost) next_ = now + kLongPause;
  if (std::exchange(told_, true)) return;
  log_.warn("scheduler_failed", {{"verb", verb}, {"code", to_string(error.code)}, {"message", error.message}});
}

void ScheduleLead::forget() {
  owner_.clear();
  fence_ = 0;
  until_ = Instant::min();
}

void ScheduleLead::offer() {
  if (fence_ == 0) return;
  log_.info("scheduler_offers", {{"lock", kSchedulerLock}, {"fence", fence_}});
  let_go();
  forget();
  offered_until_ = runtime_.now() + kLongPause;
  next_ = offered_until_;
}

void ScheduleLead::let_go() {
  if (fence_ == 0 || runtime_.now() >= until_) return;
  // Should it fail, the lease ends by itself.
  (void)store_.release(
      {.ns = ns_, .locks = {{kSchedulerLock, owner_, fence_}}, .timeout = std::min(kLastCall, times_.renew_after)});
  forget();
}

}  // namespace fenceline

#include "services/fetcher.hpp"

#include <algorithm>
#include <utility>

#include "base/crash_point.hpp"
#include "services/backoff.hpp"
#include "services/fresh_id.hpp"

namespace fenceline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kIdlePauseFirst = seconds{1};
constexpr Duration kIdlePauseMost = seconds{5};
constexpr Duration kDrainPauseFirst = milliseconds{10};
constexpr Duration kDrainPauseMost = seconds{1};
constexpr Duration kClaimPauseLeast = milliseconds{1};  // between two claims that found nothing
constexpr int kClaimSends = 3;                          // of one request that stays in doubt

}  // namespace

Fetcher::Fetcher(WorkerContext& context)
    : context_(context),
      queues_(context.options.queues),
      idle_pause_(kIdlePauseFirst),
      drain_pause_(kDrainPauseFirst) {}

void Fetcher::fetch(std::stop_token stop) {
  const WorkerOptions& options = context_.options;
  const std::stop_callback wake(stop, [this] { context_.fetcher->notify(); });
  const auto watch = context_.store.watch({.ns = options.ns, .queues = options.queues, .stage = options.stage},
                                          [this] { context_.hint_claim(); });
  while (!stop.stop_requested() && !context_.failure()) {
    const Instant now = context_.runtime.now();
    const Holdings::Load load = context_.holdings.load();
    const int limit = room(load, now);
    if (limit > 0 && context_.claim_hinted.exchange(false)) claim_at_ = now;
    // The store tells when the leases of others end, not ours.
    const std::optional<Instant> own_end = context_.holdings.next_end_of_lost();
    if (own_end && *own_end > now) claim_at_ = std::min(claim_at_, *own_end);
    // We hold nothing any more: what must run alone can come.
    if (alone_since_ && load.total() == 0 && failures_ == 0) claim_at_ = std::min(claim_at_, now);
    if (limit > 0 && claim_at_ <= now) {
      claim(limit, load.total() > 0, stop);
    } else {
      // What we stopped may free a job, and is said in a moment.
      const bool may_end = options.drain && load.total() == 0 && !load.unsaid;
      if (may_end && is_drained()) return;
      context_.fetcher->wait_until(limit > 0 || may_end ? claim_at_ : now + kUntilNotified);
    }
  }
}

int Fetcher::room(const Holdings::Load& load, Instant now) const {
  const WorkerOptions& options = context_.options;
  // Handlers take long just now: what is fetched ahead would only be kept from others.
  const int prefetch = load.crowded ? 0 : options.prefetch;
  const int places = std::min(options.concurrency + prefetch, kBatchMax);
  if (load.alone || context_.quiet) return 0;
  // A stream of other jobs must not keep one that has to run alone waiting for ever.
  if (alone_seen_ && now - *alone_since_ > options.ttl && load.total() > 0) return 0;
  // Half of the stock is used up before it is filled, so that a claim brings several.
  if (load.waiting > prefetch / 2) return 0;
  // A store that takes no outcomes gets no claims.
  if (load.returned > 4 * places) return 0;
  return std::max(0, places - load.waiting - load.running);
}

void Fetcher::claim(int limit, bool holds_others, std::stop_token stop) {
  std::rotate(queues_.begin(), queues_.begin() + 1, queues_.end());
  const WorkerOptions& options = context_.options;
  const ClaimRequest request{.ns = options.ns,
                             .queues = queues_,
                             .stage = options.stage,
                             .owner = context_.owner,
                             .request = fresh_id(context_.runtime),
                             .limit = limit,
                             .ttl = options.ttl,
                             .holds_others = holds_others,
                             .timeout = std::clamp(options.ttl / 3, Duration{seconds{1}}, kCallTimeout)};
  const Instant first_asked_at = context_.runtime.now();
  bool in_doubt = false;
  for (int sends = 1;; ++sends) {
    // Of this very send: a repeat is told what is left by then, so to count from the first would count the wait twice.
    const Instant asked_at = context_.runtime.now();
    FENCELINE_CRASH_POINT(claim_before);
    const Result<ClaimReply> reply = context_.store.claim(request);
    FENCELINE_CRASH_POINT(claim_after);
    const Instant now = context_.runtime.now();
    if (reply) {
      context_.store_answered();
      failures_ = 0;
      return accept(request, *reply, asked_at, now);
    }
    const Error& error = reply.error();
    if (!may_repeat(error.code)) return context_.give_up(error);
    context_.store_failed("claim", error);
    in_doubt = in_doubt || error.code == Code::in_doubt;
    claim_at_ =
        now + backoff(failures_++, std::min(kBackoffMost, context_.times.renew_after), context_.runtime.random());
    if (!in_doubt) return;
    context_.log.warn(
        "claim_in_doubt",
        {{"owner", context_.owner}, {"request", request.request}, {"sends", sends}, {"code", to_string(error.code)}});
    // What a repeat brings must still be worth starting.
    const bool in_time = claim_at_ < stop_work_at(first_asked_at + options.ttl - context_.times.margin, context_.times);
    if (sends == kClaimSends || !in_time || context_.quiet || !context_.runtime.sleep_until(claim_at_, stop)) {
      return give_back(request, now + options.ttl, stop);
    }
  }
}

void Fetcher::accept(const ClaimRequest& request, const ClaimReply& reply, Instant asked_at, Instant answered_at) {
  if (reply.buried > 0) {
    context_.count(&WorkReport::dead, reply.buried);
    context_.log.warn("jobs_buried", {{"owner", context_.owner}, {"jobs", reply.buried}, {"why", "lost_too_often"}});
  }
  std::vector<DeliveryPtr> deliveries;
  for (const ClaimedJob& claimed : reply.jobs) {
    const Grant grant{.left = claimed.left, .waited = reply.waited};
    const Instant trusted = trusted_until(asked_at, answered_at, grant, context_.times);
    deliveries.push_back(std::make_shared<Delivery>(claimed.job, trusted, answered_at + claimed.left));
    context_.count(&WorkReport::claimed);
    if (claimed.forced) context_.count(&WorkReport::takeovers);
    context_.log.info("lease_acquired", {{"job", to_string(claimed.job.id)},
                                         {"owner", context_.owner},
                                         {"queue", claimed.job.queue},
                                         {"fence", claimed.job.fence},
                                         {"forced", claimed.forced},
                                         {"delivery", claimed.job.deliveries},
                                         {"previous_owner", claimed.previous_owner}});
  }
  plan_next_claim(request, reply, answered_at);
  if (reply.ordered) {  // the store knows before we do
    context_.ordered = true;
    context_.hint_orders();
  }
  if (deliveries.empty()) return;
  for (const DeliveryPtr& delivery : context_.holdings.add(answered_at, deliveries))
    context_.log_loss(*delivery, kRevoked);
  context_.slots->notify();
  context_.orders->notify();  // asked for more often from now on; what we held when we asked may be settled by now
  context_.keeper->notify();
  context_.watch->notify();
}

void Fetcher::plan_next_claim(const ClaimRequest& request, const ClaimReply& reply, Instant answered_at) {
  // One behind a limit is seen only while a place there is free, and this claim may have filled it: that the next one
  // does not see it says nothing. Only a claim that could have got it ends its wait.
  alone_seen_ = reply.alone_waiting && request.holds_others;
  if (!request.holds_others) {
    alone_since_.reset();
  } else if (alone_seen_ && !alone_since_) {
    alone_since_ = answered_at;
  }
  if (!reply.jobs.empty()) {
    idle_pause_ = kIdlePauseFirst;
    drain_pause_ = kDrainPauseFirst;
  }
  if (std::cmp_greater_equal(reply.jobs.size(), request.limit)) {
    claim_at_ = answered_at;  // as soon as there is room
    return;
  }
  // One that runs alone came alone: others may wait behind it.
  if (!reply.jobs.empty() && must_run_alone(reply.jobs.front().job.losses_in_row)) {
    claim_at_ = answered_at;
    return;
  }
  claim_at_ = answered_at + std::clamp(reply.next_due.value_or(idle_pause_), kClaimPauseLeast, idle_pause_);
  if (reply.jobs.empty()) idle_pause_ = std::min(idle_pause_ * 2, kIdlePauseMost);
}

void Fetcher::give_back(const ClaimRequest& request, Instant until, std::stop_token stop) {
  const GiveBackRequest back{.ns = request.ns,
                             .owner = request.owner,
                             .request = request.request,
                             .ttl = request.ttl,
                             .timeout = request.timeout};
  bool stopping = false;
  for (int tries = 0;; ++tries) {
    if (stop.stop_requested() && !std::exchange(stopping, true)) {
      until = std::min(until, context_.runtime.now() + context_.options.drain_grace);
    }
    FENCELINE_CRASH_POINT(give_back_before);
    const Result<void> given = context_.store.give_back(back);
    FENCELINE_CRASH_POINT(give_back_after);
    const Instant now = context_.runtime.now();
    if (given) {
      context_.store_answered();
      context_.log.info("claim_given_back", {{"owner", context_.owner}, {"request", request.request}});
      claim_at_ = now;
      failures_ = 0;
      return;
    }
    if (!may_repeat(given.error().code)) return context_.give_up(given.error());
    const Duration pause =
        backoff(tries, std::min(kBackoffMost, context_.times.renew_after), context_.runtime.random());
    if (now + pause >= until) {
      // Whatever it granted ends by itself, as a delivery that was lost.
      context_.log.warn("claim_abandoned", {{"owner", context_.owner}, {"request", request.request}});
      return;
    }
    context_.runtime.sleep_until(now + pause, {});
  }
}

bool Fetcher::is_drained() {
  const WorkerOptions& options = context_.options;
  FENCELINE_CRASH_POINT(backlog_before);
  const Result<BacklogReply> backlog =
      context_.store.backlog({.ns = options.ns, .queues = options.queues, .stage = options.stage});
  FENCELINE_CRASH_POINT(backlog_after);
  if (backlog) {
    context_.store_answered();
    if (!backlog->running && !backlog->claimable) {
      context_.count(&WorkReport::ahead, backlog->ahead);
      context_.count(&WorkReport::blocked, backlog->blocked);
      return true;
    }
  } else if (may_repeat(backlog.error().code)) {
    context_.store_failed("backlog", backlog.error());
  } else {
    context_.give_up(backlog.error());
    return false;
  }
  const Instant now = context_.runtime.now();
  // A quiet one claims nothing, so what it last planned may lie behind it.
  claim_at_ = std::min(std::max(claim_at_, now + kDrainPauseFirst), now + drain_pause_);
  drain_pause_ = std::min(drain_pause_ * 2, kDrainPauseMost);
  return false;
}

}  // namespace fenceline

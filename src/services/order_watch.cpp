#include "services/order_watch.hpp"

#include <algorithm>

#include "base/crash_point.hpp"
#include "services/backoff.hpp"

namespace fenceline {
namespace {

using std::chrono::milliseconds;

constexpr Duration kIdlePause = std::chrono::seconds{5};
// A wake-up may come with every enqueue of the namespace; asking more often would not be felt by anyone.
constexpr Duration kOrdersPauseLeast = milliseconds{50};
// Between TERM and KILL of a revoked command: with the pause between two questions it is gone within a second.
constexpr Duration kRevokedGrace = milliseconds{300};
// What a handler gets that was told by its own call that its job waits.
constexpr Duration kHeldPatience = std::chrono::seconds{1};

}  // namespace

void OrderWatch::watch(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] { context_.orders->notify(); });
  const auto hints = context_.store.watch({.ns = context_.options.ns, .queues = {}, .stage = {}, .orders = true},
                                          [this] { context_.hint_orders(); });
  for (;;) {
    const Instant now = context_.runtime.now();
    const bool stopping = stop.stop_requested();
    // At the end only if there is a reason: what was refused may have been revoked.
    if (stopping ? context_.orders_hinted.load() : now >= ask_at()) ask();
    end_held(now);
    const std::vector<Holding> stopped = context_.holdings.stopped(now);
    if (stopped.empty() && stopping) return;
    if (!stopped.empty() && now >= tell_at_ && tell_stopped(stopped)) continue;
    if (stopping && (now >= give_up_at_.load() || context_.failure())) return;
    const Instant ask_next = stopping ? Instant::max() : ask_at();
    Instant next = stopped.empty() ? ask_next : std::min(ask_next, tell_at_);
    for (const auto& [holding, until] : held_) next = std::min(next, until);
    context_.orders->wait_until(next);
  }
}

Instant OrderWatch::ask_at() const {
  if (asked_at_ == Instant::min()) return asked_at_;
  if (context_.orders_hinted) return asked_at_ + kOrdersPauseLeast;
  return asked_at_ + (context_.holdings.load().total() > 0 ? context_.options.orders_every
                                                           : std::max(kIdlePause, context_.options.orders_every));
}

void OrderWatch::ask() {
  context_.orders_hinted = false;
  asked_at_ = context_.runtime.now();
  const Result<OrdersReply> reply = context_.store.orders(context_.options.ns, context_.owner);
  if (!reply) {
    if (reply.error().code == Code::broken) return context_.give_up(reply.error());
    // Perhaps the store is gone for good: whether it still takes writes decides.
    if (reply.error().code == Code::refused) context_.reporter->notify();
    // Work goes on without orders. That the store reads again says nothing about its writes, so nobody hears of that.
    if (may_repeat(reply.error().code)) context_.store_failed("orders", reply.error());
    else if (!failed_)
      context_.log.warn(
          "orders_failed",
          {{"owner", context_.owner}, {"code", to_string(reply.error().code)}, {"message", reply.error().message}});
    failed_ = true;
    return;
  }
  failed_ = false;
  revoke(*reply);
  obey(reply->order);
}

void OrderWatch::revoke(const OrdersReply& reply) {
  const Instant until = context_.runtime.now() + kHeldPatience;
  std::erase_if(held_, [&](const auto& one) { return std::ranges::find(reply.held, one.first) == reply.held.end(); });
  for (const Holding& holding : reply.held) held_.try_emplace(holding, until);
  std::vector<Holding> at_once = reply.revoked;
  for (const DeliveryPtr& delivery : context_.holdings.running()) {
    if (held_.contains(delivery->holding())) std::erase(at_once, delivery->holding());
  }
  end(at_once);
}

void OrderWatch::end_held(Instant now) {
  if (held_.empty()) return;
  std::vector<Holding> over;
  for (const DeliveryPtr& delivery : context_.holdings.running()) {
    const auto found = held_.find(delivery->holding());
    if (found != held_.end() && found->second <= now) over.push_back(found->first);
  }
  for (auto& [holding, until] : held_) {
    if (until <= now) until = Instant::max();  // once
  }
  end(over);
}

void OrderWatch::end(const std::vector<Holding>& revoked) {
  const Instant now = context_.runtime.now();
  const std::vector<DeliveryPtr> changed = context_.holdings.revoke(revoked, now);
  for (const DeliveryPtr& delivery : changed) {
    // First by when it is gone: the order to end follows.
    delivery->trust.cut_at(now + kRevokedGrace, Cut::revoked);
    delivery->stop.request_stop();
    if (held_.contains(delivery->holding())) context_.log_held("orders", delivery->holding());
    else context_.log_loss(*delivery, kRevoked);
  }
  if (changed.empty()) return;
  context_.watch->notify();
  context_.fetcher->notify();
}

void OrderWatch::obey(WorkerOrder order) {
  // It was taken back before we heard of it.
  if (order == WorkerOrder::work && context_.ordered.exchange(false)) context_.hint_claim();
  if (order == order_ || order_ == WorkerOrder::stop) return;  // there is no way back from a stop
  order_ = order;
  context_.log.info("worker_ordered", {{"owner", context_.owner}, {"order", to_string(order)}});
  context_.quiet = order == WorkerOrder::quiet;
  if (order == WorkerOrder::stop) stop_worker_.request_stop();
  context_.hint_claim();
}

bool OrderWatch::tell_stopped(const std::vector<Holding>& stopped) {
  FENCELINE_CRASH_POINT(stopped_before);
  const Result<void> told = context_.store.stopped({.ns = context_.options.ns,
                                                    .owner = context_.owner,
                                                    .jobs = stopped,
                                                    .timeout = std::min(kCallTimeout, context_.times.renew_after)});
  FENCELINE_CRASH_POINT(stopped_after);
  const Instant now = context_.runtime.now();
  if (told) {
    context_.store_answered();
    tries_ = 0;
    context_.holdings.told_stopped(stopped);
    for (const Holding& holding : stopped)
      context_.log.info("delivery_stopped",
                        {{"job", to_string(holding.id)}, {"owner", context_.owner}, {"fence", holding.fence}});
    context_.hint_claim();  // a retried job, or one that waited for the slot
    return true;
  }
  if (!may_repeat(told.error().code)) {
    context_.give_up(told.error());
    context_.holdings.told_stopped(stopped);
    return true;
  }
  context_.store_failed("stopped", told.error());
  tell_at_ = now + backoff(tries_++, std::min(kBackoffMost, context_.times.renew_after), context_.runtime.random());
  return false;
}

}  // namespace fenceline

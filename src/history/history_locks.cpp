// The calls about locks.
#include <utility>

#include "history/event_parts.hpp"

namespace fenceline::history {

Result<AcquireReply> HistoryStore::acquire(const AcquireRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::acquire,
                                              .ns = request.ns,
                                              .owner = request.owner,
                                              .request = request.request,
                                              .ttl = request.ttl.count(),
                                              .locks = parts(request.names),
                                              .shared = request.mode == LockMode::shared,
                                              .to_its_end = request.to_its_end});
  Result<AcquireReply> reply = inner_.acquire(request);
  Event event = as_event(reply);
  if (reply) {
    event.locks = parts(reply->grants);
    event.left = reply->left.count();
    event.waited = reply->waited.count();
  }
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<RenewReply> HistoryStore::renew(const RenewRequest& request) {
  const std::int64_t call = recorder_.invoke(
      {.verb = Verb::renew, .ns = request.ns, .ttl = request.ttl.count(), .locks = parts(request.locks)});
  Result<RenewReply> reply = inner_.renew(request);
  Event event = as_event(reply);
  if (reply) {
    event.refused = parts(reply->refused);
    event.left = reply->left.count();
    event.waited = reply->waited.count();
  }
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<ReleaseReply> HistoryStore::release(const ReleaseRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::release, .ns = request.ns, .locks = parts(request.locks)});
  Result<ReleaseReply> reply = inner_.release(request);
  Event event = as_event(reply);
  if (reply) event.refused = parts(reply->refused);
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<void> HistoryStore::withdraw(const WithdrawRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::withdraw,
                                              .ns = request.ns,
                                              .owner = request.owner,
                                              .request = request.request,
                                              .ttl = request.ttl.count(),
                                              .locks = parts(request.names)});
  Result<void> reply = inner_.withdraw(request);
  recorder_.answer(call, as_event(reply));
  return reply;
}

Result<BreakReply> HistoryStore::break_lock(const BreakRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::break_lock,
                                              .ns = request.ns,
                                              .owner = request.act.actor,
                                              .request = request.request,
                                              .locks = {{.id = request.resource, .fence = request.only.value_or(0)}}});
  Result<BreakReply> reply = inner_.break_lock(request);
  Event event = as_event(reply);
  if (reply) event.locks = {{.id = request.resource, .fence = reply->current}};
  recorder_.answer(call, std::move(event));
  return reply;
}

}  // namespace fenceline::history

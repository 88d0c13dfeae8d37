#include "history/history_store.hpp"

#include <array>
#include <utility>

#include "history/event_parts.hpp"

namespace fenceline::history {
namespace {

std::optional<std::int64_t> number(const std::optional<int>& value) {
  return value ? std::optional<std::int64_t>(*value) : std::nullopt;
}

Event request_of(const ActRequest& request, Verb verb) {
  return {.verb = verb,
          .ns = request.ns,
          .owner = request.act.actor,
          .request = request.request,
          .only = request.only ? std::string(to_string(*request.only)) : "",
          .jobs = parts(request.ids)};
}

template <class Reply>
Event with_refusals(const Result<Reply>& reply) {
  Event event = as_event(reply);
  if (reply) event.refused = parts(reply->refused);
  return event;
}

// A result may be long, and may be nobody's business: what it is replayed as can be compared all the same.
std::string digest_of(const std::string& result, const std::optional<int>& exit_status) {
  return bytes_digest(result + "/" + (exit_status ? std::to_string(*exit_status) : ""));
}

}  // namespace

Kind kind_of(const Error& error) {
  return error.code == Code::in_doubt || error.code == Code::broken ? Kind::unknown : Kind::fail;
}

Result<EnqueueReply> HistoryStore::enqueue(const EnqueueRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::enqueue, .ns = request.ns, .jobs = parts(request.jobs)});
  Result<EnqueueReply> reply = inner_.enqueue(request);
  Event event = as_event(reply);
  if (reply) {
    event.existing = reply->existing;
    for (const JobId& id : reply->ids) event.ids.push_back(to_string(id));
  }
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<BatchReply> HistoryStore::open_batch(const BatchRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::open_batch, .ns = request.ns, .name = request.name});
  Result<BatchReply> reply = inner_.open_batch(request);
  Event event = as_event(reply);
  if (reply) event.first_seen = reply->first_seen.time_since_epoch().count();
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<ClaimReply> HistoryStore::claim(const ClaimRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::claim,
                                              .ns = request.ns,
                                              .owner = request.owner,
                                              .request = request.request,
                                              .queues = request.queues,
                                              .stage = request.stage,
                                              .limit = request.limit,
                                              .ttl = request.ttl.count(),
                                              .holds_others = request.holds_others});
  Result<ClaimReply> reply = inner_.claim(request);
  Event event = as_event(reply);
  if (reply) {
    event.waited = reply->waited.count();
    event.jobs = parts(reply->jobs);
  }
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<void> HistoryStore::give_back(const GiveBackRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::give_back,
                                              .ns = request.ns,
                                              .owner = request.owner,
                                              .request = request.request,
                                              .ttl = request.ttl.count()});
  Result<void> reply = inner_.give_back(request);
  recorder_.answer(call, as_event(reply));
  return reply;
}

Result<ExtendReply> HistoryStore::extend(const ExtendRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::extend,
                                              .ns = request.ns,
                                              .owner = request.owner,
                                              .ttl = request.ttl.count(),
                                              .jobs = parts(request.jobs)});
  Result<ExtendReply> reply = inner_.extend(request);
  Event event = with_refusals(reply);
  if (reply) {
    event.left = reply->left.count();
    event.waited = reply->waited.count();
  }
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<SettleReply> HistoryStore::settle(const SettleRequest& request) {
  const std::int64_t call = recorder_.invoke(
      {.verb = Verb::settle, .ns = request.ns, .owner = request.owner, .jobs = parts(request.settlements)});
  Result<SettleReply> reply = inner_.settle(request);
  recorder_.answer(call, with_refusals(reply));
  return reply;
}

Result<RecordReply> HistoryStore::record(const RecordRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::record, .ns = request.ns, .jobs = parts(request.notes)});
  Result<RecordReply> reply = inner_.record(request);
  recorder_.answer(call, with_refusals(reply));
  return reply;
}

Result<std::optional<Job>> HistoryStore::job(const std::string& ns, const JobId& id) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::look, .ns = ns, .jobs = {part(id)}});
  Result<std::optional<Job>> reply = inner_.job(ns, id);
  Event event = as_event(reply);
  if (reply && *reply) {
    event.state = std::string(to_string((*reply)->state));
    event.jobs = {part(**reply)};
  }
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<ActReply> HistoryStore::cancel(const ActRequest& request) {
  const std::int64_t call = recorder_.invoke(request_of(request, Verb::cancel));
  Result<ActReply> reply = inner_.cancel(request);
  recorder_.answer(call, with_refusals(reply));
  return reply;
}

Result<ActReply> HistoryStore::retry(const ActRequest& request) {
  const std::int64_t call = recorder_.invoke(request_of(request, Verb::retry));
  Result<ActReply> reply = inner_.retry(request);
  recorder_.answer(call, with_refusals(reply));
  return reply;
}

Result<PurgeReply> HistoryStore::purge(const PurgeRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::purge,
                                              .ns = request.ns,
                                              .owner = request.act.actor,
                                              .queue = request.queue,
                                              .limit = request.limit});
  Result<PurgeReply> reply = inner_.purge(request);
  Event event = as_event(reply);
  if (reply) event.count = reply->cancelled;
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<void> HistoryStore::set_queue(const SetQueueRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::set_queue,
                                              .ns = request.ns,
                                              .owner = request.act.actor,
                                              .queue = request.queue,
                                              .limit = number(request.change.limit),
                                              .limit_per_key = number(request.change.limit_per_key)});
  Result<void> reply = inner_.set_queue(request);
  recorder_.answer(call, as_event(reply));
  return reply;
}

Result<void> HistoryStore::pause(const PauseRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::pause,
                                              .ns = request.ns,
                                              .owner = request.act.actor,
                                              .queue = request.queue,
                                              .paused = request.paused});
  Result<void> reply = inner_.pause(request);
  recorder_.answer(call, as_event(reply));
  return reply;
}

Result<TidyReply> HistoryStore::tidy(const TidyRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::tidy, .ns = request.ns, .limit = request.limit});
  Result<TidyReply> reply = inner_.tidy(request);
  Event event = as_event(reply);
  if (reply) event.count = reply->removed;
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<Fence> HistoryStore::raise_floor(const RaiseFloorRequest& request) {
  const std::int64_t call = recorder_.invoke(
      {.verb = Verb::raise_floor, .ns = request.ns, .owner = request.act.actor, .floor = request.floor});
  Result<Fence> reply = inner_.raise_floor(request);
  Event event = as_event(reply);
  if (reply) event.floor = *reply;
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<BeginEffectReply> HistoryStore::begin_effect(const BeginEffectRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::begin_effect,
                                              .ns = request.ns,
                                              .request = request.call,
                                              .name = request.name,
                                              .digest = request.digest,
                                              .policy = std::string(to_string(request.in_doubt)),
                                              .dead_call = request.dead_call,
                                              .jobs = {part(Holding{request.job, request.fence})}});
  Result<BeginEffectReply> reply = inner_.begin_effect(request);
  Event event = as_event(reply);
  if (reply) {
    event.verdict = std::string(to_string(reply->verdict));
    if (reply->verdict == EffectVerdict::done) event.result = digest_of(reply->result, reply->exit_status);
    if (reply->refusal) event.refused = {part(*reply->refusal)};
  }
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<FinishEffectReply> HistoryStore::finish_effect(const FinishEffectRequest& request) {
  constexpr std::array<std::string_view, 3> kEnds{"done", "none", "held"};
  const std::int64_t call = recorder_.invoke(
      {.verb = Verb::finish_effect,
       .ns = request.ns,
       .request = request.call,
       .name = request.name,
       .end = std::string(kEnds[static_cast<std::size_t>(request.end)]),
       .jobs = {part(Holding{request.job, request.fence})},
       .result = request.end == EffectEnd::done ? digest_of(request.result, request.exit_status) : ""});
  Result<FinishEffectReply> reply = inner_.finish_effect(request);
  Event event = as_event(reply);
  if (reply && reply->refusal) event.refused = {part(*reply->refusal)};
  recorder_.answer(call, std::move(event));
  return reply;
}

Result<void> HistoryStore::resolve_effect(const ResolveEffectRequest& request) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::resolve_effect,
                                              .ns = request.ns,
                                              .owner = request.act.actor,
                                              .request = request.call,
                                              .name = request.name,
                                              .end = request.done ? "done" : "none",
                                              .jobs = {part(request.job)},
                                              .result = request.done ? digest_of(request.result, std::nullopt) : ""});
  Result<void> reply = inner_.resolve_effect(request);
  recorder_.answer(call, as_event(reply));
  return reply;
}

Result<void> HistoryStore::stopped(const StoppedRequest& request) {
  const std::int64_t call =
      recorder_.invoke({.verb = Verb::stopped, .ns = request.ns, .owner = request.owner, .jobs = parts(request.jobs)});
  Result<void> reply = inner_.stopped(request);
  recorder_.answer(call, as_event(reply));
  return reply;
}

Result<void> HistoryStore::remove_namespace(const std::string& ns, const Act& act) {
  const std::int64_t call = recorder_.invoke({.verb = Verb::remove_namespace, .ns = ns, .owner = act.actor});
  Result<void> reply = inner_.remove_namespace(ns, act);
  recorder_.answer(call, as_event(reply));
  return reply;
}

}  // namespace fenceline::history

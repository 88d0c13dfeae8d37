#include "traces/traced_handler.hpp"

#include <exception>
#include <optional>

namespace fenceline::traces {
namespace {

// Not what the handler wrote: that may be anything, and a payload too.
std::string error_words(OutcomeKind kind, Stopped stopped, const std::optional<int>& exit_status) {
  if (stopped == Stopped::timed_out) return "timed out";
  return std::string(to_string(kind)) + (exit_status ? ", exit status " + std::to_string(*exit_status) : "");
}

}  // namespace

Attributes attributes_of(const std::string& ns, const std::string& queue, const std::string& stage,
                         const std::string& operation) {
  Attributes attributes{{"messaging.system", "fenceline"},
                        {"messaging.operation.type", operation},
                        {"messaging.destination.name", queue},
                        {"fenceline.namespace", ns}};
  if (!stage.empty()) attributes.emplace_back("fenceline.stage", stage);
  return attributes;
}

RunResult TracedHandler::run(const Run& run) {
  const std::optional<Context> parent = parse_traceparent(run.job.traceparent);
  if (parent && !parent->sampled) return inner_.run(run);
  Job job = run.job;
  Span span{.context = run_context(job.id, job.deliveries, parent),
            .parent_id = parent ? parent->span_id : "",
            .name = "run " + job.queue,
            .kind = SpanKind::consumer};
  span.attributes = attributes_of(ns_, job.queue, job.stage, "process");
  span.attributes.emplace_back("messaging.message.id", to_string(job.id));
  span.attributes.emplace_back("fenceline.fence", std::int64_t{job.fence});
  span.attributes.emplace_back("fenceline.delivery", job.deliveries);
  if (job.deliveries > 1) {
    const Context before = run_context(job.id, job.deliveries - 1, parent);
    span.links.push_back({before.trace_id,
                          before.span_id,
                          {{"fenceline.link", job.losses_in_row > 0 ? "taken_over_from" : "delivered_before"}}});
  }
  job.traceparent = to_traceparent(span.context);
  span.started = runtime_.wall_now();
  const Instant began = runtime_.now();
  RunResult result{.kind = OutcomeKind::failed};
  std::exception_ptr thrown;
  try {
    result = inner_.run({.job = job, .stop = run.stop, .trust = run.trust, .notes = run.notes, .effects = run.effects});
  } catch (const std::exception&) {
    thrown = std::current_exception();
  }
  span.ended = span.started + (runtime_.now() - began);  // whatever the wall clock did meanwhile
  const Stopped stopped = why_stopped(*run.trust, run.stop);
  const bool unfinished = result.kind == OutcomeKind::failed || result.kind == OutcomeKind::given_back;
  const OutcomeKind outcome = stopped == Stopped::for_us && unfinished ? OutcomeKind::given_back : result.kind;
  span.attributes.emplace_back("fenceline.outcome", std::string(to_string(outcome)));
  if (result.exit_status) span.attributes.emplace_back("fenceline.exit_status", std::int64_t{*result.exit_status});
  if (outcome == OutcomeKind::failed || outcome == OutcomeKind::dead)
    span.error = error_words(outcome, stopped, result.exit_status);
  spans_.ended(std::move(span));
  if (thrown) std::rethrow_exception(thrown);
  return result;
}

}  // namespace fenceline::traces

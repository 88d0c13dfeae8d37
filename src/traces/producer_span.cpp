#include "traces/producer_span.hpp"

#include <utility>

#include "traces/traced_handler.hpp"

namespace fenceline::traces {

std::optional<ProducerSpan> ProducerSpan::begin(Runtime& runtime, SpanSink& spans, const std::string& ns,
                                                std::vector<NewJob>& jobs) {
  if (jobs.empty()) return std::nullopt;
  const NewJob& first = jobs.front();
  const std::optional<Context> parent = parse_traceparent(first.traceparent);
  if (parent && !parent->sampled) return std::nullopt;
  ProducerSpan made(runtime, spans);
  made.span_ = {.context = new_context(runtime, parent),
                .parent_id = parent ? parent->span_id : "",
                .name = "enqueue " + first.queue,
                .started = runtime.wall_now(),
                .attributes = attributes_of(ns, first.queue, first.stage, "send"),
                .links = {}};
  if (jobs.size() == 1) made.span_.attributes.emplace_back("messaging.message.id", to_string(first.id));
  else made.span_.attributes.emplace_back("messaging.batch.message_count", static_cast<std::int64_t>(jobs.size()));
  for (NewJob& job : jobs) job.traceparent = to_traceparent(made.span_.context);
  return made;
}

void ProducerSpan::end(const Error* error) {
  span_.ended = span_.started + (runtime_->now() - began_);
  if (error != nullptr) span_.error = std::string(to_string(error->code));
  spans_->ended(std::move(span_));
}

}  // namespace fenceline::traces

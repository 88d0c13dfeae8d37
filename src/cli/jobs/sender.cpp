#include "cli/jobs/sender.hpp"

#include <utility>

#include "base/crash_point.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/trace_settings.hpp"
#include "cli/jobs/sure_enqueue.hpp"
#include "cli/pipelines/pipeline_view.hpp"
#include "traces/traced_handler.hpp"

namespace fenceline::cli {

JobId Sender::new_id() {
  Runtime& runtime = *invocation_.runtime;
  return ids_.next(runtime.wall_now(), runtime.random(), runtime.random());
}

Result<Store*> Sender::store() {
  if (!store_) {
    auto opened = invocation_.open_or_make_store();
    if (!opened) return std::unexpected(opened.error());
    store_ = std::move(*opened);
  }
  const std::optional<std::string> path = invocation_.value("--history");
  if (!path) return store_.get();
  if (!noted_) {
    Result<std::unique_ptr<history::WorkHistory>> opened =
        history::WorkHistory::open(*path, *invocation_.runtime, Log(*invocation_.log_sink), *store_);
    if (!opened) return std::unexpected(opened.error());
    noted_ = std::move(*opened);
  }
  return &noted_->store();
}

std::optional<traces::Span> Sender::begin_span(std::vector<NewJob>& jobs) {
  if (!*spans_ || jobs.empty()) return std::nullopt;
  const std::optional<traces::Context> parent = traces::parse_traceparent(jobs.front().traceparent);
  if (parent && !parent->sampled) return std::nullopt;
  const NewJob& first = jobs.front();
  traces::Span span{.context = traces::new_context(*invocation_.runtime, parent),
                    .parent_id = parent ? parent->span_id : "",
                    .name = "enqueue " + first.queue};
  span.attributes = traces::attributes_of(invocation_.ns, first.queue, first.stage, "send");
  if (jobs.size() == 1) span.attributes.emplace_back("messaging.message.id", to_string(first.id));
  else span.attributes.emplace_back("messaging.batch.message_count", static_cast<std::int64_t>(jobs.size()));
  span.started = invocation_.runtime->wall_now();
  for (NewJob& job : jobs) job.traceparent = traces::to_traceparent(span.context);
  return span;
}

Result<std::vector<JobId>> Sender::send(std::vector<NewJob> jobs) {
  if (!spans_) {
    Result<std::unique_ptr<traces::Exporter>> spans = open_traces(invocation_);
    if (!spans) return std::unexpected(spans.error());
    spans_ = std::move(*spans);
  }
  const Result<Store*> opened = store();
  if (!opened) return std::unexpected(opened.error());
  if (!jobs.empty() && !jobs.front().stage.empty()) {
    if (!stage_) {
      Result<std::string> stage = stage_of_new_job(**opened, invocation_.ns, jobs.front().queue, jobs.front().stage);
      if (!stage) return std::unexpected(stage.error());
      stage_ = std::move(*stage);
    }
    for (NewJob& job : jobs) job.stage = *stage_;
  }
  std::optional<traces::Span> span = begin_span(jobs);
  const Instant began = invocation_.runtime->now();
  const EnqueueRequest request{.ns = invocation_.ns, .jobs = std::move(jobs)};
  FENCELINE_CRASH_POINT(enqueue_before);
  Result<EnqueueReply> reply = sure_enqueue(*invocation_.runtime, **opened, request, invocation_.stop);
  FENCELINE_CRASH_POINT(enqueue_after);
  if (span) {
    span->ended = span->started + (invocation_.runtime->now() - began);
    if (!reply) span->error = std::string(to_string(reply.error().code));
    (*spans_)->ended(std::move(*span));
  }
  if (!reply) return std::unexpected(reply.error());
  existing_ += reply->existing;
  sent_ += static_cast<std::int64_t>(request.jobs.size());
  if (invocation_.json) {
    for (const JobId& id : reply->ids)
      print((std::exchange(opened_, true) ? ",\"" : "{\"ids\":[\"") + to_string(id) + "\"");
  }
  return std::move(reply->ids);
}

void Sender::end() {
  if (invocation_.json && (opened_ || sent_ == 0))
    print_line((opened_ ? "" : "{\"ids\":[") + ("],\"existing\":" + std::to_string(existing_) + "}"));
}

void Sender::end_early() {
  if (opened_) end();
}

std::string without_byte_order_mark(std::string text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  while (text.starts_with(kMark)) text.erase(0, kMark.size());
  return text;
}

}  // namespace fenceline::cli

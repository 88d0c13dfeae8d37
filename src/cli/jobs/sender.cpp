#include "cli/jobs/sender.hpp"

#include <utility>

#include "base/crash_point.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/trace_settings.hpp"
#include "services/pipeline_book.hpp"

namespace fenceline::cli {

JobId Sender::new_id() {
  Runtime& runtime = *invocation_.runtime;
  return ids_.next(runtime.wall_now(), runtime.random(), runtime.random());
}

Result<Session*> Sender::session() {
  if (session_) return &*session_;
  Result<std::unique_ptr<traces::SpanSink>> spans = open_traces(invocation_);
  if (!spans) return std::unexpected(spans.error());
  Result<MetricsPort> metrics = MetricsPort::open(invocation_);
  if (!metrics) return std::unexpected(metrics.error());
  metrics_ = std::move(*metrics);
  Result<Session> opened =
      invocation_.open_or_make_store({.metrics = metrics_->measures(invocation_), .spans = std::move(*spans)});
  if (!opened) return std::unexpected(opened.error());
  if (const auto stage = invocation_.value("--stage")) {
    const auto ok = check_stage_of_pipeline(**opened, invocation_.ns, {invocation_.argument("QUEUE")}, *stage);
    if (!ok) return std::unexpected(ok.error());
  }
  session_ = std::move(*opened);
  return &*session_;
}

Result<std::vector<JobId>> Sender::send(std::vector<NewJob> jobs) {
  const Result<Session*> opened = session();
  if (!opened) return std::unexpected(opened.error());
  const std::size_t count = jobs.size();
  FENCELINE_CRASH_POINT(enqueue_before);
  Result<EnqueueReply> reply = (*opened)->enqueue(std::move(jobs), invocation_.stop);
  FENCELINE_CRASH_POINT(enqueue_after);
  if (!reply) return std::unexpected(reply.error());
  existing_ += reply->existing;
  sent_ += static_cast<std::int64_t>(count);
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

void Sender::write_metrics() const {
  if (session_) metrics_->write_file(invocation_, session_->measurement());
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

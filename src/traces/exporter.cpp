#include "traces/exporter.hpp"

#include <algorithm>
#include <optional>
#include <stop_token>

namespace fenceline::traces {
namespace {

constexpr Duration kUntilNotified = std::chrono::hours{1};

// As the protocol says: these pass, all others do not.
bool passes_by_itself(int status) { return status == 429 || status == 502 || status == 503 || status == 504; }

}  // namespace

Exporter::Exporter(Runtime& runtime, Log log, ExporterOptions options)
    : runtime_(runtime), log_(log), options_(std::move(options)), more_(runtime.make_event()) {
  task_ = runtime_.spawn("traces", [this](const std::stop_token& stop) { run(stop); });
}

void Exporter::ended(Span span) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= options_.queue_most) {
      ++dropped_;
      return;
    }
    waiting_.push_back(std::move(span));
  }
  more_->notify();
}

std::vector<Span> Exporter::take() {
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), options_.batch_most));
  std::vector<Span> batch(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.begin() + count));
  waiting_.erase(waiting_.begin(), waiting_.begin() + count);
  return batch;
}

void Exporter::trouble(const std::string& reason) {
  if (!in_trouble_) log_.warn("traces_not_taken", {{"reason", reason}});
  in_trouble_ = true;
}

Exporter::Sent Exporter::send(const std::vector<Span>& batch, Duration timeout) {
  http::Request request{.method = "POST",
                        .url = options_.url,
                        .headers = options_.headers,
                        .body = otlp_json(options_.origin, batch),
                        .timeout = timeout};
  request.headers.push_back({"Content-Type", "application/json"});
  const auto response = client_.send(request);
  if (!response) {
    trouble(response.error().message);
    return Sent::away;
  }
  if (passes_by_itself(response->status)) {
    trouble("the collector answered " + std::to_string(response->status));
    return Sent::away;
  }
  if (response->status < 200 || response->status > 299) {
    trouble("the collector answered " + std::to_string(response->status));
    return Sent::refused;
  }
  const std::int64_t rejected = std::min(rejected_spans(response->body), static_cast<std::int64_t>(batch.size()));
  sent_ += static_cast<std::int64_t>(batch.size()) - rejected;
  dropped_ += rejected;
  if (rejected > 0) trouble("the collector accepted only some of them");
  else in_trouble_ = false;
  return Sent::taken;
}

void Exporter::run(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { more_->notify(); });
  std::vector<Span> batch;
  Duration backoff = options_.backoff_first;
  std::optional<Instant> end;  // of the last tries
  for (;;) {
    if (stop.stop_requested() && !end) end = runtime_.now() + options_.flush_limit;
    if (batch.empty()) batch = take();
    if (batch.empty()) {
      if (end) break;
      more_->wait_until(runtime_.now() + kUntilNotified);
      runtime_.sleep_for(options_.linger, stop);
      continue;
    }
    const Duration left = end ? *end - runtime_.now() : options_.send_timeout;
    if (left <= Duration{0}) break;
    const Sent sent = send(batch, std::min(left, options_.send_timeout));
    if (sent == Sent::away) {
      if (end) break;
      runtime_.sleep_for(backoff, stop);
      backoff = std::min(backoff * 2, options_.backoff_most);
      continue;
    }
    if (sent == Sent::refused) dropped_ += static_cast<std::int64_t>(batch.size());
    backoff = options_.backoff_first;
    batch.clear();
  }
  dropped_ += static_cast<std::int64_t>(batch.size());
  for (batch = take(); !batch.empty(); batch = take()) dropped_ += static_cast<std::int64_t>(batch.size());
  if (dropped_ > 0) log_.warn("traces_dropped", {{"spans", dropped_.load()}});
}

}  // namespace fenceline::traces

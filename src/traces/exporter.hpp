// Sends spans to a collector, in batches, beside the work and never in its way: what has no room, or whom nobody takes,
// is dropped and counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "http/http_client.hpp"
#include "runtime/runtime.hpp"
#include "traces/otlp.hpp"
#include "traces/span.hpp"

namespace fenceline::traces {

struct ExporterOptions {
  std::string url;                    // of the collector: http://HOST:4318/v1/traces
  std::vector<http::Header> headers;  // secrets may be among them
  Origin origin;
  std::size_t queue_most = 4096;  // spans that wait; more are dropped
  std::size_t batch_most = 512;
  Duration linger = std::chrono::milliseconds{500};  // so that spans go together
  Duration send_timeout = std::chrono::seconds{2};
  Duration flush_limit = std::chrono::seconds{1};    // what the end may cost, besides a request that is under way
  Duration backoff_first = std::chrono::seconds{1};  // doubling, while the collector is away
  Duration backoff_most = std::chrono::seconds{30};
};

class Exporter final : public SpanSink {
 public:
  // Runs one task of the runtime's, which must outlive it. When it goes away, what waits is sent within flush_limit, or
  // dropped.
  Exporter(Runtime& runtime, Log log, ExporterOptions options);
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  void ended(Span span) override;

  std::int64_t sent() const { return sent_; }
  std::int64_t dropped() const { return dropped_; }

 private:
  enum class Sent { taken, refused, away };

  void run(const std::stop_token& stop);
  std::vector<Span> take();
  Sent send(const std::vector<Span>& batch, Duration timeout);
  // Says so once, until it is over.
  void trouble(const std::string& reason);

  Runtime& runtime_;
  const Log log_;
  const ExporterOptions options_;
  http::Client client_;
  std::unique_ptr<Event> more_;
  std::atomic<std::int64_t> sent_ = 0;
  std::atomic<std::int64_t> dropped_ = 0;
  bool in_trouble_ = false;  // of the task's alone
  std::mutex mutex_;         // guards what follows
  std::deque<Span> waiting_;
  Task task_;  // last: it uses all of the above
};

}  // namespace fenceline::traces

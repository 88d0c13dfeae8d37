#include "cli/frame/measured.hpp"

#include <algorithm>
#include <deque>

#include "cli/frame/doctor_config.hpp"
#include "cli/frame/output.hpp"
#include "cli/frame/text.hpp"
#include "fenceline/version.hpp"
#include "metrics/metered_handler.hpp"
#include "metrics/metered_tracker.hpp"
#include "metrics/pages.hpp"
#include "metrics/store_sample.hpp"
#include "metrics/textfile.hpp"
#include "metrics/tracker_sample.hpp"
#include "session/measurement.hpp"

namespace fenceline::cli {
namespace {

// "postgres://db/app" is a postgres, whether or not it answers.
std::string kind_of(const std::string& url) { return url.substr(0, url.find(':')); }

}  // namespace

OptionSpec metrics_option() {
  return {"--metrics", "ADDR",
          "serve /metrics for Prometheus, /livez and /readyz at ADDR, such as 127.0.0.1:9464; port 0 picks a free one; "
          "see docs/metrics.md"};
}

OptionSpec metrics_file_option() {
  return {"--metrics-file", "FILE",
          "at the end, add what was counted to FILE (*.prom), replaced atomically: for the textfile collector of "
          "node_exporter"};
}

Result<MetricsPort> MetricsPort::open(const Invocation& invocation) {
  MetricsPort port;
  port.file_ = invocation.value("--metrics-file");
  if (port.file_) {
    const Result<void> ok = metrics::check_textfile(*port.file_);
    if (!ok && ok.error().code == Code::invalid)
      return std::unexpected(usage_error("--metrics-file: " + ok.error().message));
    if (!ok) return std::unexpected(ok.error());
  }
  if (const std::optional<std::string> text = invocation.value("--metrics")) {
    if (auto ok = port.listen(invocation, *text); !ok) return std::unexpected(ok.error());
  }
  return port;
}

Result<void> MetricsPort::listen(const Invocation& invocation, const std::string& text) {
  const Result<http::ListenAddress> address = http::parse_listen_address(text);
  if (!address) return std::unexpected(usage_error("--metrics: " + address.error().message));
  if (!address->loopback && !invocation.accepts("open-listen"))
    return fail(
        Code::refused,
        "--metrics " + printable(text, 60) +
            " is reachable from other machines without a password; use 127.0.0.1, or pass --accept open-listen");
  handler_ = std::make_unique<http::HttpHandler>();
  Result<std::unique_ptr<http::HttpServer>> server = http::HttpServer::open(
      *invocation.runtime, {.listen = *address},
      [handler = handler_.get()](const http::HttpRequest& request) { return (*handler)(request); });
  if (!server) {
    const Error& error = server.error();
    if (error.code == Code::invalid) return std::unexpected(usage_error("--metrics: " + error.message));
    // The process that listens there may end soon.
    return fail(error.code == Code::conflict ? Code::held : error.code, "--metrics: " + error.message);
  }
  server_ = std::move(*server);
  return {};
}

void MetricsPort::write_file(const Invocation& invocation, Measurement* measured) const {
  if (!file_ || measured == nullptr) return;
  const Result<void> wrote = metrics::add_to_textfile(*invocation.runtime, *file_, measured->counted().run_text());
  if (!wrote) tell("fenceline: " + error_text(wrote.error()));
}

std::optional<MeasureOptions> MetricsPort::measures(const Invocation& invocation,
                                                    std::vector<std::string> queues) const {
  if (!server_ && !file_) return std::nullopt;
  return MeasureOptions{.queues = std::move(queues),
                        .more = [&invocation](Store& asked) { return config_findings(invocation, asked); },
                        .samples = server_ != nullptr,
                        .lock_class = metrics::kOther};
}

struct MetricsPages::Parts {
  Parts(Runtime& runtime, MetricsPort& port, Measurement& measured)
      : pages(runtime, measured.counted(), measured.sampler()) {
    port.answer_with([this](const http::HttpRequest& request) { return pages.answer(request); });
    Log(measured.sink()).info("metrics_listening", {{"address", port.server().address()}});
    serving =
        runtime.spawn("metrics", [&server = port.server()](std::stop_token stop) { server.run(std::move(stop)); });
  }

  metrics::Pages pages;
  Task serving;
};

MetricsPages::MetricsPages(Runtime& runtime, MetricsPort& port, Measurement* measured) {
  if (port && measured != nullptr) parts_ = std::make_unique<Parts>(runtime, port, *measured);
}

MetricsPages::~MetricsPages() = default;

// In the order in which they depend: who serves goes first.
namespace {

// The pipeline of a worker on an issue tracker; locks have none.
std::vector<std::string> queues_of(const Invocation& invocation) {
  const auto typed = invocation.arguments.find("QUEUE");
  return typed == invocation.arguments.end() ? std::vector<std::string>{} : typed->second;
}

}  // namespace

struct Measured::Parts {
  Parts(const Invocation& invocation, LogSink& plain_sink)
      : runtime(*invocation.runtime),
        measured(runtime, plain_sink,
                 {.version = std::string(kVersion),
                  .store = kind_of(invocation.store_url),
                  .queues = queues_of(invocation),
                  .checks = metrics::check_names()}) {}

  void start(MetricsPort& port, metrics::Sampler::Take take) {
    sampling = measured.start(std::move(take));
    pages.emplace(runtime, port, &measured);
  }

  Runtime& runtime;
  Measurement measured;
  std::optional<metrics::MeteredTracker> tracker;
  std::optional<metrics::TrackerSample> tracker_sample;
  std::deque<metrics::MeteredHandler> handlers;
  Task sampling;
  std::optional<MetricsPages> pages;
};

Measured::Measured(const Invocation& invocation, MetricsPort& port, LogSink& sink) : plain_sink_(sink) {
  if (!port.measures(invocation)) return;
  parts_ = std::make_unique<Parts>(invocation, sink);
  if (port) parts_->start(port, [] { return false; });
}

Measurement* Measured::measurement() const { return parts_ ? &parts_->measured : nullptr; }

Measured::Measured(const Invocation& invocation, MetricsPort& port, LogSink& sink, tracker::Tracker& tracker,
                   std::function<tracker::TrackerWorkerCounts()> counts)
    : plain_sink_(sink), plain_tracker_(&tracker) {
  if (!port) return;
  parts_ = std::make_unique<Parts>(invocation, sink);
  parts_->tracker.emplace(*invocation.runtime, parts_->measured.counted(), tracker);
  parts_->tracker_sample.emplace(parts_->measured.counted());
  parts_->measured.counted().answered(invocation.runtime->now());  // it said who we are
  parts_->start(port, [parts = parts_.get(), counts = std::move(counts)] {
    parts->tracker_sample->take(counts());
    return true;
  });
}

Measured::~Measured() = default;

LogSink& Measured::sink() const { return parts_ ? parts_->measured.sink() : plain_sink_; }

tracker::Tracker& Measured::tracker() const {
  return parts_ ? static_cast<tracker::Tracker&>(*parts_->tracker) : *plain_tracker_;
}

Handler& Measured::handler(Handler& handler) {
  if (!parts_) return handler;
  return parts_->handlers.emplace_back(parts_->runtime, parts_->measured.counted(), handler);
}

}  // namespace fenceline::cli

#include "cli/frame/measured.hpp"

#include <algorithm>
#include <deque>

#include "cli/frame/doctor_config.hpp"
#include "cli/frame/text.hpp"
#include "fenceline/version.hpp"
#include "metrics/metered_handler.hpp"
#include "metrics/metered_log.hpp"
#include "metrics/metered_store.hpp"
#include "metrics/metered_tracker.hpp"
#include "metrics/pages.hpp"
#include "metrics/sampler.hpp"
#include "metrics/store_sample.hpp"
#include "metrics/tracker_sample.hpp"

namespace fenceline::cli {
namespace {

// "postgres://db/app" is a postgres, whether or not it answers.
std::string kind_of(const std::string& url) { return url.substr(0, url.find(':')); }

}  // namespace

OptionSpec metrics_option() {
  return {"--metrics", "ADDR",
          "serve /metrics for Prometheus, /livez and /readyz at ADDR: 127.0.0.1:9464; port 0 picks a free one, see "
          "docs/metrics.md"};
}

Result<MetricsPort> MetricsPort::open(const Invocation& invocation) {
  MetricsPort port;
  const std::optional<std::string> text = invocation.value("--metrics");
  if (!text) return port;
  const Result<http::ListenAddress> address = http::parse_listen_address(*text);
  if (!address) return std::unexpected(usage_error("--metrics: " + address.error().message));
  if (!address->loopback && !invocation.accepts("open-listen"))
    return fail(Code::refused, "--metrics " + printable(*text, 60) +
                                   " can be reached from other machines, without a password; use 127.0.0.1, or allow "
                                   "it with --accept open-listen");
  port.handler_ = std::make_unique<http::HttpHandler>();
  Result<std::unique_ptr<http::HttpServer>> server = http::HttpServer::open(
      *invocation.runtime, {.listen = *address},
      [handler = port.handler_.get()](const http::HttpRequest& request) { return (*handler)(request); });
  if (!server) {
    const Error& error = server.error();
    if (error.code == Code::invalid) return std::unexpected(usage_error("--metrics: " + error.message));
    // Whoever listens there may be gone in a moment.
    return fail(error.code == Code::conflict ? Code::held : error.code, "--metrics: " + error.message);
  }
  port.server_ = std::move(*server);
  return port;
}

// In the order in which they depend: who serves goes first.
struct Measured::Parts {
  Parts(const Invocation& invocation, MetricsPort& port, LogSink& plain_sink, const metrics::MetricsOptions& options,
        metrics::Sampler::Take take)
      : runtime(*invocation.runtime),
        counted(options, runtime),
        sink(counted, plain_sink),
        sampler(runtime, counted, std::move(take)),
        pages(runtime, counted, sampler) {
    port.answer_with([this](const http::HttpRequest& request) { return pages.answer(request); });
  }

  void start(MetricsPort& port) {
    const Log log(sink);
    log.info("metrics_listening", {{"address", port.server().address()}});
    sampling = runtime.spawn("sampler", [this](std::stop_token stop) { sampler.run(std::move(stop)); });
    serving =
        runtime.spawn("metrics", [&server = port.server()](std::stop_token stop) { server.run(std::move(stop)); });
  }

  Runtime& runtime;
  metrics::Metrics counted;
  metrics::MeteredLog sink;
  std::optional<metrics::MeteredStore> store;
  std::optional<metrics::StoreSample> store_sample;
  std::optional<metrics::MeteredTracker> tracker;
  std::optional<metrics::TrackerSample> tracker_sample;
  std::deque<metrics::MeteredHandler> handlers;
  metrics::Sampler sampler;
  metrics::Pages pages;
  Task sampling;
  Task serving;
};

Measured::Measured(const Invocation& invocation, MetricsPort& port, LogSink& sink, Store& store,
                   std::vector<std::string> queues)
    : plain_sink_(sink), plain_store_(&store) {
  if (!port) return;
  const StoreProfile profile = store.profile();
  parts_ = std::make_unique<Parts>(invocation, port, sink,
                                   metrics::MetricsOptions{.version = std::string(kVersion),
                                                           .store = profile.kind,
                                                           .guarantee = profile.guarantee,
                                                           .queues = queues,
                                                           .checks = metrics::check_names()},
                                   [this] { return parts_->store_sample->take(); });
  parts_->store.emplace(*invocation.runtime, parts_->counted, store);
  parts_->store_sample.emplace(
      *invocation.runtime, parts_->counted, *parts_->store,
      metrics::StoreSampleOptions{.ns = invocation.ns,
                                  .queues = std::move(queues),
                                  .more = [&invocation](Store& asked) { return config_findings(invocation, asked); }});
  parts_->counted.answered(invocation.runtime->now());  // it was opened
  parts_->start(port);
}

Measured::Measured(const Invocation& invocation, MetricsPort& port, LogSink& sink) : plain_sink_(sink) {
  if (!port) return;
  parts_ = std::make_unique<Parts>(
      invocation, port, sink,
      metrics::MetricsOptions{
          .version = std::string(kVersion), .store = kind_of(invocation.store_url), .checks = metrics::check_names()},
      [] { return false; });
  parts_->start(port);
}

Measured::Measured(const Invocation& invocation, MetricsPort& port, LogSink& sink, tracker::Tracker& tracker,
                   std::function<tracker::TrackerWorkerCounts()> counts)
    : plain_sink_(sink), plain_tracker_(&tracker) {
  if (!port) return;
  parts_ = std::make_unique<Parts>(
      invocation, port, sink,
      metrics::MetricsOptions{
          .version = std::string(kVersion), .store = kind_of(invocation.store_url), .checks = metrics::check_names()},
      [this, counts = std::move(counts)] {
        parts_->tracker_sample->take(counts());
        return true;
      });
  parts_->tracker.emplace(*invocation.runtime, parts_->counted, tracker);
  parts_->tracker_sample.emplace(parts_->counted);
  parts_->counted.answered(invocation.runtime->now());  // it said who we are
  parts_->start(port);
}

Measured::~Measured() = default;

Store& Measured::store() const { return parts_ ? *parts_->store : *plain_store_; }

LogSink& Measured::sink() const { return parts_ ? static_cast<LogSink&>(parts_->sink) : plain_sink_; }

tracker::Tracker& Measured::tracker() const {
  return parts_ ? static_cast<tracker::Tracker&>(*parts_->tracker) : *plain_tracker_;
}

Handler& Measured::handler(Handler& handler) {
  if (!parts_) return handler;
  return parts_->handlers.emplace_back(parts_->runtime, parts_->counted, handler);
}

}  // namespace fenceline::cli

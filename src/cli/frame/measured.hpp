// What `--metrics ADDR` starts beside a command that works until it is stopped: the pages that Prometheus scrapes, and
// all that feeds them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/frame/command.hpp"
#include "handler/handler.hpp"
#include "http/http_server.hpp"
#include "tracker/tracker.hpp"

namespace fenceline {
class Measurement;
}
namespace fenceline::tracker {
struct TrackerWorkerCounts;
}

namespace fenceline::cli {

OptionSpec metrics_option();

// Where the pages are served: taken before a store is opened, so that an address that cannot be had is said before
// anything else happens. Nothing if there is no --metrics.
class MetricsPort {
 public:
  // Errors: usage (no address), refused (other machines would reach it, and nobody accepted that), held (somebody
  // listens there), denied.
  static Result<MetricsPort> open(const Invocation& invocation);

  explicit operator bool() const { return server_ != nullptr; }
  // What a session is to measure for these pages; empty without a port. `queues` are those that are served. The
  // invocation must outlive the session.
  std::optional<MeasureOptions> measures(const Invocation& invocation, std::vector<std::string> queues = {}) const;
  http::HttpServer& server() { return *server_; }
  // Before the server runs.
  void answer_with(http::HttpHandler handler) { *handler_ = std::move(handler); }

 private:
  std::unique_ptr<http::HttpHandler> handler_;
  std::unique_ptr<http::HttpServer> server_;
};

// Serves the pages of what is measured, until it goes. The log says at which address, once.
class MetricsPages {
 public:
  // All must outlive it. Without a measurement nothing is served.
  MetricsPages(Runtime& runtime, MetricsPort& port, Measurement* measured);
  ~MetricsPages();
  MetricsPages(const MetricsPages&) = delete;
  MetricsPages& operator=(const MetricsPages&) = delete;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The same for what has no session: counts what a command does to its log and its tracker. Without a port everything is
// passed on as it is.
class Measured {
 public:
  // All must outlive it. The store could not be opened, and the work goes on.
  Measured(const Invocation& invocation, MetricsPort& port, LogSink& sink);
  Measured(const Invocation& invocation, MetricsPort& port, LogSink& sink, tracker::Tracker& tracker,
           std::function<tracker::TrackerWorkerCounts()> counts);
  ~Measured();
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

  LogSink& sink() const;
  Log log() const { return Log(sink()); }
  tracker::Tracker& tracker() const;
  // The same, measured. It must outlive this one.
  Handler& handler(Handler& handler);

 private:
  struct Parts;
  LogSink& plain_sink_;
  tracker::Tracker* plain_tracker_ = nullptr;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline::cli

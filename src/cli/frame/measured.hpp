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
  http::HttpServer& server() { return *server_; }
  // Before the server runs.
  void answer_with(http::HttpHandler handler) { *handler_ = std::move(handler); }

 private:
  std::unique_ptr<http::HttpHandler> handler_;
  std::unique_ptr<http::HttpServer> server_;
};

// Counts what a command does to its store, its log and its handlers, and serves that. Without a port everything is
// passed on as it is.
class Measured {
 public:
  // All must outlive it. `queues` are those that are served. The log says at which address, once.
  Measured(const Invocation& invocation, MetricsPort& port, LogSink& sink, Store& store,
           std::vector<std::string> queues = {});
  // The store could not be opened, and the work goes on.
  Measured(const Invocation& invocation, MetricsPort& port, LogSink& sink);
  Measured(const Invocation& invocation, MetricsPort& port, LogSink& sink, tracker::Tracker& tracker,
           std::function<tracker::TrackerWorkerCounts()> counts);
  ~Measured();
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

  Store& store() const;
  LogSink& sink() const;
  Log log() const { return Log(sink()); }
  tracker::Tracker& tracker() const;
  // The same, measured. It must outlive this one.
  Handler& handler(Handler& handler);

 private:
  struct Parts;
  LogSink& plain_sink_;
  Store* plain_store_ = nullptr;
  tracker::Tracker* plain_tracker_ = nullptr;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fenceline::cli

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
OptionSpec metrics_file_option();

// Where the pages are served, and the file that a short run leaves: taken before a store is opened, so that what cannot
// be had is said before anything else happens. Nothing if there is neither --metrics nor --metrics-file.
class MetricsPort {
 public:
  // Errors: usage (not an address, not a file for the collector), refused (other machines would reach it, and nobody
  // accepted that), held (somebody listens there), denied, not_found (no folder for the file).
  static Result<MetricsPort> open(const Invocation& invocation);

  explicit operator bool() const { return server_ != nullptr; }
  // Adds what was counted to the file of --metrics-file, once, at the end of the run. A failure is told on stderr: the
  // work is done, and keeps its status.
  void write_file(const Invocation& invocation, Measurement* measured) const;
  // What a session is to measure for these; empty if nobody wants to know. `queues` are those that are served. The
  // invocation must outlive the session.
  std::optional<MeasureOptions> measures(const Invocation& invocation, std::vector<std::string> queues = {}) const;
  http::HttpServer& server() { return *server_; }
  // Before the server runs.
  void answer_with(http::HttpHandler handler) { *handler_ = std::move(handler); }

 private:
  Result<void> listen(const Invocation& invocation, const std::string& text);

  std::unique_ptr<http::HttpHandler> handler_;
  std::unique_ptr<http::HttpServer> server_;
  std::optional<std::string> file_;
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
  Measurement* measurement() const;  // null: nobody counts
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

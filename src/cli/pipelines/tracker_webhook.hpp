// What `--webhook ADDR` starts beside a worker on an issue tracker: a listener for what the tracker tells by itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/frame/command.hpp"
#include "http/http_server.hpp"
#include "tracker/tracker.hpp"

namespace fenceline::cli {

OptionSpec webhook_option();

// The address and the secret, before the tracker is asked anything. Nothing if there is no --webhook.
class WebhookPort {
 public:
  // Errors: usage (no address), invalid (no secret), refused (other machines would reach it, and nobody accepted that;
  // a tracker without webhooks), held (somebody listens there), denied.
  static Result<WebhookPort> open(const Invocation& invocation);

  // Listens until the task goes away; that is before `hint` does. `workers` are ids of accounts whose own doings are no
  // news.
  Result<Task> listen(const Invocation& invocation, std::vector<std::string> workers,
                      std::function<void(const tracker::ItemId&)> hint);

 private:
  std::string secret_;
  std::unique_ptr<http::HttpHandler> handler_;
  std::unique_ptr<http::HttpServer> server_;
};

}  // namespace fenceline::cli

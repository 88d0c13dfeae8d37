#include "cli/pipelines/tracker_webhook.hpp"

#include <algorithm>

#include "backends/trackers/open_tracker.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/text.hpp"
#include "cli/pipelines/tracker_place.hpp"

namespace fenceline::cli {
namespace {

constexpr const char* kSecret = "FENCELINE_WEBHOOK_SECRET";
constexpr const char* kSecretFile = "FENCELINE_WEBHOOK_SECRET_FILE";
constexpr std::size_t kDeliveryBytesMax =
    2
    << 20;  // an issue's and a comment's text, each escaped; it is all in memory before its signature can be looked at
constexpr std::size_t kConnectionsMax = 16;

Result<std::string> signing_secret() {
  if (!from_environment(kSecret) && !from_environment(kSecretFile))
    return fail(Code::invalid, "--webhook takes what the tracker signs with a secret, and there is none; set " +
                                   std::string(kSecret) + ", or " + kSecretFile +
                                   " to a file of mode 0600 that holds it");
  return secret_from({kSecret}, this_environment);
}

}  // namespace

OptionSpec webhook_option() {
  return {"--webhook", "ADDR",
          "on GitHub: listen at ADDR (127.0.0.1:8080) for its webhooks, so that changes are seen at once; needs "
          "FENCELINE_WEBHOOK_SECRET, see docs/trackers.md"};
}

Result<WebhookPort> WebhookPort::open(const Invocation& invocation) {
  WebhookPort port;
  const std::optional<std::string> text = invocation.value("--webhook");
  if (!text) return port;
  const Result<http::ListenAddress> address = http::parse_listen_address(*text);
  if (!address) return std::unexpected(usage_error("--webhook: " + address.error().message));
  if (!address->loopback && !invocation.accepts("open-listen"))
    return fail(Code::refused, "--webhook " + printable(*text, 60) +
                                   " can be reached from other machines, without TLS; use 127.0.0.1 behind a proxy, or "
                                   "allow it with --accept open-listen");
  Result<std::string> secret = signing_secret();
  if (!secret) return std::unexpected(secret.error());
  port.secret_ = std::move(*secret);
  // That there is such a thing at this tracker is said before anything is opened.
  if (const auto known =
          open_webhook(Log(*invocation.log_sink), invocation.store_url, this_environment, port.secret_, {}, {});
      !known)
    return std::unexpected(known.error());
  port.handler_ = std::make_unique<http::HttpHandler>();
  Result<std::unique_ptr<http::HttpServer>> server = http::HttpServer::open(
      *invocation.runtime,
      {.listen = *address, .body_bytes_max = kDeliveryBytesMax, .connections_max = kConnectionsMax},
      [handler = port.handler_.get()](const http::HttpRequest& request) { return (*handler)(request); });
  if (!server) {
    const Error& error = server.error();
    if (error.code == Code::invalid) return std::unexpected(usage_error("--webhook: " + error.message));
    // The process that listens there may end soon.
    return fail(error.code == Code::conflict ? Code::held : error.code, "--webhook: " + error.message);
  }
  port.server_ = std::move(*server);
  return port;
}

Result<Task> WebhookPort::listen(const Invocation& invocation, std::vector<std::string> workers,
                                 std::function<void(const tracker::ItemId&)> hint) {
  if (!server_) return Task();
  const Log log(*invocation.log_sink);
  Result<http::HttpHandler> handler =
      open_webhook(log, invocation.store_url, this_environment, secret_, std::move(workers), std::move(hint));
  if (!handler) return std::unexpected(handler.error());
  *handler_ = std::move(*handler);
  log.info("webhook_listening", {{"address", server_->address()}});
  return invocation.runtime->spawn("webhook", [this](std::stop_token stop) { server_->run(std::move(stop)); });
}

}  // namespace fenceline::cli

#include "backends/trackers/github_webhook.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/trackers/http_verb.hpp"
#include "backends/trackers/lenient_json.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "tracker/hmac.hpp"

namespace fenceline::tracker {
namespace {

constexpr std::string_view kScheme = "sha256=";
constexpr std::size_t kDeliveryIdMost = 100;

http::HttpResponse said(int status, std::string words) { return {.status = status, .body = std::move(words) + "\n"}; }

bool is_delivery_id(const std::string& text) {
  return !text.empty() && text.size() <= kDeliveryIdMost &&
         std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

GithubWebhook::GithubWebhook(Log log, GithubWebhookOptions options) : log_(log), options_(std::move(options)) {
  check(!options_.secret.empty(), "a webhook without a secret");
}

http::HttpResponse GithubWebhook::answer(const http::HttpRequest& request) {
  if (request.method != "POST") return said(405, "use POST");
  const std::string signature = request.header("x-hub-signature-256").value_or("");
  if (!same_in_constant_time(signature, std::string(kScheme) + hmac_sha256_hex(options_.secret, request.body))) {
    refused(signature.empty() ? "no_signature" : "wrong_signature");
    return said(401, "wrong signature");
  }
  const std::string delivery = request.header("x-github-delivery").value_or("");
  if (!is_delivery_id(delivery)) return said(400, "X-GitHub-Delivery is missing");
  if (!is_new(delivery, signature)) return said(200, "already delivered");
  const std::string event = request.header("x-github-event").value_or("");
  if (event != "issues" && event != "issue_comment") return said(200, "not about an issue, ignored");
  if (!request.header("content-type").value_or("").starts_with("application/json"))
    return said(415, "set the webhook's content type to application/json");
  const nlohmann::json body = nlohmann::json::parse(request.body, nullptr, false);
  const nlohmann::json issue = member(body, "issue");
  const std::int64_t number = number_at(issue, "number");
  if (number <= 0) return said(400, "the issue is missing");
  if (lower_case(text_at(member(body, "repository"), "full_name")) != lower_case(options_.repository))
    return said(200, "another repository, ignored");
  if (issue.contains("pull_request")) return said(200, "a pull request, ignored");
  const std::string sender = std::to_string(number_at(member(body, "sender"), "id"));
  if (std::ranges::find(options_.workers, sender) != options_.workers.end())
    return said(200, "a change by the workers, ignored");
  options_.hint(std::to_string(number));
  return said(202, "accepted");
}

bool GithubWebhook::is_new(const std::string& delivery, const std::string& signature) {
  const std::lock_guard lock(mutex_);
  told_ = false;
  if (known_.contains(delivery) || known_.contains(signature)) return false;
  for (const std::string& key : {delivery, signature}) {
    if (known_.insert(key).second) order_.push_back(key);
  }
  while (order_.size() > 2 * options_.remembered_most) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

// Once, until a good one comes: whoever sends rubbish does not write our log.
void GithubWebhook::refused(const char* why) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(told_, true)) return;
  }
  log_.warn("webhook_refused", {{"why", why}});
}

}  // namespace fenceline::tracker

#include "backends/trackers/http_verb.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace fenceline::tracker {

HttpVerb::HttpVerb(HttpPlace& place, const Clock& clock, std::string what, LimitReader limits)
    : place_(place), clock_(clock), what_(std::move(what)), limits_(limits), deadline_(clock.now() + kVerbTimeout) {}

std::optional<Duration> HttpVerb::time_left() const {
  const Duration left = deadline_ - clock_.now();
  if (left <= Duration{0}) return std::nullopt;
  return left;
}

void HttpVerb::note(const http::Response& response, bool charged) {
  if (served_.cost.requests == 0)
    if (const std::optional<WallTime> date = response.date()) served_.now = *date;
  served_.cost += {.requests = 1, .charged = charged ? 1 : 0};
  const std::optional<std::string> left = response.header("x-ratelimit-remaining");
  const std::optional<std::string> reset = response.header("x-ratelimit-reset");
  if (!left || !reset) return;
  const WallTime whole_at(std::chrono::seconds{std::strtoll(reset->c_str(), nullptr, 10)});
  const WallTime now = response.date().value_or(served_.now);
  served_.limit = Limit{.left = std::strtoll(left->c_str(), nullptr, 10),
                        .whole_in = whole_at > now ? whole_at - now : Duration{0}};
}

std::expected<http::Response, Trouble> HttpVerb::get(const std::string& path) {
  const std::optional<Duration> left = time_left();
  if (!left) return fail(TroubleKind::unavailable, "no reply in time");
  std::expected<http::Fetched, http::Failure> fetched =
      place_.cache.fetch(place_.client, {.url = place_.base + path, .headers = place_.headers, .timeout = *left});
  if (!fetched) return fail(TroubleKind::unavailable, fetched.error().message);
  note(fetched->response, !fetched->unchanged);
  return std::move(fetched->response);
}

std::expected<http::Response, Trouble> HttpVerb::change(const std::string& method, const std::string& path,
                                                        const std::string& body) {
  const std::optional<Duration> left = time_left();
  if (!left) return fail(changes_ ? TroubleKind::in_doubt : TroubleKind::unavailable, "no reply in time");
  http::Request request{
      .method = method, .url = place_.base + path, .headers = place_.headers, .body = body, .timeout = *left};
  if (!body.empty()) request.headers.push_back({"Content-Type", "application/json"});
  std::expected<http::Response, http::Failure> response = place_.client.send(request);
  if (!response)
    return fail(changes_ || response.error().sent ? TroubleKind::in_doubt : TroubleKind::unavailable,
                response.error().message);
  changes_ = true;
  note(*response, true);
  return std::move(*response);
}

std::expected<nlohmann::json, Trouble> HttpVerb::json(const http::Response& response) const {
  nlohmann::json value = nlohmann::json::parse(response.body, nullptr, false);
  if (value.is_discarded())
    return fail(changes_ ? TroubleKind::in_doubt : TroubleKind::unavailable, "its answer is not JSON");
  return value;
}

std::unexpected<Trouble> HttpVerb::fail(TroubleKind kind, const std::string& why) const {
  return trouble(kind, place_.tracker + ": " + what_ + ": " + why, served_);
}

std::unexpected<Trouble> HttpVerb::fail(const http::Response& response) const {
  if (limits_ != nullptr) {
    if (std::optional<Trouble> limited = limits_(response, served_)) {
      limited->message = place_.tracker + ": " + what_ + ": " + limited->message;
      return std::unexpected(std::move(*limited));
    }
  }
  const std::string why = "HTTP status " + std::to_string(response.status);
  switch (response.status) {
    case 401:
    case 403:
    case 407: return fail(TroubleKind::denied, why);
    case 404: return fail(TroubleKind::not_found, why);
    case 409: return fail(TroubleKind::conflict, why);
    case 429: {
      std::unexpected<Trouble> limited = fail(TroubleKind::limited, why);
      if (const std::optional<std::string> after = response.header("retry-after"))
        limited.error().come_back = std::chrono::seconds{std::strtoll(after->c_str(), nullptr, 10)};
      return limited;
    }
    // Whoever says when to come back has not begun; a proxy's 503 may follow a write that was taken.
    case 503:
      return fail(changes_ && !response.header("retry-after") ? TroubleKind::in_doubt : TroubleKind::unavailable, why);
    default: break;
  }
  if (response.status >= 500) return fail(TroubleKind::in_doubt, why);
  return fail(TroubleKind::refused, why);
}

WallTime time_of(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second) != 6 ||
      !text.ends_with('Z'))
    return {};
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{day}};
  if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return {};
  WallTime time = std::chrono::sys_days{date} + std::chrono::hours{hour} + std::chrono::minutes{minute} +
                  std::chrono::seconds{second};
  if (text.size() > 20 && text[19] == '.') {
    int micros = 0;
    int unit = 100'000;
    for (std::size_t at = 20; at + 1 < text.size() && unit > 0; ++at, unit /= 10) {
      if (text[at] < '0' || text[at] > '9') return {};
      micros += (text[at] - '0') * unit;
    }
    time += std::chrono::microseconds{micros};
  }
  return time;
}

std::string text_of(std::string text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n') continue;
    out += text[at];
  }
  if (out.size() > kTextBytesMax) {
    std::size_t end = kTextBytesMax;
    while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;
    out.resize(end);
  }
  return out;
}

}  // namespace fenceline::tracker

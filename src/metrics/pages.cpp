#include "metrics/pages.hpp"

#include "base/duration_text.hpp"

namespace fenceline::metrics {

http::HttpResponse Pages::answer(const http::HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD")
    return {.status = 405, .body = "only GET and HEAD are allowed\n", .headers = {{"Allow", "GET, HEAD"}}};
  if (request.path() == "/metrics") {
    sampler_.freshen();
    return {.body = metrics_.text(runtime_.now()), .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  }
  if (request.path() == "/livez") return {.body = "ok\n"};
  if (request.path() == "/readyz") return readiness();
  return {.status = 404, .body = "not found; use /metrics, /livez or /readyz\n"};
}

http::HttpResponse Pages::readiness() {
  const std::optional<Instant> answered = metrics_.answered_at();
  if (!answered) return {.status = 503, .body = "the store has not answered yet\n"};
  const Duration since = runtime_.now() - *answered;
  if (since > kReadyFor)
    return {.status = 503,
            .body = "the store has not answered for " +
                    format_duration(std::chrono::floor<std::chrono::seconds>(since)) + "\n"};
  return {.body = "ok\n"};
}

}  // namespace fenceline::metrics

// The pages that a process serves about itself: /metrics, /livez (it answers) and /readyz (its store answered lately).
#pragma once

#include "http/http_server.hpp"
#include "metrics/metrics.hpp"
#include "metrics/sampler.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::metrics {

inline constexpr Duration kReadyFor = std::chrono::seconds{45};  // since the last answer: three samples

class Pages {
 public:
  // All must outlive it.
  Pages(Runtime& runtime, Metrics& metrics, Sampler& sampler)
      : runtime_(runtime), metrics_(metrics), sampler_(sampler) {}

  http::HttpResponse answer(const http::HttpRequest& request);

 private:
  http::HttpResponse readiness();

  Runtime& runtime_;
  Metrics& metrics_;
  Sampler& sampler_;
};

}  // namespace fenceline::metrics

// Spans as a collector of OpenTelemetry reads them: OTLP in JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "traces/span.hpp"

namespace fenceline::traces {

// Who made the spans.
struct Origin {
  std::string service = "fenceline";
  std::string version;  // of this program
  std::string host;
  std::int64_t pid = 0;
};

// The body of a request to /v1/traces. Texts that are not UTF-8 are made so.
std::string otlp_json(const Origin& origin, std::span<const Span> spans);

// How many of the spans an answer says it did not take; 0 also for an answer that is not understood.
std::int64_t rejected_spans(std::string_view answer);

}  // namespace fenceline::traces

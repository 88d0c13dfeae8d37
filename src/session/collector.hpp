// Where spans go: a collector of OpenTelemetry, over HTTP.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "http/http_client.hpp"
#include "runtime/runtime.hpp"
#include "traces/span.hpp"

namespace fenceline {

struct CollectorOptions {
  std::string endpoint;  // http://HOST:4318
  bool whole = false;    // the endpoint ends with the path that spans are posted to; else /v1/traces is added
  std::string service = "fenceline";       // as traces name it
  std::vector<http::Header> headers = {};  // secrets may be among them
};

// Errors: invalid (not an address; the message does not repeat it).
Result<std::unique_ptr<traces::SpanSink>> open_collector(Runtime& runtime, Log log, CollectorOptions options);

}  // namespace fenceline

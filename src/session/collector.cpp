#include "session/collector.hpp"

#include <unistd.h>

#include <string_view>
#include <utility>

#include "fenceline/version.hpp"
#include "runtime/host.hpp"
#include "traces/exporter.hpp"

namespace fenceline {
namespace {

bool is_possible(std::string_view endpoint) {
  return (endpoint.starts_with("http://") || endpoint.starts_with("https://")) && endpoint.size() > 8 &&
         endpoint.find_first_of(" @?#") == std::string_view::npos;
}

std::string spans_url(std::string_view endpoint, bool whole) {
  if (whole) return std::string(endpoint);
  while (endpoint.ends_with('/')) endpoint.remove_suffix(1);
  return std::string(endpoint) + "/v1/traces";
}

}  // namespace

Result<std::unique_ptr<traces::SpanSink>> open_collector(Runtime& runtime, Log log, CollectorOptions options) {
  if (!is_possible(options.endpoint))
    return fail(
        Code::invalid,
        "the address of the trace collector is not valid; use http://HOST:4318, without user, password or query");
  traces::ExporterOptions exporter{.url = spans_url(options.endpoint, options.whole),
                                   .headers = std::move(options.headers)};
  exporter.origin = {
      .service = std::move(options.service), .version = std::string(kVersion), .host = host_name(), .pid = ::getpid()};
  return std::make_unique<traces::Exporter>(runtime, log, std::move(exporter));
}

}  // namespace fenceline

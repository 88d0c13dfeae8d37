#include "session/collector.hpp"

#include <unistd.h>

#include <utility>

#include "fenceline/version.hpp"
#include "runtime/host.hpp"
#include "traces/exporter.hpp"

namespace fenceline {
namespace {

Result<std::string> url_of(std::string endpoint, bool whole) {
  const bool possible = (endpoint.starts_with("http://") || endpoint.starts_with("https://")) && endpoint.size() > 8 &&
                        endpoint.find_first_of(" @?#") == std::string::npos;
  if (!possible)
    return fail(Code::invalid,
                "the collector of traces is no address like http://HOST:4318, without user, password and query");
  if (whole) return endpoint;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint + "/v1/traces";
}

}  // namespace

Result<std::unique_ptr<traces::SpanSink>> open_collector(Runtime& runtime, Log log, CollectorOptions options) {
  Result<std::string> url = url_of(std::move(options.endpoint), options.whole);
  if (!url) return std::unexpected(url.error());
  traces::ExporterOptions exporter{.url = std::move(*url), .headers = std::move(options.headers)};
  exporter.origin = {
      .service = std::move(options.service), .version = std::string(kVersion), .host = host_name(), .pid = ::getpid()};
  return std::make_unique<traces::Exporter>(runtime, log, std::move(exporter));
}

}  // namespace fenceline

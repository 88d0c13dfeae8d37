#include "cli/frame/trace_settings.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/text.hpp"
#include "session/collector.hpp"

namespace fenceline::cli {
namespace {

std::optional<std::string> first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::optional<std::string> value = from_environment(name)) return value;
  }
  return std::nullopt;
}

Setting setting_of(const Invocation& invocation, std::string_view name) {
  const auto found = std::ranges::find(invocation.settings, name, &Setting::name);
  return found == invocation.settings.end() ? Setting{} : *found;
}

// "name=value,other=value", URL-encoded values. Errors do not quote them: they are secrets.
Result<std::vector<http::Header>> headers_from_environment() {
  std::vector<http::Header> headers;
  std::string rest = first_of({"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"}).value_or("");
  while (!rest.empty()) {
    const std::string pair = rest.substr(0, rest.find(','));
    rest.erase(0, std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    const std::string name = one_line(pair.substr(0, equals));
    const std::optional<std::string> value =
        equals == std::string::npos ? std::nullopt : percent_decoded(pair.substr(equals + 1));
    const bool possible =
        value && !name.empty() && name.find_first_of(" :\"") == std::string::npos && one_line(*value) == *value;
    if (!possible)
      return std::unexpected(
          usage_error("OTEL_EXPORTER_OTLP_HEADERS must be NAME=VALUE,NAME=VALUE with URL-encoded values"));
    headers.push_back({name, *value});
  }
  return headers;
}

}  // namespace

Result<std::unique_ptr<traces::SpanSink>> open_traces(const Invocation& invocation) {
  if (from_environment("OTEL_SDK_DISABLED") == "true" || from_environment("OTEL_TRACES_EXPORTER") == "none")
    return nullptr;
  Setting endpoint = setting_of(invocation, "trace.endpoint");
  const std::optional<std::string> whole = from_environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  if (whole) endpoint = {endpoint.name, *whole, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"};
  if (endpoint.value.empty()) return nullptr;
  // A collector of that protocol listens on another port, and would not understand a word.
  const std::string protocol =
      first_of({"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"}).value_or("http/json");
  if (protocol == "grpc" && endpoint.origin.starts_with("OTEL_")) {
    Log(*invocation.log_sink).warn("traces_off", {{"reason", "protocol_grpc"}});
    return nullptr;
  }
  Result<std::vector<http::Header>> headers = headers_from_environment();
  if (!headers) return std::unexpected(headers.error());
  Result<std::unique_ptr<traces::SpanSink>> collector =
      open_collector(*invocation.runtime, Log(*invocation.log_sink),
                     {.endpoint = endpoint.value,
                      .whole = whole.has_value(),
                      .service = setting_of(invocation, "trace.service").value,
                      .headers = std::move(*headers)});
  if (collector) return collector;
  const std::string text = endpoint.origin + ": " + collector.error().message;
  return std::unexpected(endpoint.origin.starts_with("OTEL_") ? usage_error(text) : Error{Code::invalid, text});
}

}  // namespace fenceline::cli

#include "traces/otlp.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace fenceline::traces {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStatusError = 2;

// 64-bit numbers are texts there, as JSON has none of them.
Json value_of(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return {{"stringValue", *text}};
  return {{"intValue", std::to_string(std::get<std::int64_t>(value))}};
}

Json json_of(const Attributes& attributes) {
  Json out = Json::array();
  for (const auto& [key, value] : attributes) out.push_back({{"key", key}, {"value", value_of(value)}});
  return out;
}

std::string nanoseconds(WallTime at) { return std::to_string(std::chrono::nanoseconds(at.time_since_epoch()).count()); }

Json json_of(const Span& span) {
  Json out{{"traceId", span.context.trace_id}, {"spanId", span.context.span_id}};
  if (!span.parent_id.empty()) out["parentSpanId"] = span.parent_id;
  out["name"] = span.name;
  out["kind"] = static_cast<int>(span.kind);
  out["startTimeUnixNano"] = nanoseconds(span.started);
  out["endTimeUnixNano"] = nanoseconds(span.ended);
  out["attributes"] = json_of(span.attributes);
  for (const Link& link : span.links)
    out["links"].push_back(
        {{"traceId", link.trace_id}, {"spanId", link.span_id}, {"attributes", json_of(link.attributes)}});
  out["status"] = Json::object();
  if (span.error) out["status"] = {{"code", kStatusError}, {"message", *span.error}};
  return out;
}

}  // namespace

std::string otlp_json(const Origin& origin, std::span<const Span> spans) {
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(json_of(span));
  const Attributes about{{"service.name", origin.service},
                         {"service.version", origin.version},
                         {"host.name", origin.host},
                         {"process.pid", origin.pid}};
  const Json scope{{"scope", {{"name", "fenceline"}, {"version", origin.version}}}, {"spans", std::move(list)}};
  const Json out{{"resourceSpans", Json::array({{{"resource", {{"attributes", json_of(about)}}},
                                                 {"scopeSpans", Json::array({scope})}}})}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::int64_t rejected_spans(std::string_view answer) {
  const Json parsed = Json::parse(answer, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("partialSuccess") || !parsed["partialSuccess"].is_object()) return 0;
  const Json rejected = parsed["partialSuccess"].value("rejectedSpans", Json(0));
  if (rejected.is_number_integer()) return std::max<std::int64_t>(rejected.get<std::int64_t>(), 0);
  std::int64_t number = 0;
  if (rejected.is_string()) {
    const std::string text = rejected.get<std::string>();
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return std::max<std::int64_t>(number, 0);
}

}  // namespace fenceline::traces

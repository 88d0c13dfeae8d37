#include "base/log.hpp"

#include <charconv>
#include <cmath>

#include "base/utf8.hpp"

namespace fenceline {

std::string_view to_string(Level level) {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warn: return "warn";
    case Level::error: return "error";
  }
  return "unknown";
}

LogSink& null_log_sink() {
  struct Null final : LogSink {
    void write(const LogEvent&) override {}
  };
  static Null sink;
  return sink;
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
      continue;
    }
    const char c = text.front();
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (length == 1 && static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 0x0f];
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  out += '"';
}

namespace {

struct AppendValue {
  std::string& out;
  void operator()(std::int64_t number) const { out += std::to_string(number); }
  void operator()(bool flag) const { out += flag ? "true" : "false"; }
  void operator()(const std::string& text) const { append_json_string(out, text); }
  void operator()(double number) const {
    if (!std::isfinite(number)) {
      out += "null";
      return;
    }
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
    out.append(buffer, end);
  }
};

}  // namespace

std::string format_log_line(const LogEvent& event, std::string_view time) {
  std::string out = "{";
  if (!time.empty()) {
    out += "\"time\":";
    append_json_string(out, time);
    out += ',';
  }
  out += "\"level\":";
  append_json_string(out, to_string(event.level));
  out += ",\"event\":";
  append_json_string(out, event.name);
  for (const LogField& field : event.fields) {
    out += ',';
    append_json_string(out, field.key);
    out += ':';
    std::visit(AppendValue{out}, field.value);
  }
  return out + "}";
}

}  // namespace fenceline

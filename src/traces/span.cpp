#include "traces/span.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/sha256.hpp"

namespace fenceline::traces {
namespace {

constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kSpanDigits = 16;
constexpr std::size_t kWholeSize = 55;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) { return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos; }

std::string hex_of(std::uint64_t number) {
  std::array<char, kSpanDigits> digits{};
  digits.fill('0');
  std::array<char, kSpanDigits> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr;
  std::copy_backward(text.data(), end, digits.data() + digits.size());
  return {digits.data(), digits.size()};
}

std::string new_id(Runtime& runtime) {
  std::uint64_t number = runtime.random();
  while (number == 0) number = runtime.random();
  return hex_of(number);
}

}  // namespace

std::optional<Context> parse_traceparent(std::string_view text) {
  if (text.size() < kWholeSize || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const std::string_view version = text.substr(0, 2), trace = text.substr(3, kTraceDigits),
                         span = text.substr(36, kSpanDigits), flags = text.substr(53, 2);
  if (!is_hex(version) || version == "ff" || !is_id(trace) || !is_id(span) || !is_hex(flags)) return std::nullopt;
  if (text.size() > kWholeSize && (version == "00" || text[kWholeSize] != '-')) return std::nullopt;
  int bits = 0;
  std::from_chars(flags.data(), flags.data() + flags.size(), bits, 16);
  return Context{std::string(trace), std::string(span), (bits & 1) != 0};
}

std::string to_traceparent(const Context& context) {
  return "00-" + context.trace_id + "-" + context.span_id + (context.sampled ? "-01" : "-00");
}

Context new_context(Runtime& runtime, const std::optional<Context>& parent) {
  if (parent) return {parent->trace_id, new_id(runtime), parent->sampled};
  const std::string first = new_id(runtime);
  return {first + new_id(runtime), new_id(runtime), true};
}

Context run_context(const JobId& job, std::int64_t delivery, const std::optional<Context>& parent) {
  const std::string id = to_string(job);
  std::string trace = parent ? parent->trace_id : id;
  std::erase(trace, '-');
  return {trace, sha256_hex("run " + id + " " + std::to_string(delivery)).substr(0, kSpanDigits),
          !parent || parent->sampled};
}

}  // namespace fenceline::traces

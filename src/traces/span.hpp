// Spans and their contexts, as W3C writes them down: what ties the work on a job to whoever enqueued it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.hpp"
#include "model/job.hpp"
#include "runtime/runtime.hpp"

namespace fenceline::traces {

struct Context {
  std::string trace_id;  // 32 hex digits in lower case
  std::string span_id;   // 16
  bool sampled = true;   // false: whoever began the trace does not want it written down

  bool operator==(const Context&) const = default;
};

// "00-<trace>-<span>-<flags>", and what later versions add. Empty: it is none, or one of zeros.
std::optional<Context> parse_traceparent(std::string_view text);
std::string to_traceparent(const Context& context);

enum class SpanKind { producer = 4, consumer = 5 };  // as OTLP numbers them

using AttributeValue = std::variant<std::string, std::int64_t>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

struct Link {
  std::string trace_id;
  std::string span_id;
  Attributes attributes;
};

struct Span {
  Context context;
  std::string parent_id;  // empty: it begins the trace
  std::string name;
  SpanKind kind = SpanKind::producer;
  WallTime started{};
  WallTime ended{};
  Attributes attributes;
  std::vector<Link> links;
  std::optional<std::string> error;  // it failed, and in a few words how; never what a handler said
};

// Takes spans that have ended. Safe to call from several threads; never waits.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void ended(Span span) = 0;
};

// Below the parent, or the first of a new trace.
Context new_context(Runtime& runtime, const std::optional<Context>& parent);

// Of one delivery. Its span id follows from the job and the number of the delivery, so that the next delivery, in
// another process, can name it. A job that came without a context has a trace of its own, which has the job's id.
Context run_context(const JobId& job, std::int64_t delivery, const std::optional<Context>& parent);

}  // namespace fenceline::traces

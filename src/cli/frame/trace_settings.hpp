// Where spans go: [trace] of fenceline.toml, and the variables that OpenTelemetry's own programs read.
#pragma once

#include <memory>

#include "cli/frame/command.hpp"
#include "traces/span.hpp"

namespace fenceline::cli {

// Empty: traces are off, which is the default without a collector. Errors: usage, invalid (a URL or headers that
// are not possible).
Result<std::unique_ptr<traces::SpanSink>> open_traces(const Invocation& invocation);

}  // namespace fenceline::cli

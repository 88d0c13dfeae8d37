// The span of one enqueue, whose context the jobs carry on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/job.hpp"
#include "runtime/runtime.hpp"
#include "traces/span.hpp"

namespace fenceline::traces {

class ProducerSpan {
 public:
  // Gives the jobs its context. Empty: there are no jobs, or whoever began their trace does not want it written down.
  // `runtime` and `spans` must outlive it.
  static std::optional<ProducerSpan> begin(Runtime& runtime, SpanSink& spans, const std::string& ns,
                                           std::vector<NewJob>& jobs);

  // With why it failed; null: it did not.
  void end(const Error* error);

 private:
  ProducerSpan(Runtime& runtime, SpanSink& spans) : runtime_(&runtime), spans_(&spans), began_(runtime.now()) {}

  Runtime* runtime_;
  SpanSink* spans_;
  Instant began_;
  Span span_;
};

}  // namespace fenceline::traces

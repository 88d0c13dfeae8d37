// A Handler that writes down how another one ran, as a span below the context of its job; what the other one does hangs
// below that span in turn.
#pragma once

#include <string>

#include "handler/handler.hpp"
#include "traces/span.hpp"

namespace fenceline::traces {

class TracedHandler final : public Handler {
 public:
  // All must outlive it.
  TracedHandler(Runtime& runtime, SpanSink& spans, std::string ns, Handler& inner)
      : runtime_(runtime), spans_(spans), ns_(std::move(ns)), inner_(inner) {}

  RunResult run(const Run& run) override;

 private:
  Runtime& runtime_;
  SpanSink& spans_;
  const std::string ns_;
  Handler& inner_;
};

// What producers and workers alike say of a job.
Attributes attributes_of(const std::string& ns, const std::string& queue, const std::string& stage,
                         const std::string& operation);

}  // namespace fenceline::traces

// A handler as a session runs it. From the worker to the handler:
//
//   MeteredHandler   times all below
//   TracedHandler    the span that what the handler does hangs below
//   HistoryHandler   when the handler itself began, was told to stop and ended
//   the handler
#pragma once

#include <optional>

#include "handler/handler.hpp"
#include "history/history_handler.hpp"
#include "metrics/metered_handler.hpp"
#include "session/measurement.hpp"
#include "session/session.hpp"
#include "traces/traced_handler.hpp"

namespace fenceline {

enum class ChainFor {
  jobs,    // all of it
  checks,  // of gates: they are written down, and are not among the jobs that a worker counts and traces
};

class HandlerChain {
 public:
  // Both must outlive it.
  HandlerChain(const Session& session, Handler& handler, ChainFor what = ChainFor::jobs) : outermost_(&handler) {
    if (session.recorder() != nullptr) outermost_ = &recorded_.emplace(*session.recorder(), *outermost_);
    if (what == ChainFor::checks) return;
    if (session.spans() != nullptr)
      outermost_ = &traced_.emplace(session.runtime(), *session.spans(), session.ns(), *outermost_);
    if (session.measurement() != nullptr)
      outermost_ = &metered_.emplace(session.runtime(), session.measurement()->counted(), *outermost_);
  }
  HandlerChain(const HandlerChain&) = delete;
  HandlerChain& operator=(const HandlerChain&) = delete;

  Handler& outermost() const { return *outermost_; }

 private:
  std::optional<HistoryHandler> recorded_;
  std::optional<traces::TracedHandler> traced_;
  std::optional<metrics::MeteredHandler> metered_;
  Handler* outermost_;
};

}  // namespace fenceline

// A Handler that writes into a history when another one begins, is told to stop, and ends.
#pragma once

#include "handler/handler.hpp"
#include "history/recorder.hpp"

namespace fenceline {

class HistoryHandler final : public Handler {
 public:
  // Both must outlive it.
  HistoryHandler(history::Recorder& recorder, Handler& inner) : recorder_(recorder), inner_(inner) {}

  RunResult run(const Run& run) override;

 private:
  history::Recorder& recorder_;
  Handler& inner_;
};

}  // namespace fenceline

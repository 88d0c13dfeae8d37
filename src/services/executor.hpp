// Runs handlers: one slot each, as many side by side as the worker may.
#pragma once

#include <atomic>
#include <stop_token>
#include <vector>

#include "handler/handler.hpp"
#include "services/effect_runner.hpp"
#include "services/recorder.hpp"
#include "services/worker_context.hpp"

namespace fenceline {

class Executor {
 public:
  Executor(WorkerContext& context, Recorder& recorder, EffectRunner& effects, Handler& handler)
      : context_(context), recorder_(recorder), effects_(effects), handler_(handler) {}

  // One slot: takes what waits and runs it, until `stop` or, once closed, nothing waits.
  void work(std::stop_token stop);

  // No more will come.
  void close();

 private:
  void run(const DeliveryPtr& delivery);
  RunResult call_handler(const DeliveryPtr& delivery);

  WorkerContext& context_;
  Recorder& recorder_;
  EffectRunner& effects_;
  Handler& handler_;
  std::atomic<bool> closed_ = false;
};

// Keeps the first 1 MiB of what is larger, and no part of a letter at its end.
void cut_result(std::string& result);

// The outcome of a handler that returned `result`; more than 1 MiB of a result is not kept. One that we stopped and
// that did not finish is given back: the stop was not its fault. One whose time was over has failed, unless it says
// something better; its error says so first. `random` is for the retry delay.
Outcome outcome_of(RunResult result, const Job& job, Stopped stopped, std::uint64_t random);

}  // namespace fenceline

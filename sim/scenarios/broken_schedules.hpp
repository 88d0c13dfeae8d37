// Stores that each break one promise of schedules in one small way, for the tests of the checks.
#pragma once

#include <string>

#include "sim/scenarios/broken_stores.hpp"

namespace fenceline::sim {

// S1: a step is taken from wherever the account stands, so that whoever comes second fires too.
class TakesAStepFromAnywhere final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<StepReply> step_ticks(const StepRequest& request) override {
    Result<StepReply> reply = inner_.step_ticks(request);
    if (!reply) return reply;
    for (StepAnswer& answer : reply->answers) {
      if (answer.refused == Reason::moved) answer.refused = Reason::none;
    }
    return reply;
  }
};

// S1: of the jobs of fired ticks a second one is there.
class EnqueuesTheJobOfATickTwice final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<StepReply> step_ticks(const StepRequest& request) override {
    Result<StepReply> reply = inner_.step_ticks(request);
    for (std::size_t i = 0; reply && i < reply->answers.size(); ++i) {
      if (reply->answers[i].refused != Reason::none || request.steps[i].fired.empty()) continue;
      NewJob second = request.steps[i].fired.front().job;
      second.id.bytes.back() ^= 1;
      (void)inner_.enqueue({.ns = request.ns, .jobs = {second}});
    }
    return reply;
  }
};

// S2: what was skipped does not stand in the history.
class ForgetsWhatWasSkipped final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<StepReply> step_ticks(const StepRequest& request) override {
    StepRequest without = request;
    for (TickStep& step : without.steps) step.skipped.clear();
    return inner_.step_ticks(without);
  }
};

// S3: a step that leads ahead of the clock is taken.
class TakesWhatIsEarly final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<StepReply> step_ticks(const StepRequest& request) override {
    Result<StepReply> reply = inner_.step_ticks(request);
    if (!reply) return reply;
    for (StepAnswer& answer : reply->answers) {
      if (answer.refused == Reason::early) answer.refused = Reason::none;
    }
    return reply;
  }
};

}  // namespace fenceline::sim

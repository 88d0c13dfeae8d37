// One try of one step of the job model. For the sources of the model alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "check/job_model.hpp"
#include "check/limits.hpp"

namespace fenceline::audit {

struct JobModel::At {
  const CallLog& log;
  std::uint32_t job;
  const JobOp& op;
  JobState state;
  Complaint* why;

  const Call& call() const { return log.calls[op.call]; }
  const Item& item() const { return log.items[op.item]; }
  const EffectCall& effect() const { return log.effect_of(call()); }
  const MoveItem& move() const { return log.move_of(call(), op.item); }
  Time earliest() const { return op.call == kNoCall ? op.asked : op.asked + call().waited; }
  std::string verb() const { return op.call == kNoCall ? "the end" : std::string(history::to_string(call().verb)); }
  std::string name(Name who) const { return who == 0 ? "someone" : std::string(log.text(who)); }

  // Tells why not; always false. `calls`: what led here.
  bool no(std::string promise, const std::string& what, std::vector<CallNumber> calls = {}) const {
    if (why == nullptr || !why->promise.empty()) return false;
    why->promise = std::move(promise);
    why->sentence = "job " + log.job_text(job) + " " + what;
    for (const CallNumber led : calls) {
      if (led != kNoCall) why->calls.push_back(led);
    }
    if (op.call != kNoCall) why->calls.push_back(op.call);
    return false;
  }
};

}  // namespace fenceline::audit

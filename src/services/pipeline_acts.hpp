// What people do to pipelines: apply one, remove one. Items stay where they are, so an edit that would leave some at no
// stage, or at one of another meaning, is refused and names them.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "fenceline/pipelines.hpp"
#include "model/pipeline.hpp"
#include "runtime/runtime.hpp"
#include "services/pipeline_book.hpp"
#include "store/store.hpp"

namespace fenceline {

// What each act promises says PipelineControl.
class PipelineActs final : public PipelineControl {
 public:
  PipelineActs(Runtime& runtime, Store& store, std::string ns, std::stop_token stop = {});

  Result<ApplyReport> apply(const PipelineSpec& spec, bool force, const Act& act) override;
  Result<void> remove(const std::string& name, bool force, const Act& act) override;
  // What waits for people is looked at by the rules of `spec`, which stands: whoever applied it may have died
  // before that, and an outcome under way then followed the old file. How many were moved.
  Result<std::int64_t> refit_waiting(const PipelineSpec& spec, const Act& act);

 private:
  Result<std::vector<Job>> unfinished(const std::string& queue, bool gates_only, const std::vector<JobState>& states);
  Result<std::int64_t> refit(const PipelineSpec& spec, const Result<PipelineSpec>& before,
                             const std::vector<JobState>& states, const Act& act);

  Runtime& runtime_;
  Store& store_;
  std::string ns_;
  std::stop_token stop_;
};

}  // namespace fenceline

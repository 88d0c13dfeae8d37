// What people do to pipelines: apply one, remove one. Items stay where they are, so an edit that would leave some at no
// stage, or at one of another meaning, is refused and names them.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/pipeline.hpp"
#include "runtime/runtime.hpp"
#include "services/pipeline_book.hpp"
#include "store/store.hpp"

namespace fenceline {

enum class ApplyOutcome { added, changed, same };

struct ApplyReport {
  ApplyOutcome outcome = ApplyOutcome::same;
  PipelineRow row;
  std::int64_t refitted = 0;  // items at gates that an edit let in, or made wait for something else
  std::map<std::string, std::int64_t>
      stranded;  // with force: unfinished items at what is no stage any more, by what it is called in the store
};

// Errors: invalid; conflict (items would be left at no stage; others changed it at the same time: try again); not_found
// (remove); refused (too many pipelines); those of the store.
class PipelineActs {
 public:
  PipelineActs(Runtime& runtime, Store& store, std::string ns, std::stop_token stop = {});

  // Then items that wait at gates are looked at by the new rules. The same again does that again, and else nothing.
  // With `force` items may be left behind: a person moves them.
  Result<ApplyReport> apply(const PipelineSpec& spec, bool force, const Act& act);
  // What waits for people at gates is looked at by the rules of `spec`, which stands: whoever applied it may have died
  // before that, and an outcome under way then followed the old file. How many were moved.
  Result<std::int64_t> refit_waiting(const PipelineSpec& spec, const Act& act);
  // With `force` also while there are unfinished items: they stay at their stages, as plain jobs.
  Result<void> remove(const std::string& name, bool force, const Act& act);

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

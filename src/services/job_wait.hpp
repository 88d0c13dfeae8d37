// Waiting until a job is finished.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

namespace fenceline {

// When to look at a job again: soon after the store tells of something in its queue, and every half second in any case,
// because a notice may be lost.
class JobLooks {
 public:
  // All references must outlive it.
  JobLooks(Runtime& runtime, Store& store, const std::string& ns, const Job& job, std::stop_token stop);

  // Returns when it is time to look, at the latest at `until`. False if `stop` was requested.
  bool wait(std::optional<Instant> until = std::nullopt);

 private:
  Runtime& runtime_;
  const std::stop_token stop_;
  const std::unique_ptr<Event> changed_;
  const std::unique_ptr<Watch> watch_;
  const std::stop_callback<std::function<void()>> on_stop_;
  Duration pause_;
};

struct JobWaitOptions {
  std::string ns = "default";
  std::optional<Instant> until = {};                    // empty: for as long as it takes
  std::function<void(const Result<Job>&)> looked = {};  // is told of each look that found it unfinished, or failed
};

// The job once it is finished, with its payload and result; empty: not by `until`, or `stop` was requested. At least
// one look, whatever the time. A store that is away is waited for. Errors: not_found, and those of a look: broken,
// denied.
Result<std::optional<Job>> wait_until_finished(Runtime& runtime, Store& store, const JobId& id,
                                               const JobWaitOptions& options, const std::stop_token& stop);

}  // namespace fenceline

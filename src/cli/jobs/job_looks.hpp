// Looking at a job again and again until it is finished.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "cli/frame/command.hpp"

namespace fenceline::cli {

// When to look again: soon after something happened in the job's queue, and every half second in any case, because a
// notice may be lost.
class JobLooks {
 public:
  JobLooks(Invocation& invocation, Store& store, const Job& job);

  // Returns when it is time to look, at the latest at `until`. False if the program is asked to stop.
  bool wait(std::optional<Instant> until = std::nullopt);

 private:
  Runtime& runtime_;
  const std::stop_token stop_;
  const std::unique_ptr<Event> changed_;
  const std::unique_ptr<Watch> watch_;
  const std::stop_callback<std::function<void()>> on_stop_;
  Duration pause_;
};

}  // namespace fenceline::cli

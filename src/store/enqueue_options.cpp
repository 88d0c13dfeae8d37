#include "store/enqueue_options.hpp"

#include <algorithm>

namespace fenceline {

NewJob new_job(std::string_view queue, const EnqueueOptions& options) {
  NewJob job{.id = {},
             .queue = std::string(queue),
             .stage = options.stage,
             .payload = {},
             .priority = options.priority,
             .delay = options.delay,
             .at = options.at,
             .attempts_max = options.attempts_max,
             .backoff = options.backoff,
             .timeout = options.timeout,
             .key = options.key,
             .key_for = options.key_for,
             .group = options.group,
             .limit_key = options.limit_key,
             .tags = options.tags,
             .traceparent = options.traceparent};
  std::ranges::sort(job.tags);
  const auto twice = std::ranges::unique(job.tags);
  job.tags.erase(twice.begin(), twice.end());
  return job;
}

}  // namespace fenceline

#include "fenceline/listing.hpp"

#include "library/client_parts.hpp"

namespace fenceline {

Result<JobPage> Client::jobs(const JobFilter& filter) {
  if (filter.limit < 1 || filter.limit > kJobsPageMax)
    return fail(Code::invalid, "a page of " + std::to_string(filter.limit) + " jobs is not valid; use 1 to " +
                                   std::to_string(kJobsPageMax));
  return (*parts_->session)
      ->jobs({.ns = parts_->session->ns(),
              .queue = filter.queue,
              .state = filter.state,
              .tag = filter.tag,
              .key = filter.key,
              .error = filter.error,
              .since = filter.since,
              .before = filter.before,
              .newest_first = filter.newest_first,
              .after = filter.after,
              .limit = filter.limit,
              .with_payload = filter.with_payload});
}

Result<std::vector<QueueRow>> Client::queues() { return (*parts_->session)->queues(parts_->session->ns()); }

}  // namespace fenceline

// Which jobs and queues there are: Client::jobs, Client::queues.
//
//   fenceline::JobFilter dead{.queue = "mail", .state = fenceline::JobState::dead};
//   for (bool more = true; more;) {
//     const auto page = client->jobs(dead);
//     if (!page) return report(page.error());
//     for (const fenceline::Job& job : page->jobs) std::cout << to_string(job.id) << " " << job.error << "\n";
//     more = page->next.has_value();
//     dead.after = page->next.value_or(0);
//   }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fenceline/job.hpp"
#include "fenceline/time.hpp"

namespace fenceline {

inline constexpr int kJobsPageMax = 1000;

struct JobFilter {
  std::optional<std::string> queue = std::nullopt;
  std::optional<JobState> state = std::nullopt;
  std::string tag = {};                           // empty: any
  std::string key = {};                           // its unique key; empty: any
  std::string error = {};                         // bytes that its last error contains; empty: any
  std::optional<WallTime> since = std::nullopt;   // enqueued at this time of the store's clock or later
  std::optional<WallTime> before = std::nullopt;  // enqueued before this time of the store's clock
  bool newest_first = false;                      // otherwise in the order of enqueue
  std::int64_t after = 0;                         // JobPage::next of the page before; 0: from the start
  int limit = 100;                                // 1 to kJobsPageMax
  bool with_payload = false;                      // payload and result are empty otherwise
};

// A call looks at a bounded number of jobs. So a page can hold fewer jobs than asked for, even none, and still have a
// `next`: only an empty `next` means the end.
struct JobPage {
  std::vector<Job> jobs;             // in the order of their enqueue, or newest first
  std::optional<std::int64_t> next;  // where the next page begins; empty: this was the last one
};

inline constexpr Duration kKeepDoneDefault = std::chrono::days{7};
inline constexpr Duration kKeepDeadDefault = std::chrono::days{30};

struct QueueSettings {
  int limit = 0;          // running jobs of the queue, all stages; 0: as many as workers take
  int limit_per_key = 0;  // running jobs of one limit key in the queue; 0: as many as workers take
  Duration keep_done = kKeepDoneDefault;
  Duration keep_dead = kKeepDeadDefault;  // dead and cancelled

  bool operator==(const QueueSettings&) const = default;
};

struct QueuePause {
  WallTime at;
  std::string by;
  std::string reason;

  bool operator==(const QueuePause&) const = default;
};

inline constexpr std::int64_t kAheadCounted = 10'000;

struct QueueRow {
  std::string queue;
  QueueSettings settings;
  std::optional<QueuePause> paused;
  std::array<std::int64_t, 6> depth{};      // jobs by JobState, all stages
  std::int64_t ahead = 0;                   // of the ready ones: its time has not come; counted up to kAheadCounted
  std::optional<WallTime> oldest_ready_at;  // run time of the ready job that is due longest, blocked ones included
  std::int64_t newest = 0;                  // no job of the namespace has a larger cursor (JobFilter::after) by now

  std::int64_t depth_of(JobState state) const { return depth[static_cast<std::size_t>(state)]; }
  bool operator==(const QueueRow&) const = default;
};

}  // namespace fenceline

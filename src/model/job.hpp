// The pure rules about a job: what may be enqueued, what an outcome does, when it is dead. Stores keep jobs; they do
// not decide about them. The job itself, its states, outcomes and limits are public: fenceline/job.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "base/uuid.hpp"
#include "fenceline/job.hpp"
#include "model/fence.hpp"

namespace fenceline {

inline constexpr int kLossesBeforeAlone = 2;      // from then on claimed only by a worker that holds nothing else
inline constexpr std::size_t kAttemptsKept = 50;  // the oldest ones go first
inline constexpr int kExitStatusMost = 255;
inline constexpr WallTime kRunAtMost = std::chrono::sys_days{std::chrono::year{2200} / 1 / 1};

// What a producer says of a job.
struct NewJob {
  JobId id;
  std::string queue;
  std::string stage;             // empty: the only one
  std::string payload = "null";  // JSON text
  int priority = 0;
  Duration delay{0};  // on the store's wall clock
  std::optional<WallTime>
      at;  // in place of the delay: not before this moment of the store's wall clock; what is past there is now
  int attempts_max = kAttemptsMaxDefault;
  Backoff backoff{};
  Duration timeout{0};            // of one attempt; 0: none
  std::string key;                // J6: one unfinished job for it in its queue; empty: none
  Duration key_for{0};            // it stays taken that long after the finish
  std::string group;              // J7: one at a time, in the order of enqueue; empty: none
  std::string limit_key;          // counts for the queue's limit per key; empty: none
  std::vector<std::string> tags;  // for people; sorted, none twice
  std::string traceparent;        // W3C trace context, for the handler

  bool operator==(const NewJob&) const = default;
};

// How a delivery ended, or that it has not.
// held: one of its effects is in doubt.
enum class AttemptEnd { running, done, failed, dead, later, given_back, lost, cancelled, retried, held };
std::string_view to_string(AttemptEnd end);
AttemptEnd attempt_end(OutcomeKind kind);

// One delivery of a job, for its history.
struct Attempt {
  std::int64_t delivery = 0;  // from 1
  Fence fence = 0;
  std::string owner;
  WallTime started_at;               // of its claim, on the store's wall clock
  std::optional<WallTime> ended_at;  // empty while it runs; of a lost one, when its job was taken over or buried
  AttemptEnd end = AttemptEnd::running;
  std::optional<int> exit_status;
  std::string error;  // of failed and dead ones

  bool operator==(const Attempt&) const = default;
};

// Queues, stages and namespaces: 1 to 128 bytes of letters, digits, `.`, `_`, `-`, `:`; the first one a
// letter or digit. `what` opens the message. Errors: invalid.
Result<void> check_name(std::string_view what, std::string_view name);

// JSON text, valid UTF-8, at most 1 MiB and 128 levels deep. Errors: invalid.
Result<void> check_payload(std::string_view payload);

// All of the above and the numbers' ranges. Errors: invalid.
Result<void> check_new_job(const NewJob& job);

// Unique keys, groups, limit keys and tags: 1 to 256 bytes of valid UTF-8 without control characters. Errors: invalid.
Result<void> check_key(std::string_view what, std::string_view key);

// Whether two JSON texts are the same value (J6): the order of members and the spelling of numbers and strings do
// not count. Both are valid (see check_payload).
bool same_json(std::string_view a, std::string_view b);

// Sixteen hexadecimal digits, the same for the same value: for histories, which hold no payload; and of any bytes. No
// proof against people who try.
std::string json_digest(std::string_view payload);
std::string bytes_digest(std::string_view bytes);

// Full jitter: uniform in [0, min(most, first * 2^failures)]; `failures` counts those before this one.
Duration retry_delay(const Backoff& backoff, std::int64_t failures, std::uint64_t random);

// For exit 75: 1 s doubling to 1 min, no jitter; `laters` counts those before this one.
Duration later_delay(std::int64_t laters);

// What an accepted outcome makes of a job that ran: its next state and counters. Pure; `last_outcome`,
// `finished_at`, `run_at`, `result`, `error` and `exit_status` are set, `fence` and `owner` stay.
Job settled(Job job, const Outcome& outcome, WallTime now);

// What the expiry of its delivery makes of a running job, before it is granted again: losses counted, and
// dead at the fifth in a row (the caller mints a new fence for it, so that the late holder is refused).
Job lost_delivery(Job job, WallTime now);

// J5: such a job is claimed only by a worker that holds nothing else, alone in its claim.
constexpr bool must_run_alone(std::int64_t losses_in_row) { return losses_in_row >= kLossesBeforeAlone; }

}  // namespace fenceline

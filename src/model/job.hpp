// A job as a value, and the pure rules about it: what may be enqueued, what an outcome does, when it is
// dead. Stores keep jobs; they do not decide about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "base/uuid.hpp"
#include "model/fence.hpp"

namespace fenceline {

// UUIDv7, made by the client: repeating an enqueue after a lost reply adds nothing.
using JobId = Uuid;

// An expired `running` job is claimable as it is: the claim is the rescue.
enum class JobState {
  ready,    // its time may lie ahead
  running,  // leased, or its lease ran out and nobody took over yet
  waiting,  // for a gate or a person
  done,
  dead,
  cancelled,
};

std::string_view to_string(JobState state);
std::optional<JobState> parse_job_state(std::string_view text);
constexpr bool is_finished(JobState state) { return state >= JobState::done; }

inline constexpr int kAttemptsMaxDefault = 10;
inline constexpr int kLossesInRowMax = 5;     // that many lost deliveries in a row end in the dead letters
inline constexpr int kLossesBeforeAlone = 2;  // from then on claimed only by a worker that holds nothing else
inline constexpr std::size_t kPayloadBytesMax = 1 << 20;
inline constexpr std::size_t kResultBytesMax = 1 << 20;
inline constexpr std::size_t kErrorBytesMax = 4096;
inline constexpr std::size_t kNameBytesMax = 128;
inline constexpr int kPayloadDepthMax = 128;
inline constexpr int kPriorityMost = 1000;        // and -1000 the least; larger is sooner
inline constexpr int kBatchMax = 10'000;          // jobs in one store call
inline constexpr std::size_t kKeyBytesMax = 256;  // of a unique key, group, limit key or tag
inline constexpr std::size_t kTagsMax = 16;
inline constexpr std::size_t kLogBytesMax = 1 << 20;  // of a job; the oldest bytes go first
inline constexpr std::size_t kNoteBytesMax = 1024;    // of a word on progress
inline constexpr std::size_t kAttemptsKept = 50;      // the oldest ones go first
inline constexpr int kExitStatusMost = 255;
inline constexpr WallTime kRunAtMost = std::chrono::sys_days{std::chrono::year{2200} / 1 / 1};

// How long a failed job waits: full jitter over `first` doubling to `most`.
struct Backoff {
  Duration first = std::chrono::seconds{1};
  Duration most = std::chrono::hours{1};

  bool operator==(const Backoff&) const = default;
};

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

enum class OutcomeKind {
  done,        // finished; `result` is kept
  failed,      // an attempt used up: again after `retry_in`, or dead when it was the last one
  dead,        // to the dead letters at once
  later,       // again after `retry_in`, at no cost, counted
  given_back,  // untouched: ready in its old place, at no cost
};

std::string_view to_string(OutcomeKind kind);

struct Outcome {
  OutcomeKind kind = OutcomeKind::done;
  std::string result;              // bytes, for done
  std::string error;               // for failed and dead
  Duration retry_in{0};            // for failed and later
  std::optional<int> exit_status;  // of a command: 0 to 255, 128 + n for a signal

  bool operator==(const Outcome&) const = default;
};

// How far a running job says it is.
struct Progress {
  int percent = 0;   // 0 to 100
  std::string note;  // valid UTF-8, at most kNoteBytesMax

  bool operator==(const Progress&) const = default;
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

// What a store knows of a job.
struct Job {
  JobId id;
  std::string queue;
  std::string stage;
  JobState state = JobState::ready;
  std::string payload;
  int priority = 0;
  int attempts_max = kAttemptsMaxDefault;
  Backoff backoff{};
  Duration timeout{0};
  std::string key;
  Duration key_for{0};
  std::string group;
  std::string limit_key;
  std::vector<std::string> tags;
  std::string traceparent;
  WallTime created_at;
  WallTime run_at;  // not claimed before it
  std::optional<WallTime> finished_at;
  Fence fence = 0;                     // of the last grant; 0: never granted
  std::string owner;                   // of the last grant
  std::optional<Duration> lease_left;  // while running; zero or less: run out, nobody took over
  std::int64_t deliveries = 0;         // grants
  std::int64_t failures = 0;
  std::int64_t losses = 0;  // deliveries that ended by expiry
  std::int64_t losses_in_row = 0;
  std::int64_t laters = 0;
  std::optional<OutcomeKind> last_outcome;  // of the last settled delivery
  std::string error;                        // the last one
  std::string result;
  std::optional<int> exit_status;    // of the last settled delivery
  std::optional<Progress> progress;  // of the last delivery that said something

  bool operator==(const Job&) const = default;
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

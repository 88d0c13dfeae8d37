// A job as a value: what a store knows of it, how a delivery of it ended, and the limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fenceline/fence.hpp"
#include "fenceline/time.hpp"
#include "fenceline/uuid.hpp"

namespace fenceline {

// UUIDv7, made by the client: repeating an enqueue after a lost reply adds nothing.
using JobId = Uuid;

// An expired `running` job can be claimed as it is: the claim is the rescue.
enum class JobState {
  ready,    // its time may lie ahead
  running,  // leased, or its lease expired and no worker has taken over yet
  waiting,  // for the entry condition of a stage, or for a person
  done,
  dead,
  cancelled,
};

std::string_view to_string(JobState state);
std::optional<JobState> parse_job_state(std::string_view text);
constexpr bool is_finished(JobState state) { return state >= JobState::done; }

inline constexpr int kAttemptsMaxDefault = 10;
inline constexpr int kLossesInRowMax = 5;  // that many lost deliveries in a row make a job dead
inline constexpr std::size_t kPayloadBytesMax = 1 << 20;
inline constexpr std::size_t kResultBytesMax = 1 << 20;
inline constexpr std::size_t kErrorBytesMax = 4096;
inline constexpr std::size_t kNameBytesMax = 128;
inline constexpr int kPayloadDepthMax = 128;
inline constexpr int kPriorityMost = 1000;        // and -1000 the least; larger is sooner
inline constexpr int kBatchMax = 10'000;          // jobs in one call
inline constexpr std::size_t kKeyBytesMax = 256;  // of a unique key, group, limit key or tag
inline constexpr std::size_t kTagsMax = 16;
inline constexpr std::size_t kLogBytesMax = 1 << 20;  // of a job; the oldest bytes go first
inline constexpr std::size_t kNoteBytesMax = 1024;    // of a progress note

// How long a failed job waits: full jitter over `first` doubling to `most`.
struct Backoff {
  Duration first = std::chrono::seconds{1};
  Duration most = std::chrono::hours{1};

  bool operator==(const Backoff&) const = default;
};

enum class OutcomeKind {
  done,        // finished; `result` is kept
  failed,      // an attempt used up: again after `retry_in`, or dead when it was the last one
  dead,        // to the dead letters at once
  later,       // retried after `retry_in`, not counted as a failure
  given_back,  // untouched: ready in its old place, not counted as a failure
};

std::string_view to_string(OutcomeKind kind);

// How a delivery ended, as a store takes it: for your own transactions (fenceline/sqlite.hpp, postgres.hpp). A
// handler returns a RunResult instead.
struct Outcome {
  OutcomeKind kind = OutcomeKind::done;
  std::string result;              // bytes, for done
  std::string error;               // for failed and dead
  Duration retry_in{0};            // for failed and later
  std::optional<int> exit_status;  // of a command: 0 to 255, 128 + n for a signal

  bool operator==(const Outcome&) const = default;
};

// Progress that a running job reports.
struct Progress {
  int percent = 0;   // 0 to 100
  std::string note;  // valid UTF-8, at most kNoteBytesMax

  bool operator==(const Progress&) const = default;
};

// What a store knows of a job.
struct Job {
  JobId id;
  std::string queue;
  std::string stage;  // empty: the only one
  JobState state = JobState::ready;
  std::string payload;  // JSON text
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
  std::optional<Duration> lease_left;  // while running; zero or less: expired, and not taken over
  std::int64_t deliveries = 0;         // grants
  std::int64_t failures = 0;
  std::int64_t losses = 0;  // deliveries that ended by expiry
  std::int64_t losses_in_row = 0;
  std::int64_t laters = 0;
  std::optional<OutcomeKind> last_outcome;  // of the last settled delivery
  std::string error;                        // the last one
  std::string result;
  std::optional<int> exit_status;    // of the last settled delivery
  std::optional<Progress> progress;  // of the last delivery that reported any
  std::optional<Duration> ran_for;   // lists only (JobPage): how long its last delivery took, or has taken so far

  bool operator==(const Job&) const = default;
};

// One delivery: a job under a fence, as its holder knows it.
struct Holding {
  JobId id;
  Fence fence = 0;

  auto operator<=>(const Holding&) const = default;
};

}  // namespace fenceline

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
inline constexpr int kLossesInRowMax = 5;      // that many lost deliveries in a row end in the dead letters
inline constexpr int kLossesBeforeAlone = 2;   // from then on claimed only by a worker that holds nothing else
inline constexpr std::size_t kPayloadBytesMax = 1 << 20;
inline constexpr std::size_t kResultBytesMax = 1 << 20;
inline constexpr std::size_t kErrorBytesMax = 4096;
inline constexpr std::size_t kNameBytesMax = 128;
inline constexpr int kPayloadDepthMax = 128;
inline constexpr int kPriorityMost = 1000;     // and -1000 the least; larger is sooner
inline constexpr int kBatchMax = 10'000;       // jobs in one store call

// What a producer says of a job.
struct NewJob {
  JobId id;
  std::string queue;
  std::string stage;                // empty: the only one
  std::string payload = "null";     // JSON text
  int priority = 0;
  Duration delay{0};                // on the store's wall clock
  int attempts_max = kAttemptsMaxDefault;

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
  std::string result;      // bytes, for done
  std::string error;       // for failed and dead
  Duration retry_in{0};    // for failed and later

  bool operator==(const Outcome&) const = default;
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
  WallTime created_at;
  WallTime run_at;                        // not claimed before it
  std::optional<WallTime> finished_at;
  Fence fence = 0;                        // of the last grant; 0: never granted
  std::string owner;                      // of the last grant
  std::optional<Duration> lease_left;     // while running; zero or less: run out, nobody took over
  std::int64_t deliveries = 0;            // grants
  std::int64_t failures = 0;
  std::int64_t losses = 0;                // deliveries that ended by expiry
  std::int64_t losses_in_row = 0;
  std::int64_t laters = 0;
  std::optional<OutcomeKind> last_outcome;  // of the last settled delivery
  std::string error;                      // the last one
  std::string result;

  bool operator==(const Job&) const = default;
};

// Queues, stages and namespaces: 1 to 128 bytes of letters, digits, `.`, `_`, `-`, `:`; the first one a
// letter or digit. `what` opens the message. Errors: invalid.
Result<void> check_name(std::string_view what, std::string_view name);

// JSON text, valid UTF-8, at most 1 MiB and 128 levels deep. Errors: invalid.
Result<void> check_payload(std::string_view payload);

// All of the above and the numbers' ranges. Errors: invalid.
Result<void> check_new_job(const NewJob& job);

// Full jitter over 1 s doubling to 1 h: uniform in [0, min(1 h, 1 s * 2^failures)]; `failures` counts those
// before this one.
Duration retry_delay(std::int64_t failures, std::uint64_t random);

// For exit 75: 1 s doubling to 1 min, no jitter; `laters` counts those before this one.
Duration later_delay(std::int64_t laters);

// What an accepted outcome makes of a job that ran: its next state and counters. Pure; `last_outcome`,
// `finished_at`, `run_at`, `result` and `error` are set, `fence` and `owner` stay.
Job settled(Job job, const Outcome& outcome, WallTime now);

// What the expiry of its delivery makes of a running job, before it is granted again: losses counted, and
// dead at the fifth in a row (the caller mints a new fence for it, so that the late holder is refused).
Job lost_delivery(Job job, WallTime now);

// J5: such a job is claimed only by a worker that holds nothing else, alone in its claim.
constexpr bool must_run_alone(std::int64_t losses_in_row) { return losses_in_row >= kLossesBeforeAlone; }

}  // namespace fenceline

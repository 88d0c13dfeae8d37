#include "model/job.hpp"

#include <algorithm>
#include <array>

namespace fenceline {
namespace {

constexpr std::array<std::string_view, 6> kStateNames{"ready", "running", "waiting", "done", "dead", "cancelled"};

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += (c >= 0x20 && c < 0x7f) ? c : '?';
  return text.size() > 40 ? out + "..." : out;
}

constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// 2^exponent seconds, at most `most`.
constexpr Duration doubled(std::int64_t exponent, Duration most) {
  const Duration first = std::chrono::seconds{1};
  return exponent >= 20 ? most : std::min(most, first * (std::int64_t{1} << std::max<std::int64_t>(exponent, 0)));
}

}  // namespace

std::string_view to_string(JobState state) { return kStateNames[static_cast<std::size_t>(state)]; }

std::optional<JobState> parse_job_state(std::string_view text) {
  const auto found = std::find(kStateNames.begin(), kStateNames.end(), text);
  if (found == kStateNames.end()) return std::nullopt;
  return static_cast<JobState>(found - kStateNames.begin());
}

std::string_view to_string(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::done: return "done";
    case OutcomeKind::failed: return "failed";
    case OutcomeKind::dead: return "dead";
    case OutcomeKind::later: return "later";
    case OutcomeKind::given_back: return "given_back";
  }
  return "unknown";
}

Result<void> check_name(std::string_view what, std::string_view name) {
  const auto bad = [&](std::string_view why) {
    return fail(Code::invalid, std::string(what) + " '" + shown(name) + "' " + std::string(why) +
                                   "; use 1 to 128 letters, digits, '.', '_', '-' or ':', the first a letter or digit");
  };
  if (name.empty()) return bad("is empty");
  if (name.size() > kNameBytesMax) return bad("is too long (" + std::to_string(name.size()) + " bytes)");
  if (!is_letter_or_digit(name.front())) return bad("starts with a character that is not allowed");
  for (const char c : name) {
    if (!is_letter_or_digit(c) && c != '.' && c != '_' && c != '-' && c != ':') return bad("has a character that is not allowed");
  }
  return {};
}

Result<void> check_new_job(const NewJob& job) {
  if (auto ok = check_name("queue", job.queue); !ok) return ok;
  if (!job.stage.empty()) {
    if (auto ok = check_name("stage", job.stage); !ok) return ok;
  }
  if (job.priority < -kPriorityMost || job.priority > kPriorityMost)
    return fail(Code::invalid, "priority " + std::to_string(job.priority) + " is out of range; use -1000 to 1000");
  if (job.attempts_max < 1 || job.attempts_max > 1000)
    return fail(Code::invalid, "attempts " + std::to_string(job.attempts_max) + " is out of range; use 1 to 1000");
  if (job.delay < Duration{0} || job.delay > std::chrono::days{366})
    return fail(Code::invalid, "delay is out of range; use 0s to 366d");
  return check_payload(job.payload);
}

Duration retry_delay(std::int64_t failures, std::uint64_t random) {
  const Duration most = doubled(failures, std::chrono::hours{1});
  return Duration{static_cast<Duration::rep>(random % static_cast<std::uint64_t>(most.count() + 1))};
}

Duration later_delay(std::int64_t laters) { return doubled(laters, std::chrono::minutes{1}); }

Job settled(Job job, const Outcome& outcome, WallTime now) {
  job.last_outcome = outcome.kind;
  const auto finish = [&](JobState state) {
    job.state = state;
    job.finished_at = now;
  };
  const auto again = [&] {
    job.state = JobState::ready;
    job.run_at = now + outcome.retry_in;
  };
  // A delivery that came to an end of its own ends a row of losses; one given back says nothing about the job.
  if (outcome.kind != OutcomeKind::given_back) job.losses_in_row = 0;
  switch (outcome.kind) {
    case OutcomeKind::done:
      job.result = outcome.result;
      finish(JobState::done);
      break;
    case OutcomeKind::failed:
      job.error = outcome.error;
      job.failures += 1;
      if (job.failures >= job.attempts_max) finish(JobState::dead);
      else again();
      break;
    case OutcomeKind::dead:
      job.error = outcome.error;
      job.failures += 1;
      finish(JobState::dead);
      break;
    case OutcomeKind::later:
      job.laters += 1;
      again();
      break;
    case OutcomeKind::given_back:
      job.state = JobState::ready;
      break;
  }
  return job;
}

Job lost_delivery(Job job, WallTime now) {
  job.losses += 1;
  job.losses_in_row += 1;
  if (job.losses_in_row >= kLossesInRowMax) {
    job.state = JobState::dead;
    job.finished_at = now;
    job.error = "lost " + std::to_string(job.losses_in_row) + " deliveries in a row: its workers died or were cut off";
  }
  return job;
}

}  // namespace fenceline

#include "model/job.hpp"

#include <algorithm>
#include <array>

#include "base/duration_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"

namespace fenceline {
namespace {

constexpr std::array<std::string_view, 6> kStateNames{"ready", "running", "waiting", "done", "dead", "cancelled"};

// first * 2^exponent, at most `most`.
constexpr Duration doubled(Duration first, std::int64_t exponent, Duration most) {
  for (; exponent > 0 && first > Duration{0} && first < most; --exponent) first *= 2;
  return std::min(first, most);
}

Result<void> check_optional_key(std::string_view what, const std::string& key) {
  return key.empty() ? Result<void>{} : check_key(what, key);
}

// 00-<32 hex>-<16 hex>-<2 hex>, and what later versions add.
bool is_traceparent(std::string_view text) {
  if (text.size() < 55 || text.size() > kNameBytesMax) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_letter_or_digit(c) || c == '-'; });
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

std::string_view to_string(AttemptEnd end) {
  constexpr std::array<std::string_view, 10> kNames{"running",    "done", "failed",    "dead",    "later",
                                                    "given_back", "lost", "cancelled", "retried", "held"};
  return kNames[static_cast<std::size_t>(end)];
}

AttemptEnd attempt_end(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::done: return AttemptEnd::done;
    case OutcomeKind::failed: return AttemptEnd::failed;
    case OutcomeKind::dead: return AttemptEnd::dead;
    case OutcomeKind::later: return AttemptEnd::later;
    case OutcomeKind::given_back: break;
  }
  return AttemptEnd::given_back;
}

Result<void> check_key(std::string_view what, std::string_view key) {
  const auto bad = [&](std::string_view why) {
    return fail(Code::invalid, std::string(what) + " '" + shown_briefly(key) + "' " + std::string(why) +
                                   "; use 1 to 256 bytes of UTF-8 without control characters");
  };
  if (key.empty()) return bad("is empty");
  if (key.size() > kKeyBytesMax) return bad("is too long (" + std::to_string(key.size()) + " bytes)");
  if (!is_valid_utf8(key)) return bad("is not UTF-8");
  if (std::any_of(key.begin(), key.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return bad("has a control character");
  return {};
}

Result<void> check_name(std::string_view what, std::string_view name) {
  const auto bad = [&](std::string_view why) {
    return fail(Code::invalid, std::string(what) + " '" + shown_briefly(name) + "' " + std::string(why) +
                                   "; use 1 to 128 letters, digits, '.', '_', '-' or ':', the first a letter or digit");
  };
  if (name.empty()) return bad("is empty");
  if (name.size() > kNameBytesMax) return bad("is too long (" + std::to_string(name.size()) + " bytes)");
  if (!is_letter_or_digit(name.front())) return bad("starts with a character that is not allowed");
  for (const char c : name) {
    if (!is_letter_or_digit(c) && c != '.' && c != '_' && c != '-' && c != ':')
      return bad("has a character that is not allowed");
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
  if (auto ok = check_duration("delay", job.delay, kDelayRange); !ok) return ok;
  if (job.at && job.delay != Duration{0}) return fail(Code::invalid, "a job has a delay or a time, not both");
  if (job.at && (*job.at < WallTime{} || *job.at > kRunAtMost))
    return fail(Code::invalid, "time is out of range; use 1970 to 2200");
  if (job.timeout != Duration{0}) {
    if (auto ok = check_duration("timeout", job.timeout, kTimeoutRange); !ok) return ok;
  }
  if (auto ok = check_duration("backoff", job.backoff.first, kBackoffRange); !ok) return ok;
  if (auto ok = check_duration("longest backoff", job.backoff.most, kBackoffRange); !ok) return ok;
  if (job.backoff.first > job.backoff.most) return fail(Code::invalid, "the first backoff is longer than the longest");
  if (auto ok = check_optional_key("key", job.key); !ok) return ok;
  if (auto ok = check_duration("key time", job.key_for, kDelayRange); !ok) return ok;
  if (job.key.empty() && job.key_for != Duration{0}) return fail(Code::invalid, "a key time needs a key");
  if (auto ok = check_optional_key("group", job.group); !ok) return ok;
  if (auto ok = check_optional_key("limit key", job.limit_key); !ok) return ok;
  if (job.tags.size() > kTagsMax) return fail(Code::invalid, "too many tags; at most 16");
  for (const std::string& tag : job.tags) {
    if (auto ok = check_key("tag", tag); !ok) return ok;
  }
  if (!std::is_sorted(job.tags.begin(), job.tags.end(), std::less_equal<>{}))
    return fail(Code::invalid, "tags must be sorted, none twice");
  if (!job.traceparent.empty() && !is_traceparent(job.traceparent))
    return fail(Code::invalid, "traceparent is not a W3C trace context");
  return check_payload(job.payload);
}

Duration retry_delay(const Backoff& backoff, std::int64_t failures, std::uint64_t random) {
  const Duration most = doubled(backoff.first, failures, backoff.most);
  return Duration{static_cast<Duration::rep>(random % static_cast<std::uint64_t>(most.count() + 1))};
}

Duration later_delay(std::int64_t laters) { return doubled(std::chrono::seconds{1}, laters, std::chrono::minutes{1}); }

Job settled(Job job, const Outcome& outcome, WallTime now) {
  job.last_outcome = outcome.kind;
  job.exit_status = outcome.exit_status;
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
    case OutcomeKind::given_back: job.state = JobState::ready; break;
  }
  return job;
}

Job lost_delivery(Job job, WallTime now) {
  job.losses += 1;
  job.losses_in_row += 1;
  if (job.losses_in_row >= kLossesInRowMax) {
    job.state = JobState::dead;
    job.finished_at = now;
    job.error =
        "lost " + std::to_string(job.losses_in_row) + " deliveries in a row: its workers died or lost the store";
  }
  return job;
}

}  // namespace fenceline

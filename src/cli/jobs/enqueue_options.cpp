#include "cli/jobs/enqueue_options.hpp"

#include <algorithm>

#include "base/duration_text.hpp"
#include "cli/frame/config.hpp"
#include "cli/frame/text.hpp"
#include "cli/frame/time_text.hpp"

namespace fenceline::cli {
namespace {

// When it may run: --delay or --at.
Result<void> read_time(const Invocation& invocation, NewJob& job) {
  if (invocation.has("--delay") && invocation.has("--at"))
    return std::unexpected(usage_error("--delay and --at exclude each other; pass one"));
  const Result<Duration> delay = invocation.duration("--delay", Duration{0}, kDelayRange.least, kDelayRange.most);
  if (!delay) return std::unexpected(delay.error());
  job.delay = *delay;
  const std::optional<std::string> text = invocation.value("--at");
  if (!text) return {};
  const Result<WallTime> at = parse_time(*text);
  if (!at) return std::unexpected(usage_error("--at " + at.error().message));
  const WallTime now = invocation.runtime->wall_now();
  if (*at > now + kDelayRange.most)
    return std::unexpected(usage_error("--at " + format_time(*at) + " is too far in the future; use at most " +
                                       format_duration(kDelayRange.most) + " from now, check the year"));
  job.at = *at;  // what is past means now, which only the store can tell: it does not overtake those that wait
  return {};
}

// How often, how long, and after which pause it is tried.
Result<void> read_attempts(const Invocation& invocation, NewJob& job) {
  const Result<std::int64_t> attempts = invocation.number("--max-attempts", kAttemptsMaxDefault, 1, 1000);
  if (!attempts) return std::unexpected(attempts.error());
  job.attempts_max = static_cast<int>(*attempts);
  const Result<Duration> timeout =
      invocation.duration("--timeout", Duration{0}, kTimeoutRange.least, kTimeoutRange.most);
  if (!timeout) return std::unexpected(timeout.error());
  job.timeout = *timeout;
  const Result<Duration> first =
      invocation.duration("--backoff", Backoff{}.first, kBackoffRange.least, kBackoffRange.most);
  if (!first) return std::unexpected(first.error());
  // Of two pauses the one that was not given follows the one that was.
  const Result<Duration> most =
      invocation.duration("--backoff-max", std::max(*first, Backoff{}.most), kBackoffRange.least, kBackoffRange.most);
  if (!most) return std::unexpected(most.error());
  const Duration shortest = invocation.has("--backoff") ? *first : std::min(*first, *most);
  if (shortest > *most)
    return std::unexpected(usage_error("--backoff " + format_duration(shortest) + " is longer than --backoff-max " +
                                       format_duration(*most) + "; lower the first or raise the second"));
  job.backoff = {shortest, *most};
  return {};
}

// A name of people's own: given means not empty.
Result<std::string> read_key(const Invocation& invocation, const char* option, std::string_view what) {
  const std::optional<std::string> key = invocation.value(option);
  if (!key) return "";
  if (auto ok = check_key(what, *key); !ok) return std::unexpected(ok.error());
  return *key;
}

Result<void> read_keys(const Invocation& invocation, NewJob& job) {
  const Result<std::string> key = read_key(invocation, "--key", "key");
  if (!key) return std::unexpected(key.error());
  const Result<std::string> group = read_key(invocation, "--group", "group");
  if (!group) return std::unexpected(group.error());
  const Result<std::string> limit_key = read_key(invocation, "--limit-key", "limit key");
  if (!limit_key) return std::unexpected(limit_key.error());
  const Result<Duration> key_for = invocation.duration("--key-for", Duration{0}, kDelayRange.least, kDelayRange.most);
  if (!key_for) return std::unexpected(key_for.error());
  if (key->empty() && invocation.has("--key-for")) return std::unexpected(usage_error("--key-for needs --key"));
  if (!key->empty() && invocation.has("--jsonl"))
    return std::unexpected(
        usage_error("--key names one job and --jsonl adds many; use --batch to make a file repeatable"));
  job.key = *key;
  job.key_for = *key_for;
  job.group = *group;
  job.limit_key = *limit_key;
  return {};
}

bool is_traceparent(const std::string& text) {
  return !text.empty() && check_new_job({.queue = "any", .traceparent = text}).has_value();
}

// What was typed must be right; what the environment happens to say is taken if it is.
Result<void> read_trace(const Invocation& invocation, NewJob& job) {
  const std::optional<std::string> typed = invocation.value("--traceparent");
  if (typed && !is_traceparent(*typed))
    return std::unexpected(usage_error(
        "--traceparent is not a W3C trace context; write 00-<32 hex digits>-<16 hex digits>-<2 hex digits>"));
  const std::string from_environment = trace_from_environment();
  job.traceparent = typed ? *typed : is_traceparent(from_environment) ? from_environment : "";
  return {};
}

}  // namespace

Result<NewJob> job_from_options(const Invocation& invocation) {
  NewJob job{.queue = invocation.argument("QUEUE"), .stage = invocation.value("--stage").value_or("")};
  const Result<std::int64_t> priority = invocation.number("--priority", 0, -kPriorityMost, kPriorityMost);
  if (!priority) return std::unexpected(priority.error());
  job.priority = static_cast<int>(*priority);
  for (const auto read : {read_time, read_attempts, read_keys, read_trace}) {
    if (auto ok = read(invocation, job); !ok) return std::unexpected(ok.error());
  }
  if (const auto tags = invocation.options.find("--tag"); tags != invocation.options.end()) job.tags = tags->second;
  std::ranges::sort(job.tags);
  job.tags.erase(std::unique(job.tags.begin(), job.tags.end()), job.tags.end());
  if (auto ok = check_new_job(job); !ok) return std::unexpected(ok.error());
  return job;
}

std::vector<OptionSpec> new_job_options() {
  return {{"--priority", "N", "priority, -1000 to 1000, larger runs sooner; default 0"},
          {"--delay", "D", "run after this long: 10s, 5m, 2h, 1d"},
          {"--at", "TIME", "run at 2026-11-15T10:00:00Z, or '2026-11-15 12:00' in this machine's time zone"},
          {"--key", "KEY",
           "allow only one unfinished job with this key in the queue; a repeat with the same payload prints its id"},
          {"--key-for", "D", "keep the key taken this long after the job finishes; default 0s"},
          {"--group", "GROUP", "run jobs of this group one at a time, in the order of their enqueue"},
          {"--limit-key", "KEY", "key for --limit-per-key of 'queue set'"},
          {"--max-attempts", "N", "failures before it is dead, 1 to 1000; default 10"},
          {"--timeout", "D", "stop an attempt that takes longer, and count it as a failure, 1s to 30d; default none"},
          {"--backoff", "D", "delay after the first failure, doubled each time, with full jitter; default 1s"},
          {"--backoff-max", "D", "longest delay between attempts; default 1h"},
          {"--tag", "TAG", "tag, to find the job again; at most 16", true},
          {"--traceparent", "TEXT", "W3C trace context for the handler; default TRACEPARENT"},
          {"--stage", "STAGE", "stage: only workers with the same --stage take it; default none"}};
}

}  // namespace fenceline::cli

#include "model/schedule.hpp"

#include <algorithm>
#include <array>

#include "base/duration_text.hpp"
#include "base/sha256.hpp"
#include "model/tick_rule.hpp"
#include "model/time_zone.hpp"
#include "model/value_names.hpp"

namespace fenceline {
namespace {

constexpr std::array<std::string_view, 3> kCatchUps{"all", "latest", "none"};
constexpr std::array<std::string_view, 4> kOverlaps{"allow", "skip", "queue-one", "cancel-running"};

constexpr DurationRange kJitterRange{Duration{0}, std::chrono::hours{24}};
constexpr DurationRange kWindowRange{std::chrono::minutes{1}, std::chrono::days{30}};

Result<void> check_moment(std::string_view what, const std::optional<WallTime>& moment) {
  if (!moment || (*moment >= WallTime{} && *moment <= kRunAtMost)) return {};
  return fail(Code::invalid, std::string(what) + " is out of range; use 1970 to 2200");
}

// The same for a tick whoever fires it, and spread evenly over the ticks of a schedule and the schedules of a tick.
Duration jitter_of(const ScheduleSpec& spec, std::string_view schedule, WallTime tick) {
  if (spec.jitter <= Duration{0}) return Duration{0};
  const Sha256 hash = sha256(std::string(schedule) + " " + std::to_string(tick.time_since_epoch().count()));
  std::uint64_t number = 0;
  for (std::size_t n = 0; n < 8; ++n) number = number << 8 | hash[n];
  return Duration{static_cast<Duration::rep>(number % static_cast<std::uint64_t>(spec.jitter.count() + 1))};
}

std::string own_name(std::string_view schedule) { return "schedule:" + std::string(schedule); }

}  // namespace

std::string_view to_string(CatchUp catch_up) { return kCatchUps[static_cast<std::size_t>(catch_up)]; }
std::optional<CatchUp> parse_catch_up(std::string_view text) { return value_of<CatchUp>(kCatchUps, text); }
std::string_view to_string(Overlap overlap) { return kOverlaps[static_cast<std::size_t>(overlap)]; }
std::optional<Overlap> parse_overlap(std::string_view text) { return value_of<Overlap>(kOverlaps, text); }

Result<TickRule> rule_of(const ScheduleSpec& spec) {
  return spec.cron.empty() ? TickRule::every(spec.every, spec.anchor) : TickRule::cron(spec.cron, spec.zone);
}

Result<void> check_spec(const ScheduleSpec& spec) {
  if (spec.cron.empty() == (spec.every == Duration{0}))
    return fail(Code::invalid, "a schedule needs either a cron expression or an interval");
  if (spec.cron.empty() && spec.zone != "UTC")
    return fail(Code::invalid, "zone '" + spec.zone.substr(0, 40) +
                                   "' is for a cron expression: a time zone applies only to cron expressions");
  if (!spec.cron.empty() && spec.anchor != WallTime{})
    return fail(Code::invalid, "an anchor applies only to an interval, not to a cron expression");
  if (spec.anchor.time_since_epoch() % std::chrono::seconds{1} != Duration{0})
    return fail(Code::invalid, "the interval's anchor is not a whole second");
  if (const Result<TickRule> rule = rule_of(spec); !rule) return std::unexpected(rule.error());
  if (auto ok = check_duration("jitter", spec.jitter, kJitterRange); !ok) return ok;
  if (auto ok = check_moment("start", spec.starts); !ok) return ok;
  if (auto ok = check_moment("end", spec.ends); !ok) return ok;
  if (spec.starts && spec.ends && *spec.ends < *spec.starts) return fail(Code::invalid, "the end is before the start");
  if (auto ok = check_duration("catch-up window", spec.window, kWindowRange); !ok) return ok;
  if (spec.cap < 1 || spec.cap > kCatchUpCapMost)
    return fail(Code::invalid, "catch-up cap " + std::to_string(spec.cap) + " is out of range; use 1 to 1000");
  if (auto ok = check_template(spec.payload); !ok) return ok;
  if (spec.tags.size() >= kTagsMax)
    return fail(Code::invalid, "too many tags; at most 15, and one that names the schedule");
  if (std::ranges::adjacent_find(spec.tags, std::greater_equal<>{}) != spec.tags.end())
    return fail(Code::invalid, "tags must be sorted, none twice");
  return check_new_job(job_of_tick(spec, "s", WallTime{}, {}));
}

NewJob job_of_tick(const ScheduleSpec& spec, std::string_view schedule, WallTime tick, JobId id) {
  const bool one_at_a_time = spec.overlap == Overlap::queue_one || spec.overlap == Overlap::cancel_running;
  NewJob job{.id = id,
             .queue = spec.queue,
             .stage = spec.stage,
             .payload = fill_template(spec, schedule, tick),
             .priority = spec.priority,
             .at = std::min(tick + jitter_of(spec, schedule, tick), kRunAtMost),
             .attempts_max = spec.attempts_max,
             .timeout = spec.timeout,
             .key = {},
             .group = spec.group.empty() && one_at_a_time ? own_name(schedule) : spec.group,
             .limit_key = spec.limit_key,
             .tags = spec.tags,
             .traceparent = {}};
  const std::string tag = own_name(schedule);
  const auto place = std::ranges::lower_bound(job.tags, tag);
  if (place == job.tags.end() || *place != tag) job.tags.insert(place, tag);
  return job;
}

}  // namespace fenceline

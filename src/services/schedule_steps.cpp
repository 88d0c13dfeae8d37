#include "services/schedule_steps.hpp"

#include <algorithm>
#include <utility>

#include "base/ascending_uuids.hpp"

namespace fenceline {
namespace {

constexpr Duration kMoment{1};  // the least there is between two instants
constexpr int kTicksOfAPage = 1000;
constexpr std::ptrdiff_t kAheadRemembered = 1000;

// Ticks that fired in (after, until], ascending; at most kTicksKeptMost are kept.
Result<std::vector<WallTime>> fired_ticks(ScheduleStore& store, const std::string& ns, const std::string& schedule,
                                          WallTime after, WallTime until) {
  std::vector<WallTime> fired;
  TicksRequest request{.ns = ns,
                       .schedule = schedule,
                       .fired_only = true,
                       .after = after,
                       .before = until + kMoment,
                       .limit = kTicksOfAPage};
  do {
    const Result<TicksReply> page = store.ticks(request);
    if (!page) return std::unexpected(page.error());
    for (const TickRow& row : page->ticks) fired.push_back(row.tick);
    request.before = page->next;
  } while (request.before);
  std::ranges::reverse(fired);
  return fired;
}

std::int64_t ticks_between(const KnownSchedule& schedule, WallTime after, WallTime until) {
  if (schedule.spec.starts) after = std::max(after, *schedule.spec.starts - kMoment);
  if (schedule.spec.ends) until = std::min(until, *schedule.spec.ends);
  return after < until ? schedule.rule.count(after, until) : 0;
}

// Not those of ticks that lie ahead of a clock that went back: they wait until it is there again.
std::vector<UnfinishedRun> unfinished_by(const ScheduleRow& row, WallTime now) {
  std::vector<UnfinishedRun> runs = row.unfinished;
  std::erase_if(runs, [now](const UnfinishedRun& run) { return run.tick > now; });
  return runs;
}

// Those that fired after the account, from what is remembered if that goes as far as `now`.
Result<FiredAhead> fired_ahead(ScheduleStore& store, const std::string& ns, const KnownSchedule& schedule,
                               WallTime account, WallTime now) {
  if (schedule.fired_ahead && (!schedule.fired_ahead->until || now < *schedule.fired_ahead->until))
    return *schedule.fired_ahead;
  Result<std::vector<WallTime>> fired = fired_ticks(store, ns, schedule.row.name, account, schedule.row.fired_to);
  if (!fired) return std::unexpected(fired.error());
  FiredAhead ahead{.ticks = std::move(*fired), .until = {}};
  // All up to now in any case.
  const auto kept = std::max(kAheadRemembered, std::ranges::upper_bound(ahead.ticks, now) - ahead.ticks.begin());
  if (std::ssize(ahead.ticks) <= kept) return ahead;
  ahead.until = ahead.ticks[static_cast<std::size_t>(kept)];
  ahead.ticks.resize(static_cast<std::size_t>(kept));
  return ahead;
}

Result<PlanFacts> facts_of(ScheduleStore& store, const std::string& ns, const KnownSchedule& schedule, WallTime now,
                           PlannedStep& planned) {
  const ScheduleRow& row = schedule.row;
  PlanFacts facts{.resolved_to = std::max(row.resolved_to, row.bar), .now = now, .fired = {}};
  for (const UnfinishedRun& run : unfinished_by(row, now))
    (run.state == JobState::running ? facts.unfinished_running : facts.unfinished_waiting) += 1;
  if (row.fired_to <= facts.resolved_to || now <= facts.resolved_to) return facts;
  Result<FiredAhead> ahead = fired_ahead(store, ns, schedule, facts.resolved_to, now);
  if (!ahead) return std::unexpected(ahead.error());
  facts.fired.assign(std::ranges::upper_bound(ahead->ticks, facts.resolved_to),
                     std::ranges::upper_bound(ahead->ticks, now));
  planned.fired_ahead = std::move(*ahead);
  return facts;
}

}  // namespace

Result<KnownSchedule> known(ScheduleRow row) {
  Result<ScheduleSpec> spec = parse_spec(row.spec);
  if (!spec) return fail(spec.error().code, "schedule " + row.name + ": " + spec.error().message);
  Result<TickRule> rule = rule_of(*spec);
  if (!rule) return fail(rule.error().code, "schedule " + row.name + ": " + rule.error().message);
  return KnownSchedule{std::move(row), std::move(*spec), std::move(*rule)};
}

Result<PlannedStep> plan_step(Runtime& runtime, ScheduleStore& store, const std::string& ns,
                              const KnownSchedule& schedule, WallTime now, StepEnd end) {
  PlannedStep planned;
  const ScheduleRow& row = schedule.row;
  now = std::min(now, kRunAtMost);
  if (now <= row.resolved_to) return planned;
  const Result<PlanFacts> facts = facts_of(store, ns, schedule, now, planned);
  if (!facts) return std::unexpected(facts.error());
  const TickPlan plan = row.paused ? skip_ticks(schedule.spec, schedule.rule, *facts, "paused")
                                   : plan_ticks(schedule.spec, schedule.rule, *facts);
  if (!plan.to && end == StepEnd::last_tick) return planned;
  TickStep step{.schedule = row.name,
                .revision = row.revision,
                .from = row.resolved_to,
                .to = end == StepEnd::now ? now : *plan.to,
                .fired = {},
                .skipped = plan.skip};
  AscendingUuids ids;
  for (const WallTime tick : plan.fire) {
    const std::uint64_t high = runtime.random();
    const std::uint64_t low = runtime.random();
    step.fired.push_back({tick, job_of_tick(schedule.spec, row.name, tick, ids.next(now, high, low))});
  }
  if (plan.cancel_unfinished) {
    // Not those of later ticks, which fired before the account was moved back.
    for (const UnfinishedRun& run : unfinished_by(row, now)) {
      if (step.fired.empty() || run.tick < step.fired.back().tick) planned.cancel.push_back(run.job);
    }
  }
  planned.step = std::move(step);
  return planned;
}

std::optional<WallTime> due_at(const KnownSchedule& schedule) {
  if (schedule.row.paused) return std::nullopt;
  return next_tick(schedule.spec, schedule.rule, std::max(schedule.row.resolved_to, schedule.row.bar));
}

Result<std::optional<ChangeScheduleRequest>> take_back(ScheduleStore& store, const std::string& ns,
                                                       const KnownSchedule& schedule, WallTime to) {
  const ScheduleRow& row = schedule.row;
  to = std::max({to, row.bar, row.counts_from});
  if (to >= row.resolved_to) return std::nullopt;
  const Result<std::vector<WallTime>> fired = fired_ticks(store, ns, row.name, to, row.resolved_to);
  if (!fired) return std::unexpected(fired.error());
  // Counted, not looked for: retention may have taken the range, and its ticks are none the less open again.
  const auto is_tick = [&](WallTime at) { return ticks_between(schedule, at - kMoment, at) == 1; };
  if (ticks_between(schedule, to, row.resolved_to) <= std::ranges::count_if(*fired, is_tick)) return std::nullopt;

  ChangeScheduleRequest request{.ns = ns,
                                .name = row.name,
                                .change = ScheduleChange::rewind,
                                .revision = row.revision,
                                .to = to,
                                .from = row.resolved_to};
  const Result<TicksReply> before = store.ticks({.ns = ns, .schedule = row.name, .before = to + kMoment, .limit = 1});
  if (!before) return std::unexpected(before.error());
  if (before->ticks.empty() || before->ticks.front().fired() || before->ticks.front().last <= to) return request;
  // The range that goes over `to`: all of it is of the spec at hand, since ranges are not joined over a change.
  const TickRow& range = before->ticks.front();
  request.kept = SkippedTicks{.first = range.tick,
                              .last = schedule.rule.last(range.tick - kMoment, to).value_or(range.tick),
                              // Whoever skipped them may have read another edition of the time zones.
                              .count = std::clamp<std::int64_t>(range.count - ticks_between(schedule, to, range.last),
                                                                1, std::max<std::int64_t>(range.count - 1, 1)),
                              .reason = range.reason};
  return request;
}

}  // namespace fenceline

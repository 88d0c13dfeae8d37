#include "sim/checks/schedule_checks.hpp"

#include <algorithm>

#include "base/utc_text.hpp"
#include "sim/checks/find_refusal.hpp"

namespace fenceline::sim {
namespace {

constexpr Duration kMoment{1};
constexpr Duration kNearAChange = std::chrono::hours{3};
constexpr std::int64_t kListedMost = 20'000;

// The ticks in (after, until], one after the other if they are not too many.
std::int64_t ticks_in(const KnownSchedule& schedule, WallTime after, WallTime until) {
  if (schedule.spec.starts) after = std::max(after, *schedule.spec.starts - kMoment);
  if (schedule.spec.ends) until = std::min(until, *schedule.spec.ends);
  if (after >= until) return 0;
  const std::int64_t counted = schedule.rule.count(after, until);
  if (counted > kListedMost) return counted;
  std::int64_t listed = 0;
  for (std::optional<WallTime> tick = schedule.rule.next(after); tick && *tick <= until;
       tick = schedule.rule.next(*tick))
    ++listed;
  return listed == counted ? listed : -1;
}

bool is_tick(const KnownSchedule& schedule, WallTime at) { return ticks_in(schedule, at - kMoment, at) == 1; }

// Those that fired in (after, until] and are ticks of the rule at hand.
std::int64_t fired_in(const ScheduleTruth::KnownAccount& account, WallTime after, WallTime until) {
  std::int64_t count = 0;
  for (auto at = account.fired.upper_bound(after); at != account.fired.end() && at->first <= until; ++at)
    count += is_tick(*account.schedule, at->first) ? 1 : 0;
  return count;
}

bool has_fired(const ScheduleTruth::KnownAccount& account, WallTime first, WallTime last) {
  const auto at = account.fired.lower_bound(first);
  return at != account.fired.end() && at->first <= last;
}

}  // namespace

void ScheduleChecks::broken(std::string_view promise, const std::string& schedule, const std::string& what) {
  violations_.add(promise, "schedule " + schedule + " " + what);
}

void ScheduleChecks::applied(const Applied& when) {
  std::visit([&](const auto& call) { see(when, call); }, when.call);
}

void ScheduleChecks::see(const Applied& when, const StepCall& call) {
  if (!call.reply) return;
  if (call.reply->now != when.wall) violations_.add("S3", "a step was told another time than the store's clock shows");
  if (call.reply->answers.size() != call.request.steps.size())
    return violations_.add("S2",
                           "a call with " + std::to_string(call.request.steps.size()) + " steps has other answers");
  for (std::size_t i = 0; i < call.request.steps.size(); ++i) {
    const TickStep& step = call.request.steps[i];
    const StepAnswer& answer = call.reply->answers[i];
    const auto found = accounts_.find(step.schedule);
    KnownAccount* account = found == accounts_.end() ? nullptr : &found->second;
    if (account && account->last_move == call.request.request) {
      tally_.add(Count::step_repeats);
      if (answer.refused != Reason::none)
        broken("S1", step.schedule, "answered a repeat of its last step as " + word_of(answer.refused));
      continue;
    }
    if (answer.refused != Reason::none) {
      see_refused(when, account, step, answer);
      continue;
    }
    if (!account || !account->schedule) {
      broken("S1", step.schedule, "took a step and is not there");
      continue;
    }
    see_step(when, *account, step, answer.duplicates);
    account->last_move = call.request.request;
  }
}

void ScheduleChecks::see_refused(const Applied& when, const KnownAccount* account, const TickStep& step,
                                 const StepAnswer& answer) {
  tally_.add(answer.refused == Reason::early ? Count::steps_early : Count::steps_refused);
  const bool there = account && account->schedule;
  const auto over_a_fired_one = [&](const SkippedTicks& range) { return has_fired(*account, range.first, range.last); };
  const Reason must = !there                                                ? Reason::not_found
                      : account->revision != step.revision                  ? Reason::changed
                      : account->schedule->row.resolved_to != step.from     ? Reason::moved
                      : step.to > when.wall                                 ? Reason::early
                      : std::ranges::any_of(step.skipped, over_a_fired_one) ? Reason::covers
                                                                            : Reason::none;
  if (must != answer.refused)
    broken("S2", step.schedule,
           "refused a step as " + word_of(answer.refused) + ", it must be '" + word_of(must) + "'");
}

void ScheduleChecks::see_step(const Applied& when, KnownAccount& account, const TickStep& step,
                              const std::vector<WallTime>& duplicates) {
  ScheduleRow& row = account.schedule->row;
  if (step.revision != account.revision)
    return broken(
        "S1", step.schedule,
        "took a step of revision " + std::to_string(step.revision) + ", it has " + std::to_string(account.revision));
  if (step.from != row.resolved_to)
    return broken("S1", step.schedule,
                  "took a step from " + utc_text(step.from) + ", its account stands at " + utc_text(row.resolved_to));
  if (step.to > when.wall)
    return broken("S3", step.schedule, "took a step to " + utc_text(step.to) + ", ahead of its clock");
  for (const FiredTick& fired : step.fired)
    see_fired(account, step, fired, std::ranges::find(duplicates, fired.tick) != duplicates.end());
  std::int64_t skipped = 0;
  for (const SkippedTicks& range : step.skipped) {
    see_skipped(account, step, range);
    skipped += range.count;
    add_skipped(account, range);
  }
  const WallTime from = std::max(step.from, account.bar);  // of those before it nothing is known any more
  const std::int64_t fired = fired_in(account, from, step.to);
  const std::int64_t must = ticks_in(*account.schedule, from, step.to);
  if (fired + skipped != must)
    broken("S2", step.schedule,
           "has " + std::to_string(must) + " ticks after " + utc_text(from) + " up to " + utc_text(step.to) + ", and " +
               std::to_string(fired) + " fired and " + std::to_string(skipped) + " were skipped");
  row.resolved_to = step.to;
}

void ScheduleChecks::see_fired(KnownAccount& account, const TickStep& step, const FiredTick& fired, bool duplicate) {
  if (!is_tick(*account.schedule, fired.tick))
    return broken("S3", step.schedule, "fired at " + utc_text(fired.tick) + ", which is no tick");
  const bool before = account.fired.contains(fired.tick) || fired.tick <= account.bar;
  if (before && !duplicate) return broken("S1", step.schedule, "fired its tick " + utc_text(fired.tick) + " twice");
  if (!before && duplicate)
    return broken("S2", step.schedule, "took its tick " + utc_text(fired.tick) + " for a duplicate, it had not fired");
  if (duplicate) return tally_.add(Count::tick_duplicates);
  account.fired.emplace(fired.tick, fired.job.id);
  tally_.add(Count::ticks_fired);
  for (const auto& [zone, at] : changes_) {
    if (account.schedule->spec.zone == zone && fired.tick >= at - kNearAChange && fired.tick <= at + kNearAChange)
      tally_.add(Count::ticks_at_clock_changes);
  }
}

// One that follows upon a range of the same reason and the same spec, with no row between, is joined to it.
void ScheduleChecks::add_skipped(KnownAccount& account, const SkippedTicks& range) {
  const auto behind = account.skipped.lower_bound(range.first);
  if (behind != account.skipped.begin()) {
    SkippedTicks& before = std::prev(behind)->second;
    auto row = account.fired.upper_bound(before.last);
    while (row != account.fired.end() && account.tidied.contains(row->first)) ++row;
    const bool row_between = row != account.fired.end() && row->first < range.first;
    if (before.reason == range.reason && before.last > account.schedule->row.counts_from && !row_between) {
      before.last = range.last;
      before.count += range.count;
      return;
    }
  }
  account.skipped[range.first] = range;
}

void ScheduleChecks::see_skipped(const KnownAccount& account, const TickStep& step, const SkippedTicks& range) {
  const KnownSchedule& schedule = *account.schedule;
  tally_.add(Count::ticks_skipped, range.count);
  if (range.reason == "overlap") tally_.add(Count::ticks_overlapped, range.count);
  if (range.reason == "paused") tally_.add(Count::ticks_paused, range.count);
  if (!is_tick(schedule, range.first) || !is_tick(schedule, range.last))
    return broken("S2", step.schedule, "skipped from or to what is no tick, " + utc_text(range.first));
  if (has_fired(account, range.first, range.last))
    return broken("S2", step.schedule, "skipped ticks over one that fired");
  const std::int64_t must = ticks_in(schedule, range.first - kMoment, range.last);
  if (range.count != must)
    broken("S2", step.schedule,
           "skipped " + std::to_string(range.count) + " ticks in a range of " + std::to_string(must));
}

void ScheduleChecks::see(const Applied& when, const ChangeScheduleCall& call) {
  if (!call.reply) return;
  const ChangeScheduleRequest& request = call.request;
  KnownAccount& account = accounts_[request.name];
  if (account.last_change == request.request || account.last_move == request.request)
    return tally_.add(Count::acts_repeated);
  const bool there = account.schedule.has_value();
  if (!there && (account.revision == 0 || account.forgotten)) account.bar = bar_;
  account.forgotten = false;
  if (there != (request.revision != 0))
    return broken("S1", request.name, there ? "was added though it is there" : "was changed though it is not there");
  if (there && request.revision != account.revision)
    return broken("S1", request.name,
                  "was changed under revision " + std::to_string(request.revision) + ", it has " +
                      std::to_string(account.revision));
  const bool paused = there && account.schedule->row.paused.has_value();
  if ((request.change == ScheduleChange::pause && paused) || (request.change == ScheduleChange::resume && !paused))
    return;
  account.last_change = request.request;
  if (request.step) {
    see_step(when, account, *request.step, call.reply->duplicates);
    account.last_move = request.request;
  }
  const std::int64_t revision = call.reply->schedule.revision;
  if (request.change == ScheduleChange::run) {
    run_.insert(request.job->id);
    return tally_.add(Count::schedules_run);
  }
  if (revision <= account.revision) broken("S1", request.name, "was changed, and its revision did not grow");
  account.revision = revision;
  tally_.add(Count::schedules_changed);
  switch (request.change) {
    case ScheduleChange::put: return see_put(when, account, call);
    case ScheduleChange::rewind: return see_rewound(account, request);
    case ScheduleChange::pause: account.schedule->row.paused = SchedulePause{}; return;
    case ScheduleChange::resume: account.schedule->row.paused.reset(); return;
    case ScheduleChange::remove:
      tally_.add(Count::schedules_removed);
      account.removed_at = when.wall;
      account.schedule.reset();
      return;
    case ScheduleChange::run: return;
  }
}

void ScheduleChecks::see_put(const Applied& when, KnownAccount& account, const ChangeScheduleCall& call) {
  const bool anew = !account.schedule;
  ScheduleRow row = anew ? ScheduleRow{.name = call.request.name, .resolved_to = when.wall} : account.schedule->row;
  if (anew && !account.fired.empty()) tally_.add(Count::schedules_added_again);
  const bool begins =
      anew ||
      row.resolved_to > when.wall;  // an edit of one whose account lies ahead of the clock counts from that clock too
  row.spec = call.request.spec;
  row.resolved_to = begins ? when.wall : row.resolved_to;
  row.counts_from = row.resolved_to;
  Result<KnownSchedule> schedule = known(std::move(row));
  if (!schedule) return broken("S2", call.request.name, "was made what nobody can read: " + schedule.error().message);
  account.schedule = std::move(*schedule);
  if (account.bar != call.reply->schedule.bar)
    broken("S1", call.request.name,
           "has its bar at " + utc_text(call.reply->schedule.bar) + ", it must be " + utc_text(account.bar));
  if (!begins) return;
  account.last_move = call.request.request;
  std::erase_if(account.skipped, [&](const auto& range) { return range.second.last > when.wall; });
}

void ScheduleChecks::see_rewound(KnownAccount& account, const ChangeScheduleRequest& request) {
  ScheduleRow& row = account.schedule->row;
  tally_.add(request.act.actor == "scheduler" ? Count::accounts_taken_back : Count::schedules_rewound);
  if (request.from != row.resolved_to || request.to < row.counts_from || request.to < account.bar)
    return broken("S3", request.name,
                  "was moved back from where it did not stand, or over its last change, or over its bar");
  account.skipped.erase(account.skipped.upper_bound(request.to), account.skipped.end());
  if (!account.skipped.empty() && account.skipped.rbegin()->second.last > request.to) {
    SkippedTicks& over = account.skipped.rbegin()->second;
    over.last = account.schedule->rule.last(over.first - kMoment, request.to).value_or(over.first);
    over.count = ticks_in(*account.schedule, over.first - kMoment, over.last);
  }
  row.resolved_to = request.to;
  account.last_move = request.request;
}

void ScheduleChecks::all_ended(WallTime until) {
  for (const auto& [name, account] : accounts_) {
    if (!account.schedule || account.schedule->row.paused) continue;
    const ScheduleRow& row = account.schedule->row;
    const std::int64_t open = ticks_in(*account.schedule, std::max(row.resolved_to, account.bar), until);
    if (open != 0)
      broken("S2", name,
             "has " + std::to_string(open) + " open ticks up to " + utc_text(until) +
                 ", though the weather is fine; its account stands at " + utc_text(row.resolved_to));
  }
}

void ScheduleChecks::compare_all(const std::set<JobId>& jobs, const std::set<JobId>& tidied) {
  std::set<JobId> without = jobs;
  for (const JobId& id : run_) without.erase(id);
  std::size_t there = 0;
  for (const auto& [name, account] : accounts_) {
    compare(name, account, jobs, tidied);
    for (const auto& [tick, id] : account.fired) without.erase(id);
    there += account.schedule ? 1 : 0;
  }
  if (!without.empty())
    violations_.add("S1", std::to_string(without.size()) + " jobs have no tick, one is " + short_id(*without.begin()));
  const Result<SchedulesReply> all = store_.schedules({.ns = ns_});
  if (!all || all->schedules.size() != there)
    violations_.add("S2", "the store does not show all schedules, or shows others");
}

void ScheduleChecks::compare(const std::string& name, const KnownAccount& account, const std::set<JobId>& jobs,
                             const std::set<JobId>& tidied) {
  const Rows shown = rows_of(name);
  std::map<WallTime, JobId> fired = account.fired;
  for (const WallTime tick : account.tidied) fired.erase(tick);
  if (shown.fired != fired)
    return broken("S1", name,
                  "shows " + std::to_string(shown.fired.size()) + " fired ticks, it must be " +
                      std::to_string(fired.size()) + ", or they have other jobs");
  if (shown.skipped != account.skipped)
    return broken("S2", name,
                  "shows " + std::to_string(shown.skipped.size()) + " skipped ranges, it must be " +
                      std::to_string(account.skipped.size()) + ", or they are others");
  std::set<JobId> once;
  for (const auto& [tick, id] : account.fired) {
    if (!once.insert(id).second || !(jobs.contains(id) || tidied.contains(id)))
      return broken("S1", name, "has a tick whose job is not there, or another one's: " + utc_text(tick));
  }
  if (!account.schedule) return;
  const WallTime until = account.schedule->row.resolved_to;
  const WallTime since = std::max({account.schedule->row.counts_from, account.bar,
                                   account.gone_to});  // what went before that nobody shows any more
  std::int64_t in_force = fired_in(account, since, until);
  for (const auto& [first, range] : account.skipped) in_force += first > since && range.last <= until ? range.count : 0;
  const std::int64_t ticks = ticks_in(*account.schedule, since, until);
  if (in_force != ticks)
    broken("S2", name,
           "has " + std::to_string(ticks) + " ticks by its expression from " + utc_text(since) + " to " +
               utc_text(until) + ", its history shows " + std::to_string(in_force));
}

}  // namespace fenceline::sim

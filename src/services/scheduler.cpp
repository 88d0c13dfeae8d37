#include "services/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "base/utc_text.hpp"
#include "services/backoff.hpp"
#include "services/fresh_id.hpp"
#include "services/scheduler_calls.hpp"

namespace fenceline {
namespace {

using std::chrono::milliseconds;

// A hint may come with every enqueue of the namespace; looking more often would not be felt by anyone.
constexpr Duration kLookPauseLeast = milliseconds{250};
// After an answer that should not be, so that it is not asked for again and again.
constexpr Duration kRest = std::chrono::seconds{5};
// How often it offers the lead for schedules that it cannot use. If nobody can, each of several acts beside the others
// for a minute of these.
constexpr Duration kOfferEvery = std::chrono::minutes{10};
// A store does nothing else meanwhile.
constexpr std::size_t kTicksAtOnce = 2000;
constexpr std::size_t kPayloadAtOnce = 8 << 20;

std::size_t payload_of(const TickStep& step) {
  std::size_t bytes = 0;
  for (const FiredTick& fired : step.fired) bytes += fired.job.payload.size();
  return bytes;
}

bool nobody_was_there(std::string_view reason) { return reason != "paused" && reason != "overlap"; }

}  // namespace

Scheduler::Scheduler(Runtime& runtime, Log log, Store& store, SchedulerOptions options)
    : runtime_(runtime),
      log_(log),
      store_(store),
      options_(std::move(options)),
      lead_(runtime, log, store, options_.ns, options_.place, options_.window),
      event_(runtime.make_event()) {}

void Scheduler::run(std::stop_token stop) {
  const std::stop_callback wake(stop, [this] { event_->notify(); });
  const auto hints =
      store_.watch({.ns = options_.ns, .queues = {}, .stage = {}, .orders = true, .locks = {kSchedulerLock}}, [this] {
        hinted_ = true;
        event_->notify();
      });
  while (!stop.stop_requested()) {
    turn(stop);
    event_->wait_until(next_turn());
  }
  lead_.let_go();
}

void Scheduler::turn(const std::stop_token& stop) {
  if (hinted_ && !leads_) {
    hinted_ = false;
    lead_.hint();
  }
  lead_.keep();
  if (!lead_.has()) {
    leads_ = false;
    return;
  }
  if (runtime_.now() < rests_until_) return;
  const Fence fence = lead_.fence();
  if (!leads_ || (fence != 0 && fence != term_)) {
    // What it knew is of another term, or from before the store was away: that may have been set back since, and count
    // the same versions once more.
    leads_ = false;
    version_.reset();
    if (!look()) return;
    leads_ = true;
    if (fence != 0 && std::exchange(term_, fence) != fence) counters_.terms += 1;
  }
  fire(stop);
  if (runtime_.now() >= looked_at_ + (hinted_ ? kLookPauseLeast : options_.look_every) && !look()) return;
  if (!again_.empty() && !read_again({again_.begin(), again_.end()}, false)) return;
  if (!ahead_.empty() && !mend_ahead(stop)) return;
  // Somebody else may know the zone, or be of a newer version.
  if (!unusable_.empty() && lead_.fence() != 0 && runtime_.now() >= offered_at_ + kOfferEvery) {
    offered_at_ = runtime_.now();
    lead_.offer();
  }
}

Instant Scheduler::next_turn() const {
  if (!lead_.has()) return lead_.next();
  Instant next = leads_ ? looked_at_ + (hinted_ ? kLookPauseLeast : options_.look_every) : Instant::min();
  if (const std::optional<WallTime> tick = book_.next(); tick && leads_) next = std::min(next, time_.reached_at(*tick));
  if (!again_.empty() || !ahead_.empty()) next = Instant::min();
  return std::min(std::max(next, rests_until_), lead_.next());
}

void Scheduler::fire(const std::stop_token& stop) {
  // Bounded: what else there is to do has its turn too.
  for (int calls = 0; calls < 10 && lead_.has() && !stop.stop_requested() && runtime_.now() >= rests_until_; ++calls) {
    const std::vector<std::string> due = book_.due(store_now(), kSchedulesAtOnceMax);
    if (due.empty()) return;
    std::vector<std::string> with_rule;
    for (const std::string& name : due) {
      if (book_.find(name)->spec.overlap != Overlap::allow) with_rule.push_back(name);
    }
    if (!with_rule.empty() && !read_again(with_rule, true)) return;
    const std::vector<TickStep> steps = plan(due, stop);
    if (!steps.empty()) send(steps, stop);
  }
}

std::vector<TickStep> Scheduler::plan(const std::vector<std::string>& names, const std::stop_token& stop) {
  std::vector<TickStep> steps;
  std::size_t fired = 0;
  std::size_t bytes = 0;
  for (const std::string& name : names) {
    const KnownSchedule* known = book_.find(name);
    const WallTime now = store_now();
    const std::optional<WallTime> tick = known ? due_at(*known) : std::nullopt;
    if (!tick || *tick > now) {  // what was read says so, or it rested
      if (known) book_.moved(name, known->row.resolved_to, known->row.fired_to);
      continue;
    }
    Result<PlannedStep> planned = plan_step(runtime_, store_, options_.ns, *known, now);
    if (!planned) {
      failed("ticks", planned.error());
      return {};
    }
    book_.remember(name, std::move(planned->fired_ahead));
    if (!planned->step) {
      book_.rest(name, now + kRest);
      continue;
    }
    fired += planned->step->fired.size();
    bytes += payload_of(*planned->step);
    if (!steps.empty() && (fired > kTicksAtOnce || bytes > kPayloadAtOnce)) break;
    if (!planned->cancel.empty() && !cancel(name, planned->cancel, stop)) return {};
    steps.push_back(std::move(*planned->step));
  }
  return steps;
}

bool Scheduler::cancel(const std::string& schedule, const std::vector<JobId>& jobs, const std::stop_token& stop) {
  const ActRequest request{.ns = options_.ns,
                           .ids = jobs,
                           .request = fresh_id(runtime_),
                           .only = {},
                           .act = {"schedule " + schedule, "the next tick is due"},
                           .timeout = std::min(kCallTimeout, options_.window)};
  const Result<ActReply> reply = sure([&] { return store_.cancel(request); }, stop);
  if (!reply) {
    failed("cancel", reply.error());
    return false;
  }
  answered();
  counters_.cancelled += static_cast<std::int64_t>(jobs.size() - reply->refused.size());
  return true;
}

void Scheduler::send(const std::vector<TickStep>& steps, const std::stop_token& stop) {
  const StepRequest request{.ns = options_.ns,
                            .steps = steps,
                            .request = fresh_id(runtime_),
                            .owner = options_.owner,
                            .place = options_.place,
                            .timeout = std::min(kCallTimeout, options_.window)};
  Instant asked;
  const Result<StepReply> reply = sure(
      [&] {
        asked = runtime_.now();
        return store_.step_ticks(request);
      },
      stop);
  if (reply) {
    answered();
    heard(asked, reply->now);
    // What was believed before is worth nothing then: but first it tells whether the clock was set back.
    if (std::ranges::any_of(reply->answers, [](const StepAnswer& answer) { return answer.refused == Reason::early; })) {
      time_.forget();
      time_.heard(asked, runtime_.now(), reply->now);
    }
    for (std::size_t i = 0; i < steps.size() && i < reply->answers.size(); ++i)
      apply(steps[i], reply->answers[i], reply->now);
    return;
  }
  if (reply.error().code != Code::invalid) return failed("step_ticks", reply.error());
  // One schedule that the store does not take must not hold up the others.
  if (steps.size() > 1) {
    for (const TickStep& step : steps) send({step}, stop);
    return;
  }
  cannot_use(steps.front().schedule, steps.front().revision, reply.error().message);
  book_.remove(steps.front().schedule);
}

void Scheduler::apply(const TickStep& step, const StepAnswer& answer, WallTime now) {
  if (answer.refused == Reason::none) {
    counters_.steps += 1;
    count_taken(step, answer, now);
  } else {
    counters_.steps_refused += 1;
    log_.debug(
        "step_refused",
        {{"schedule", step.schedule}, {"owner", options_.owner}, {"reason", std::string(to_string(answer.refused))}});
  }
  if (answer.refused == Reason::not_found) return forget(step.schedule);
  book_.moved(step.schedule, answer.resolved_to, answer.fired_to);
  if (answer.refused == Reason::covers) book_.rest(step.schedule, now + kRest);
  if (answer.refused == Reason::covers || !answer.duplicates.empty()) book_.remember(step.schedule, std::nullopt);
  if (answer.revision != step.revision) {
    again_.insert(step.schedule);
    book_.rest(step.schedule, now + kRest);  // it is read again before
  }
  // Somebody else moved it while the clock was ahead.
  if (answer.resolved_to > now + kClockStep) ahead_.insert(step.schedule);
}

void Scheduler::count_taken(const TickStep& step, const StepAnswer& answer, WallTime now) {
  for (const FiredTick& fired : step.fired) {
    if (std::ranges::binary_search(answer.duplicates, fired.tick)) {
      counters_.duplicates += 1;
      log_.warn("tick_duplicate",
                {{"schedule", step.schedule}, {"tick", utc_text(fired.tick)}, {"owner", options_.owner}});
      continue;
    }
    counters_.fired += 1;
    const std::int64_t late = (now - fired.tick).count();
    log_.info("tick_fired", {{"schedule", step.schedule},
                             {"tick", utc_text(fired.tick)},
                             {"job", to_string(fired.job.id)},
                             {"owner", options_.owner},
                             {"late_us", late}});
    if (now - fired.tick > kTickOnTime) continue;
    counters_.on_time += 1;
    counters_.late_total += late;
    counters_.late_most = std::max(counters_.late_most.load(), late);
  }
  for (const SkippedTicks& range : step.skipped) {
    counters_.skipped += range.count;
    std::vector<LogField> fields{{"schedule", step.schedule},    {"first", utc_text(range.first)},
                                 {"last", utc_text(range.last)}, {"count", range.count},
                                 {"reason", range.reason},       {"owner", options_.owner}};
    if (nobody_was_there(range.reason)) log_.warn("ticks_skipped", std::move(fields));
    else log_.info("ticks_skipped", std::move(fields));
  }
}

void Scheduler::cannot_use(const std::string& name, std::int64_t revision, std::string_view message) {
  if (std::exchange(unusable_[name], revision) == revision) return;
  log_.warn("schedule_unusable", {{"schedule", name}, {"owner", options_.owner}, {"message", message}});
}

void Scheduler::forget(const std::string& name) {
  book_.remove(name);
  unusable_.erase(name);
}

void Scheduler::failed(std::string_view verb, const Error& error) {
  counters_.failures += 1;
  // Perhaps it comes back as another one: it is read anew before anything is planned.
  if (error.code == Code::unavailable) leads_ = false;
  const bool for_good = !may_repeat(error.code) && error.code != Code::conflict;
  // What waiting cannot mend may be mended by people. Until then another one may be let in where this one is not.
  rests_until_ =
      runtime_.now() + (for_good ? std::chrono::minutes{1} : backoff(failures_, kBackoffMost, runtime_.random()));
  if (failures_++ == 0)
    log_.warn("scheduler_failed", {{"verb", verb}, {"code", to_string(error.code)}, {"message", error.message}});
  if (for_good) lead_.offer();
}

void Scheduler::answered() {
  if (std::exchange(failures_, 0) > 0) log_.info("scheduler_back", {{"owner", options_.owner}});
}

}  // namespace fenceline

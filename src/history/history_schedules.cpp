// The calls about schedules. Each step is a call of its own, since each is taken or refused by itself; and so is the
// enqueue of each job, since each was added or had been before.
#include <algorithm>
#include <array>
#include <utility>

#include "history/event_parts.hpp"

namespace fenceline::history {
namespace {

bool is_among(const std::vector<WallTime>& ticks, WallTime tick) {
  return std::ranges::find(ticks, tick) != ticks.end();
}

void put_step(Event& event, const TickStep& step) {
  event.from = micros(step.from);
  event.to = micros(step.to);
  for (const FiredTick& fired : step.fired) event.ticks.push_back(part(fired));
  for (const SkippedTicks& range : step.skipped) event.skipped.push_back(part(range));
}

void put_duplicates(Event& event, const TickStep& step, const std::vector<WallTime>& duplicates) {
  for (const FiredTick& fired : step.fired) {
    if (is_among(duplicates, fired.tick)) event.refused.push_back(part(fired));
  }
}

// Nobody knows whether the job was added.
Event unknown_event() { return {.kind = Kind::unknown, .code = std::string(to_string(Code::in_doubt))}; }

// A job of a tick was added, or not.
Event added_event(const NewJob& job, bool added, bool repeat) {
  if (!added) return {.kind = Kind::fail, .code = std::string(to_string(Code::refused))};
  if (repeat) return unknown_event();
  return {.kind = Kind::ok, .ids = {to_string(job.id)}};
}

// The jobs of one step, or of a run: the enqueue of each, which begins as this is made.
class JobLines {
 public:
  JobLines(Recorder& recorder, const std::string& ns, const TickStep* step, const NewJob* run)
      : recorder_(recorder), step_(step), run_(run) {
    const auto ask = [&](const NewJob& job) {
      calls_.push_back(recorder_.invoke({.verb = Verb::enqueue, .ns = ns, .jobs = {history::part(job)}}));
    };
    for (std::size_t i = 0; step_ && i < step_->fired.size(); ++i) ask(step_->fired[i].job);
    if (run_) ask(*run_);
  }

  void failed(Event how) {
    if (how.kind == Kind::fail)
      how.code = to_string(Code::refused);  // a conflict is the schedule's, not that of its jobs
    for (const std::int64_t call : calls_) recorder_.answer(call, how);
  }
  void answered(bool taken, const std::vector<WallTime>& duplicates, bool repeat) {
    auto call = calls_.begin();
    for (std::size_t i = 0; step_ && i < step_->fired.size(); ++i) {
      const FiredTick& fired = step_->fired[i];
      recorder_.answer(*call++, added_event(fired.job, taken && !is_among(duplicates, fired.tick), repeat));
    }
    if (run_) recorder_.answer(*call, added_event(*run_, true, repeat));
  }

 private:
  Recorder& recorder_;
  const TickStep* step_;
  const NewJob* run_;
  std::vector<std::int64_t> calls_;
};

}  // namespace

bool HistoryStore::is_repeat(const std::string& request) {
  constexpr std::size_t kRemembered = 1000;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(requests_, request) != requests_.end()) return true;
  requests_.push_back(request);
  if (requests_.size() > kRemembered) requests_.pop_front();
  return false;
}

Result<StepReply> HistoryStore::step_ticks(const StepRequest& request) {
  const bool repeat = is_repeat(request.request);
  std::vector<std::pair<std::int64_t, JobLines>> calls;
  for (const TickStep& step : request.steps) {
    Event event{.verb = Verb::step_ticks,
                .ns = request.ns,
                .owner = request.owner,
                .request = request.request,
                .name = step.schedule,
                .revision = step.revision};
    put_step(event, step);
    const std::int64_t call = recorder_.invoke(std::move(event));
    calls.emplace_back(call, JobLines(recorder_, request.ns, &step, nullptr));
  }
  Result<StepReply> reply = inner_.step_ticks(request);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Event event = as_event(reply);
    if (!reply) {
      recorder_.answer(calls[i].first, event);
      calls[i].second.failed(event);
      continue;
    }
    const StepAnswer& answer = reply->answers[i];
    if (answer.refused != Reason::none) event = {.kind = Kind::fail, .code = std::string(to_string(answer.refused))};
    event.stands = micros(answer.resolved_to);
    event.wall = micros(reply->now);
    event.revision = answer.revision;
    put_duplicates(event, request.steps[i], answer.duplicates);
    recorder_.answer(calls[i].first, std::move(event));
    // What came too early may come again when it is due, if the way to the store doubles it.
    if (answer.refused == Reason::early) calls[i].second.failed(unknown_event());
    else calls[i].second.answered(answer.refused == Reason::none, answer.duplicates, repeat);
  }
  return reply;
}

Result<ChangeScheduleReply> HistoryStore::change_schedule(const ChangeScheduleRequest& request) {
  constexpr std::array<std::string_view, 6> kChanges{"put", "pause", "resume", "remove", "rewind", "run"};
  const bool repeat = is_repeat(request.request);
  Event asked{.verb = Verb::change_schedule,
              .ns = request.ns,
              .owner = request.act.actor,
              .request = request.request,
              .name = request.name,
              .change = std::string(kChanges[static_cast<std::size_t>(request.change)]),
              .revision = request.revision};
  if (request.step) put_step(asked, *request.step);
  if (request.change == ScheduleChange::rewind) {
    asked.from = micros(request.from);
    asked.to = micros(request.to);
  }
  const std::int64_t call = recorder_.invoke(std::move(asked));
  JobLines jobs(recorder_, request.ns, request.step ? &*request.step : nullptr, request.job ? &*request.job : nullptr);
  Result<ChangeScheduleReply> reply = inner_.change_schedule(request);
  Event event = as_event(reply);
  if (!reply) {
    jobs.failed(reply.error().code == Code::refused ? unknown_event() : event);
    recorder_.answer(call, std::move(event));
    return reply;
  }
  event.stands = micros(reply->schedule.resolved_to);
  event.wall = micros(reply->now);
  event.revision = reply->schedule.revision;
  if (request.step) put_duplicates(event, *request.step, reply->duplicates);
  recorder_.answer(call, std::move(event));
  // What changes nothing has no step either.
  jobs.answered(reply->schedule.revision != request.revision, reply->duplicates, repeat);
  return reply;
}

}  // namespace fenceline::history

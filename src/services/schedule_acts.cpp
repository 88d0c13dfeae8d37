#include "services/schedule_acts.hpp"

#include <algorithm>
#include <set>

#include "base/valid_text.hpp"
#include "model/time_zone.hpp"
#include "services/act_patience.hpp"
#include "services/fresh_id.hpp"
#include "services/retry_until_known.hpp"

namespace fenceline {
namespace {

std::string utc(WallTime at) { return local_text(at, "UTC"); }

// Behind what the person says, of which the end is cut off if need be.
void add_note(Act& act, const std::string& note) {
  act.reason = act.reason.empty() ? note : as_text(act.reason, kNoteBytesMax - note.size() - 2) + "; " + note;
}

PutOutcome outcome_of(const ScheduleRow* row, const std::string& text) {
  return row == nullptr ? PutOutcome::added : row->spec == text ? PutOutcome::same : PutOutcome::changed;
}

Result<void> check_list(const std::vector<NamedSpec>& list) {
  std::set<std::string> names;
  for (const auto& [name, spec] : list) {
    if (auto ok = check_schedule_name(name); !ok) return ok;
    if (auto ok = check_spec(spec); !ok) return fail(ok.error().code, "schedule " + name + ": " + ok.error().message);
    if (!names.insert(name).second) return fail(Code::invalid, "schedule " + name + " was named twice");
  }
  return {};
}

// Not one schedule, but the store.
bool concerns_all(Code code) {
  return code == Code::unavailable || code == Code::in_doubt || code == Code::denied || code == Code::broken;
}

bool stops(ScheduleChange change) { return change == ScheduleChange::pause || change == ScheduleChange::remove; }

// A store that has no room for jobs still has it for the end of a schedule: the step as far as it adds none. False:
// there is nothing to cut off.
bool cut_before_jobs(ChangeScheduleRequest& request) {
  if (!stops(request.change) || !request.step || request.step->fired.empty()) return false;
  TickStep& step = *request.step;
  add_note(request.act, "the store is full: ticks from " + utc(step.fired.front().tick) + " on did not fire");
  step.to = step.fired.front().tick - Duration{1};
  std::erase_if(step.skipped, [&](const SkippedTicks& range) { return range.first > step.to; });
  step.fired.clear();
  if (step.to <= step.from) request.step.reset();
  return true;
}

Error overtaken_in_doubt(const std::string& name) {
  return {Code::in_doubt, "the reply was lost, and schedule " + name +
                              " was changed by somebody else since; look at it with 'fenceline schedule show " + name +
                              "' and 'fenceline trail'"};
}

Error cannot_read(const Error& error, const char* instead) {
  return {error.code, error.message + "; this program cannot read it, so " + instead};
}

}  // namespace

Error no_such_schedule(const std::string& name, const std::string& ns) {
  return {Code::not_found, "no schedule " + name + " in namespace " + ns + "; 'fenceline schedule list' lists them"};
}

ScheduleActs::ScheduleActs(Runtime& runtime, Store& store, ScheduleActsOptions options, std::stop_token stop)
    : runtime_(runtime),
      store_(store),
      options_(std::move(options)),
      owner_(fresh_id(runtime)),
      stop_(std::move(stop)) {}

template <class Decide>
Result<ChangeScheduleReply> ScheduleActs::change(const std::string& name, const Act& act, Decide decide) {
  if (auto ok = check_schedule_name(name); !ok) return std::unexpected(ok.error());
  Result<ChangeScheduleReply> reply =
      fail(Code::conflict, "schedule " + name + " is changed by others all the time; try again");
  std::optional<std::int64_t> doubtful;  // the revision that a try was for whose answer got lost
  for (int n = 0; n < kDecisions; ++n) {
    if (n > 0 && !runtime_.sleep_for(kDecisionPause * n, stop_)) return reply;
    const Result<SchedulesReply> read =
        store_.schedules({.ns = options_.ns, .names = {name}, .changed_after = {}, .after = {}, .unfinished = true});
    const auto failed = [&](Error error) {  // a try that may have happened is never reported as one that did not
      return std::unexpected(doubtful ? error_after_doubt(std::move(error)) : std::move(error));
    };
    if (!read) return failed(read.error());
    const ScheduleRow* const row = read->schedules.empty() ? nullptr : &read->schedules.front();
    ChangeScheduleRequest request{.ns = options_.ns,
                                  .name = name,
                                  .revision = row != nullptr ? row->revision : 0,
                                  .request = fresh_id(runtime_),
                                  .owner = owner_,
                                  .place = options_.place,
                                  .act = act};
    // Under the same revision it surely did not happen, and can no longer: the account stands elsewhere.
    const Result<Decision> decision =
        decide(Seen{row, read->now, doubtful && row != nullptr && row->revision != *doubtful}, request);
    if (!decision) return failed(decision.error());
    if (*decision == Decision::as_it_is)
      return ChangeScheduleReply{.schedule = row != nullptr ? *row : ScheduleRow{}, .duplicates = {}, .now = read->now};
    if (*decision == Decision::again) continue;
    bool doubted = false;
    std::optional<Code> said;  // by the store, of the last try alone
    const auto send = [&] {
      return retry_until_known(
          runtime_, stop_,
          [&] {
            Result<ChangeScheduleReply> answer = store_.change_schedule(request);
            said = answer ? std::nullopt : std::optional(answer.error().code);
            return answer;
          },
          {}, &doubted);
    };
    reply = send();
    if (!reply && reply.error().code == Code::full && cut_before_jobs(request)) {
      request.request = fresh_id(runtime_);
      reply = send();
    }
    if (doubted) doubtful = request.revision;
    // refused: the clock was set back. The next look at the schedule tells what became of a try in doubt.
    const bool overtaken = said == Code::conflict || said == Code::not_found || (said == Code::refused && request.step);
    if (!overtaken) return reply;
  }
  return reply;
}

// What cannot be read here cannot be settled here either: it stays for one who can. An edit ends it all the same, since
// it changes what the open ticks are.
Result<void> ScheduleActs::settle(ChangeScheduleRequest& request, const ScheduleRow& row, WallTime now) {
  const Result<KnownSchedule> schedule = known(row);
  if (!schedule && request.change == ScheduleChange::put && now > row.resolved_to) {
    request.step = TickStep{.schedule = row.name,
                            .revision = row.revision,
                            .from = row.resolved_to,
                            .to = std::min(now, kRunAtMost),
                            .fired = {},
                            .skipped = {}};
    add_note(request.act,
             "its old definition could not be read: its ticks since " + utc(row.resolved_to) + " are unknown");
  }
  if (!schedule) return {};
  Result<PlannedStep> planned = plan_step(runtime_, store_, options_.ns, *schedule, now, StepEnd::now);
  if (!planned) return std::unexpected(planned.error());
  if (!planned->cancel.empty()) {
    const ActRequest cancel{
        .ns = options_.ns,
        .ids = planned->cancel,
        .request = fresh_id(runtime_),
        .only = {},
        .act = {.actor = "scheduler", .reason = "the next tick of schedule " + row.name + " is due"}};
    if (const Result<ActReply> cancelled = retry_until_known(runtime_, stop_, [&] { return store_.cancel(cancel); });
        !cancelled)
      return std::unexpected(cancelled.error());
  }
  request.step = std::move(planned->step);
  return {};
}

Result<bool> ScheduleActs::back_to(WallTime now, const ScheduleRow& row) {
  const Result<KnownSchedule> schedule = known(row);
  if (!schedule) return false;
  Result<std::optional<ChangeScheduleRequest>> back = take_back(store_, options_.ns, *schedule, now);
  if (!back) return std::unexpected(back.error());
  if (!*back) return false;
  ChangeScheduleRequest& request = **back;
  request.request = fresh_id(runtime_);
  request.owner = owner_;
  request.place = options_.place;
  request.act = {.actor = "scheduler",
                 .reason = "the clock was set back from " + utc(row.resolved_to) + " to " + utc(now)};
  const Result<ChangeScheduleReply> moved =
      retry_until_known(runtime_, stop_, [&] { return store_.change_schedule(request); });
  if (!moved && moved.error().code != Code::conflict) return std::unexpected(moved.error());
  return true;
}

Result<PutReport> ScheduleActs::put(const std::string& name, const ScheduleSpec& spec, const Act& act) {
  if (auto ok = check_spec(spec); !ok) return std::unexpected(ok.error());
  const std::string text = spec_text(spec);
  PutReport report;
  Result<ChangeScheduleReply> reply =
      change(name, act, [&](const Seen& seen, ChangeScheduleRequest& request) -> Result<Decision> {
        const auto& [row, now, doubtful] = seen;
        report.outcome = outcome_of(row, text);
        if (report.outcome == PutOutcome::same) return Decision::as_it_is;
        request.change = ScheduleChange::put;
        request.spec = text;
        if (row == nullptr) return Decision::change;
        if (row->resolved_to > now) {  // the new rule would count from there
          const Result<bool> moved = back_to(now, *row);
          if (!moved) return std::unexpected(moved.error());
          if (*moved) return Decision::again;
        }
        if (auto ok = settle(request, *row, now); !ok) return std::unexpected(ok.error());
        return Decision::change;
      });
  if (!reply) return std::unexpected(reply.error());
  report.schedule = std::move(reply->schedule);
  return report;
}

Result<ReconcileReport> ScheduleActs::reconcile(const std::vector<NamedSpec>& list, const Act& act) {
  if (auto ok = check_list(list); !ok) return std::unexpected(ok.error());
  ReconcileReport report;
  for (const auto& [name, spec] : list) {
    const Result<PutReport> made = put(name, spec, act);
    if (!made && concerns_all(made.error().code)) return std::unexpected(made.error());
    if (!made) report.failed.push_back({name, made.error()});
    else report.names_of(made->outcome).push_back(name);
  }
  return report;
}

Result<ReconcileReport> ScheduleActs::dry_run(const std::vector<NamedSpec>& list) {
  if (auto ok = check_list(list); !ok) return std::unexpected(ok.error());
  ReconcileReport report;
  for (const auto& [name, spec] : list) {
    const Result<SchedulesReply> read =
        store_.schedules({.ns = options_.ns, .names = {name}, .changed_after = {}, .after = {}});
    if (!read) return std::unexpected(read.error());
    report.names_of(outcome_of(read->schedules.empty() ? nullptr : &read->schedules.front(), spec_text(spec)))
        .push_back(name);
  }
  return report;
}

// A row that is as asked for stays as it is. What may have happened, and was undone by somebody else since, does not
// happen once more.
Result<ScheduleRow> ScheduleActs::settle_and(ScheduleChange what, const std::string& name, const Act& act,
                                             bool (*as_asked)(const ScheduleRow&)) {
  bool tried = false;
  const auto reply = change(name, act, [&](const Seen& seen, ChangeScheduleRequest& request) -> Result<Decision> {
    const ScheduleRow* const row = seen.row;
    if (row == nullptr && tried && what == ScheduleChange::remove)
      return Decision::as_it_is;  // it was ours, whose answer got lost, or another's
    if (row == nullptr) return std::unexpected(no_such_schedule(name, options_.ns));
    if (as_asked(*row)) return Decision::as_it_is;
    if (seen.doubtful) return std::unexpected(overtaken_in_doubt(name));
    tried = true;
    request.change = what;
    if (auto ok = settle(request, *row, seen.now); !ok) return std::unexpected(ok.error());
    return Decision::change;
  });
  if (!reply) return std::unexpected(reply.error());
  return reply->schedule;
}

Result<ScheduleRow> ScheduleActs::pause(const std::string& name, const Act& act) {
  return settle_and(ScheduleChange::pause, name, act, [](const ScheduleRow& row) { return row.paused.has_value(); });
}

Result<ScheduleRow> ScheduleActs::resume(const std::string& name, const Act& act) {
  return settle_and(ScheduleChange::resume, name, act, [](const ScheduleRow& row) { return !row.paused; });
}

Result<ScheduleRow> ScheduleActs::remove(const std::string& name, const Act& act) {
  return settle_and(ScheduleChange::remove, name, act, [](const ScheduleRow&) { return false; });
}

Result<ScheduleRow> ScheduleActs::rewind(const std::string& name, WallTime to, const Act& act) {
  const auto reply = change(name, act, [&](const Seen& seen, ChangeScheduleRequest& request) -> Result<Decision> {
    const ScheduleRow* const row = seen.row;
    if (row == nullptr) return std::unexpected(no_such_schedule(name, options_.ns));
    if (seen.doubtful) return std::unexpected(overtaken_in_doubt(name));
    const Result<KnownSchedule> schedule = known(*row);
    if (!schedule)
      return std::unexpected(cannot_read(schedule.error(), "rewind it with a program that can, or edit it"));
    if (to < row->counts_from)
      return fail(Code::refused, "schedule " + name + " has its current definition since " + utc(row->counts_from) +
                                     ", and earlier ticks belong to another definition; use that time or a later one");
    if (to < row->bar)
      return fail(Code::refused, "schedule " + name + " remembers its ticks since " + utc(row->bar) +
                                     "; use that time or a later one");
    Result<std::optional<ChangeScheduleRequest>> back = take_back(store_, options_.ns, *schedule, to);
    if (!back) return std::unexpected(back.error());
    if (!*back)
      return fail(Code::refused, "no tick of schedule " + name + " after " + utc(to) +
                                     " was skipped, so there is nothing to reopen; see 'fenceline schedule history " +
                                     name + "'");
    request.change = ScheduleChange::rewind;
    request.to = (*back)->to;
    request.from = (*back)->from;
    request.kept = (*back)->kept;
    return Decision::change;
  });
  if (!reply) return std::unexpected(reply.error());
  return reply->schedule;
}

Result<JobId> ScheduleActs::run(const std::string& name, const Act& act) {
  std::optional<JobId> id;  // one for all tries: what was enqueued by one whose answer got lost is found
  const auto reply = change(name, act, [&](const Seen& seen, ChangeScheduleRequest& request) -> Result<Decision> {
    const auto& [row, now, doubtful] = seen;
    if (id) {
      const Result<std::optional<Job>> job = store_.job(options_.ns, *id);
      if (!job) return std::unexpected(job.error());
      if (*job) return Decision::as_it_is;
    }
    if (row == nullptr) return std::unexpected(no_such_schedule(name, options_.ns));
    const Result<KnownSchedule> schedule = known(*row);
    if (!schedule) return std::unexpected(cannot_read(schedule.error(), "run it with a program that can, or edit it"));
    if (!id) id = *parse_uuid(fresh_id(runtime_));
    request.change = ScheduleChange::run;
    request.job = job_of_tick(schedule->spec, name, std::chrono::floor<std::chrono::seconds>(now), *id);
    request.job->at.reset();
    return Decision::change;
  });
  if (!reply) return std::unexpected(reply.error());
  return *id;
}

}  // namespace fenceline

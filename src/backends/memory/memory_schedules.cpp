// Schedules: the verbs. What becomes of their ticks stands in memory_ticks.cpp.
#include <algorithm>
#include <ranges>

#include "backends/memory/memory_store.hpp"
#include "base/utc_text.hpp"

namespace fenceline {

MemoryStore::Schedule* MemoryStore::find_schedule(Space& space, const std::string& name) {
  const auto found = space.schedules.find(name);
  return found == space.schedules.end() ? nullptr : &found->second;
}

ScheduleRow MemoryStore::shown(const Schedule& schedule) {
  ScheduleRow row = schedule.row;
  row.fired_to = fired_to(schedule);
  return row;
}

Result<SchedulesReply> MemoryStore::schedules(const SchedulesRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  SchedulesReply reply{.now = now().wall};
  Space* space = find_space(request.ns);
  if (!space) return reply;
  reply.version = space->schedule_version;
  std::vector<const Schedule*> meant;
  for (const auto& [name, schedule] : space->schedules) {
    const ScheduleRow& row = schedule.row;
    bool asked_for = !row.removed && name > request.after;
    if (request.changed_after) asked_for = row.version > *request.changed_after;
    if (!request.names.empty())
      asked_for = !row.removed && std::ranges::find(request.names, name) != request.names.end();
    if (asked_for) meant.push_back(&schedule);
  }
  if (request.changed_after)
    std::ranges::sort(meant, {}, [](const Schedule* schedule) { return schedule->row.version; });
  for (const Schedule* schedule : meant) {
    if (request.names.empty() && reply.schedules.size() == static_cast<std::size_t>(request.limit)) {
      reply.more = true;
      break;
    }
    ScheduleRow& row = reply.schedules.emplace_back(shown(*schedule));
    if (request.unfinished) row.unfinished = unfinished_runs(*space, *schedule, reply.now);
  }
  return reply;
}

// First everything is looked at, then what may be taken is: a conflict leaves nothing behind.
Result<StepReply> MemoryStore::step_ticks(const StepRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  StepReply reply;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    reply.now = now.wall;
    std::vector<const TickStep*> taken;
    for (const TickStep& step : request.steps) {
      const Schedule* schedule = find_schedule(space, step.schedule);
      StepAnswer& answer = reply.answers.emplace_back();
      if (schedule && schedule->last_move.request == request.request) continue;
      answer.refused = step_refusal(schedule, step, now);
      if (answer.refused != Reason::none) continue;
      if (auto ok = check_ids_are_new(space, *schedule, step); !ok) return std::unexpected(ok.error());
      taken.push_back(&step);
    }
    const Mover mover{request.request, request.owner, request.place};
    for (const TickStep* step : taken)
      take_step(space, *find_schedule(space, step->schedule), *step, mover, now, changes);
    for (std::size_t i = 0; i < request.steps.size(); ++i) {
      StepAnswer& answer = reply.answers[i];
      if (answer.refused == Reason::not_found) continue;
      const Schedule& schedule = *find_schedule(space, request.steps[i].schedule);
      if (answer.refused == Reason::none) answer.duplicates = schedule.last_move.duplicates;
      answer.revision = schedule.row.revision;
      answer.resolved_to = schedule.row.resolved_to;
      answer.fired_to = fired_to(schedule);
    }
  }
  tell(request.ns, changes);
  return reply;
}

Result<void> MemoryStore::check_change(const Schedule* schedule, const ChangeScheduleRequest& request, const Now& now) {
  const bool there = schedule && !schedule->row.removed;
  if (request.revision == 0)
    return there ? fail(Code::conflict, "schedule " + request.name + " already exists") : Result<void>{};
  if (!there) return fail(Code::not_found, "there is no schedule " + request.name);
  if (schedule->row.revision != request.revision)
    return fail(Code::conflict, "schedule " + request.name + " was changed: its revision is " +
                                    std::to_string(schedule->row.revision) + ", not " +
                                    std::to_string(request.revision));
  if (is_as_asked(*schedule, request.change)) return {};
  if (request.step) {
    const Reason refused = step_refusal(schedule, *request.step, now);
    if (refused == Reason::early)
      return fail(Code::refused, "a tick of schedule " + request.name + " lies ahead of the store's clock");
    if (refused != Reason::none)
      return fail(Code::conflict,
                  "schedule " + request.name + " has moved on since (" + std::string(to_string(refused)) + ")");
  }
  return request.change == ScheduleChange::rewind ? check_rewind(*schedule, request) : Result<void>{};
}

bool MemoryStore::is_as_asked(const Schedule& schedule, ScheduleChange change) {
  return (change == ScheduleChange::pause && schedule.row.paused) ||
         (change == ScheduleChange::resume && !schedule.row.paused);
}

// What the trail calls it.
std::string MemoryStore::apply(Space& space, Schedule& schedule, const ChangeScheduleRequest& request, const Now& now) {
  ScheduleRow& row = schedule.row;
  if (request.change == ScheduleChange::run) return "schedule_run";
  row.version = ++space.schedule_version;
  row.revision += 1;
  row.changed_at = now.wall;
  switch (request.change) {
    case ScheduleChange::put:
      row.spec = request.spec;
      if (request.revision == 0 || row.resolved_to > now.wall) {
        move_back(schedule, now.wall, std::nullopt);
        schedule.last_move = {request.request, {}};
      }
      if (request.revision == 0) {
        row.paused.reset();
        row.removed = false;
        row.created_at = now.wall;
      }
      row.counts_from = row.resolved_to;
      return request.revision == 0 ? "schedule_added" : "schedule_changed";
    case ScheduleChange::pause:
      row.paused = SchedulePause{now.wall, request.act.actor, request.act.reason};
      return "schedule_paused";
    case ScheduleChange::resume: row.paused.reset(); return "schedule_resumed";
    case ScheduleChange::remove: row.removed = true; return "schedule_removed";
    case ScheduleChange::rewind:
      move_back(schedule, request.to, request.kept);
      schedule.last_move = {request.request, {}};
      return "schedule_rewound";
    case ScheduleChange::run: break;
  }
  return "";
}

Result<ChangeScheduleReply> MemoryStore::change_schedule(const ChangeScheduleRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  ChangeScheduleReply reply;
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const Now now = this->now();
    Space& space = spaces_[request.ns];
    reply.now = now.wall;
    Schedule* schedule = find_schedule(space, request.name);
    if (schedule) {
      for (const Done& done : {schedule->last_change, schedule->last_move}) {
        if (done.request == request.request) return ChangeScheduleReply{shown(*schedule), done.duplicates, now.wall};
      }
    }
    if (auto ok = check_change(schedule, request, now); !ok) return std::unexpected(ok.error());
    if (schedule && is_as_asked(*schedule, request.change)) return ChangeScheduleReply{shown(*schedule), {}, now.wall};
    if (request.step) {
      if (auto ok = check_ids_are_new(space, *schedule, *request.step); !ok) return std::unexpected(ok.error());
    }
    if (request.job) {
      if (auto ok = check_id_is_new(space, *request.job); !ok) return std::unexpected(ok.error());
    }

    if (!schedule) {  // its revision begins above all that the name may have had before it was forgotten
      schedule = &space.schedules[request.name];
      schedule->row = {.name = request.name,
                       .spec = "",
                       .revision = space.schedule_version,
                       .bar = space.schedule_bar,
                       .paused = {},
                       .unfinished = {}};
    }
    schedule->last_change = {request.request, {}};
    if (request.step) {
      take_step(space, *schedule, *request.step, {request.request, request.owner, request.place}, now, changes);
      schedule->last_change = schedule->last_move;
    }
    if (request.job) add_job(space, *request.job, now, changes);
    std::string subject = request.name;
    if (request.change == ScheduleChange::rewind) subject += " " + utc_text(request.to);
    if (request.change == ScheduleChange::run) subject += " " + to_string(request.job->id);
    note_act(request.ns, request.act, apply(space, *schedule, request, now), subject, now);
    changes.orders = request.change != ScheduleChange::run;
    reply.schedule = shown(*schedule);
    reply.duplicates = schedule->last_change.duplicates;
  }
  tell(request.ns, changes);
  return reply;
}

Result<TicksReply> MemoryStore::ticks(const TicksRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  const std::lock_guard lock(mutex_);
  TicksReply reply;
  Space* space = find_space(request.ns);
  const Schedule* schedule = space ? find_schedule(*space, request.schedule) : nullptr;
  if (!schedule) return reply;
  for (const auto& [tick, row] : std::views::reverse(schedule->ticks)) {
    if ((request.fired_only && !row.fired()) || (request.after && tick <= *request.after) ||
        (request.before && tick >= *request.before))
      continue;
    if (reply.ticks.size() == static_cast<std::size_t>(request.limit)) {
      reply.next = reply.ticks.back().tick;
      break;
    }
    reply.ticks.push_back(row);
  }
  return reply;
}

}  // namespace fenceline

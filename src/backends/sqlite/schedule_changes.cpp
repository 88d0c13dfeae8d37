// What people do to schedules. The step that comes with a change is taken first, in the same transaction.
#include <algorithm>
#include <utility>

#include "backends/sqlite/schedule_rows.hpp"
#include "base/utc_text.hpp"

namespace fenceline::sqlite {
namespace {

std::unexpected<Error> read_again(const std::string& name, const std::string& why) {
  return fail(Code::conflict, "schedule " + name + " " + why + "; read it again");
}

Result<void> settle_account(Call& call, std::int64_t ns_id, ScheduleRecord& schedule,
                            const ChangeScheduleRequest& request, std::vector<NewJob>& jobs) {
  const Reason refused = refusal_of(call, ns_id, schedule, *request.step);
  if (refused == Reason::early)
    return fail(Code::refused, "a step of schedule " + request.name + " reaches past the store's clock, which shows " +
                                   utc_text(call.wall));
  if (refused != Reason::none)
    return read_again(request.name, refused == Reason::covers
                                        ? "fired a tick that was to be skipped"
                                        : "has its account at " + utc_text(schedule.row.resolved_to));
  take_step(call, ns_id, schedule, *request.step, {request.request, request.owner, request.place}, jobs);
  schedule.changed.duplicates = schedule.moved.duplicates;
  return {};
}

// A name that has no row begins where the namespace says. `there`: as it was removed.
ScheduleRecord begin_schedule(const Call& call, const std::string& name, std::optional<ScheduleRecord> there,
                              const ScheduleCount& count) {
  ScheduleRecord schedule;
  if (there) {
    schedule = std::move(*there);
    schedule.row.removed = false;
    schedule.row.paused.reset();
  } else {
    schedule.row.name = name;
    schedule.row.revision = count.version;
    schedule.row.bar = schedule.row.fired_to = count.bar;
  }
  schedule.row.created_at = call.wall;
  return schedule;
}

// What a new rule counts from is never ahead of the clock.
void begin_at_the_clock(Call& call, std::int64_t ns_id, ScheduleRecord& schedule, const std::string& request) {
  drop_ranges_beyond(call, ns_id, schedule, call.wall);
  schedule.row.resolved_to = call.wall;
  schedule.moved = {request, {}};
}

Result<void> rewind(Call& call, std::int64_t ns_id, ScheduleRecord& schedule, const ChangeScheduleRequest& request) {
  if (schedule.row.resolved_to != request.from)
    return read_again(request.name, "has its account at " + utc_text(schedule.row.resolved_to));
  const WallTime least = std::max(schedule.row.bar, schedule.row.counts_from);
  if (request.to < least)
    return fail(Code::refused,
                "schedule " + request.name + " can be moved back to " + utc_text(least) + " and no further");
  if (!open_ranges_after(call, ns_id, schedule, request.to, request.kept))
    return read_again(request.name, "has other ranges of skipped ticks");
  schedule.row.resolved_to = request.to;
  schedule.moved = {request.request, {}};
  return {};
}

const char* trail_word(ScheduleChange change, bool added) {
  switch (change) {
    case ScheduleChange::put: return added ? "schedule_added" : "schedule_changed";
    case ScheduleChange::pause: return "schedule_paused";
    case ScheduleChange::resume: return "schedule_resumed";
    case ScheduleChange::remove: return "schedule_removed";
    case ScheduleChange::rewind: return "schedule_rewound";
    case ScheduleChange::run: return "schedule_run";
  }
  return "";
}

std::string trail_subject(const ChangeScheduleRequest& request) {
  if (request.change == ScheduleChange::rewind) return request.name + " " + utc_text(request.to);
  if (request.change == ScheduleChange::run) return request.name + " " + to_string(request.job->id);
  return request.name;
}

ChangeScheduleReply reply_of(Call& call, std::int64_t ns_id, ScheduleRecord schedule,
                             std::vector<WallTime> duplicates) {
  schedule.row.spec = spec_of(call, ns_id, schedule.row.name);
  return {std::move(schedule.row), std::move(duplicates), call.wall};
}

}  // namespace

Result<ChangeScheduleReply> change_schedule(Call& call, const ChangeScheduleRequest& request) {
  const std::int64_t ns_id = call.names.intern_namespace(request.ns);
  std::optional<ScheduleRecord> found = find_schedule(call, ns_id, request.name);
  if (found && found->changed.id == request.request) return reply_of(call, ns_id, *found, found->changed.duplicates);
  if (found && found->moved.id == request.request) return reply_of(call, ns_id, *found, found->moved.duplicates);

  const bool is_there = found && !found->row.removed;
  const bool added = request.revision == 0;
  if (!is_there && !added) return fail(Code::not_found, "no schedule " + request.name);
  if (is_there && added) return read_again(request.name, "is there already");
  if (is_there && found->row.revision != request.revision) return read_again(request.name, "was changed");
  const bool pauses = request.change == ScheduleChange::pause;
  if ((pauses || request.change == ScheduleChange::resume) && found->row.paused.has_value() == pauses)
    return reply_of(call, ns_id, std::move(*found), {});

  ScheduleCount count = schedule_count(call, ns_id);
  const bool runs = request.change == ScheduleChange::run;
  if (!runs) count.version += 1;
  const bool is_new = !found;
  ScheduleRecord schedule = added ? begin_schedule(call, request.name, std::move(found), count) : std::move(*found);
  schedule.changed = {request.request, {}};
  std::vector<NewJob> jobs;
  if (request.step) {
    if (auto ok = settle_account(call, ns_id, schedule, request, jobs); !ok) return std::unexpected(ok.error());
  }
  switch (request.change) {
    case ScheduleChange::put:
      if (added || schedule.row.resolved_to > call.wall) begin_at_the_clock(call, ns_id, schedule, request.request);
      schedule.row.counts_from = schedule.row.resolved_to;
      break;
    case ScheduleChange::pause:
      schedule.row.paused = SchedulePause{call.wall, request.act.actor, request.act.reason};
      break;
    case ScheduleChange::resume: schedule.row.paused.reset(); break;
    case ScheduleChange::remove: schedule.row.removed = true; break;
    case ScheduleChange::rewind:
      if (auto ok = rewind(call, ns_id, schedule, request); !ok) return std::unexpected(ok.error());
      break;
    case ScheduleChange::run: jobs.push_back(*request.job); break;
  }
  if (auto ok = enqueue_all(call, request.ns, std::move(jobs)); !ok) return std::unexpected(ok.error());
  if (!runs) {
    if (!is_new) schedule.row.revision += 1;
    schedule.row.version = count.version;
    schedule.row.changed_at = call.wall;
    put_schedule_count(call, ns_id, count);
  }
  put_schedule(call, ns_id, schedule);
  if (request.change == ScheduleChange::put) put_spec(call, ns_id, request.name, request.spec);
  enter_in_trail(call, request.ns, request.act, trail_word(request.change, added), trail_subject(request));
  if (!runs) call.ordered.insert(request.ns);
  std::vector<WallTime> duplicates = schedule.changed.duplicates;
  return reply_of(call, ns_id, std::move(schedule), std::move(duplicates));
}

}  // namespace fenceline::sqlite

// What became of ticks: rows of those that fired, ranges of those that were skipped, and the bar in place of what is
// forgotten.
#include <algorithm>
#include <iterator>
#include <ranges>

#include "backends/memory/memory_store.hpp"

namespace fenceline {

WallTime MemoryStore::fired_to(const Schedule& schedule) {
  for (const auto& [tick, row] : std::views::reverse(schedule.ticks)) {
    if (row.fired()) return std::max(tick, schedule.row.bar);
  }
  return schedule.row.bar;
}

bool MemoryStore::has_fired(const Schedule& schedule, WallTime tick) {
  const auto found = schedule.ticks.find(tick);
  return tick <= schedule.row.bar || (found != schedule.ticks.end() && found->second.fired());
}

std::vector<UnfinishedRun> MemoryStore::unfinished_runs(Space& space, const Schedule& schedule, WallTime wall) {
  std::vector<UnfinishedRun> runs;
  int looked_at = 0;
  for (const auto& [tick, row] : std::views::reverse(schedule.ticks)) {
    if (!row.fired() || tick > wall) continue;
    if (looked_at++ == kOverlapLooked) break;
    const Entry* entry = find_job(space, *row.job);
    if (entry && !is_finished(entry->job.state)) runs.push_back({tick, *row.job, entry->job.state});
  }
  std::ranges::reverse(runs);
  return runs;
}

Reason MemoryStore::step_refusal(const Schedule* schedule, const TickStep& step, const Now& now) {
  if (!schedule || schedule->row.removed) return Reason::not_found;
  if (schedule->row.revision != step.revision) return Reason::changed;
  if (schedule->row.resolved_to != step.from) return Reason::moved;
  if (step.to > now.wall) return Reason::early;
  for (const SkippedTicks& range : step.skipped) {
    for (auto row = schedule->ticks.lower_bound(range.first); row != schedule->ticks.end() && row->first <= range.last;
         ++row) {
      if (row->second.fired()) return Reason::covers;
    }
  }
  return Reason::none;
}

Result<void> MemoryStore::check_id_is_new(const Space& space, const NewJob& job) {
  if (space.jobs.contains(job.id) || space.aliases.contains(job.id))
    return fail(Code::conflict, "job " + to_string(job.id) + " already exists");
  return {};
}

// Only of ticks that would fire: a late repeat, whose jobs are there, is told by its refusal.
Result<void> MemoryStore::check_ids_are_new(const Space& space, const Schedule& schedule, const TickStep& step) {
  for (const FiredTick& fired : step.fired) {
    if (has_fired(schedule, fired.tick)) continue;
    if (auto ok = check_id_is_new(space, fired.job); !ok) return ok;
  }
  return {};
}

// What fires first: a row between two ranges keeps them apart.
void MemoryStore::take_step(Space& space, Schedule& schedule, const TickStep& step, const Mover& mover, const Now& now,
                            Changes& changes) {
  schedule.last_move = {mover.request, {}};
  for (const FiredTick& fired : step.fired) {
    if (has_fired(schedule, fired.tick)) {
      schedule.last_move.duplicates.push_back(fired.tick);
      continue;
    }
    schedule.ticks[fired.tick] = {.tick = fired.tick,
                                  .last = fired.tick,
                                  .count = 1,
                                  .reason = "",
                                  .job = fired.job.id,
                                  .at = now.wall,
                                  .owner = mover.owner,
                                  .place = mover.place};
    add_job(space, fired.job, now, changes);
  }
  for (const SkippedTicks& range : step.skipped) skip(schedule, range, mover, now);
  schedule.row.resolved_to = step.to;
}

// A range from before the spec at hand stays apart: its ticks were another rule's, and nobody could count a part of
// both.
void MemoryStore::skip(Schedule& schedule, const SkippedTicks& range, const Mover& mover, const Now& now) {
  const auto behind = schedule.ticks.lower_bound(range.first);
  if (behind != schedule.ticks.begin()) {
    TickRow& before = std::prev(behind)->second;
    if (before.reason == range.reason && before.last > schedule.row.counts_from) {
      before.last = range.last;
      before.count += range.count;
      before.at = now.wall;
      before.owner = mover.owner;
      before.place = mover.place;
      return;
    }
  }
  schedule.ticks[range.first] = {.tick = range.first,
                                 .last = range.last,
                                 .count = range.count,
                                 .reason = range.reason,
                                 .job = {},
                                 .at = now.wall,
                                 .owner = mover.owner,
                                 .place = mover.place};
}

Result<void> MemoryStore::check_rewind(const Schedule& schedule, const ChangeScheduleRequest& request) {
  const ScheduleRow& row = schedule.row;
  if (row.resolved_to != request.from) return fail(Code::conflict, "schedule " + row.name + " has moved on since");
  if (request.to < row.bar || request.to < row.counts_from)
    return fail(Code::refused,
                "schedule " + row.name + " can be moved back only to its last change and to where its history begins");
  const TickRow* over = nullptr;  // the range that goes over `to`
  for (const auto& [tick, range] : schedule.ticks) {
    if (!range.fired() && tick <= request.to && range.last > request.to) over = &range;
  }
  const std::optional<SkippedTicks>& kept = request.kept;
  const bool fits =
      over ? kept && kept->first == over->tick && kept->reason == over->reason && kept->count < over->count : !kept;
  if (!fits) return fail(Code::conflict, "what is kept of a skipped range of schedule " + row.name + " does not fit");
  return {};
}

void MemoryStore::move_back(Schedule& schedule, WallTime to, const std::optional<SkippedTicks>& kept) {
  if (kept) {
    TickRow& range = schedule.ticks.at(kept->first);
    range.last = kept->last;
    range.count = kept->count;
  }
  std::erase_if(schedule.ticks, [&](const auto& row) { return !row.second.fired() && row.second.last > to; });
  schedule.row.resolved_to = to;
}

std::int64_t MemoryStore::tidy_ticks(Space& space, int limit, bool& more, const Now& now) {
  std::set<std::pair<WallTime, std::string>> over;
  for (const auto& [name, schedule] : space.schedules) {
    auto too_many = static_cast<std::int64_t>(schedule.ticks.size()) - kTicksKeptMost;
    for (const auto& [tick, row] : schedule.ticks) {
      if (tick > schedule.row.resolved_to && !schedule.row.removed) break;  // a bar there would end ticks that are open
      if (too_many-- > 0 || row.last + kTicksKeptFor <= now.wall) over.emplace(tick, name);
    }
  }
  std::int64_t removed = 0;
  for (const auto& [tick, name] : over) {
    if (removed == limit) {
      more = true;
      break;
    }
    Schedule& schedule = space.schedules.at(name);
    const auto row = schedule.ticks.find(tick);
    if (row->second.fired()) schedule.row.bar = std::max(schedule.row.bar, tick);
    schedule.ticks.erase(row);
    removed += 1;
  }
  return removed;
}

std::int64_t MemoryStore::forget_schedules(Space& space, int limit, bool& more, const Now& now) {
  const WallTime old = now.wall - kRemovedScheduleKeptFor;
  std::vector<std::string> over;
  for (const auto& [name, schedule] : space.schedules) {
    if (schedule.row.removed && schedule.ticks.empty() && schedule.row.bar <= old && schedule.row.changed_at <= old)
      over.push_back(name);
  }
  if (over.size() > static_cast<std::size_t>(limit)) {
    more = true;
    over.resize(static_cast<std::size_t>(limit));
  }
  for (const std::string& name : over) {
    space.schedule_bar = std::max(space.schedule_bar, space.schedules.at(name).row.bar);
    space.schedules.erase(name);
  }
  return static_cast<std::int64_t>(over.size());
}

}  // namespace fenceline

// What retention may take of schedules, and when: rows of ticks that are old enough, of which the largest that fired
// stays as the bar; and names that were removed long ago.
#include "base/utc_text.hpp"
#include "sim/checks/schedule_checks.hpp"

namespace fenceline::sim {

ScheduleChecks::Rows ScheduleChecks::rows_of(const std::string& name) const {
  Rows rows;
  for (TicksRequest request{.ns = ns_, .schedule = name, .limit = 1000};;) {
    const Result<TicksReply> page = store_.ticks(request);
    if (!page) return {};
    for (const TickRow& row : page->ticks) {
      rows.count += 1;
      if (row.fired()) rows.fired.emplace(row.tick, row.job.value_or(JobId{}));
      else rows.skipped.emplace(row.tick, SkippedTicks{row.tick, row.last, row.count, row.reason});
    }
    if (!page->next) return rows;
    request.before = page->next;
  }
}

void ScheduleChecks::see(const Applied& when, const TidyCall& call) {
  tidied_ = 0;
  if (!call.reply || call.reply->removed == 0) return;
  for (auto& [name, account] : accounts_) see_tidied(when, name, account);
  see_forgotten(when);
}

void ScheduleChecks::see_tidied(const Applied& when, const std::string& name, KnownAccount& account) {
  if (account.forgotten) return;
  const Rows rows = rows_of(name);
  const auto goes = [&](WallTime last) {
    const bool too_many = rows.count >= kTicksKeptMost;
    if (account.schedule && last > account.schedule->row.resolved_to)
      broken("S2", name, "forgot what became of its tick " + utc_text(last) + ", and before it some are open");
    if (last + kTicksKeptFor > when.wall && !too_many)
      broken("S2", name, "forgot what became of its tick " + utc_text(last) + " too early");
    account.gone_to = std::max(account.gone_to, last);
    tidied_ += 1;
    tally_.add(Count::ticks_tidied);
  };
  for (const auto& [tick, id] : account.fired) {
    if (account.tidied.contains(tick) || rows.fired.contains(tick)) continue;
    goes(tick);
    account.tidied.insert(tick);
    account.bar = std::max(account.bar, tick);
  }
  std::erase_if(account.skipped, [&](const auto& range) {
    if (rows.skipped.contains(range.first)) return false;
    goes(range.second.last);
    return true;
  });
}

void ScheduleChecks::see_forgotten(const Applied& when) {
  std::map<std::string, ScheduleRow> shown;
  for (SchedulesRequest request{.ns = ns_, .changed_after = 0};;) {
    const Result<SchedulesReply> page = store_.schedules(request);
    if (!page) return;
    for (const ScheduleRow& row : page->schedules) shown.emplace(row.name, row);
    if (!page->more) break;
    request.changed_after = page->schedules.back().version;
  }
  for (auto& [name, account] : accounts_) {
    if (account.forgotten || account.revision == 0) continue;
    if (const auto row = shown.find(name); row != shown.end()) {
      if (row->second.bar != account.bar)
        broken("S1", name, "has its bar at " + utc_text(row->second.bar) + ", it must be " + utc_text(account.bar));
      continue;
    }
    const WallTime old = when.wall - kRemovedScheduleKeptFor;
    const bool has_rows = account.fired.size() > account.tidied.size() || !account.skipped.empty();
    if (account.schedule || has_rows || account.bar > old || account.removed_at > old)
      broken("S1", name, "was forgotten too early, it was removed at " + utc_text(account.removed_at));
    account.forgotten = true;
    account.last_change.clear();
    account.last_move.clear();
    bar_ = std::max(bar_, account.bar);
    tidied_ += 1;
    tally_.add(Count::schedules_forgotten);
  }
}

}  // namespace fenceline::sim

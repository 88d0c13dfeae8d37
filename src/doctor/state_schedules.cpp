// Schedules that are late or cannot fire, and items of pipelines that stand still.
#include <algorithm>

#include "base/utc_text.hpp"
#include "doctor/state_look.hpp"
#include "model/schedule.hpp"
#include "services/pipeline_book.hpp"
#include "services/schedule_steps.hpp"

namespace fenceline::doctor {
namespace {

constexpr Duration kAheadAllowed = std::chrono::seconds{1};  // clocks of machines differ a little

// The leader should fire what is due; a worker may run that does not fire schedules (--no-schedules).
Result<bool> somebody_leads(StateLook& look) {
  const Result<std::optional<LockRow>> lead = look.store.lock(look.options.ns, kSchedulerLock);
  if (!lead) return std::unexpected(lead.error());
  return *lead &&
         std::ranges::any_of((*lead)->holders, [](const LockHolder& holder) { return holder.left > Duration{0}; });
}

// Of now, to the second, but not before the account begins: a schedule may be younger than that.
std::string account_of(WallTime now, WallTime counts_from) {
  const WallTime whole = std::chrono::floor<std::chrono::seconds>(now);
  if (counts_from <= whole) return utc_text(whole);
  std::string text = utc_text(counts_from);
  const auto rest = (counts_from - std::chrono::floor<std::chrono::seconds>(counts_from)).count();
  const std::string digits = std::to_string(rest);
  return text.insert(text.size() - 1, "." + std::string(6 - digits.size(), '0') + digits);
}

// Ticks whose time has come, and that were skipped at a moment that still lies ahead: the store's clock was ahead, and
// they seemed to be too late. Nobody fires them unless the account is moved back.
Result<void> judge_skipped(StateLook& look, FindingList& list, const ScheduleRow& row) {
  const Result<TicksReply> page =
      look.store.ticks({.ns = look.options.ns, .schedule = row.name, .before = look.now, .limit = 100});
  if (!page) return std::unexpected(page.error());
  const WallTime bar = std::max(row.bar, row.counts_from);
  std::int64_t skipped = 0;
  WallTime first = look.now, last = bar;
  for (const TickRow& tick : page->ticks) {
    if (tick.fired() || tick.at <= look.now + kAheadAllowed || tick.tick <= bar) continue;
    skipped += tick.count;
    first = std::min(first, tick.tick);
    last = std::max(last, std::min(tick.last, look.now));
  }
  if (skipped == 0) return {};
  const WallTime to = std::max(bar, WallTime{first - std::chrono::seconds{1}});
  list.add(FindingStatus::warning,
           "schedule " + row.name + ": " + counted(skipped, "tick") + " from " + moment(first, look.now) + " to " +
               moment(last, look.now) + " " + (skipped == 1 ? "was" : "were") +
               " skipped while the store's clock was ahead",
           "fenceline schedule rewind " + row.name + " --to " + account_of(to, bar));
  return {};
}

void judge_item(FindingList& list, const KnownPipeline& pipeline, const Item& item) {
  const Result<ItemNow> now = item_now(item);
  if (!now) return;
  const std::string id = to_string(item.job.id);
  const std::string name = "item " + id + " of pipeline " + item.job.queue;
  if (now->record.hold) {
    const ItemWord& word = *now->record.hold;
    list.add(FindingStatus::warning,
             name + " is on hold" + (word.by.empty() ? "" : " by " + word.by) +
                 (word.reason.empty() ? "" : " ('" + word.reason + "')"),
             "fenceline stage release " + id, word.at);
  } else if (now->record.overdue) {
    list.add(FindingStatus::warning,
             name + " waits for " + waits_for(pipeline.spec, *now) + "; no one approved in time",
             "fenceline stage approve " + id, deadline_of(pipeline.spec, *now));
  }
}

}  // namespace

Result<Findings> schedules_late(StateLook& look) {
  FindingList list("schedules_late",
                   "a tick that is due did not fire: no scheduler leads, or the leader cannot fire it",
                   "fenceline schedule list");
  std::optional<bool> led;
  for (const ScheduleRow& row : look.schedules) {
    if (row.paused || row.removed) continue;
    const Result<KnownSchedule> schedule = known(row);
    if (!schedule) {
      list.add(FindingStatus::warning, "schedule " + row.name + " cannot be read here: " + schedule.error().message,
               "fenceline schedule show " + row.name, row.changed_at);
      continue;
    }
    const std::optional<WallTime> due = due_at(*schedule);
    if (!due || *due > look.now) continue;
    const Duration lag = look.now - *due;
    look.looked.numbers.schedule_lag = std::max(look.looked.numbers.schedule_lag, lag);
    if (lag <= kScheduleLate) continue;
    if (!led) {
      const Result<bool> asked = somebody_leads(look);
      if (!asked) return std::unexpected(asked.error());
      led = *asked;
    }
    list.add(lag > kScheduleLateBad ? FindingStatus::bad : FindingStatus::warning,
             "schedule " + row.name + ": the tick of " + moment(*due, look.now) + " is " + rough(lag) + " late",
             *led ? std::string("fenceline locks show ") + kSchedulerLock
                  : "fenceline work " + shell_word(schedule->spec.queue) + " -- CMD",
             *due);
  }
  return look.told(std::move(list),
                   counted(static_cast<std::int64_t>(look.schedules.size()), "schedule") + ", none is late");
}

Result<Findings> schedules_ahead(StateLook& look) {
  FindingList list(
      "schedules_ahead",
      "it fires nothing until the clock gets there: the store's clock was wrong, or someone moved the schedule ahead",
      "fenceline schedule list");
  std::size_t asked = 0;
  for (const ScheduleRow& row : look.schedules) {
    // One that fired ahead of the clock has surely met it; of the others some are looked at.
    const bool met = row.fired_to > look.now + kAheadAllowed || asked++ < kAttemptsAsked;
    if (!row.removed && met && look.has_time()) {
      if (Result<void> judged = judge_skipped(look, list, row); !judged) return std::unexpected(judged.error());
    }
    const WallTime to = std::max(row.resolved_to, row.bar);
    if (row.removed || to <= look.now + kAheadAllowed) continue;
    const Result<KnownSchedule> schedule = known(row);
    if (schedule && next_tick(schedule->spec, schedule->rule, look.now).value_or(WallTime::max()) > to)
      continue;  // no tick is left out
    // Before the bar nothing is remembered, and nothing can be moved back.
    const bool barred = std::max(row.bar, row.counts_from) > look.now + kAheadAllowed;
    list.add(FindingStatus::bad,
             "schedule " + row.name + " has ticks resolved up to " + moment(to, look.now) + ", " +
                 rough(to - look.now) + " ahead of the store's clock",
             barred ? "fenceline schedule remove " + row.name + "  # and add it under another name"
                    : "fenceline schedule rewind " + row.name + " --to " + account_of(look.now, row.counts_from));
  }
  look.looked.numbers.schedules_ahead = list.size();
  return look.told(std::move(list), "no schedule is ahead of the store's clock");
}

Result<Findings> items_on_hold(StateLook& look) {
  FindingList list("items_on_hold", "it does not continue until a person acts", "fenceline board");
  if (look.waiting.empty()) return look.told(std::move(list), "none");
  const Result<KnownPipelines> pipelines = read_pipelines(look.store, look.options.ns);
  // One of a newer version is for that version's doctor.
  if (!pipelines && pipelines.error().code == Code::invalid)
    return look.told(std::move(list), "unknown: " + pipelines.error().message);
  if (!pipelines) return std::unexpected(pipelines.error());
  std::vector<JobId> ids;
  for (const Job& job : look.waiting) {
    if (pipelines->contains(job.queue)) ids.push_back(job.id);
  }
  if (ids.empty()) return look.told(std::move(list), "none");
  const Result<ItemsReply> items = look.store.items({.ns = look.options.ns, .ids = ids});
  if (!items) return std::unexpected(items.error());
  for (const Item& item : items->items) {
    if (const auto pipeline = pipelines->find(item.job.queue); pipeline != pipelines->end())
      judge_item(list, pipeline->second, item);
  }
  look.looked.numbers.items_on_hold = list.size();
  return look.told(std::move(list), "none");
}

}  // namespace fenceline::doctor

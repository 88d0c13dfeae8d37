// What a leader reads: what people changed, and accounts that stand ahead of a clock that came back.
#include <algorithm>
#include <utility>

#include "base/utc_text.hpp"
#include "services/fresh_id.hpp"
#include "services/scheduler.hpp"
#include "services/scheduler_calls.hpp"

namespace fenceline {

bool Scheduler::look() {
  hinted_ = false;
  looked_at_ = runtime_.now();
  again_.merge(contested_);
  if (version_ && looked_at_ - read_all_at_ < options_.read_all_every) return read_changed();
  return read_all();
}

Result<SchedulesReply> Scheduler::ask(SchedulesRequest request) {
  request.ns = options_.ns;
  request.timeout = std::min(kCallTimeout, options_.window);
  const Instant asked = runtime_.now();
  Result<SchedulesReply> reply = store_.schedules(request);
  if (!reply) {
    failed("schedules", reply.error());
    return reply;
  }
  answered();
  heard(asked, reply->now);
  return reply;
}

bool Scheduler::read_all() {
  const Instant began = runtime_.now();
  std::optional<std::int64_t> version;
  std::set<std::string> names;
  for (SchedulesRequest request;;) {
    Result<SchedulesReply> page = ask(request);
    if (!page) return false;
    // Of the first page: what changes while we read is read again.
    if (!version) version = page->version;
    for (ScheduleRow& row : page->schedules) {
      names.insert(row.name);
      request.after = row.name;
      take(std::move(row), page->now);
    }
    if (!page->more) break;
  }
  book_.keep_only(names);
  std::erase_if(unusable_, [&](const auto& one) { return !names.contains(one.first); });
  version_ = version;
  read_all_at_ = began;
  return true;
}

bool Scheduler::read_changed() {
  for (;;) {
    Result<SchedulesReply> page = ask({.changed_after = version_});
    if (!page) return false;
    // The namespace was removed, and began anew.
    if (page->version < *version_) return read_all();
    if (!page->schedules.empty()) version_ = page->schedules.back().version;
    for (ScheduleRow& row : page->schedules) take(std::move(row), page->now);
    if (page->more) continue;
    version_ = page->version;
    return true;
  }
}

bool Scheduler::read_again(const std::vector<std::string>& names, bool unfinished) {
  for (std::size_t from = 0; from < names.size(); from += kSchedulesAtOnceMax) {
    const std::size_t count = std::min(names.size() - from, static_cast<std::size_t>(kSchedulesAtOnceMax));
    const std::vector<std::string> some(names.begin() + static_cast<std::ptrdiff_t>(from),
                                        names.begin() + static_cast<std::ptrdiff_t>(from + count));
    Result<SchedulesReply> reply = ask({.names = some, .unfinished = unfinished});
    if (!reply) return false;
    std::set<std::string> gone(some.begin(), some.end());
    for (ScheduleRow& row : reply->schedules) {
      gone.erase(row.name);
      take(std::move(row), reply->now);
    }
    for (const std::string& name : gone) forget(name);
    for (const std::string& name : some) again_.erase(name);
  }
  return true;
}

void Scheduler::take(ScheduleRow row, WallTime now) {
  const std::string name = row.name;
  if (row.removed) return forget(name);
  if (!row.paused && row.resolved_to > now + kClockStep) ahead_.insert(name);
  if (book_.refresh(row)) return;
  const std::int64_t revision = row.revision;
  const bool paused = row.paused.has_value();
  Result<KnownSchedule> read = known(std::move(row));
  if (read) {
    unusable_.erase(name);
    book_.put(std::move(*read));
    return;
  }
  book_.remove(name);
  if (paused) unusable_.erase(name);  // nobody need fire it
  else cannot_use(name, revision, read.error().message);
}

void Scheduler::heard(Instant asked, WallTime now) {
  if (!time_.heard(asked, runtime_.now(), now)) return;
  log_.warn("store_clock_set_back", {{"owner", options_.owner}, {"now", utc_text(now)}});
  book_.wake();
  for (std::string& name : book_.resolved_after(now + kClockStep)) ahead_.insert(std::move(name));
}

bool Scheduler::mend_ahead(const std::stop_token& stop) {
  while (!ahead_.empty() && lead_.has() && !stop.stop_requested()) {
    const std::string name = *ahead_.begin();
    const KnownSchedule* known = book_.find(name);
    const WallTime now = store_now();
    if (known && !known->row.paused && known->row.resolved_to > now + kClockStep && !take_back_to(*known, now, stop))
      return false;
    ahead_.erase(name);
    lead_.keep();
  }
  return true;
}

// True if there is no more to do about it now.
bool Scheduler::take_back_to(const KnownSchedule& known, WallTime now, const std::stop_token& stop) {
  Result<std::optional<ChangeScheduleRequest>> request = take_back(store_, options_.ns, known, now);
  if (!request) {
    failed("ticks", request.error());
    return false;
  }
  if (!*request) {
    // All that lies ahead fired: it waits until the clock is there again. Nothing does so for a schedule that was made
    // while the clock was far ahead: people remove it and add it again.
    log_.warn("schedule_ahead", {{"schedule", known.row.name},
                                 {"owner", options_.owner},
                                 {"resolved_to", utc_text(known.row.resolved_to)},
                                 {"now", utc_text(now)}});
    return true;
  }
  ChangeScheduleRequest& change = **request;
  change.request = fresh_id(runtime_);
  change.owner = options_.owner;
  change.place = options_.place;
  change.act = {"scheduler", "the clock was set back from " + utc_text(known.row.resolved_to) + " to " + utc_text(now)};
  change.timeout = std::min(kCallTimeout, options_.window);
  Instant asked;
  Result<ChangeScheduleReply> reply = sure(
      [&] {
        asked = runtime_.now();
        return store_.change_schedule(change);
      },
      stop);
  const bool overtaken = !reply && (reply.error().code == Code::conflict || reply.error().code == Code::not_found ||
                                    reply.error().code == Code::refused);
  const bool unusable = !reply && reply.error().code == Code::invalid;
  if (!reply && !overtaken && !unusable) {
    failed("change_schedule", reply.error());
    return false;
  }
  answered();
  if (unusable) cannot_use(known.row.name, known.row.revision, reply.error().message);
  // Somebody else was there before. Read at the next look, and no sooner: what is refused now may always be.
  if (overtaken) contested_.insert(known.row.name);
  if (!reply) return true;
  counters_.rewinds += 1;
  log_.warn("schedule_taken_back", {{"schedule", known.row.name},
                                    {"owner", options_.owner},
                                    {"from", utc_text(change.from)},
                                    {"to", utc_text(change.to)}});
  const WallTime then = reply->now;
  take(std::move(reply->schedule), then);
  heard(asked, then);
  return true;
}

}  // namespace fenceline

#include "services/schedule_book.hpp"

#include <utility>

namespace fenceline {

void ScheduleBook::set_next(const std::string& name, Entry& entry, std::optional<WallTime> next) {
  if (entry.next) by_next_.erase({*entry.next, name});
  entry.next = next;
  if (next) by_next_.emplace(*next, name);
}

void ScheduleBook::put(KnownSchedule known) {
  const std::string name = known.row.name;
  remove(name);
  const std::optional<WallTime> next = due_at(known);
  const auto at = known_.emplace(name, Entry{std::move(known), std::nullopt}).first;
  set_next(name, at->second, next);
}

bool ScheduleBook::refresh(const ScheduleRow& row) {
  const auto at = known_.find(row.name);
  // A store that was set back counts the same revisions once more, for another spec.
  if (at == known_.end() || at->second.known.row.revision != row.revision || at->second.known.row.spec != row.spec)
    return false;
  if (at->second.known.row.fired_to != row.fired_to) at->second.known.fired_ahead.reset();
  at->second.known.row = row;
  set_next(row.name, at->second, due_at(at->second.known));
  return true;
}

void ScheduleBook::moved(const std::string& name, WallTime resolved_to, WallTime fired_to) {
  const auto at = known_.find(name);
  if (at == known_.end()) return;
  if (at->second.known.row.fired_to != fired_to) at->second.known.fired_ahead.reset();
  at->second.known.row.resolved_to = resolved_to;
  at->second.known.row.fired_to = fired_to;
  set_next(name, at->second, due_at(at->second.known));
}

void ScheduleBook::remember(const std::string& name, std::optional<FiredAhead> fired) {
  if (const auto at = known_.find(name); at != known_.end()) at->second.known.fired_ahead = std::move(fired);
}

void ScheduleBook::rest(const std::string& name, WallTime until) {
  if (const auto at = known_.find(name); at != known_.end()) set_next(name, at->second, until);
}

void ScheduleBook::wake() {
  for (auto& [name, entry] : known_) {
    entry.known.fired_ahead.reset();
    set_next(name, entry, due_at(entry.known));
  }
}

void ScheduleBook::remove(const std::string& name) {
  const auto at = known_.find(name);
  if (at == known_.end()) return;
  set_next(name, at->second, std::nullopt);
  known_.erase(at);
}

void ScheduleBook::keep_only(const std::set<std::string>& names) {
  std::vector<std::string> gone;
  for (const auto& [name, entry] : known_) {
    if (!names.contains(name)) gone.push_back(name);
  }
  for (const std::string& name : gone) remove(name);
}

const KnownSchedule* ScheduleBook::find(const std::string& name) const {
  const auto at = known_.find(name);
  return at == known_.end() ? nullptr : &at->second.known;
}

std::optional<WallTime> ScheduleBook::next() const {
  return by_next_.empty() ? std::nullopt : std::optional(by_next_.begin()->first);
}

std::vector<std::string> ScheduleBook::due(WallTime now, std::size_t most) const {
  std::vector<std::string> names;
  for (const auto& [at, name] : by_next_) {
    if (at > now || names.size() == most) break;
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> ScheduleBook::resolved_after(WallTime when) const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : known_) {
    if (!entry.known.row.paused && entry.known.row.resolved_to > when) names.push_back(name);
  }
  return names;
}

}  // namespace fenceline

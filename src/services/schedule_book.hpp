// The schedules of a namespace as a leader keeps them in mind: what each is, where its account stands, and whose tick
// is next.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "services/schedule_steps.hpp"

namespace fenceline {

class ScheduleBook {
 public:
  void put(KnownSchedule known);
  // The same schedule under the same revision, read again. False if it is not known, or under another one.
  bool refresh(const ScheduleRow& row);
  // Its account stands there.
  void moved(const std::string& name, WallTime resolved_to, WallTime fired_to);
  // What fired ahead of its account; nothing: that is not known any more.
  void remember(const std::string& name, std::optional<FiredAhead> fired);
  // It is not due before that moment of the store.
  void rest(const std::string& name, WallTime until);
  // None rests any longer, and nobody knows what fired ahead: the store's clock was set back.
  void wake();
  void remove(const std::string& name);
  // All but these.
  void keep_only(const std::set<std::string>& names);

  const KnownSchedule* find(const std::string& name) const;
  std::size_t size() const { return known_.size(); }
  std::optional<WallTime> next() const;
  // By instant, then name.
  std::vector<std::string> due(WallTime now, std::size_t most) const;
  // Those whose account stands after that moment, and that are not paused.
  std::vector<std::string> resolved_after(WallTime when) const;

 private:
  struct Entry {
    KnownSchedule known;
    std::optional<WallTime> next;
  };
  using Entries = std::map<std::string, Entry>;

  void set_next(const std::string& name, Entry& entry, std::optional<WallTime> next);

  Entries known_;
  std::set<std::pair<WallTime, std::string>> by_next_;
};

}  // namespace fenceline

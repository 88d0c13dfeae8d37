#include "tracker/hints.hpp"

#include <algorithm>
#include <tuple>

namespace fenceline::tracker {

void Hints::heard(const ItemId& item, Instant first) {
  const std::scoped_lock lock(mutex_);
  const auto found = items_.find(item);
  if (found != items_.end()) {
    // What was not looked at yet stays where it is: else one that is heard of again and again is never looked at. Nor
    // is it looked at all the time.
    Watched& watched = found->second;
    if (watched.look > 0)
      watched = {.first = std::max(first, watched.first + kHintLooks[1]), .look = 0, .known = watched.known};
    return;
  }
  if (items_.size() < kHintsMost) items_.emplace(item, Watched{.first = first, .look = 0, .known = std::nullopt});
}

Instant Hints::free_at(Instant now) const {
  if (static_cast<int>(looks_.size()) < kHintLooksAMinute) return now;
  return *(looks_.end() - kHintLooksAMinute) + std::chrono::minutes{1};
}

std::vector<ItemId> Hints::due(Instant now) {
  const std::scoped_lock lock(mutex_);
  while (!looks_.empty() && looks_.front() + std::chrono::minutes{1} <= now) looks_.pop_front();
  std::vector<std::tuple<std::size_t, Instant, ItemId>> ready;
  for (const auto& [item, watched] : items_) {
    if (const Instant at = watched.first + kHintLooks[watched.look]; at <= now)
      ready.emplace_back(watched.look, at, item);
  }
  std::ranges::sort(ready);  // first those that nobody has looked at, then who waits longest
  std::vector<ItemId> items;
  for (const auto& [look, at, item] : ready) {
    if (free_at(now) > now) break;
    looks_.push_back(now);
    items.push_back(item);
  }
  return items;
}

void Hints::shown(const ItemId& item, std::optional<WallTime> updated_at, std::optional<WallTime> known) {
  const std::scoped_lock lock(mutex_);
  const auto found = items_.find(item);
  if (found == items_.end()) return;
  Watched& watched = found->second;
  if (!watched.known) watched.known = known;
  const bool newer = updated_at && watched.known && *updated_at > *watched.known;
  if (!watched.known) watched.known = updated_at;
  if (newer || ++watched.look == kHintLooks.size()) items_.erase(found);
}

void Hints::forget(const ItemId& item) {
  const std::scoped_lock lock(mutex_);
  items_.erase(item);
}

Instant Hints::next(Instant now) const {
  const std::scoped_lock lock(mutex_);
  Instant next = Instant::max();
  for (const auto& [item, watched] : items_) next = std::min(next, watched.first + kHintLooks[watched.look]);
  return next == Instant::max() ? next : std::max(next, free_at(now));
}

}  // namespace fenceline::tracker

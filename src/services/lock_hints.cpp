#include "services/lock_hints.hpp"

#include <algorithm>
#include <utility>

namespace fenceline {
namespace {

// Watches that nobody needs just now are kept for the next one who waits there: so a hand-over to and fro makes none.
constexpr std::ptrdiff_t kIdleWatchesMost = 8;

}  // namespace

std::optional<LockHints::Mark> LockHints::mark(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto entry = names_.find(name);
  return entry != names_.end() && entry->second.watch ? std::optional(entry->second.mark) : std::nullopt;
}

std::optional<LockHints::Mark> LockHints::listen(const std::string& name, const ListenerPtr& listener) {
  {
    const std::lock_guard lock(mutex_);
    Name& entry = names_[name];
    entry.listeners.push_back(listener);
    if (entry.watch) return entry.mark;
  }
  std::unique_ptr<Watch> made =
      store_.watch({.ns = ns_, .queues = {}, .stage = {}, .locks = {name}}, [this, name] { tell(name); });
  const std::lock_guard lock(
      mutex_);  // goes before `made`: a second watch that was made at the same time goes away without it
  const auto entry = names_.find(name);
  if (entry == names_.end() || entry->second.watch) return std::nullopt;
  entry->second.watch = std::move(made);
  entry->second.mark = {.watch = ++watches_, .told = 0};
  return std::nullopt;
}

void LockHints::unlisten(const std::string& name, const ListenerPtr& listener) {
  std::unique_ptr<Watch> dropped;  // goes away after the mutex: it may wait for a call of tell()
  const std::lock_guard lock(mutex_);
  const auto entry = names_.find(name);
  if (entry == names_.end()) return;
  std::erase(entry->second.listeners, listener);
  if (!entry->second.listeners.empty()) return;
  entry->second.left_at = ++leavings_;
  const auto idle = [](const auto& any) { return any.second.listeners.empty(); };
  if (std::ranges::count_if(names_, idle) <= kIdleWatchesMost) return;
  const auto oldest = std::ranges::min_element(
      names_, {}, [&](const auto& any) { return idle(any) ? any.second.left_at : UINT64_MAX; });
  dropped = std::move(oldest->second.watch);
  names_.erase(oldest);
}

void LockHints::tell(const std::string& name) {
  std::vector<ListenerPtr> told;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = names_.find(name);
    if (entry == names_.end()) return;
    entry->second.mark.told += 1;
    told = entry->second.listeners;
  }
  for (const ListenerPtr& listener : told) {
    const std::int64_t hints = listener->hints += 1;
    if (hints >= listener->wake_at) listener->event->notify();
  }
}

}  // namespace fenceline

#include "services/lock_parts.hpp"

#include <utility>

#include "services/lock_attendant.hpp"
#include "services/lock_keeper.hpp"
#include "services/lock_trust_watch.hpp"

namespace fenceline {

LockParts::LockParts(Runtime& the_runtime, Log the_log, Store& the_store, LockClientOptions the_options)
    : runtime(the_runtime),
      log(the_log),
      store(the_store),
      options(std::move(the_options)),
      turns(the_runtime),
      hints(the_store, options.ns),
      watch(the_runtime.make_event()),
      attendant(the_runtime.make_event()) {
  for (std::unique_ptr<Event>& keeper : keepers) keeper = runtime.make_event();
}

void LockParts::add(const LockStatePtr& state) {
  const std::size_t keeper = keeper_of(state->times.ttl);
  // First those who look after it: a task finds what is there when it begins. Whoever comes second need not wait for
  // them.
  if (state->renewable() && !keeps_[keeper].exchange(true)) {
    keeper_tasks_[keeper] = runtime.spawn(
        "lock_keeper", [this, keeper](std::stop_token stop) { LockKeeper(*this, keeper).keep(std::move(stop)); });
  }
  start_attending();
  const LockHoldings::Sleepers sleepers = holdings.add(state, runtime.now());
  if (sleepers.keeper) keepers[keeper]->notify();
  if (sleepers.watch) watch->notify();
  if (sleepers.attendant) attendant->notify();
}

void LockParts::start_attending() {
  if (attends_.exchange(true)) return;
  watch_task_ =
      runtime.spawn("lock_watch", [this](std::stop_token stop) { LockTrustWatch(*this).watch(std::move(stop)); });
  attendant_task_ =
      runtime.spawn("lock_attendant", [this](std::stop_token stop) { LockAttendant(*this).attend(std::move(stop)); });
}

void LockParts::give_to_attendant(Unanswered unanswered) {
  start_attending();
  {
    const std::lock_guard lock(mutex_);
    unanswered_.push_back(std::move(unanswered));
  }
  attendant->notify();
}

std::deque<Unanswered> LockParts::take_unanswered() {
  const std::lock_guard lock(mutex_);
  return std::exchange(unanswered_, {});
}

void LockParts::will_be_free() {
  const std::int64_t now = releases += 1;
  if (now == 1 || now == kReleasesBeforeTidy) attendant->notify();  // to plan the next tidy, and to tidy
}

void LockParts::log_lost(const LockState& state, const std::string& why) {
  counts.lost += 1;
  log.warn("lock_lost", {{"lock", state.resource()},
                         {"owner", state.owner},
                         {"place", options.place},
                         {"fence", state.fence()},
                         {"why", why}});
}

}  // namespace fenceline

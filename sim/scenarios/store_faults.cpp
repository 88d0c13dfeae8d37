// What befalls the store: it crashes and loses what its class may lose, is replaced by an old snapshot or by an empty
// one, and its wall clock is set back.
#include <iterator>
#include <utility>

#include "sim/scenarios/world.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSnapshotsMost = 8;
// What comes after the last fence: 2^53 microseconds of wall time.
constexpr WallTime kPastTheLastFence{Duration{kFenceMax + 1}};

}  // namespace

void World::begin_store_faults() {
  every(weather_.crash_every, [this] { crash_store(); });
  if (weather_.restore_every != Duration{0}) {
    every(weather_.restore_age_most / kSnapshotsMost, [this] {
      snapshots_[simulation_.now()] = keep();
      if (snapshots_.size() > kSnapshotsMost) snapshots_.erase(snapshots_.begin());
    });
  }
  every(weather_.restore_every, [this] { restore_store(); });
  every(weather_.amnesia_every, [this] {
    if (store_fault_) return;
    tally_.add(Count::amnesias);
    simulation_.trace().write(simulation_.now(), "store", "comes back empty");
    snapshots_.clear();
    MemoryStore empty(store_clock_);
    go_back_to({.store = empty.snapshot(), .truth = {}, .locks = {}, .schedules = {}, .operations = 0},
               GuaranteeClass::c);
    restart_store();
  });
  every(weather_.wall_back_every, [this] { set_store_clock_back(); });
  every(weather_.server_ahead_every, [this] { set_server_clock_ahead(); });
  if (plan_.fences_end)
    simulation_.after(simulation_.random().between(Duration{0}, plan_.storm), [this] { pass_the_last_fence(); });
}

World::Kept World::keep() const {
  return {memory_->snapshot(), checks_->truth(), lock_checks_->truth(), schedule_checks_->truth(),
          tally_.of(Count::operations)};
}

void World::go_back_to(const Kept& kept, GuaranteeClass guarantee) {
  const std::int64_t gone = tally_.of(Count::operations) - kept.operations;
  tally_.add(guarantee <= GuaranteeClass::b ? Count::calls_unsaved : Count::calls_forgotten, gone);
  memory_->restore(*kept.store);
  checks_->went_back(kept.truth, guarantee);
  lock_checks_->went_back(kept.locks, guarantee);
  schedule_checks_->went_back(kept.schedules);
  checks_->compare_all(store_clock_.now());
  lock_checks_->compare_all(store_clock_.now());
  if (simulation_.trace().on())
    simulation_.trace().write(simulation_.now(), "store", "has lost " + std::to_string(gone) + " calls");
}

// From now on nothing is saved, and in a moment it crashes. A store of class B does not answer before it has saved, so
// what it loses nobody was told of. A store that cannot go back has saved all of it and only not answered.
void World::crash_store() {
  if (store_fault_) return;
  store_fault_ = true;
  Random& random = simulation_.random();
  const bool loses = memory_ && random.chance(0.8);
  const std::shared_ptr<const Kept> kept = loses ? std::make_shared<const Kept>(keep()) : nullptr;
  if (plan_.guarantee <= GuaranteeClass::b) server_.hold_answers();
  simulation_.after(random.between(Duration{0}, weather_.unsaved_most), [this, kept] {
    if (!storm_) {
      store_fault_ = false;
      return server_.send_answers();
    }
    tally_.add(Count::store_crashes);
    simulation_.trace().write(simulation_.now(), "store", "crashes");
    server_.drop_answers();
    if (kept) {
      go_back_to(*kept, plan_.guarantee);
      snapshots_.erase(snapshots_.upper_bound(simulation_.now() - weather_.unsaved_most), snapshots_.end());
    }
    restart_store();
  });
}

void World::restart_store() {
  store_fault_ = true;
  server_.go_down();
  simulation_.after(simulation_.random().between(Duration{1ms}, std::max<Duration>(1ms, weather_.down_most)), [this] {
    server_.come_up();
    store_fault_ = false;
    simulation_.trace().write(simulation_.now(), "store", "is there again");
  });
}

// The machine that it is restored on may have a clock of its own.
void World::restore_store() {
  if (store_fault_ || snapshots_.empty()) return;
  Random& random = simulation_.random();
  tally_.add(Count::restores);
  simulation_.trace().write(simulation_.now(), "store", "is restored from a snapshot");
  const auto chosen = std::next(snapshots_.begin(), static_cast<std::ptrdiff_t>(random.below(snapshots_.size())));
  go_back_to(chosen->second, GuaranteeClass::c);
  snapshots_.erase(std::next(chosen), snapshots_.end());  // what they hold has never been
  if (weather_.wall_back_most != Duration{0} && random.chance(0.2)) set_store_clock_back();
  restart_store();
}

void World::set_store_clock_back() {
  tally_.add(Count::wall_set_back);
  const Duration by = simulation_.random().between(Duration{1}, weather_.wall_back_most);
  store_machine_.jump_wall(-by);
  if (simulation_.trace().on())
    simulation_.trace().write(simulation_.now(), "store",
                              "has its wall clock set back by " + std::to_string(by.count()) + " us");
}

// Leases run on it: those of before end at once, and those that are granted meanwhile are open when it comes back.
void World::set_server_clock_ahead() {
  if (server_is_ahead_) return;
  Random& random = simulation_.random();
  const Duration by = random.between(plan_.ttl, weather_.server_ahead_most);
  server_is_ahead_ = true;
  tally_.add(Count::server_ahead);
  store_clock_.shift(by);
  lock_checks_->clock_went_ahead();
  simulation_.trace().write(simulation_.now(), "store", "has its clock set ahead");
  simulation_.after(random.between(Duration{1}, 6 * plan_.ttl), [this, by] {
    tally_.add(Count::server_back);
    store_clock_.shift(-by);
    lock_checks_->clock_came_back();
    server_is_ahead_ = false;
    simulation_.trace().write(simulation_.now(), "store", "has its clock set right again");
  });
}

// Then someone sets the clock, as the refusal says, and makes due what was enqueued meanwhile: its time would never
// come.
void World::pass_the_last_fence() {
  if (!storm_) return;
  const Duration past = kPastTheLastFence - store_clock_.wall_now() + simulation_.random().between(Duration{0}, 1h);
  tally_.add(Count::wall_leaps);
  store_machine_.jump_wall(past);
  simulation_.trace().write(simulation_.now(), "store", "has a wall clock past the last fence");
  simulation_.after(simulation_.random().between(Duration{0}, 4 * plan_.ttl), [this, past] {
    store_machine_.jump_wall(-past);
    simulation_.trace().write(simulation_.now(), "store", "has its clock set right");
    ActRequest request{.ns = std::string(kNamespace), .request = fresh_request(), .act = {"sim", "the clock is right"}};
    for (const auto& [id, job] : checks_->jobs()) {
      if (job.state == JobState::ready && job.run_at >= kPastTheLastFence) request.ids.push_back(id);
    }
    if (!request.ids.empty() && !own().retry(request))
      violations_.add("J8", "what was enqueued past the last fence cannot be retried");
  });
}

}  // namespace fenceline::sim

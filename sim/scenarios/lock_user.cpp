#include "sim/scenarios/lock_user.hpp"

#include <algorithm>
#include <utility>

#include "fenceline/election.hpp"
#include "fenceline/loop_lock.hpp"

namespace fenceline::sim {

using namespace std::chrono_literals;

LockUser::LockUser(World& world, SimRuntime& process, LockClient& client, int number)
    : world_(world),
      process_(process),
      client_(client),
      name_(process.machine().name() + "/" + std::to_string(number)) {}

bool LockUser::chance(double share) { return world_.simulation().random().chance(share); }

void LockUser::run(std::stop_token stop) {
  const LockWork& plan = world_.plan().locks;
  while (!stop.stop_requested()) {
    if (chance(plan.loops)) sweep(stop);
    else if (chance(plan.elections)) lead(stop);
    else take_one(stop);
    process_.sleep_for(world_.simulation().random().between(Duration{0}, plan.rests_most), stop);
  }
}

LockOptions LockUser::some_options() {
  const Plan& plan = world_.plan();
  const LockWork& work = plan.locks;
  Random& random = world_.simulation().random();
  const auto names = static_cast<std::size_t>(work.names);
  const std::size_t first = random.below(names);
  LockOptions options{.names = {"lock-" + std::to_string(first)}, .ttl = plan.ttl};
  options.wait = world_.storm() ? random.between(Duration{0}, work.waits_most) : Duration{1h};
  if (chance(work.slotted)) {
    options.names = {"slots"};
    options.slots = work.slots;
  } else if (names > 1 && chance(work.several)) {
    options.names.push_back("lock-" + std::to_string((first + 1) % names));
    if (names > 2 && chance(0.3)) options.names.push_back("lock-" + std::to_string((first + 2) % names));
  }
  if (options.slots == 1 && chance(work.shared)) options.mode = LockMode::shared;
  if (options.mode == LockMode::exclusive && chance(work.at_least))
    options.hold_at_least = random.between(Duration{1}, plan.ttl);
  if (options.mode == LockMode::exclusive && chance(work.delayed))
    options.delay = random.between(Duration{1}, plan.ttl);
  if (world_.storm() && chance(work.retries)) options.contention = Contention::retry;
  if (world_.storm() && chance(work.skips)) options.contention = Contention::skip;
  return options;
}

Duration LockUser::some_work() {
  return world_.simulation().random().between(Duration{0},
                                              world_.storm() ? world_.plan().locks.works_most : world_.plan().ttl / 4);
}

void LockUser::check_code(const Error& error) {
  const Code code = error.code;
  if (code == Code::held || code == Code::unavailable || code == Code::in_doubt || code == Code::lost) return;
  world_.violations().add("lock",
                          process_.name() + " was answered " + std::string(to_string(code)) + ": " + error.message);
}

void LockUser::take_one(std::stop_token stop) {
  Result<HeldLock> held = client_.acquire(some_options(), stop);
  if (!held) return check_code(held.error());
  if (chance(world_.plan().locks.entered_again)) {
    Result<HeldLock> again = held->enter();
    if (again) {
      world_.tally().add(Count::locks_entered_again);
      if (again->fence() != held->fence())
        world_.violations().add("L1", name_ + " entered a lock again under another fence");
      act_under(*again, some_work());
      give_back(*again);
    } else {
      check_code(again.error());
    }
  }
  act_under(*held, some_work());
  if (!held->lost()) world_.served(name_);
  if (chance(world_.storm() ? world_.plan().locks.abandons : 0)) return;
  give_back(*held);
}

void LockUser::sweep(std::stop_token stop) {
  const Plan& plan = world_.plan();
  LoopLock loop(client_, {.names = {"loop-" + std::to_string(world_.simulation().random().below(
                                                  static_cast<std::size_t>(plan.locks.names)))},
                          .ttl = plan.ttl});
  const Result<bool> ran = loop.run_once([&](const HeldLock& held) { act_under(held, some_work()); }, stop);
  if (!ran) return check_code(ran.error());
  world_.served(name_);
}

void LockUser::lead(std::stop_token stop) {
  Election election(client_, {.name = "chief", .ttl = world_.plan().ttl});
  const Result<TermEnd> end = election.serve(
      [&](const Term& term) {
        world_.tally().add(Count::terms);
        if (term.number != term.held.fence()) world_.violations().add("L1", "a term has another number than its fence");
        if (chance(0.2)) election.step_down();
        act_under(term.held, some_work());
        if (!term.held.lost()) world_.served(name_);
      },
      stop);
  if (!end) check_code(end.error());
}

void LockUser::act(const HeldLock& held) {
  for (const LockGrant& grant : held.grants())
    world_.locks().acts(process_, {grant.resource, held.owner(), grant.fence});
}

void LockUser::act_under(const HeldLock& held, Duration takes) {
  for (const LockGrant& grant : held.grants())
    world_.locks().has_handle({grant.resource, held.owner(), grant.fence}, held.stop());
  const Instant end = process_.now() + takes;
  while (true) {
    const bool off = !held.held();
    if (!off) act(held);
    if (held.lost()) {
      world_.tally().add(Count::locks_lost);
      // It looks once more, later: what was lost stays lost.
      process_.sleep_for(world_.plan().ttl / 5, {});
      if (held.held())
        world_.violations().add("L4", name_ + " holds " + held.resource() + " again under a handle that had lost it");
      return;
    }
    if (held.stop().stop_requested()) return;
    // Its fibers may run in any order after a pause: nobody can tell them while they are stopped.
    const bool was_paused = process_.resumed_at() != Instant{} &&
                            process_.simulation().now() - process_.resumed_at() < times_of(held).grace;
    const Instant told_by = trust_of(held).until() - times_of(held).grace / 2;
    if ((off || process_.now() >= told_by) && !was_paused)
      world_.violations().add("L5", name_ + " was not told in time that its trust in " + held.resource() + " ends");
    if (off || process_.now() >= end) return;
    const Instant next_act = process_.now() + world_.plan().ttl / 5;
    process_.sleep_until(std::min({end, next_act, told_by > process_.now() ? told_by : next_act}), held.stop());
  }
}

void LockUser::give_back(HeldLock& held) {
  std::vector<LockHolding> locks;
  for (const LockGrant& grant : held.grants()) locks.push_back({grant.resource, held.owner(), grant.fence});
  const bool last = !held.stop().stop_requested();
  const Result<void> released = held.release();
  if (held.held()) world_.violations().add("L5", name_ + " holds " + locks.front().resource + " after it released it");
  if (!released) return check_code(released.error());
  // Of one that was entered again only the last handle tells the store.
  if (!last || !held.stop().stop_requested()) return;
  for (const LockHolding& lock : locks) world_.locks().says_released(process_, lock);
}

}  // namespace fenceline::sim

// Locks, each scenario another way in which people use them. The hosts want locks in place of jobs; the lock client is
// the real one.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

// Nothing but locks.
Plan lock_plan(Random& random, Duration ttl, int hosts, const Weather& weather, LockWork work) {
  if (work.works_most == Duration{0}) work.works_most = 2 * ttl;
  if (work.rests_most == Duration{0}) work.rests_most = ttl / 4;
  if (work.waits_most == Duration{0}) work.waits_most = 4 * ttl;
  if (work.tidy_every == Duration{0}) work.tidy_every = 10min;
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 3)),
      .queues = 0,
      .ttl = ttl,
      .producers = 0,
      .jobs = 0,
      .locks = work,
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 16,
  };
}

int some_hosts(Random& random) { return static_cast<int>(random.between(2, 4)); }

// Everything arrives, a little late.
Weather fine_weather(Duration ttl) {
  return {.delay_most = ttl / 200, .queue_most = ttl / 200, .restart_most = ttl / 2};
}

Plan under_chaos(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = some_hosts(random);
  Weather weather = rough_weather(ttl, 0.05, hosts);
  weather.suspend_every = 20 * ttl;
  if (random.chance(0.5)) {
    weather.crash_every = 10 * ttl;
    weather.unsaved_most = ttl / 10;
    weather.down_most = ttl / 2;
  }
  if (random.chance(0.3)) weather.queue_most = ttl / 20;
  if (random.chance(0.3)) {
    weather.wall_jump_every = 4 * ttl;
    weather.wall_jump_most = 1h;
  }
  return lock_plan(random, ttl, hosts, weather,
                   {.names = static_cast<int>(random.between(1, 3)),
                    .shared = 0.1,
                    .several = 0.1,
                    .slotted = 0.1,
                    .loops = 0.1,
                    .at_least = 0.1,
                    .delayed = 0.1,
                    .skips = 0.1,
                    .retries = 0.2,
                    .entered_again = 0.1,
                    .abandons = 0.05,
                    .break_every = 8 * ttl});
}

Plan fairness(Random& random) {
  const Duration ttl = some_ttl(random);
  Plan plan =
      lock_plan(random, ttl, static_cast<int>(random.between(3, 6)), fine_weather(ttl),
                {.names = 1, .works_most = ttl / 2, .rests_most = ttl / 10, .waits_most = 1h, .nothing_lost = true});
  plan.concurrency = 1;
  return plan;
}

Plan hand_over(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(3, 5));
  Weather weather = rough_weather(ttl, 0.02, hosts);
  weather.drop_wakeup = random.chance(0.5) ? 1.0 : 0.2;
  return lock_plan(random, ttl, hosts, weather, {.names = 1, .waits_most = 20 * ttl});
}

Plan loop_window(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = some_hosts(random);
  return lock_plan(
      random, ttl, hosts, rough_weather(ttl, 0.05, hosts),
      {.names = 1, .loops = 1, .works_most = ttl, .break_every = random.chance(0.5) ? 10 * ttl : Duration{0}});
}

Plan hold_at_least(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = some_hosts(random);
  return lock_plan(random, ttl, hosts, rough_weather(ttl, 0.03, hosts),
                   {.names = 2, .at_least = 0.8, .skips = 0.3, .works_most = ttl / 4});
}

Plan lock_delay(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = some_hosts(random);
  return lock_plan(random, ttl, hosts, rough_weather(ttl, 0.05, hosts), {.names = 2, .delayed = 0.8, .abandons = 0.3});
}

Plan layered(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(1, 3));
  const bool rough = random.chance(0.5);
  Plan plan = lock_plan(random, ttl, hosts, rough ? rough_weather(ttl, 0.03, hosts) : fine_weather(ttl),
                        {.names = 1,
                         .entered_again = 0.3,
                         .works_most = ttl / 4,
                         .waits_most = rough ? 8 * ttl : Duration{1h},
                         .nothing_lost = !rough});
  plan.concurrency = static_cast<int>(random.between(4, 8));
  return plan;
}

Plan shared_and_several_holders(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = some_hosts(random);
  return lock_plan(random, ttl, hosts, rough_weather(ttl, 0.03, hosts),
                   {.names = 1,
                    .shared = 0.6,
                    .slotted = 0.5,
                    .slots = static_cast<int>(random.between(2, 3)),
                    .break_every = 20 * ttl});
}

Plan several_at_once(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = some_hosts(random);
  return lock_plan(random, ttl, hosts, rough_weather(ttl, 0.03, hosts),
                   {.names = 3, .shared = 0.2, .several = 0.7, .works_most = ttl});
}

Plan elections(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = some_hosts(random);
  Plan plan = lock_plan(random, ttl, hosts, rough_weather(ttl, 0.04, hosts),
                        {.names = 1, .elections = 1, .works_most = 4 * ttl, .break_every = 15 * ttl});
  plan.concurrency = 1;
  return plan;
}

// Many names, each seldom wanted: most of them are forgotten in between, while the store's clock is set back.
Plan long_free(Random& random) {
  constexpr Duration kTtl = 10s;
  const int hosts = some_hosts(random);
  Weather weather = bad_messages(kTtl, 0.03);
  weather.kill_every = 20min;
  weather.wall_back_every = 20min;
  weather.wall_back_most = 2h;
  Plan plan =
      lock_plan(random, kTtl, hosts, weather,
                {.names = 40, .shared = 0.1, .slotted = 0.1, .at_least = 0.1, .rests_most = 5min, .tidy_every = 1min});
  plan.storm = 3h;
  return plan;
}

// The store loses its last moments: leases of that tail are trusted in vain, and new fences are above them all the
// same.
Plan forgotten(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = some_hosts(random);
  Weather weather = rough_weather(ttl, 0.03, hosts);
  weather.crash_every = 6 * ttl;
  weather.unsaved_most = ttl;
  weather.down_most = ttl / 4;
  Plan plan = lock_plan(random, ttl, hosts, weather, {.names = 2, .shared = 0.1, .loops = 0.1});
  plan.guarantee = GuaranteeClass::c;
  return plan;
}

// The clock that leases run on, as a database server's does, is set ahead by up to an hour and comes back while leases
// of that time are open; their holders die. Nobody waits for them longer than one ttl.
Plan clock_of_a_server(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = some_hosts(random);
  Weather weather = rough_weather(ttl, 0.02, hosts);
  weather.server_ahead_every = 8 * ttl;
  weather.server_ahead_most = 1h;
  return lock_plan(random, ttl, hosts, weather,
                   {.names = static_cast<int>(random.between(1, 2)),
                    .shared = 0.2,
                    .slotted = 0.1,
                    .loops = 0.1,
                    .elections = random.chance(0.3) ? 0.5 : 0.0,
                    .at_least = 0.1,
                    .delayed = 0.1,
                    .abandons = 0.3});
}

std::vector<Count> lock_counts(std::vector<Count> and_these) {
  for (const Count what : {Count::locks_granted, Count::locks_released, Count::lock_acts, Count::lock_waits})
    and_these.push_back(what);
  return and_these;
}

std::vector<Count> rough_lock_counts(std::vector<Count> and_these) {
  for (const Count what : {Count::lock_takeovers, Count::lock_renewals, Count::lock_refusals, Count::locks_withdrawn,
                           Count::locks_lost, Count::lost_requests, Count::lost_replies, Count::late_requests,
                           Count::duplicates, Count::kills, Count::pauses, Count::twins})
    and_these.push_back(what);
  return lock_counts(std::move(and_these));
}

}  // namespace

const Scenario lock_under_chaos{
    .name = "lock-under-chaos",
    .summary = "locks of every kind, and everything goes wrong around them",
    .plan = under_chaos,
    .owes = rough_lock_counts({Count::lock_turns, Count::lock_handovers, Count::lock_bars, Count::lock_delays,
                               Count::lock_windows, Count::locks_joined, Count::lock_slots, Count::locks_several,
                               Count::lock_repeats, Count::locks_broken, Count::store_crashes, Count::suspends,
                               Count::locks_entered_again})};

const Scenario lock_fairness{.name = "lock-fairness",
                             .summary = "many wait for one lock, nothing is lost, and nobody is overtaken",
                             .plan = fairness,
                             .owes = lock_counts({Count::lock_handovers, Count::lock_renewals, Count::lock_turns})};

const Scenario lock_hand_over{.name = "lock-hand-over",
                              .summary = "waiters and holders die, wake-ups get lost, and the lock goes on",
                              .plan = hand_over,
                              .owes = rough_lock_counts({Count::lock_handovers, Count::lock_turns,
                                                         Count::lock_turns_passed, Count::lost_wakeups})};

const Scenario lock_loop_window{
    .name = "loop-window",
    .summary = "sweeps that run once in a window, whoever dies",
    .plan = loop_window,
    .owes = {Count::lock_windows, Count::lock_takeovers, Count::lock_waits, Count::lock_repeats, Count::locks_broken,
             Count::lock_acts, Count::kills, Count::lost_replies}};

const Scenario lock_hold_at_least{.name = "hold-at-least",
                                  .summary = "short tasks that hold their lock for a while",
                                  .plan = hold_at_least,
                                  .owes = rough_lock_counts({Count::lock_bars})};

const Scenario lock_delayed{.name = "lock-delay",
                            .summary = "locks that rest after a loss",
                            .plan = lock_delay,
                            .owes = rough_lock_counts({Count::lock_delays})};

const Scenario lock_layered{.name = "lock-layered",
                            .summary = "many threads of few processes want one lock",
                            .plan = layered,
                            .owes = rough_lock_counts({Count::lock_handovers, Count::locks_entered_again})};

const Scenario lock_shared{
    .name = "lock-shared",
    .summary = "shared locks and locks of several holders at a time",
    .plan = shared_and_several_holders,
    .owes = rough_lock_counts({Count::locks_joined, Count::lock_slots, Count::lock_turns, Count::lock_handovers})};

const Scenario lock_several{
    .name = "lock-several",
    .summary = "several locks at once, all or none",
    .plan = several_at_once,
    .owes = rough_lock_counts({Count::locks_several, Count::lock_handovers, Count::lock_turns})};

const Scenario lock_election{.name = "election",
                             .summary = "one leader at a time, by terms",
                             .plan = elections,
                             .owes = rough_lock_counts({Count::terms, Count::locks_broken})};

const Scenario lock_retention{.name = "lock-retention",
                              .summary = "locks that are free for long are forgotten, and their fences are not",
                              .plan = long_free,
                              .owes = lock_counts({Count::locks_tidied, Count::wall_set_back, Count::lock_takeovers})};

const Scenario server_clock{
    .name = "server-clock",
    .summary = "the server's clock goes ahead and comes back, with leases open",
    .plan = clock_of_a_server,
    .owes = rough_lock_counts({Count::server_ahead, Count::server_back, Count::leases_brought_back, Count::lock_bars,
                               Count::lock_windows, Count::locks_joined})};

const Scenario lock_forgotten{.name = "lock-forgotten",
                              .summary = "a store that forgets its last moments, locks among them",
                              .plan = forgotten,
                              .owes = rough_lock_counts({Count::store_crashes, Count::calls_forgotten})};

}  // namespace fenceline::sim

// Every scenario there is, each in a file of its own.
#pragma once

#include "sim/scenarios/scenario.hpp"

namespace fenceline::sim {

extern const Scenario lease_expiry;
extern const Scenario job_storm;
extern const Scenario poison;
extern const Scenario retry_storm;
extern const Scenario groups_and_limits;
extern const Scenario unique_keys;
extern const Scenario cancel_against_completion;
extern const Scenario graceful_stop;
extern const Scenario pause_and_resume;
extern const Scenario fleet_restart;
extern const Scenario retention;
extern const Scenario clock_chaos;
extern const Scenario lost_wakeups;
extern const Scenario slow_renewals;
extern const Scenario store_crash;
extern const Scenario forgetful_store;
extern const Scenario restored_snapshot;
extern const Scenario amnesia;
extern const Scenario store_clock_back;
extern const Scenario large_numbers;
extern const Scenario healthy_core;
extern const Scenario effects;
extern const Scenario gates;
extern const Scenario lock_under_chaos;
extern const Scenario lock_fairness;
extern const Scenario lock_hand_over;
extern const Scenario lock_loop_window;
extern const Scenario lock_hold_at_least;
extern const Scenario lock_delayed;
extern const Scenario lock_layered;
extern const Scenario lock_shared;
extern const Scenario lock_several;
extern const Scenario lock_election;
extern const Scenario lock_retention;
extern const Scenario lock_forgotten;
extern const Scenario server_clock;
extern const Scenario schedule_week;
extern const Scenario schedule_clocks;
extern const Scenario schedule_hour;
extern const Scenario schedule_workers;
extern const Scenario pipeline;
extern const Scenario tracker_backlog;

// Messages get lost, late and doubled, each about as often as `badness` says.
inline Weather bad_messages(Duration ttl, double badness) {
  return {.drop_request = badness,
          .refuse_request = badness,
          .drop_reply = badness,
          .late_request = badness / 2,
          .duplicate = badness,
          .drop_wakeup = 0.3,
          .delay_most = ttl / 80,
          .restart_most = ttl,
          .delay_at_step = 0.05,
          .step_delay_most = ttl / 100};
}

// The same, and processes are killed, stopped and asked to stop.
inline Weather rough_weather(Duration ttl, double badness, int hosts) {
  Weather weather = bad_messages(ttl, badness);
  weather.kill_every = 10 * ttl / hosts;
  weather.pause_every = 8 * ttl / hosts;
  weather.pause_most = 2 * ttl;
  weather.terminate_every = 20 * ttl / hosts;
  weather.twin = 0.3;
  weather.kill_at_step = 0.001;
  weather.pause_at_step = 0.001;
  return weather;
}

inline Duration some_ttl(Random& random) {
  constexpr Duration kTtls[] = {std::chrono::seconds{2}, std::chrono::seconds{10}, std::chrono::seconds{30}};
  return kTtls[random.below(std::size(kTtls))];
}

// A fleet with a little of every feature, in which people act now and then: for scenarios that are about the weather.
inline Plan busy_plan(Random& random, Duration ttl, int hosts, const Weather& weather) {
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 2)),
      .queues = static_cast<int>(random.between(1, 2)),
      .ttl = ttl,
      .producers = 2,
      .jobs = static_cast<int>(random.between(10, 40)),
      .batch_most = 5,
      .enqueue_pause_most = ttl,
      .job_delay_most = 10 * ttl,
      .features = {.keyed = 0.3,
                   .keys = 4,
                   .key_for_most = 5 * ttl,
                   .grouped = 0.3,
                   .groups = 2,
                   .limited = 0.2,
                   .limit_keys = 2,
                   .timed = 0.1,
                   .timeout_most = ttl,
                   .named = 0.1,
                   .repeated = 0.3},
      .settings = {.limit_per_key = 2},
      .habits = {.works_most = ttl, .fails = 0.1, .later = 0.05, .speaks = 0.2},
      .operators = {.act_every = 2 * ttl, .cancel = 3, .retry = 3, .pause = 1, .purge = 1, .limits = 1, .order = 1},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 64,
  };
}

// What every scenario in rough weather meets.
inline std::vector<Count> rough_counts(std::vector<Count> and_these) {
  for (const Count what : {Count::takeovers, Count::refusals, Count::losses, Count::lost_requests, Count::lost_replies,
                           Count::late_requests, Count::duplicates, Count::kills, Count::pauses, Count::twins})
    and_these.push_back(what);
  return and_these;
}

}  // namespace fenceline::sim

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

// What every scenario in rough weather meets.
inline std::vector<Count> rough_counts(std::vector<Count> and_these) {
  for (const Count what : {Count::takeovers, Count::refusals, Count::losses, Count::lost_requests, Count::lost_replies,
                           Count::late_requests, Count::duplicates, Count::kills, Count::pauses, Count::twins})
    and_these.push_back(what);
  return and_these;
}

}  // namespace fenceline::sim

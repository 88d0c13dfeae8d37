// Schedules: blue and green fire the ticks of a week, or of an hour, while everything that can befall them does.
#include <array>

#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

// Two deployments that overlap: each is stopped and started again, killed, paused past its lease, cut off. A tick has
// its time to the minute, so the lead is longer than in earnest.
Plan week_plan(Random& random) {
  const int hosts = static_cast<int>(random.between(2, 3));
  Weather weather{.drop_request = 0.01,
                  .refuse_request = 0.01,
                  .drop_reply = 0.02,
                  .late_request = 0.01,
                  .duplicate = 0.03,
                  .drop_wakeup = 0.3,
                  .delay_most = 200ms,
                  .kill_every = 6h,
                  .pause_every = 6h,
                  .pause_most = 1h,
                  .suspend_every = 24h,
                  .terminate_every = 8h,
                  .restart_most = 20min,
                  .twin = 0.5,
                  .crash_every = 24h,
                  .unsaved_most = 10min,
                  .down_most = 5h,
                  .kill_at_step = 0.0002,
                  .pause_at_step = 0.0002,
                  .delay_at_step = 0.01,
                  .step_delay_most = 2s};
  return {
      .hosts = hosts,
      .queues = 0,
      .ttl = 10min,
      .producers = 0,
      .jobs = 0,
      .schedules = {.count = static_cast<int>(random.between(2, 4)),
                    .window = 10min,
                    .look_every = 10min,
                    .act_every = 4h,
                    .finish_every = 45min,
                    .strike_at_tick = 0.02,
                    .clocks_change = true},
      .weather = weather,
      .storm = 7 * 24h,
      .drift_ppm = 200,
      .compare_every = 2000,
  };
}

// The same week on a store whose clock nobody can rely on.
Plan clocks_plan(Random& random) {
  Plan plan = week_plan(random);
  plan.schedules.act_every = 12h;
  plan.schedules.clock_every = 12h;
  plan.schedules.clock_most = random.chance(0.5) ? Duration{3h} : Duration{72h};
  plan.schedules.far_every = 60h;
  plan.schedules.far_most = 12h;
  plan.weather.wall_jump_every = 12h;  // of processes too, which do not mind
  plan.weather.wall_jump_most = 2h;
  plan.drift_ppm = 20'000;
  plan.wild_clock = 0.2;
  return plan;
}

// As in earnest: a lead of ten seconds, a look every five, ticks a few seconds apart.
Plan hour_plan(Random& random) {
  const int hosts = 3;
  const Duration ttl = 10s;
  Weather weather = rough_weather(ttl, 0.02, hosts);
  weather.crash_every = 10min;
  weather.unsaved_most = 10s;
  weather.down_most = 1min;
  Plan plan = week_plan(random);
  plan.hosts = hosts;
  plan.ttl = ttl;
  plan.weather = weather;
  plan.storm = 30min;
  plan.schedules.window = ttl;
  plan.schedules.look_every = 5s;
  plan.schedules.act_every = 1min;
  plan.schedules.finish_every = 20s;
  plan.schedules.clock_every = 5min;
  plan.schedules.clock_most = 10min;
  plan.schedules.strike_at_tick = 0.05;
  plan.schedules.clocks_change = false;
  plan.drift_ppm = 20'000;
  return plan;
}

// Whole workers: they fire, work on what was fired and on what others enqueue, and tidy, while days pass on the store's
// clock. So rows of ticks and their jobs go, and names that were removed are forgotten, in the middle of it all.
Plan workers_plan(Random& random) {
  const Duration ttl = random.chance(0.5) ? Duration{2s} : Duration{10s};
  const int hosts = static_cast<int>(random.between(2, 3));
  Weather weather = rough_weather(ttl, 0.02, hosts);
  weather.wall_leap_every = random.between(4, 12) * ttl;
  weather.wall_leap_most = random.pick(std::array<Duration, 3>{30h, 24h * 10, 24h * 45});
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 4)),
      .prefetch = static_cast<int>(random.between(0, 2)),
      .queues = 1,
      .ttl = ttl,
      .producers = 1,
      .jobs = static_cast<int>(random.between(5, 20)),
      .batch_most = 4,
      .enqueue_pause_most = 4 * ttl,
      .attempts_max = 3,
      .backoff = {.first = 1s, .most = 30s},
      .settings = {.keep_done = 24h, .keep_dead = 24h},
      .habits = {.works_most = ttl / 4, .fails = 0.05, .dies = 0.05, .later = 0.05},
      .schedules = {.count = static_cast<int>(random.between(2, 4)),
                    .workers = true,
                    .tidy_every = ttl,
                    .window = ttl,
                    .look_every = 5s,
                    .act_every = ttl,
                    .clock_every = 20 * ttl,
                    .clock_most = 1h,
                    .strike_at_tick = 0.02},
      .operators = {.act_every = ttl, .cancel = 2, .retry = 1, .order = 1, .tidy = 2},
      .weather = weather,
      .storm = 60 * ttl,
      .drift_ppm = 20'000,
      .compare_every = 128,
  };
}

std::vector<Count> schedule_counts(std::vector<Count> and_these) {
  for (const Count what :
       {Count::ticks_fired, Count::ticks_skipped, Count::ticks_overlapped, Count::ticks_paused, Count::steps_refused,
        Count::step_repeats, Count::schedules_changed, Count::schedules_removed, Count::schedules_added_again,
        Count::schedules_rewound, Count::kills, Count::pauses, Count::twins, Count::terminations, Count::store_crashes,
        Count::store_down, Count::calls_unsaved})
    and_these.push_back(what);
  return and_these;
}

}  // namespace

const Scenario schedule_week{
    .name = "schedule-week",
    .summary = "blue and green fire the ticks of a week, in five zones whose clocks change",
    .plan = week_plan,
    .owes = schedule_counts({Count::ticks_at_clock_changes, Count::suspends, Count::schedules_run})};
const Scenario schedule_clocks{
    .name = "schedule-clocks",
    .summary = "the same week while the store's clock is set to and fro, and to 2200 and back",
    .plan = clocks_plan,
    .owes = schedule_counts({Count::clock_at_2200, Count::wall_set_back, Count::wall_leaps, Count::accounts_taken_back,
                             Count::steps_early, Count::wall_jumps})};
const Scenario schedule_hour{.name = "schedule-hour",
                             .summary = "ticks a few seconds apart, leaders killed and stopped around them",
                             .plan = hour_plan,
                             .owes = schedule_counts({Count::wall_set_back, Count::wall_leaps})};

const Scenario schedule_workers{.name = "schedule-workers",
                                .summary = "whole workers fire, work and tidy while days pass, with people at work",
                                .plan = workers_plan,
                                .owes = rough_counts({Count::ticks_fired,
                                                      Count::ticks_skipped,
                                                      Count::ticks_overlapped,
                                                      Count::ticks_paused,
                                                      Count::ticks_tidied,
                                                      Count::steps_refused,
                                                      Count::step_repeats,
                                                      Count::schedules_changed,
                                                      Count::schedules_removed,
                                                      Count::schedules_forgotten,
                                                      Count::schedules_added_again,
                                                      Count::schedules_rewound,
                                                      Count::schedules_run,
                                                      Count::accounts_taken_back,
                                                      Count::tidied,
                                                      Count::terminations,
                                                      Count::given_back,
                                                      Count::cancelled,
                                                      Count::wall_leaps,
                                                      Count::wall_set_back})};

}  // namespace fenceline::sim

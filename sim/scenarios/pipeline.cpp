// A pipeline with an approval and a check: workers of each stage, entry keepers, people who approve, reject, move and
// hold, and everything that can befall them.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

Plan plan_of_pipeline(Random& random) {
  const Duration ttl = some_ttl(random);
  const int hosts = static_cast<int>(random.between(4, 6));
  Weather weather = rough_weather(ttl, 0.03, hosts);
  weather.kill_at_step = 0.0003;
  return {
      .hosts = hosts,
      .concurrency = static_cast<int>(random.between(1, 3)),
      .queues = 0,
      .ttl = ttl,
      .producers = 0,
      .jobs = static_cast<int>(random.between(4, 12)),
      .habits = {.works_most = ttl / 2, .fails = 0.1, .later = 0.05},
      .weather = weather,
      .storm = 40 * ttl,
      .drift_ppm = 20'000,
      .pipeline = true,
  };
}

}  // namespace

const Scenario pipeline{
    .name = "pipeline",
    .summary = "items through stages and entry conditions: approvals, checks, returns, holds (P1, P2)",
    .plan = plan_of_pipeline,
    .owes = {Count::items_advanced, Count::items_approved, Count::items_let_in, Count::items_returned,
             Count::items_expired, Count::items_on_hold, Count::items_moved, Count::items_refused,
             Count::settings_changed, Count::takeovers, Count::lost_requests, Count::lost_replies, Count::late_requests,
             Count::duplicates, Count::kills, Count::pauses, Count::twins, Count::terminations}};

}  // namespace fenceline::sim

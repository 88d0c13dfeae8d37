// Workers over one backlog on an issue tracker: labels or statuses, every fault of trackers, people who approve,
// command and come too late, others who forge and meddle, workers that die and stop.
#include "sim/scenarios/plans.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

Plan plan_of_tracker(Random& random) {
  const bool true_reads = random.chance(0.3);
  TrackerWork work{.on = true,
                   .swap = random.chance(0.3),
                   .quiet_claims = random.chance(0.2),
                   .errors = 0.02,
                   .forge_every = 10min,
                   .webhooks = 0.7,
                   .doubled = 0.2,
                   .late_most = 4min,
                   .sends_back = 0.05};
  work.unordered = !work.swap && random.chance(0.2);
  if (!true_reads) {
    work.stale = 0.1;
    work.torn = 0.1;
    work.shifted = 0.2;
    work.tamper_every = 30min;
    work.replace_every = 20min;
    work.meddle_every = 45min;
    work.command_every = 1h;
  }
  if (random.chance(0.6)) {
    work.within = random.between(Duration{20min}, Duration{2h});
    work.then = static_cast<int>(random.between(0, 2));
  }
  return {
      .hosts = static_cast<int>(random.between(3, 6)),
      .concurrency = 1,
      .queues = 0,
      .ttl = 10min,
      .producers = 0,
      .jobs = static_cast<int>(random.between(4, 10)),
      .habits = {.works_most = 20min, .fails = 0.05, .later = 0.02},
      .tracker = work,
      .weather = {.drop_request = 0.01,
                  .refuse_request = 0.01,
                  .drop_reply = 0.01,
                  .late_request = 0.005,
                  .delay_most = 800ms,
                  .kill_every = 40min,
                  .pause_every = 15min,
                  .pause_most = 30min},
      .storm = random.between(Duration{3h}, Duration{6h}),
      .drift_ppm = 200,
  };
}

}  // namespace

const Scenario tracker_backlog{
    .name = "tracker",
    .summary = "a backlog on an issue tracker, with stale lists, lost webhooks, bots and forgers (T1 to T4, P1, P2)",
    .plan = plan_of_tracker,
    .owes = {Count::claimed,        Count::takeovers,        Count::item_renewals,   Count::claims_raced,
             Count::items_advanced, Count::items_approved,   Count::items_overdue,   Count::items_sent_back,
             Count::items_put_back, Count::items_contested,  Count::items_moved,     Count::outcomes_void,
             Count::worked_twice,   Count::items_repaired,   Count::hint_looks,      Count::kills,
             Count::pauses,         Count::stale_answers,    Count::pages_shifted,   Count::errors_after_write,
             Count::markers_forged, Count::markers_tampered, Count::labels_replaced, Count::items_meddled,
             Count::webhooks_lost,  Count::webhooks_doubled}};

}  // namespace fenceline::sim

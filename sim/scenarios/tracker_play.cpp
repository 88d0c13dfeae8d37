#include "sim/scenarios/tracker_play.hpp"

#include "sim/tracker/tracker_world.hpp"

namespace fenceline::sim {
namespace {

using namespace std::chrono_literals;

TrackerPlan plan_of(const Plan& plan) {
  const TrackerWork& work = plan.tracker;
  const Weather& weather = plan.weather;
  TrackerPlan out;
  out.workers = plan.hosts;
  out.items = plan.jobs;
  if (work.swap)
    out.can = {.labels = false, .ordered_ids = true, .edit_times = false, .edits = true, .moves = true, .swap = true};
  out.can.ordered_ids = !work.unordered;
  out.claim_label = !work.quiet_claims;
  out.faults.stale_list = 3 * work.stale;
  out.faults.stale_read = work.stale;
  out.faults.stale_part = work.torn;
  out.faults.hidden_young = 5 * work.stale;
  out.faults.old_304 = work.stale;
  out.faults.lag_most = work.stale > 0 || work.torn > 0 ? Duration{3min} : Duration{0};
  out.faults.shifted_page = work.shifted;
  out.faults.page = work.shifted > 0 ? 8 : 100;
  out.faults.error_after_write = work.errors;
  out.faults.error_before_write = work.errors;
  out.wire = {.drop_request = weather.drop_request,
              .refuse_request = weather.refuse_request,
              .drop_reply = weather.drop_reply,
              .late_request = weather.late_request,
              .delay_most = weather.delay_most};
  // Then nobody works beside another; a person who moves what is worked on lets the next one begin.
  out.reads_are_true = work.stale == 0 && work.torn == 0 && work.shifted == 0 && work.tamper_every == Duration{0} &&
                       work.replace_every == Duration{0} && work.meddle_every == Duration{0} &&
                       work.command_every == Duration{0};
  out.works_most = plan.habits.works_most;
  out.fails = plan.habits.fails;
  out.later = plan.habits.later;
  out.sends_back = work.sends_back;
  out.kill_every = weather.kill_every;
  out.pause_every = weather.pause_every;
  out.pause_most = weather.pause_most;
  out.drift_ppm = plan.drift_ppm;
  out.forge_every = work.forge_every;
  out.tamper_every = work.tamper_every;
  out.replace_every = work.swap ? Duration{0} : work.replace_every;
  out.meddle_every = work.meddle_every;
  out.command_every = work.command_every;
  out.self_approve_every = work.forge_every;
  out.entry_within = work.within;
  out.entry_then = static_cast<EntryEnd>(work.then);
  out.approves = work.within > Duration{0} ? 0.1 : 0.3;
  out.arrivals = true;
  out.webhooks = work.webhooks;
  out.webhook_doubled = work.doubled;
  out.webhook_late_most = work.late_most;
  out.storm = plan.storm;
  return out;
}

}  // namespace

SeedReport play_tracker(std::uint64_t seed, const Plan& plan, StackPool& stacks, const SeedOptions& options) {
  TrackerPlan tracker_plan = plan_of(plan);
  tracker_plan.tracing = options.tracing;
  const TrackerReport played = TrackerWorld(seed, tracker_plan, stacks).run(options.stop);
  SeedReport report{.tally = {},
                    .simulated = played.simulated,
                    .violations = played.violations,
                    .trace = played.trace,
                    .history = {},
                    .stopped = played.stopped};
  Tally& tally = report.tally;
  tally.add(Count::operations, played.model.requests);
  tally.add(Count::lease_operations, played.tally.claims + played.tally.renewals + played.tally.withdrawn);
  tally.add(Count::claimed, played.tally.claims);
  tally.add(Count::takeovers, played.tally.takeovers);
  tally.add(Count::failures, played.tally.failures);
  tally.add(Count::items_advanced, played.tally.advances);
  tally.add(Count::items_approved, played.tally.approved);
  tally.add(Count::items_returned, played.tally.returns);
  tally.add(Count::items_moved, played.tally.moves);
  tally.add(Count::item_renewals, played.tally.renewals);
  tally.add(Count::claims_raced, played.workers.lost_races);
  tally.add(Count::items_overdue, played.tally.overdue_in + played.tally.overdue_back);
  tally.add(Count::items_sent_back, played.tally.sent_back);
  tally.add(Count::items_put_back, played.tally.restored);
  tally.add(Count::items_contested, played.tally.contested);
  tally.add(Count::outcomes_void, played.tally.void_records);
  tally.add(Count::worked_twice, played.tally.worked_twice);
  tally.add(Count::items_repaired, played.workers.repairs);
  tally.add(Count::hint_looks, played.workers.hint_looks);
  tally.add(Count::kills, played.kills);
  tally.add(Count::pauses, played.pauses);
  tally.add(Count::stale_answers,
            played.model.stale_lists + played.model.stale_reads + played.model.old_304s + played.model.hidden);
  tally.add(Count::pages_shifted, played.model.shifted);
  tally.add(Count::errors_after_write, played.model.errors_after);
  tally.add(Count::markers_forged, played.forged);
  tally.add(Count::markers_tampered, played.tampered);
  tally.add(Count::labels_replaced, played.replaced);
  tally.add(Count::items_meddled, played.meddled);
  tally.add(Count::webhooks_lost, played.webhooks_lost);
  tally.add(Count::webhooks_doubled, played.webhooks_doubled);
  return report;
}

}  // namespace fenceline::sim

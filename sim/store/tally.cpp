#include "sim/store/tally.hpp"

namespace fenceline::sim {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Count::count_)> kNames{"operations",        "lease_operations",
                                                                                       "enqueued",          "claimed",
                                                                                       "takeovers",         "refusals",
                                                                                       "losses",            "settled",
                                                                                       "given_back",        "died_of_losses",
                                                                                       "ran_alone",         "failures",
                                                                                       "laters",            "dead_letters",
                                                                                       "histories_cut",     "long_runs",
                                                                                       "timeouts",          "met_again",
                                                                                       "keys_met",          "keys_held_after",
                                                                                       "key_conflicts",     "keys_taken",
                                                                                       "batches_opened_again", "group_handovers",
                                                                                       "group_waits",       "limit_waits",
                                                                                       "slot_waits",        "queue_waits",
                                                                                       "order_waits",       "cancelled",
                                                                                       "cancelled_running", "cancelled_too_late",
                                                                                       "retried",           "retried_running",
                                                                                       "acts_repeated",     "purged",
                                                                                       "queues_paused",     "queues_resumed",
                                                                                       "settings_changed",  "workers_ordered",
                                                                                       "stopped_said",      "stopped_handlers",
                                                                                       "late_outcomes",     "tidied",
                                                                                       "made_anew",         "notes",
                                                                                       "notes_refused",
                                                                                       "effects_begun",     "effects_done",
                                                                                       "effects_none",      "effect_doubts",
                                                                                       "effect_holds",      "effect_replays",
                                                                                       "effect_busy",       "effect_conflicts",
                                                                                       "effects_lost",      "late_finishes",
                                                                                       "effects_resolved",
                                                                                       "provider_acts",     "provider_repeats",
                                                                                       "provider_lost_replies", "gate_passes",
                                                                                       "gate_stale",        "gate_behind",
                                                                                       "gate_recovered",    "floors_raised",
                                                                                       "locks_granted", "lock_takeovers",
                                                                                       "lock_waits", "lock_turns", "lock_turns_passed",
                                                                                       "lock_handovers", "lock_bars",
                                                                                       "lock_delays", "lock_windows",
                                                                                       "locks_joined", "lock_slots",
                                                                                       "locks_several", "lock_repeats",
                                                                                       "lock_renewals", "lock_refusals",
                                                                                       "locks_released", "locks_withdrawn",
                                                                                       "locks_broken", "locks_tidied",
                                                                                       "lock_acts", "locks_lost",
                                                                                       "locks_entered_again", "terms",
                                                                                       "ticks_fired",       "ticks_skipped",
                                                                                       "ticks_overlapped",  "ticks_paused",
                                                                                       "tick_duplicates",   "ticks_at_clock_changes",
                                                                                       "steps_refused",     "steps_early",
                                                                                       "step_repeats",      "schedules_changed",
                                                                                       "schedules_removed", "schedules_added_again",
                                                                                       "schedules_rewound", "schedules_run",
                                                                                       "accounts_taken_back", "ticks_tidied",
                                                                                       "schedules_forgotten",
                                                                                       "items_advanced",    "items_approved",
                                                                                       "items_let_in",      "items_returned",
                                                                                       "items_expired",     "items_held",
                                                                                       "items_moved",       "items_refused",
                                                                                       "item_renewals",     "claims_raced",
                                                                                       "items_overdue",     "items_sent_back",
                                                                                       "items_put_back",    "items_contested",
                                                                                       "outcomes_void",     "worked_twice",
                                                                                       "items_repaired",    "hint_looks",
                                                                                       "calls_unsaved",
                                                                                       "calls_forgotten",   "granted_after_loss",
                                                                                       "fences_excused",    "fences_refused",
                                                                                       "lost_requests",     "refused_requests",
                                                                                       "lost_replies",      "late_requests",
                                                                                       "duplicates",        "lost_wakeups",
                                                                                       "kills",             "poisoned",
                                                                                       "pauses",            "suspends",
                                                                                       "twins",             "terminations",
                                                                                       "wall_jumps",        "wall_leaps",
                                                                                       "fleet_restarts",    "wall_set_back",     "clock_at_2200",
                                                                                       "store_crashes",     "store_down",
                                                                                       "restores",          "amnesias",
                                                                                       "paused_for_ever",   "cut_off_for_ever",
                                                                                       "cut_one_way_for_ever", "dying_for_ever",
                                                                                       "stale_answers",     "pages_shifted",
                                                                                       "errors_after_write", "markers_forged",
                                                                                       "markers_tampered",  "labels_replaced",
                                                                                       "items_meddled",     "webhooks_lost",
                                                                                       "webhooks_doubled"};
static_assert(!kNames.back().empty());

}  // namespace

std::string_view to_string(Count what) { return kNames[static_cast<std::size_t>(what)]; }

std::int64_t Tally::faults() const {
  std::int64_t sum = 0;
  for (auto i = static_cast<std::size_t>(Count::lost_requests); i < counts_.size(); ++i) sum += counts_[i];
  return sum;
}

Tally& Tally::operator+=(const Tally& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  return *this;
}

}  // namespace fenceline::sim

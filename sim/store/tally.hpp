// What happened in a run, counted. A run in which something never happens proves nothing about it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace fenceline::sim {

enum class Count {
  // what the system did
  operations,        // calls that reached the store
  lease_operations,  // leases granted, renewed and given up, each counted
  enqueued,
  claimed,
  takeovers,  // grants of a job whose lease had run out
  refusals,   // late writes that the store refused
  losses,     // deliveries that ended by expiry
  settled,
  given_back,
  died_of_losses,
  ran_alone,  // handlers of jobs that must run alone
  failures,   // attempts used up
  laters,
  dead_letters,
  histories_cut,  // deliveries beyond what the history keeps
  long_runs,      // handlers that worked for longer than two leases and were done
  timeouts,       // handlers stopped because their attempt took too long
  // unique keys
  met_again,        // an enqueue that was there already: a repeat
  keys_met,         // an enqueue that met the holder of its key
  keys_held_after,  // of those: the holder had finished
  key_conflicts,    // an enqueue refused, since its key belongs to another payload
  keys_taken,       // a retry refused, since another job has the key
  batches_opened_again,
  // groups and limits
  group_handovers,  // a grant of a group that had run another job before
  group_waits,      // claims that passed over a due job: not its group's turn
  limit_waits,      // a limit of its queue or of its key is reached
  slot_waits,       // a slot is kept for a revoked delivery
  queue_waits,      // its queue is paused
  order_waits,      // claims of a worker that had not heard yet that it shall claim nothing
  // operators
  cancelled,
  cancelled_running,
  cancelled_too_late,  // it had finished
  retried,
  retried_running,
  acts_repeated,  // changed nothing: they were the last act already
  purged,
  queues_paused,
  queues_resumed,
  settings_changed,
  workers_ordered,
  stopped_said,      // slots that a worker gave free
  stopped_handlers,  // handlers that ended because their job was cancelled or retried
  late_outcomes,     // of revoked deliveries, refused
  // retention
  tidied,
  made_anew,  // enqueued again after they were tidied
  // what handlers say
  notes,
  notes_refused,
  // effects
  effects_begun,  // to act for the first time
  effects_done,
  effects_none,   // ended as not having happened
  effect_doubts,  // begun though it may have happened before: repeated or probed
  effect_holds,   // jobs that wait for an operator
  effect_replays,
  effect_busy,       // a second call while the first was at it
  effect_conflicts,  // the same name for another request
  effects_lost,      // begins of those that held their job no more
  late_finishes,     // refused: of an older fence, or of a call that is not at it any more
  effects_resolved,  // by an operator
  provider_acts,
  provider_repeats,  // that it knew by their key
  provider_lost_replies,
  // gates
  gate_passes,
  gate_stale,      // refused: a newer fence has passed
  gate_behind,     // refused: the store was restored, and the gate remembers more
  gate_recovered,  // passed after it had been behind
  floors_raised,
  // locks
  locks_granted,
  lock_takeovers,     // grants of a lock whose lease had run out
  lock_waits,         // acquires that were not granted
  lock_turns,         // of those: it was free, and others came first
  lock_turns_passed,  // waiters that did not ask in time, and lost their place
  lock_handovers,     // grants to one that had waited
  lock_bars,          // acquires that met a bar
  lock_delays,        // and a delay
  lock_windows,       // grants to be held to their end
  locks_joined,       // shared phases
  lock_slots,         // grants of a slot but the first
  locks_several,      // grants of several names at once
  lock_repeats,       // acquires that had been granted before
  lock_renewals,
  lock_refusals,  // late words of holders that the store refused
  locks_released,
  locks_withdrawn,
  locks_broken,         // by an operator
  leases_brought_back,  // after a server's clock was ahead
  locks_tidied,
  lock_acts,   // of holders that trusted their lock
  locks_lost,  // while they were held, as their holders saw it
  locks_entered_again,
  terms,  // of elected leaders
  // schedules
  ticks_fired,
  ticks_skipped,
  ticks_overlapped,  // of those: a job of an earlier one was unfinished
  ticks_paused,
  tick_duplicates,         // wanted to fire, and had fired before
  ticks_at_clock_changes,  // fired within hours of a change of the clocks in their zone
  steps_refused,           // somebody else was there before, or the schedule was changed
  steps_early,
  step_repeats,
  schedules_changed,
  schedules_removed,
  schedules_added_again,
  schedules_rewound,  // by people
  schedules_run,
  accounts_taken_back,  // by the scheduler: the clock came back
  ticks_tidied,         // rows and ranges
  schedules_forgotten,  // of those that were removed
  // pipelines
  items_advanced,
  items_approved,
  items_let_in,  // by the entry condition of a stage
  items_returned,
  items_expired,  // nobody approved in time
  items_on_hold,
  items_moved,
  items_refused,  // changes that the store refused: others were there before
  // trackers
  item_renewals,
  claims_raced,     // claimed by several at once: all but one withdrew
  items_overdue,    // let in, or sent back, because nobody came in time
  items_sent_back,  // by their handlers
  items_put_back,   // moved by somebody who may not
  items_contested,
  outcomes_void,  // somebody else's came first
  worked_twice,   // by two who both trusted their claims: the worst that may happen
  items_repaired,
  hint_looks,
  // what a store may forget, and where numbers end
  calls_unsaved,       // applied, not answered, and gone with a crash
  calls_forgotten,     // applied, answered, and gone with a crash or a restore
  granted_after_loss,  // grants of jobs that had had one which the store forgot
  fences_excused,      // of those: the store's wall clock had been set back in between
  fences_refused,      // calls refused, since no fence is left at this time
  // faults
  lost_requests,
  refused_requests,
  lost_replies,
  late_requests,  // applied after their caller had given up
  duplicates,
  lost_wakeups,
  kills,
  poisoned,  // kills by a handler of its own process
  pauses,
  suspends,      // of a whole machine
  twins,         // restarts while the old incarnation is only paused
  terminations,  // graceful stops
  wall_jumps,
  wall_leaps,      // of the store's wall clock, a day and more ahead
  fleet_restarts,  // of all workers at once
  wall_set_back,   // the store's wall clock, by much
  clock_at_2200,   // the store's wall clock, for a while
  server_ahead,    // the clock that its leases run on
  server_back,     // and back
  store_crashes,
  store_down,       // requests that met a store that was down
  restores,         // of an old snapshot
  amnesias,         // the store came back empty
  paused_for_ever,  // hosts; and so on
  cut_off_for_ever,
  cut_one_way_for_ever,
  dying_for_ever,
  stale_answers,  // of trackers; and so on
  pages_shifted,
  errors_after_write,
  markers_forged,
  markers_tampered,
  labels_replaced,
  items_meddled,
  webhooks_lost,
  webhooks_doubled,
  count_,
};

std::string_view to_string(Count what);

class Tally {
 public:
  void add(Count what, std::int64_t by = 1) { counts_[static_cast<std::size_t>(what)] += by; }
  std::int64_t of(Count what) const { return counts_[static_cast<std::size_t>(what)]; }
  std::int64_t faults() const;
  Tally& operator+=(const Tally& other);

 private:
  std::array<std::int64_t, static_cast<std::size_t>(Count::count_)> counts_{};
};

}  // namespace fenceline::sim

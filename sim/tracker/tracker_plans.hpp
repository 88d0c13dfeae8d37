// The kinds of weather over a backlog on a tracker.
#pragma once

#include "sim/tracker/tracker_world.hpp"

namespace fenceline::sim {

inline TrackerWire rough_wire() {
  return {.drop_request = 0.01,
          .refuse_request = 0.01,
          .drop_reply = 0.01,
          .late_request = 0.005,
          .delay_most = std::chrono::milliseconds{800}};
}

// Workers die and stop, replies are lost; what the tracker says is true.
inline TrackerPlan true_reads() {
  TrackerPlan plan;
  plan.faults.error_after_write = 0.02;
  plan.faults.error_before_write = 0.02;
  plan.wire = rough_wire();
  plan.reads_are_true = true;
  plan.kill_every = std::chrono::minutes{40};
  plan.pause_every = std::chrono::minutes{15};
  plan.forge_every = std::chrono::minutes{10};
  plan.self_approve_every = std::chrono::minutes{20};
  plan.copy_every = std::chrono::minutes{15};
  plan.faults.stamps_apart = std::chrono::milliseconds{1};
  return plan;
}

// Everything at once.
inline TrackerPlan all_faults() {
  TrackerPlan plan = true_reads();
  plan.reads_are_true = false;
  plan.faults.stale_list = 0.3;
  plan.faults.stale_read = 0.1;
  plan.faults.stale_part = 0.1;
  plan.faults.lag_most = std::chrono::minutes{3};
  plan.faults.old_304 = 0.1;
  plan.faults.shifted_page = 0.2;
  plan.faults.page = 8;
  plan.tamper_every = std::chrono::minutes{30};
  plan.replace_every = std::chrono::minutes{20};
  plan.meddle_every = std::chrono::minutes{45};
  plan.command_every = std::chrono::hours{1};
  plan.close_every = std::chrono::minutes{40};
  plan.hands_on = true;
  return plan;
}

// A tracker with statuses and compare-and-swap, which tells no times of edits.
inline TrackerPlan by_swap(TrackerPlan plan) {
  plan.can = {.labels = false, .ordered_ids = true, .edit_times = false, .edits = true, .moves = true, .swap = true};
  plan.replace_every = Duration{0};  // there are no labels
  return plan;
}

}  // namespace fenceline::sim

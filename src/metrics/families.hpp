// Every metric there is, as data: its name, what it means, when to look at it, and the few values that its labels have.
// The registry, the page in docs/metrics.md and its test come from this.
//
// Cardinality is bounded here: a label has a fixed set of values, known at the start. A value that is not in it counts
// as "other" where there is one, and is a bug elsewhere.
#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"

namespace fenceline::metrics {

inline constexpr std::size_t kQueuesMost = 50;     // with a label of their own
inline constexpr std::size_t kLockNamesMost = 50;  // with a label of their own
inline constexpr char kOther[] = "other";

enum class Family {
  build_info,
  store_class,
  store_up,
  store_call_seconds,
  store_errors,
  claim_batch_jobs,
  settle_batch_jobs,
  lock_wait_seconds,
  lock_hold_seconds,
  job_run_seconds,
  stale_jobs,
  orphans_replayed,
  takeovers,
  stale_writes_refused,
  leases_lost,
  leases_abandoned,
  renewals,
  renewal_failures,
  fail_open,
  deliveries,
  failures,
  outcomes,
  dead_letters,
  jobs,
  oldest_ready_seconds,
  poison_jobs,
  effects_in_doubt,
  lock_debt,
  groups_blocked,
  workers,
  schedule_lag_seconds,
  ticks_fired,
  ticks_skipped,
  schedules_ahead,
  tracker_requests,
  tracker_budget_left,
  tracker_contested,
  finding,
  sample_age_seconds,
  process_start_time_seconds,
};

enum class FamilyKind { counter, gauge, histogram };
std::string_view to_string(FamilyKind kind);

struct Label {
  std::string name;
  std::vector<std::string> values;
};

struct FamilySpec {
  Family family;
  std::string name;  // "fenceline_store_up"
  FamilyKind kind;
  std::string help;  // one line
  std::string look;  // when to: for people, in docs/metrics.md
  std::vector<Label> labels = {};
  std::vector<double> buckets = {};  // of a histogram: upper ends, ascending
};

// Of the process whose metrics these are.
struct MetricsOptions {
  std::string version;
  std::string store;  // its kind: "sqlite"
  GuaranteeClass guarantee = GuaranteeClass::d;
  std::vector<std::string> queues =
      {};  // that it serves; those beyond kQueuesMost, and all others of the namespace, are "other"
  std::vector<std::string> checks = {};      // names of findings
  std::string lock_class = {};               // of the locks of this process; empty: the pattern of each stands for it
  std::vector<std::string> lock_names = {};  // that have a label of their own; all others are "other"
};

// In the order of the enumeration.
std::vector<FamilySpec> families(const MetricsOptions& options);

// The table of docs/metrics.md, in Markdown.
std::string families_table();

}  // namespace fenceline::metrics

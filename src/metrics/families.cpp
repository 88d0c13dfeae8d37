#include "metrics/families.hpp"

#include <algorithm>

namespace fenceline::metrics {
namespace {

const std::vector<double> kCallBuckets{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
const std::vector<double> kWaitBuckets{0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800};
const std::vector<double> kWorkBuckets{0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600, 21600};
const std::vector<double> kBatchBuckets{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};

// What a worker calls while it works; whatever else is "other".
const std::vector<std::string> kVerbs{"enqueue",      "claim",         "settle",       "extend",        "give_back",
                                      "record",       "backlog",       "orders",       "report_worker", "acquire",
                                      "renew",        "release",       "withdraw",     "step_ticks",    "schedules",
                                      "begin_effect", "finish_effect", "change_items", "tidy",          kOther};
const std::vector<std::string> kFencedVerbs{"extend",  "settle",       "record",        "renew",
                                            "release", "begin_effect", "finish_effect", "change_items"};
const std::vector<std::string> kLeaseKinds{"job", "lock", "item"};

std::vector<std::string> queue_values(const std::vector<std::string>& queues) {
  std::vector<std::string> values(queues.begin(),
                                  queues.begin() + static_cast<std::ptrdiff_t>(std::min(queues.size(), kQueuesMost)));
  values.emplace_back(kOther);
  return values;
}

std::vector<std::string> check_values(std::vector<std::string> checks) {
  if (std::ranges::find(checks, kOther) == checks.end()) checks.emplace_back(kOther);
  return checks;
}

}  // namespace

std::string_view to_string(FamilyKind kind) {
  switch (kind) {
    case FamilyKind::counter: return "counter";
    case FamilyKind::gauge: return "gauge";
    case FamilyKind::histogram: return "histogram";
  }
  return "gauge";
}

std::vector<FamilySpec> families(const MetricsOptions& options) {
  using enum FamilyKind;
  const Label store{"store", {options.store}};
  const Label kind{"kind", kLeaseKinds};
  const Label queue{"queue", queue_values(options.queues)};
  return {
      {Family::build_info,
       "fenceline_build_info",
       gauge,
       "1, with the version and the kind of store as labels",
       "which version runs where",
       {{"version", {options.version}}, store}},
      {Family::store_class,
       "fenceline_store_class",
       gauge,
       "what a crash of the store can take: 1 is class A (nothing, of several machines), 2 B (nothing, of one), 3 C "
       "(the last moments), 4 D (best effort)",
       "it became larger: settings of the store were changed; `fenceline doctor` has the reasons",
       {store}},
      {Family::store_up, "fenceline_store_up", gauge, "1 if the last call to the store was answered, else 0",
       "it is 0: nothing is claimed, and leases run out; `fenceline doctor`"},
      {Family::store_call_seconds,
       "fenceline_store_call_seconds",
       histogram,
       "how long calls to the store took, answered or not",
       "claims and settlements become slow: the store is the bottleneck",
       {{"verb", kVerbs}},
       kCallBuckets},
      {Family::store_errors,
       "fenceline_store_errors_total",
       counter,
       "calls that the store did not answer: unavailable (it did not happen), in_doubt (it may have), other (full, "
       "broken, denied)",
       "it grows: the store, or the way to it, fails",
       {{"verb", kVerbs}, {"code", {"unavailable", "in_doubt", kOther}}}},
      {Family::claim_batch_jobs,
       "fenceline_claim_batch_jobs",
       histogram,
       "jobs that a claim granted; empty ones are not counted",
       "throughput: larger batches cost the store less",
       {},
       kBatchBuckets},
      {Family::settle_batch_jobs,
       "fenceline_settle_batch_jobs",
       histogram,
       "outcomes sent in one call",
       "throughput",
       {},
       kBatchBuckets},
      {Family::lock_wait_seconds,
       "fenceline_lock_wait_seconds",
       histogram,
       "from the first question for a lock to its grant, or until it was given up; of those who queue in the store",
       "p99 grows: somebody holds a lock for long, or died with it; `fenceline locks list`",
       {},
       kWaitBuckets},
      {Family::lock_hold_seconds,
       "fenceline_lock_hold_seconds",
       histogram,
       "from the grant of a lock to its release or loss",
       "what lock_wait_seconds comes from",
       {},
       kWorkBuckets},
      {Family::job_run_seconds,
       "fenceline_job_run_seconds",
       histogram,
       "how long handlers worked on a delivery",
       "near --timeout of the jobs, or far above the ttl: see `fenceline doctor`, config",
       {},
       kWorkBuckets},
      {Family::stale_jobs, "fenceline_stale_jobs", gauge,
       "jobs of the namespace whose lease ran out and that nobody took over",
       "above 0 for longer than a ttl: no worker serves their queue"},
      {Family::orphans_replayed, "fenceline_orphans_replayed_total", counter,
       "deliveries to this worker of a job whose lease had run out elsewhere",
       "it accelerates: workers die or are cut off; `fenceline workers list`"},
      {Family::takeovers,
       "fenceline_takeovers_total",
       counter,
       "leases granted to this process after another holder's had run out unreleased",
       "as orphans_replayed_total, for locks and items too",
       {kind}},
      {Family::stale_writes_refused,
       "fenceline_stale_writes_refused_total",
       counter,
       "late writes of this process that the store refused because of their fence",
       "each one is a holder that worked on without its lease, and was stopped by the fence",
       {{"verb", kFencedVerbs}}},
      {Family::leases_lost,
       "fenceline_leases_lost_total",
       counter,
       "leases that this process had to give up while it worked under them; cancelled and retried jobs are not counted",
       "it grows: pauses, a slow store, or a ttl that is too short",
       {kind}},
      {Family::leases_abandoned,
       "fenceline_leases_abandoned_total",
       counter,
       "leases left to run out: grants or releases that stayed in doubt, outcomes that were not taken, handles dropped",
       "it grows: others wait a ttl for each of these",
       {kind}},
      {Family::renewals,
       "fenceline_renewals_total",
       counter,
       "leases renewed",
       "beside renewal_failures_total",
       {kind}},
      {Family::renewal_failures,
       "fenceline_renewal_failures_total",
       counter,
       "leases whose renewal was not answered, each try",
       "it grows: leases are lost next",
       {kind}},
      {Family::fail_open, "fenceline_fail_open_total", counter,
       "work that went on without its lock because the store was away and the class of the lock says so",
       "any: for that long nothing kept others out"},
      {Family::deliveries, "fenceline_deliveries_total", counter, "jobs and items claimed by this worker",
       "throughput; it stands still while jobs are ready: the worker is stuck"},
      {Family::failures, "fenceline_failures_total", counter, "deliveries that ended as failed or dead",
       "its share of deliveries_total grows"},
      {Family::outcomes,
       "fenceline_outcomes_total",
       counter,
       "outcomes that the store accepted from this worker",
       "what became of the work",
       {{"outcome", {"done", "failed", "dead", "later", "given_back", "sent_back", kOther}}}},
      {Family::dead_letters, "fenceline_dead_letters_total", counter,
       "jobs that an outcome of this worker made dead: at once, or by the last of their attempts",
       "any: `fenceline dead list`"},
      {Family::jobs,
       "fenceline_jobs",
       gauge,
       "jobs by queue and state; the queue other is all queues of the namespace that this worker does not serve",
       "depth of ready grows",
       {queue, {"state", {"ready", "running", "waiting", "done", "dead", "cancelled"}}}},
      {Family::oldest_ready_seconds,
       "fenceline_oldest_ready_seconds",
       gauge,
       "how long the job that is due longest has been ready; 0 if none is; of the queue other: the longest",
       "it grows: paused, too few workers, or none",
       {queue}},
      {Family::poison_jobs, "fenceline_poison_jobs", gauge,
       "unfinished jobs that lost several deliveries in a row, and jobs that died of that",
       "any: they take their workers down with them"},
      {Family::effects_in_doubt, "fenceline_effects_in_doubt", gauge,
       "side effects of which nobody knows whether they happened, counted up to 1000",
       "any: `fenceline effects list --in-doubt`"},
      {Family::lock_debt, "fenceline_lock_debt", gauge,
       "leases of locks that ran out and were not released, of the first thousands of locks",
       "it stays above 0: holders died; nobody asked for these locks since"},
      {Family::groups_blocked, "fenceline_groups_blocked", gauge, "groups whose jobs wait because their head does",
       "any for long: `fenceline job explain` says what the head waits for"},
      {Family::workers,
       "fenceline_workers",
       gauge,
       "workers in the registry of the namespace: seen within their ttl, or gone without a word",
       "gone is above 0: a worker died or was cut off; seen falls",
       {{"state", {"seen", "gone"}}}},
      {Family::schedule_lag_seconds, "fenceline_schedule_lag_seconds", gauge,
       "how long the schedule that is furthest behind has had a tick due",
       "above a minute: no worker leads, or the leader is stuck"},
      {Family::ticks_fired, "fenceline_ticks_fired_total", counter, "ticks of schedules that this process fired",
       "which worker leads"},
      {Family::ticks_skipped,
       "fenceline_ticks_skipped_total",
       counter,
       "ticks that this process skipped: overlap and paused as the schedule says, the others because nobody was there "
       "in time",
       "missed, window or cap grow: workers were away",
       {{"reason", {"overlap", "paused", "missed", "superseded", "window", "cap", kOther}}}},
      {Family::schedules_ahead, "fenceline_schedules_ahead", gauge,
       "schedules whose account lies ahead of the store's clock: they wait",
       "any: `fenceline schedule list`, then rewind"},
      {Family::tracker_requests,
       "fenceline_tracker_requests_total",
       counter,
       "requests sent to the issue tracker",
       "its rate times the number of workers, against the tracker's limit",
       {{"kind", {"read", "write"}}}},
      {Family::tracker_budget_left, "fenceline_tracker_budget_left", gauge,
       "what the issue tracker said is left of this account's requests; 0 before it said so, and on a store",
       "near 0 on an issue tracker: workers wait until it is whole again"},
      {Family::tracker_contested, "fenceline_tracker_contested", gauge,
       "items that somebody else fought this worker over, and that it left to people",
       "any: a bot or a person moves the same labels"},
      {Family::finding,
       "fenceline_finding",
       gauge,
       "what fenceline doctor finds, by check: 0 ok, 1 warning, 2 bad",
       "above 0: `fenceline doctor` says what, why and what to do",
       {{"check", check_values(options.checks)}}},
      {Family::sample_age_seconds, "fenceline_sample_age_seconds", gauge,
       "how old the gauges about the store are: jobs, ages, workers, findings",
       "above a minute: the store is away, and those gauges say what was"},
      {Family::process_start_time_seconds, "process_start_time_seconds", gauge,
       "when this process began to count, in seconds since 1970", "counters began at 0 then"},
  };
}

std::string families_table() {
  std::string text = "| metric | type | labels | meaning | when to look |\n| --- | --- | --- | --- | --- |\n";
  for (const FamilySpec& spec : families({.version = "V", .store = "KIND"})) {
    std::string labels;
    for (const Label& label : spec.labels) labels += (labels.empty() ? "" : ", ") + label.name;
    text += "| `" + spec.name + "` | " + std::string(to_string(spec.kind)) + " | " + labels + " | " + spec.help +
            " | " + spec.look + " |\n";
  }
  return text;
}

}  // namespace fenceline::metrics

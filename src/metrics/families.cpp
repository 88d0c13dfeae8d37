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

std::vector<std::string> class_values(const std::string& lock_class) {
  if (lock_class.empty()) return {"item", "loop", "fenced", "layered", "election", kOther};
  if (lock_class == kOther) return {kOther};
  return {lock_class, kOther};
}

std::vector<std::string> name_values(const std::vector<std::string>& names) {
  std::vector<std::string> values(names.begin(),
                                  names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kLockNamesMost)));
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
  const Label lock_class{"class", class_values(options.lock_class)};
  const Label lock{"lock", name_values(options.lock_names)};
  return {
      {Family::build_info,
       "fenceline_build_info",
       gauge,
       "always 1; the labels are the version and the kind of store",
       "which version runs on which host",
       {{"version", {options.version}}, store}},
      {Family::store_class,
       "fenceline_store_class",
       gauge,
       "what a crash of the store can lose: 1 is class A (nothing, even if one of several machines dies), 2 B "
       "(nothing), 3 C (the last moments), 4 D (best effort)",
       "it increased: the store's settings were changed; `fenceline doctor` shows the reasons",
       {store}},
      {Family::store_up, "fenceline_store_up", gauge, "1 if the last call to the store was answered, else 0",
       "it is 0: nothing is claimed, and leases expire; `fenceline doctor`"},
      {Family::store_call_seconds,
       "fenceline_store_call_seconds",
       histogram,
       "duration of calls to the store, answered or not",
       "claims and settlements get slower: the store is the bottleneck",
       {{"verb", kVerbs}},
       kCallBuckets},
      {Family::store_errors,
       "fenceline_store_errors_total",
       counter,
       "calls that failed: unavailable (it did not happen), in_doubt (it may have happened), other (full, broken, "
       "denied)",
       "it grows: the store or the network fails",
       {{"verb", kVerbs}, {"code", {"unavailable", "in_doubt", kOther}}}},
      {Family::claim_batch_jobs,
       "fenceline_claim_batch_jobs",
       histogram,
       "jobs granted by one claim; empty claims are not counted",
       "throughput: larger batches cost the store less per job",
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
       "time from the first request for a lock to its grant, or until the caller gave up; only of callers that queue "
       "in the store",
       "p99 grows: a holder keeps a lock for long, or died with it; `fenceline locks list`",
       {lock_class, lock},
       kWaitBuckets},
      {Family::lock_hold_seconds,
       "fenceline_lock_hold_seconds",
       histogram,
       "time from the grant of a lock to its release or loss",
       "explains lock_wait_seconds",
       {lock_class, lock},
       kWorkBuckets},
      {Family::job_run_seconds,
       "fenceline_job_run_seconds",
       histogram,
       "run time of handlers per delivery",
       "close to --timeout of the jobs, or far above the ttl: see `config` in `fenceline doctor`",
       {queue},
       kWorkBuckets},
      {Family::stale_jobs, "fenceline_stale_jobs", gauge,
       "jobs of the namespace whose lease expired and that no worker has taken over",
       "above 0 for longer than a ttl: no worker serves their queue"},
      {Family::orphans_replayed, "fenceline_orphans_replayed_total", counter,
       "deliveries to this worker of a job whose lease expired on another worker",
       "its rate grows: workers die or lose their connection; `fenceline workers list`"},
      {Family::takeovers,
       "fenceline_takeovers_total",
       counter,
       "leases granted to this process after another holder's lease expired without a release",
       "like orphans_replayed_total, including locks and items",
       {kind}},
      {Family::stale_writes_refused,
       "fenceline_stale_writes_refused_total",
       counter,
       "late writes of this process that the store refused because their fence was stale",
       "each one is a holder that kept working without its lease and was stopped by the fence",
       {{"verb", kFencedVerbs}}},
      {Family::leases_lost,
       "fenceline_leases_lost_total",
       counter,
       "leases that this process lost while it worked under them; cancelled and retried jobs are not counted",
       "it grows: pauses, a slow store, or a ttl that is too short",
       {kind}},
      {Family::leases_abandoned,
       "fenceline_leases_abandoned_total",
       counter,
       "leases left to expire: grants or releases that stayed in doubt, outcomes that were not accepted, dropped "
       "handles",
       "it grows: others wait one ttl for each of them",
       {kind}},
      {Family::renewals,
       "fenceline_renewals_total",
       counter,
       "leases renewed",
       "compare with renewal_failures_total",
       {kind}},
      {Family::renewal_failures,
       "fenceline_renewal_failures_total",
       counter,
       "failed renewals of leases, counted per try",
       "it grows: leases are lost next",
       {kind}},
      {Family::fail_open, "fenceline_fail_open_total", counter,
       "work that continued without its lock because the store was unreachable and the lock's class allows it",
       "any: meanwhile other holders were not excluded"},
      {Family::deliveries,
       "fenceline_deliveries_total",
       counter,
       "jobs and items claimed by this worker, by queue; queues beyond the first 50 count as `other`",
       "throughput; it stops growing while jobs are ready: the worker is stuck",
       {queue}},
      {Family::failures,
       "fenceline_failures_total",
       counter,
       "deliveries that ended as failed or dead",
       "its share of deliveries_total grows",
       {queue}},
      {Family::outcomes,
       "fenceline_outcomes_total",
       counter,
       "outcomes that the store accepted from this worker",
       "how the work ended",
       {queue, {"outcome", {"done", "failed", "dead", "later", "given_back", "sent_back", kOther}}}},
      {Family::dead_letters, "fenceline_dead_letters_total", counter,
       "jobs that this worker made dead: by an outcome, or by a claim when their worker was lost too often in a row",
       "any: `fenceline dead list`"},
      {Family::jobs,
       "fenceline_jobs",
       gauge,
       "jobs by queue and state; the queue `other` stands for all queues of the namespace that this worker does not "
       "serve",
       "ready grows: a backlog",
       {queue, {"state", {"ready", "running", "waiting", "done", "dead", "cancelled"}}}},
      {Family::oldest_ready_seconds,
       "fenceline_oldest_ready_seconds",
       gauge,
       "how long the oldest due job has been ready; 0 if there is none; for the queue `other`: the longest",
       "it grows: the queue is paused, or has too few workers or none",
       {queue}},
      {Family::poison_jobs, "fenceline_poison_jobs", gauge,
       "unfinished jobs whose worker was lost several times in a row, and jobs that are dead because of that",
       "any: they may be killing their workers"},
      {Family::effects_in_doubt, "fenceline_effects_in_doubt", gauge,
       "side effects in doubt: nobody knows whether they happened; counted up to 1000",
       "any: `fenceline effects list --in-doubt`"},
      {Family::lock_debt, "fenceline_lock_debt", gauge,
       "leases of locks that expired without a release, among the first thousands of locks",
       "it stays above 0: holders died, and no one has asked for these locks since"},
      {Family::groups_blocked, "fenceline_groups_blocked", gauge,
       "groups whose jobs wait for the first job of the group",
       "above 0 for long: `fenceline job explain` says what the first job waits for"},
      {Family::workers,
       "fenceline_workers",
       gauge,
       "workers registered in the namespace: seen within their ttl, or gone without signing off",
       "gone is above 0: a worker died or lost its connection; seen falls",
       {{"state", {"seen", "gone"}}}},
      {Family::schedule_lag_seconds, "fenceline_schedule_lag_seconds", gauge,
       "how long the most delayed schedule has had a tick due",
       "above a minute: no worker leads, or the leader is stuck"},
      {Family::ticks_fired, "fenceline_ticks_fired_total", counter, "ticks of schedules that this process fired",
       "which worker leads"},
      {Family::ticks_skipped,
       "fenceline_ticks_skipped_total",
       counter,
       "ticks that this process skipped: overlap and paused by the schedule's rules, the others because no scheduler "
       "ran in time",
       "missed, window or cap grow: no worker was running",
       {{"reason", {"overlap", "paused", "missed", "superseded", "window", "cap", kOther}}}},
      {Family::schedules_ahead, "fenceline_schedules_ahead", gauge,
       "schedules that are ahead of the store's clock and wait for it", "any: `fenceline schedule list`, then rewind"},
      {Family::tracker_requests,
       "fenceline_tracker_requests_total",
       counter,
       "requests sent to the issue tracker",
       "its rate times the number of workers, against the tracker's limit",
       {{"kind", {"read", "write"}}}},
      {Family::tracker_budget_left, "fenceline_tracker_budget_left", gauge,
       "requests that the issue tracker still allows this account; 0 before it has answered, and on other stores",
       "near 0 on an issue tracker: workers wait for the limit to reset"},
      {Family::tracker_contested, "fenceline_tracker_contested", gauge,
       "items that someone else kept changing back, so that this worker left them to people",
       "any: a bot or a person changes the same labels"},
      {Family::finding,
       "fenceline_finding",
       gauge,
       "findings of `fenceline doctor` by check: 0 ok, 1 warning, 2 bad",
       "above 0: `fenceline doctor` says what, why and what to do",
       {{"check", check_values(options.checks)}}},
      {Family::sample_age_seconds, "fenceline_sample_age_seconds", gauge,
       "age of the gauges about the store: jobs, ages, workers, findings",
       "above a minute: the store is unreachable, and those gauges are outdated"},
      {Family::process_start_time_seconds, "process_start_time_seconds", gauge,
       "start of this process, in seconds since 1970", "counters started at 0 then"},
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

#include "doctor/config.hpp"

#include <algorithm>
#include <map>

#include "base/duration_text.hpp"
#include "doctor/finding_list.hpp"
#include "doctor/state.hpp"
#include "doctor/text.hpp"

namespace fenceline {
namespace {

using namespace doctor;
using Findings = std::vector<Finding>;

constexpr int kPings = 5;
constexpr int kRoundTripsLeast = 20;  // a call about a lease has a twentieth of its ttl
constexpr Duration kShortTtl = std::chrono::seconds{3};
constexpr Duration kLongTtl = std::chrono::minutes{10};
constexpr int kLongForWork = 20;               // a ttl is too long if it is this many times the longest job
constexpr std::int64_t kJobsLookedBack = 200;  // places in the order of enqueue
constexpr std::size_t kHistoriesAsked = 20;
constexpr std::size_t kQueuesMeasured = 10;
constexpr Duration kMeasuringMost = std::chrono::milliseconds{500};
constexpr std::int64_t kFinishedMany = 10'000'000;
constexpr int kLockPages = 5;
constexpr int kPage = 1000;

Duration rounded_up(Duration least) {
  for (const Duration ttl :
       {Duration{std::chrono::seconds{5}}, Duration{std::chrono::seconds{10}}, Duration{std::chrono::seconds{30}},
        Duration{std::chrono::minutes{1}}, Duration{std::chrono::minutes{2}}}) {
    if (ttl >= least) return ttl;
  }
  return std::chrono::ceil<std::chrono::minutes>(least);
}

// The median of a few calls: one slow call does not make a slow store.
Result<Duration> round_trip(Runtime& runtime, Store& store, const std::string& ns) {
  std::vector<Duration> took;
  for (int i = 0; i < kPings; ++i) {
    const Instant asked = runtime.now();
    const Result<std::optional<Job>> nobody = store.job(ns, JobId{});
    if (!nobody) return std::unexpected(nobody.error());
    took.push_back(runtime.now() - asked);
  }
  std::ranges::sort(took);
  return took[took.size() / 2];
}

// How long the work on some of the newest jobs of a queue took, the longest of them; nothing if none was done.
Result<std::optional<Duration>> longest_work(Store& store, const std::string& ns, const QueueRow& row) {
  const Result<JobsReply> page = store.jobs({.ns = ns,
                                             .queue = row.queue,
                                             .state = JobState::done,
                                             .after = std::max<std::int64_t>(row.newest - kJobsLookedBack, 0),
                                             .limit = static_cast<int>(kHistoriesAsked)});
  if (!page) return std::unexpected(page.error());
  std::optional<Duration> longest;
  for (const Job& job : page->jobs) {
    const Result<std::vector<Attempt>> attempts = store.attempts(ns, job.id);
    if (!attempts) return std::unexpected(attempts.error());
    for (const Attempt& attempt : *attempts) {
      if (attempt.end == AttemptEnd::done && attempt.ended_at)
        longest = std::max(longest.value_or(Duration{0}), *attempt.ended_at - attempt.started_at);
    }
  }
  return longest;
}

std::string work_line(const WorkerReport& report, Duration ttl) {
  std::string line = "fenceline work";
  for (const std::string& queue : report.queues) line += " " + shell_word(queue);
  if (!report.stage.empty()) line += " --stage " + shell_word(report.stage);
  return line + " --ttl " + format_duration(ttl) + " -- CMD";
}

void judge_ttl(FindingList& list, const WorkerReport& report, Duration trip, std::optional<Duration> work) {
  const std::string who = "worker " + report.owner + " has a ttl of " + format_duration(report.ttl);
  if (report.ttl < trip * kRoundTripsLeast) {
    list.add(FindingStatus::bad,
             who + ", and a round trip to the store takes " +
                 format_duration(std::max<Duration>(trip, std::chrono::milliseconds{1})) +
                 ": too short for a renewal to be answered",
             work_line(report, rounded_up(trip * kRoundTripsLeast * 2)));
  } else if (report.ttl < kShortTtl) {
    list.add(FindingStatus::warning,
             who + ": a pause of " + format_duration(report.ttl - report.ttl / 10) +
                 " (a busy disk, a VM migration) loses every lease",
             work_line(report, std::chrono::seconds{30}));
  } else if (report.ttl >= kLongTtl && work && *work * kLongForWork < report.ttl) {
    list.add(FindingStatus::warning,
             who + ", and its jobs take at most " +
                 format_duration(std::chrono::ceil<std::chrono::milliseconds>(*work)) +
                 ": when the worker dies, they wait that long for another",
             work_line(report, rounded_up(std::max<Duration>(*work * 2, std::chrono::seconds{30}))));
  }
}

void judge_retention(FindingList& list, const QueueRow& row) {
  const std::int64_t finished = row.depth_of(JobState::done);
  if (finished < kFinishedMany || row.settings.keep_done <= kKeepRange.least) return;
  list.add(FindingStatus::warning,
           "queue " + row.queue + " keeps " + std::to_string(finished) + " jobs that are done, for " +
               format_duration(row.settings.keep_done),
           "fenceline queue set " + shell_word(row.queue) + " --keep-done " +
               format_duration(std::max<Duration>(row.settings.keep_done / 4, kKeepRange.least)));
}

Result<Findings> settings_findings(Runtime& runtime, Store& store, const ConfigOptions& options) {
  FindingList list(
      "config",
      "a setting that does not fit the measured times loses leases, or time, as soon as something else goes wrong",
      "fenceline config show --origin");
  const Result<Duration> trip = round_trip(runtime, store, options.ns);
  if (!trip) return std::unexpected(trip.error());
  const Result<std::vector<WorkerRow>> workers = store.workers(options.ns);
  if (!workers) return std::unexpected(workers.error());
  const Result<std::vector<QueueRow>> queues = store.queues(options.ns);
  if (!queues) return std::unexpected(queues.error());
  std::int64_t live = 0;
  std::map<std::string, std::optional<Duration>> measured;  // each queue once, a few of them, as long as there is time
  const Instant until = runtime.now() + kMeasuringMost;
  for (const WorkerRow& row : *workers) {
    if (is_gone(row)) continue;
    live += 1;
    std::optional<Duration> work;
    bool all_measured = true;
    if (row.report.ttl >= kLongTtl) {
      for (const QueueRow& queue : *queues) {
        if (std::ranges::find(row.report.queues, queue.queue) == row.report.queues.end()) continue;
        if (!measured.contains(queue.queue)) {
          if (measured.size() == kQueuesMeasured || runtime.now() >= until) {
            all_measured = false;
            break;
          }
          const Result<std::optional<Duration>> longest = longest_work(store, options.ns, queue);
          if (!longest) return std::unexpected(longest.error());
          measured.emplace(queue.queue, *longest);
        }
        if (const std::optional<Duration>& longest = measured.at(queue.queue))
          work = std::max(work.value_or(Duration{0}), *longest);
      }
    }
    judge_ttl(list, row.report, *trip, all_measured ? work : std::nullopt);
  }
  for (const QueueRow& row : *queues) judge_retention(list, row);
  const std::string shown = format_duration(
      std::max<Duration>(std::chrono::ceil<std::chrono::milliseconds>(*trip), std::chrono::milliseconds{1}));
  return std::move(list).told(options.findings_most,
                              counted(live, "worker") + ", each with a ttl that fits round trips of " + shown);
}

Result<Findings> gate_findings(Store& store, const ConfigOptions& options) {
  FindingList list("lock_gates",
                   "a fence that no gate checks protects nothing; a gate that is ahead of the store refuses all writes",
                   "fenceline locks list");
  std::int64_t fenced = 0;
  LocksRequest request{.ns = options.ns, .limit = kPage};
  for (int page = 0; page < kLockPages; ++page) {
    const Result<LocksReply> locks = store.locks(request);
    if (!locks) return std::unexpected(locks.error());
    for (const LockRow& row : locks->locks) {
      const auto outside = options.seen_outside ? options.seen_outside(row.resource) : std::nullopt;
      if (outside && outside->fence > row.fence)
        list.add(FindingStatus::bad,
                 "lock " + row.resource + ": its gate " + outside->gate + " has let fence " +
                     std::to_string(outside->fence) + " through, which is ahead of the store's newest, " +
                     std::to_string(row.fence) +
                     ": the store was restored to an older state, and the gate refuses all writes",
                 outside->rebase);
      if (row.pattern != "fenced" && row.pattern != "election") continue;
      fenced += 1;
      if (row.seen_at_gate || outside) continue;
      std::optional<WallTime> since;
      if (!row.holders.empty()) since = row.holders.front().granted_at;
      list.add(
          FindingStatus::warning,
          "lock " + row.resource + " is of pattern " + row.pattern + ", but no gate known here has ever seen its fence",
          "fenceline gate run " + shell_word(row.resource) + " " + std::to_string(row.fence) + " -- CMD", since);
    }
    if (!locks->next) break;
    request.after = *locks->next;
  }
  std::string ok = fenced == 0 ? "no lock has the pattern fenced"
                               : counted(fenced, "lock") + " of pattern fenced, all seen at a gate";
  if (fenced == 0 && !options.fenced_classes.empty())
    ok += "; lock class " + options.fenced_classes.front() + " has not been used recently";
  return std::move(list).told(options.findings_most, std::move(ok));
}

}  // namespace

Result<std::vector<Finding>> look_at_config(Runtime& runtime, Store& store, const ConfigOptions& options) {
  Result<Findings> findings = settings_findings(runtime, store, options);
  if (!findings) return findings;
  Result<Findings> gates = gate_findings(store, options);
  if (!gates) return gates;
  std::ranges::move(*gates, std::back_inserter(*findings));
  return findings;
}

}  // namespace fenceline

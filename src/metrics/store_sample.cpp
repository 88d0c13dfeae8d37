#include "metrics/store_sample.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "doctor/state.hpp"

namespace fenceline::metrics {
namespace {

// Beside those about the state: of every store, of the configuration, and of issue trackers.
constexpr std::array kMoreChecks{
    "store_away", "config",     "lock_gates",   "class",          "version",         "schema",
    "schedules",  "clock",      "round_trip",   "writes",         "durability",      "synchronous_commit",
    "pooler",     "autovacuum", "held_horizon", "wal_size",       "transaction_ids", "connections",
    "meta",       "depths",     "guards",       "memory",         "eviction",        "aof",
    "snapshot",   "clients",    "functions",    "memory_by_kind", "synchronous",     "filesystem",
    "disk_space", "write_lock", "disk",         "boot_id",        "tracker_token",   "tracker_budget",
    "contested"};
constexpr char kStoreAway[] = "store_away";

bool is_away(const Error& error) { return error.code == Code::unavailable || error.code == Code::in_doubt; }

double level_of(FindingStatus status) { return static_cast<double>(status); }

}  // namespace

std::vector<std::string> check_names() {
  std::vector<std::string> names(kStateChecks.begin(), kStateChecks.end());
  names.insert(names.end(), kMoreChecks.begin(), kMoreChecks.end());
  return names;
}

bool StoreSample::take() {
  const Result<Looked> looked = look_at_state(runtime_, store_, {.ns = options_.ns});
  if (!looked) return not_answered(looked.error());
  const StateNumbers& numbers = looked->numbers;
  const auto set = [&](Family family, std::int64_t value) { metrics_.set(family, static_cast<double>(value)); };
  set(Family::stale_jobs, numbers.stale_jobs);
  set(Family::poison_jobs, numbers.poison_jobs);
  set(Family::effects_in_doubt, numbers.effects_in_doubt);
  set(Family::groups_blocked, numbers.groups_blocked);
  set(Family::lock_debt, numbers.lock_debt);
  set(Family::schedules_ahead, numbers.schedules_ahead);
  metrics_.set(Family::schedule_lag_seconds, seconds_of(numbers.schedule_lag));
  metrics_.set(Family::workers, {"seen"}, static_cast<double>(numbers.workers_seen));
  metrics_.set(Family::workers, {"gone"}, static_cast<double>(numbers.workers_gone));
  set_queues(looked->queues);
  set_findings(looked->findings, looked_at_);
  metrics_.set(Family::finding, {kStoreAway}, level_of(FindingStatus::ok));
  return examine();
}

void StoreSample::set_queues(const std::vector<QueueRow>& rows) {
  const WallTime now = runtime_.wall_now();
  struct Shown {
    std::array<std::int64_t, 6> depth{};
    Duration age{0};
  };
  std::map<std::string, Shown> shown{{kOther, {}}};
  const std::size_t own = std::min(options_.queues.size(), kQueuesMost);
  for (std::size_t i = 0; i < own; ++i) shown[options_.queues[i]];
  for (const QueueRow& row : rows) {
    const auto found = shown.find(row.queue);
    Shown& queue = found == shown.end() ? shown[kOther] : found->second;
    for (std::size_t i = 0; i < queue.depth.size(); ++i) queue.depth[i] += row.depth[i];
    if (row.oldest_ready_at) queue.age = std::max(queue.age, now - *row.oldest_ready_at);
  }
  for (const auto& [name, queue] : shown) {
    for (std::size_t i = 0; i < queue.depth.size(); ++i)
      metrics_.set(Family::jobs, {name, to_string(static_cast<JobState>(i))}, static_cast<double>(queue.depth[i]));
    metrics_.set(Family::oldest_ready_seconds, {name}, seconds_of(queue.age));
  }
}

// Of several findings with one name the worst counts; an earlier finding that is not named again is over.
void StoreSample::set_findings(const std::vector<Finding>& findings, std::set<std::string>& named) {
  static const std::vector<std::string> known = check_names();
  std::map<std::string, double> worst;
  for (const std::string& name : std::exchange(named, {})) worst[name] = level_of(FindingStatus::ok);
  for (const Finding& finding : findings) {
    double& level = worst[std::ranges::find(known, finding.name) == known.end() ? kOther : finding.name];
    level = std::max(level, level_of(finding.status));
  }
  for (const auto& [name, level] : worst) {
    metrics_.set(Family::finding, {name}, level);
    named.insert(name);
  }
}

bool StoreSample::examine() {
  const Instant now = runtime_.now();
  if (examined_at_ && now - *examined_at_ < options_.examine_every) return true;
  std::vector<Finding> findings;
  // What may not be asked, or is broken, is found as that; the sample is as new without it.
  const auto add = [&](const Result<std::vector<Finding>>& found) {
    if (found) findings.insert(findings.end(), found->begin(), found->end());
    else if (is_away(found.error())) return not_answered(found.error());
    else findings.push_back({kOther, FindingStatus::warning, found.error().message, ""});
    return true;
  };
  if (!add(store_.examine())) return false;
  if (options_.more && !add(options_.more(store_))) return false;
  examined_at_ = now;
  set_findings(findings, examined_);
  metrics_.set(Family::store_class, {metrics_.store()}, 1 + static_cast<int>(store_.profile().guarantee));
  return true;
}

bool StoreSample::not_answered(const Error& error) {
  if (is_away(error)) metrics_.set(Family::finding, {kStoreAway}, level_of(FindingStatus::bad));
  return false;
}

}  // namespace fenceline::metrics

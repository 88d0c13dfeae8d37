#include "doctor/state.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "doctor/state_look.hpp"

namespace fenceline {
namespace doctor {

StateLook::StateLook(Runtime& runtime_, Store& store_, const StateOptions& options_, Looked& looked_)
    : runtime(runtime_), store(store_), options(options_), looked(looked_), until(runtime_.now() + options_.budget) {}

Result<void> StateLook::read() {
  // First, as its answer says what the store's clock shows: all ages are by that.
  Result<SchedulesReply> page = store.schedules({.ns = options.ns, .limit = kSchedulesAtOnceMax});
  if (!page) return std::unexpected(page.error());
  now = page->now;
  if (page->more) cut_short();
  schedules = std::move(page->schedules);
  Result<std::vector<QueueRow>> queues = store.queues(options.ns);
  if (!queues) return std::unexpected(queues.error());
  looked.queues = std::move(*queues);
  // Before the jobs: what a worker believes is held against what the store says after it.
  Result<std::vector<WorkerRow>> workers = store.workers(options.ns);
  if (!workers) return std::unexpected(workers.error());
  looked.workers = std::move(*workers);
  if (depth(JobState::running) > 0) {
    JobsRequest request{.ns = options.ns, .state = JobState::running, .limit = kPage};
    for (bool more = true; more;) {
      Result<JobsReply> jobs = store.jobs(request);
      if (!jobs) return std::unexpected(jobs.error());
      std::ranges::move(jobs->jobs, std::back_inserter(running));
      more = jobs->next.has_value();
      if (more && !has_time()) {
        cut_short();
        break;
      }
      request.after = jobs->next.value_or(0);
    }
  }
  if (depth(JobState::waiting) > 0) {
    Result<JobsReply> jobs = store.jobs({.ns = options.ns, .state = JobState::waiting, .limit = kPage});
    if (!jobs) return std::unexpected(jobs.error());
    if (jobs->next) cut_short();
    waiting = std::move(jobs->jobs);
  }
  return {};
}

std::int64_t StateLook::depth(JobState state) const {
  std::int64_t sum = 0;
  for (const QueueRow& row : looked.queues) sum += row.depth_of(state);
  return sum;
}

const WorkerRow* StateLook::worker(const std::string& owner) const {
  const auto found = std::ranges::find(looked.workers, owner,
                                       [](const WorkerRow& row) -> const std::string& { return row.report.owner; });
  return found == looked.workers.end() ? nullptr : &*found;
}

namespace {

// The text comes from a worker's report: only safe characters, and no option of ssh, may go into a line to paste.
bool is_host_name(std::string_view host) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  };
  return !host.empty() && !host.starts_with('-') && std::ranges::all_of(host, fits);
}

}  // namespace

std::string StateLook::wake_or_forget(const WorkerRow& row) const {
  const std::string wake = "kill -CONT " + std::to_string(row.report.pid);
  const std::string forget = "fenceline workers forget " + shell_word(row.report.owner);
  if (was_seen_ahead(row)) return forget;  // one that lives says so again within seconds
  const std::optional<bool> lives = options.lives ? options.lives(row) : std::nullopt;
  if (lives) return *lives ? wake : forget;
  if (!is_host_name(row.report.host) || row.report.pid <= 0) return forget;
  return "ssh " + row.report.host + " " + wake + " || " + forget;
}

Result<std::map<JobId, Job>> StateLook::jobs_now(std::vector<JobId> ids) const {
  std::map<JobId, Job> found;
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.size() > static_cast<std::size_t>(kItemsAtOnceMax)) ids.resize(static_cast<std::size_t>(kItemsAtOnceMax));
  if (ids.empty()) return found;
  Result<ItemsReply> items = store.items({.ns = options.ns, .ids = ids});
  if (!items) return std::unexpected(items.error());
  for (Item& item : items->items) {
    const JobId id = item.job.id;
    found.insert_or_assign(id, std::move(item.job));
  }
  return found;
}

std::string named(const Job& job) { return "job " + to_string(job.id) + " of queue " + job.queue; }

namespace {

using Check = Result<Findings> (*)(StateLook&);

// In the order of kStateChecks, as far as they go; those of locks come in between, from one reading.
constexpr std::array<Check, 9> kOfJobs{stale_jobs, poison_jobs,  orphans,          beliefs,       workers_gone,
                                       queue_age,  dead_letters, effects_in_doubt, groups_blocked};
constexpr std::array<Check, 3> kOfPlans{schedules_late, schedules_ahead, items_on_hold};

}  // namespace
}  // namespace doctor

bool is_gone(const WorkerRow& row) { return row.unseen > row.report.ttl || was_seen_ahead(row); }

bool was_seen_ahead(const WorkerRow& row) { return -row.unseen > row.report.ttl; }

RunningByOwner running_by_owner(const std::vector<Job>& jobs) {
  RunningByOwner running;
  for (const Job& job : jobs) {
    if (job.state == JobState::running && job.lease_left.value_or(Duration{0}) > Duration{0})
      running[job.owner].push_back({job.id, job.fence});
  }
  return running;
}

Result<RunningByOwner> read_running(Store& store, const std::string& ns) {
  std::vector<Job> jobs;
  JobsRequest request{.ns = ns, .state = JobState::running, .limit = kJobsPageMax};
  for (bool more = true; more && jobs.size() < kRunningLooked;) {
    Result<JobsReply> page = store.jobs(request);
    if (!page) return std::unexpected(page.error());
    std::ranges::move(page->jobs, std::back_inserter(jobs));
    more = page->next.has_value();
    request.after = page->next.value_or(0);
  }
  return running_by_owner(jobs);
}

Result<Looked> look_at_state(Runtime& runtime, Store& store, const StateOptions& options) {
  Looked looked;
  doctor::StateLook look(runtime, store, options, looked);
  if (Result<void> read = look.read(); !read) return std::unexpected(read.error());
  looked.running = running_by_owner(look.running);
  const auto add = [&](doctor::Findings more) { std::ranges::move(more, std::back_inserter(looked.findings)); };
  for (const doctor::Check check : doctor::kOfJobs) {
    Result<doctor::Findings> found = check(look);
    if (!found) return std::unexpected(found.error());
    add(std::move(*found));
  }
  Result<doctor::LockFindings> locks = doctor::locks(look);
  if (!locks) return std::unexpected(locks.error());
  add(std::move(locks->wait));
  add(std::move(locks->debt));
  for (const doctor::Check check : doctor::kOfPlans) {
    Result<doctor::Findings> found = check(look);
    if (!found) return std::unexpected(found.error());
    add(std::move(*found));
  }
  return looked;
}

}  // namespace fenceline

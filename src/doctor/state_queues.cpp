// Queues: how long work waits and why, dead letters, effects in doubt.
#include <algorithm>
#include <iterator>

#include "doctor/state_look.hpp"
#include "services/queue_rewind.hpp"

namespace fenceline::doctor {
namespace {

std::int64_t due_in(const QueueRow& row) {
  return std::max<std::int64_t>(row.depth_of(JobState::ready) - row.ahead, row.oldest_ready_at ? 1 : 0);
}

struct Servers {
  std::int64_t working = 0;
  std::vector<std::string> quiet;
};

Servers servers_of(const StateLook& look, const std::string& queue) {
  Servers servers;
  for (const WorkerRow& row : look.looked.workers) {
    if (is_gone(row) || std::ranges::find(row.report.queues, queue) == row.report.queues.end()) continue;
    if (row.order == WorkerOrder::work) servers.working += 1;
    else if (row.order == WorkerOrder::quiet) servers.quiet.push_back(row.report.owner);
  }
  return servers;
}

void judge_queue(StateLook& look, FindingList& list, const QueueRow& row) {
  const std::int64_t due = due_in(row);
  const std::string jobs = counted(due, "job") + (due == 1 ? " is due" : " are due");
  if (row.paused && (due > 0 || row.depth_of(JobState::running) > 0)) {
    const std::string why = row.paused->reason.empty() ? "" : " ('" + row.paused->reason + "')";
    list.add(FindingStatus::warning, "queue " + row.queue + " is paused by " + row.paused->by + why + "; " + jobs,
             "fenceline queue resume " + row.queue, row.paused->at);
    return;
  }
  if (row.paused || !row.oldest_ready_at || due == 0) return;
  const Duration age = look.now - *row.oldest_ready_at;
  const Servers servers = servers_of(look, row.queue);
  if (servers.working > 0) {
    if (age > kQueueOld)
      list.add(FindingStatus::warning,
               "queue " + row.queue + ": the oldest job has been waiting for " + rough(age) + "; " + jobs + ", " +
                   counted(servers.working, "worker") + " at it",
               "fenceline work " + row.queue + " -- CMD", *row.oldest_ready_at);
    return;
  }
  const FindingStatus status = age > kUnservedBad ? FindingStatus::bad : FindingStatus::warning;
  if (!servers.quiet.empty())
    list.add(status, "queue " + row.queue + " has only quiet workers; " + jobs + ", the oldest for " + rough(age),
             "fenceline workers resume " + shell_word(servers.quiet.front()), *row.oldest_ready_at);
  else
    list.add(status, "queue " + row.queue + " has no worker; " + jobs + ", the oldest for " + rough(age),
             "fenceline work " + row.queue + " -- CMD", *row.oldest_ready_at);
}

// Some of the ready jobs of a queue, where those that a clock left behind are likely to be: among the first, since
// others are done before them, and among the newest.
Result<std::vector<Job>> some_ready(StateLook& look, const QueueRow& row) {
  JobsRequest request{.ns = look.options.ns, .queue = row.queue, .state = JobState::ready, .limit = kPage};
  Result<JobsReply> first = look.store.jobs(request);
  if (!first) return std::unexpected(first.error());
  std::vector<Job> jobs = std::move(first->jobs);
  if (!first->next) return jobs;
  request.after = std::max(*first->next, row.newest - kPage);
  Result<JobsReply> last = look.store.jobs(request);
  if (!last) return std::unexpected(last.error());
  std::ranges::move(last->jobs, std::back_inserter(jobs));
  return jobs;
}

// Jobs that a clock that was ahead left behind: their time is still to come, and nobody meant them to wait.
Result<void> judge_run_times(StateLook& look, FindingList& list, const QueueRow& row) {
  if (row.ahead == 0 || !look.has_time()) return {};
  const Result<std::vector<Job>> jobs = some_ready(look, row);
  if (!jobs) return std::unexpected(jobs.error());
  std::int64_t left_behind = 0;
  std::size_t asked = 0;
  WallTime last = look.now;
  for (const Job& job : *jobs) {
    std::optional<WallTime> ended;
    if (job.deliveries > 0 && job.run_at > look.now && asked++ < kAttemptsAsked) {
      const Result<std::vector<Attempt>> attempts = look.store.attempts(look.options.ns, job.id);
      if (!attempts) return std::unexpected(attempts.error());
      if (!attempts->empty()) ended = attempts->back().ended_at;
    }
    const RunTime run_time = run_time_of(job, ended, look.now);
    if (run_time == RunTime::as_meant || run_time == RunTime::delayed) continue;
    left_behind += 1;
    last = std::max(last, job.run_at);
  }
  const auto all = static_cast<std::int64_t>(jobs->size());
  const std::string at_least = all < row.depth_of(JobState::ready) ? "at least " : "";
  if (left_behind > 0)
    list.add(FindingStatus::bad,
             "queue " + row.queue + ": " + at_least + counted(left_behind, "job") +
                 " came or failed while the store's clock was ahead, and " + (left_behind == 1 ? "waits" : "wait") +
                 " up to " + rough(last - look.now) + " for it",
             "fenceline queue rewind " + row.queue);
  return {};
}

std::string first_line(const std::string& text) {
  constexpr std::size_t kShown = 80;
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() > kShown ? line.substr(0, kShown) + "..." : line;
}

}  // namespace

Result<Findings> queue_age(StateLook& look) {
  FindingList list("queue_age", "work that is due is not done, and the backlog grows", "fenceline queue list");
  for (const QueueRow& row : look.looked.queues) {
    judge_queue(look, list, row);
    if (Result<void> judged = judge_run_times(look, list, row); !judged) return std::unexpected(judged.error());
  }
  return look.told(std::move(list),
                   counted(static_cast<std::int64_t>(look.looked.queues.size()), "queue") + ", no long waits");
}

Result<Findings> dead_letters(StateLook& look) {
  FindingList list(
      "dead_letters",
      "they have no attempts left: they do not run again by themselves, and are removed after their retention",
      "fenceline dead list");
  const std::int64_t all = look.depth(JobState::dead);
  look.looked.numbers.dead_letters = all;
  if (all == 0) return look.told(std::move(list), "none");
  // One page: an example of each queue, as far as they are in it.
  const Result<JobsReply> page = look.store.jobs({.ns = look.options.ns, .state = JobState::dead, .limit = 100});
  if (!page) return std::unexpected(page.error());
  for (const QueueRow& row : look.looked.queues) {
    const std::int64_t dead = row.depth_of(JobState::dead);
    if (dead == 0) continue;
    const auto example = std::ranges::find(page->jobs, row.queue, &Job::queue);
    std::string detail = counted(dead, "dead job") + " in queue " + row.queue;
    std::optional<WallTime> since;
    if (example != page->jobs.end()) {
      detail += (dead == 1 ? ": job " : "; the first: job ") + to_string(example->id) +
                (example->error.empty() ? "" : ", " + first_line(example->error));
      since = example->finished_at;
    }
    list.add(FindingStatus::warning, detail, "fenceline dead redrive --queue " + row.queue + " --limit 1 --yes", since);
  }
  return look.told(std::move(list), "none");
}

Result<Findings> effects_in_doubt(StateLook& look) {
  // Whether or not their jobs wait: effects of a cancelled or dead job would not be reported otherwise.
  FindingList list("effects_in_doubt", "it may or may not have happened, and is not repeated until someone resolves it",
                   "fenceline effects list --in-doubt");
  const Result<EffectsReply> doubts = look.store.effects({.ns = look.options.ns, .in_doubt = true, .limit = kPage});
  if (!doubts) return std::unexpected(doubts.error());
  if (doubts->next) look.cut_short();
  for (const Effect& effect : doubts->effects) {
    const bool bad = effect.held && look.now - effect.began_at > kForAPersonBad;
    const std::string id = to_string(effect.job);
    list.add(bad ? FindingStatus::bad : FindingStatus::warning,
             "effect " + effect.name + " of job " + id + ", begun under fence " + std::to_string(effect.fence) +
                 ", may have happened" + (effect.held ? "; its job waits for an operator" : ""),
             "fenceline effects resolve " + id + " " + effect.name + " --done  # or --none if it did not happen",
             effect.began_at);
  }
  look.looked.numbers.effects_in_doubt = list.size();
  return look.told(std::move(list), "none is in doubt");
}

}  // namespace fenceline::doctor

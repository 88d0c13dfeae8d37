// Groups that stand still: which job is at the head, what it waits for, and who waits behind it.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "doctor/state_look.hpp"

namespace fenceline::doctor {
namespace {

constexpr int kReadyLooked = 100;  // of each queue, the first by enqueue
constexpr std::size_t kQueuesLooked = 10;
constexpr std::size_t kGroupsAsked = 10;
constexpr std::int64_t kReadyMost =
    300;  // in a queue: in one with more nobody looks for who waits, as a store may have to walk through all of them
constexpr Duration kGroupWaits = std::chrono::seconds{10};

using Group = std::pair<std::string, std::string>;  // queue, name

struct Blocked {
  std::optional<Job> job;  // the first that is due and waits, if it was looked for
  Job head;
  JobFacts facts;  // of that job, or of the head itself
};

// Heads that stand still as far as the reading shows.
std::map<Group, const Job*> suspects(const StateLook& look) {
  std::map<Group, const Job*> heads;
  for (const Job& job : look.waiting) {
    if (!job.group.empty()) heads.try_emplace({job.queue, job.group}, &job);
  }
  for (const Job& job : look.running) {
    if (!job.group.empty() && has_expired(job)) heads.try_emplace({job.queue, job.group}, &job);
  }
  return heads;
}

// Queues of workers that say they hold what does not run: it may be the head of a group, taken from one that has not
// said that it stopped.
std::set<std::string> queues_of_doubt(const StateLook& look) {
  std::set<JobId> running;
  for (const Job& job : look.running) running.insert(job.id);
  std::set<std::string> queues;
  for (const WorkerRow& worker : look.looked.workers) {
    if (std::ranges::any_of(worker.report.holding, [&](const Holding& held) { return !running.contains(held.id); }))
      queues.insert(worker.report.queues.begin(), worker.report.queues.end());
  }
  return queues;
}

bool is_long(const QueueRow& row) { return row.depth_of(JobState::ready) > kReadyMost; }

// Queues in which a job may wait for the head of its group: those with a suspect first, then those where work is due
// for some time and a head may stand still.
std::vector<const QueueRow*> queues_to_look_at(StateLook& look, const std::map<Group, const Job*>& suspected) {
  std::vector<const QueueRow*> first, others;
  const std::set<std::string> doubt = queues_of_doubt(look);
  for (const QueueRow& row : look.looked.queues) {
    if (row.paused || !row.oldest_ready_at) continue;
    const bool has_suspect =
        std::ranges::any_of(suspected, [&](const auto& one) { return one.first.first == row.queue; });
    if (is_long(row)) {
      look.cut_short();
      continue;
    }
    if (has_suspect) first.push_back(&row);
    else if (look.now - *row.oldest_ready_at > kGroupWaits &&
             (row.ahead > 0 || row.depth_of(JobState::waiting) > 0 || doubt.contains(row.queue)))
      others.push_back(&row);
  }
  std::ranges::copy(others, std::back_inserter(first));
  return first;
}

// The first job of each group that is due, among the first of each of these queues.
Result<std::vector<Job>> first_of_groups(StateLook& look, const std::map<Group, const Job*>& suspected) {
  std::vector<Job> firsts;
  std::set<Group> seen;
  std::size_t queues = 0;
  for (const QueueRow* row : queues_to_look_at(look, suspected)) {
    if (queues++ == kQueuesLooked || !look.has_time()) {
      look.cut_short();
      break;
    }
    Result<JobsReply> page =
        look.store.jobs({.ns = look.options.ns, .queue = row->queue, .state = JobState::ready, .limit = kReadyLooked});
    if (!page) return std::unexpected(page.error());
    for (Job& job : page->jobs) {
      if (!job.group.empty() && job.run_at <= look.now && seen.emplace(job.queue, job.group).second)
        firsts.push_back(std::move(job));
    }
  }
  std::ranges::stable_partition(firsts, [&](const Job& job) { return suspected.contains({job.queue, job.group}); });
  return firsts;
}

// Of a long queue: heads that stand still. Who waits behind them is not looked for.
Result<std::vector<Blocked>> heads_of_long_queues(StateLook& look, const std::map<Group, const Job*>& suspected) {
  std::vector<Blocked> blocked;
  for (const auto& [group, head] : suspected) {
    const auto row = std::ranges::find(look.looked.queues, group.first, &QueueRow::queue);
    if (row == look.looked.queues.end() || row->paused || !is_long(*row)) continue;
    if (blocked.size() == kGroupsAsked) {
      look.cut_short();
      break;
    }
    const Result<std::optional<JobFacts>> facts = look.store.facts(look.options.ns, head->id);
    if (!facts) return std::unexpected(facts.error());
    if (*facts && !(*facts)->group_head) blocked.push_back({std::nullopt, (*facts)->job, **facts});
  }
  return blocked;
}

// Of queues that are not long: who waits, and behind whom.
Result<std::vector<Blocked>> who_waits(StateLook& look, const std::map<Group, const Job*>& suspected) {
  Result<std::vector<Job>> firsts = first_of_groups(look, suspected);
  if (!firsts) return std::unexpected(firsts.error());
  if (firsts->size() > kGroupsAsked) {
    firsts->resize(kGroupsAsked);
    look.cut_short();
  }
  std::vector<Blocked> blocked;
  std::vector<JobId> heads;
  for (Job& job : *firsts) {
    const Result<std::optional<JobFacts>> facts = look.store.facts(look.options.ns, job.id);
    if (!facts) return std::unexpected(facts.error());
    if (!*facts || !(*facts)->group_head) continue;
    heads.push_back(*(*facts)->group_head);
    blocked.push_back({std::move(job), {}, **facts});
  }
  const Result<std::map<JobId, Job>> jobs = look.jobs_now(heads);
  if (!jobs) return std::unexpected(jobs.error());
  std::erase_if(blocked, [&](Blocked& one) {
    const auto head = jobs->find(*one.facts.group_head);
    if (head != jobs->end()) one.head = head->second;
    return head == jobs->end();
  });
  return blocked;
}

// What blocks the head, and the command that fixes it; empty: the head runs or will run by itself.
struct Cause {
  std::string words;
  std::string remedy;
  std::optional<WallTime> since;
  bool for_a_person = false;
};

std::optional<Cause> cause_of(const StateLook& look, const Job& head, const JobFacts& behind,
                              const std::optional<JobFacts>& facts) {
  const std::string id = to_string(head.id);
  if (head.state == JobState::waiting) {
    if (facts && !facts->effects_in_doubt.empty())
      return Cause{"which waits for the effect " + facts->effects_in_doubt.front() + ", in doubt",
                   "fenceline effects resolve " + id + " " + facts->effects_in_doubt.front() +
                       " --done  # or --none if it did not happen",
                   head.run_at, true};
    return Cause{"which waits for a person" + (head.stage.empty() ? "" : " at " + head.stage),
                 "fenceline job explain " + id, head.run_at, true};
  }
  if (has_expired(head))
    return Cause{"whose lease expired " + rough(expired_for(head)) + " ago", "fenceline work " + head.queue + " -- CMD",
                 look.now - expired_for(head), false};
  if (behind.group_head_revoked)
    return Cause{"which was taken from " + head.owner + ", and that worker has not reported that it stopped",
                 "fenceline job explain " + id, std::nullopt, false};
  if (head.state == JobState::ready && head.run_at > look.now)
    return head.failures > 0 ? Cause{"which will be retried at " + moment(head.run_at, look.now) + " after " +
                                         counted(head.failures, "failure"),
                                     "fenceline job retry " + id, std::nullopt, false}
                             : Cause{"which is due at " + moment(head.run_at, look.now), "fenceline job explain " + id,
                                     std::nullopt, false};
  return std::nullopt;
}

std::string words_for(const StateLook& look, const Blocked& one, const Cause& cause) {
  const std::string group = "group " + one.head.group + " of queue " + one.head.queue + ": ";
  const std::string head = "job " + to_string(one.head.id) + ", " + cause.words;
  if (!one.job) return group + "all its jobs wait behind " + head;
  return group + "job " + to_string(one.job->id) + ", due for " + rough(look.now - one.job->run_at) +
         ", waits behind " + head;
}

}  // namespace

Result<Findings> groups_blocked(StateLook& look) {
  FindingList list("groups_blocked", "jobs of a group run one at a time, in order: all later jobs wait for the first",
                   "fenceline jobs --state waiting");
  const std::map<Group, const Job*> suspected = suspects(look);
  Result<std::vector<Blocked>> blocked = who_waits(look, suspected);
  if (!blocked) return std::unexpected(blocked.error());
  Result<std::vector<Blocked>> others = heads_of_long_queues(look, suspected);
  if (!others) return std::unexpected(others.error());
  std::ranges::move(*others, std::back_inserter(*blocked));
  for (const Blocked& one : *blocked) {
    std::optional<JobFacts> of_head;
    if (one.head.state == JobState::waiting) {
      Result<std::optional<JobFacts>> facts =
          one.job ? look.store.facts(look.options.ns, one.head.id) : Result<std::optional<JobFacts>>(one.facts);
      if (!facts) return std::unexpected(facts.error());
      of_head = std::move(*facts);
    }
    const std::optional<Cause> cause = cause_of(look, one.head, one.facts, of_head);
    if (!cause) continue;
    const WallTime since = cause->since ? *cause->since : one.job ? one.job->run_at : one.head.run_at;
    const bool bad = cause->for_a_person && look.now - (one.job ? one.job->run_at : since) > kForAPersonBad;
    list.add(bad ? FindingStatus::bad : FindingStatus::warning, words_for(look, one, *cause), cause->remedy, since);
  }
  look.looked.numbers.groups_blocked = list.size();
  return look.told(std::move(list), "no group is blocked");
}

}  // namespace fenceline::doctor

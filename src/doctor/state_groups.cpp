// Groups that stand still: which job is at the head, what it waits for, and who waits behind it.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "doctor/state_look.hpp"

namespace fenceline::doctor {
namespace {

constexpr int kReadyLooked = 100;         // of each queue, the first by enqueue
constexpr std::size_t kQueuesLooked = 10;
constexpr std::size_t kGroupsAsked = 10;
constexpr Duration kGroupWaits = std::chrono::seconds{10};

struct Blocked {
  Job job;  // the first that is due and waits
  JobFacts facts;
};

// Heads that stand still as far as the reading shows: their groups are asked about first.
std::set<std::pair<std::string, std::string>> suspects(const StateLook& look) {
  std::set<std::pair<std::string, std::string>> groups;
  for (const Job& job : look.waiting) groups.emplace(job.queue, job.group);
  for (const Job& job : look.running) {
    if (has_expired(job)) groups.emplace(job.queue, job.group);
  }
  return groups;
}

// Queues that may have a group that stands still: those with a suspect first, then those where work is due for some time though it could be done.
std::vector<const QueueRow*> queues_to_look_at(const StateLook& look, const std::set<std::pair<std::string, std::string>>& suspected) {
  const auto has_suspect = [&](const QueueRow& row) { return std::ranges::any_of(suspected, [&](const auto& group) { return group.first == row.queue && !group.second.empty(); }); };
  std::vector<const QueueRow*> first, others;
  for (const QueueRow& row : look.looked.queues) {
    if (row.paused || !row.oldest_ready_at) continue;
    if (has_suspect(row)) first.push_back(&row);
    else if (look.now - *row.oldest_ready_at > kGroupWaits) others.push_back(&row);
  }
  std::ranges::copy(others, std::back_inserter(first));
  return first;
}

// The first job of each group that is due, among the first of each of these queues.
Result<std::vector<Job>> first_of_groups(StateLook& look, const std::set<std::pair<std::string, std::string>>& suspected) {
  std::vector<Job> firsts;
  std::set<std::pair<std::string, std::string>> seen;
  std::size_t queues = 0;
  for (const QueueRow* row : queues_to_look_at(look, suspected)) {
    if (queues++ == kQueuesLooked || !look.has_time()) {
      look.cut_short();
      break;
    }
    Result<JobsReply> page = look.store.jobs({.ns = look.options.ns, .queue = row->queue, .state = JobState::ready, .limit = kReadyLooked});
    if (!page) return std::unexpected(page.error());
    for (Job& job : page->jobs) {
      if (!job.group.empty() && job.run_at <= look.now && seen.emplace(job.queue, job.group).second) firsts.push_back(std::move(job));
    }
  }
  return firsts;
}

// What stands in the way, and the command that ends it; empty: the head runs, or will, and all is as it should be.
struct Cause {
  std::string words;
  std::string remedy;
  std::optional<WallTime> since;
  bool for_a_person = false;
};

std::optional<Cause> cause_of(const StateLook& look, const Job& head, const JobFacts& behind, const std::optional<JobFacts>& facts) {
  const std::string id = to_string(head.id);
  if (head.state == JobState::waiting) {
    if (facts && !facts->effects_in_doubt.empty())
      return Cause{"which waits for effect " + facts->effects_in_doubt.front() + ", in doubt", "fenceline effects resolve " + id + " " + facts->effects_in_doubt.front() + " --done  # or --none, whichever is so",
                   head.run_at, true};
    return Cause{"which waits for a person" + (head.stage.empty() ? "" : " at " + head.stage), "fenceline job explain " + id, head.run_at, true};
  }
  if (has_expired(head)) return Cause{"whose lease ran out " + rough(expired_for(head)) + " ago", "fenceline work " + head.queue + " -- CMD", look.now - expired_for(head), false};
  if (behind.group_head_revoked) return Cause{"which was taken from " + head.owner + ", and that worker has not said that it stopped", "fenceline job explain " + id, std::nullopt, false};
  if (head.state == JobState::ready && head.run_at > look.now)
    return Cause{"which is tried again at " + moment(head.run_at, look.now) + (head.failures > 0 ? " after " + counted(head.failures, "failure") : ""), "fenceline job retry " + id, std::nullopt, false};
  return std::nullopt;
}

}  // namespace

Result<Findings> groups_blocked(StateLook& look) {
  FindingList list("groups_blocked", "jobs of a group run one at a time, in order: all behind the head wait for it", "fenceline jobs --state waiting");
  const auto suspected = suspects(look);
  Result<std::vector<Job>> firsts = first_of_groups(look, suspected);
  if (!firsts) return std::unexpected(firsts.error());
  std::ranges::stable_partition(*firsts, [&](const Job& job) { return suspected.contains({job.queue, job.group}); });
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
    blocked.push_back({std::move(job), **facts});
  }
  const Result<std::map<JobId, Job>> jobs = look.jobs_now(heads);
  if (!jobs) return std::unexpected(jobs.error());
  for (const Blocked& one : blocked) {
    const auto head = jobs->find(*one.facts.group_head);
    if (head == jobs->end()) continue;
    std::optional<JobFacts> of_head;
    if (head->second.state == JobState::waiting) {
      Result<std::optional<JobFacts>> facts = look.store.facts(look.options.ns, head->first);
      if (!facts) return std::unexpected(facts.error());
      of_head = std::move(*facts);
    }
    const std::optional<Cause> cause = cause_of(look, head->second, one.facts, of_head);
    if (!cause) continue;
    const bool bad = cause->for_a_person && look.now - one.job.run_at > kForAPersonBad;
    list.add(bad ? FindingStatus::bad : FindingStatus::warning,
             "group " + one.job.group + " of queue " + one.job.queue + ": job " + to_string(one.job.id) + ", due for " + rough(look.now - one.job.run_at) + ", waits behind job " + to_string(head->first) + ", " +
                 cause->words,
             cause->remedy, cause->since ? cause->since : std::optional(one.job.run_at));
  }
  look.looked.numbers.groups_blocked = list.size();
  return look.told(std::move(list), "no group stands still");
}

}  // namespace fenceline::doctor

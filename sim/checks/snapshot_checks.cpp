// The store as a whole against what must be true of it: J1, J4, J8, and changes that no call admitted to.
#include <algorithm>

#include "sim/checks/store_checks.hpp"

namespace fenceline::sim {
namespace {

constexpr JobState kStates[] = {JobState::ready, JobState::running, JobState::waiting,
                                JobState::done,  JobState::dead,    JobState::cancelled};

}  // namespace

void StoreChecks::compare(const KnownJob& job, const Job& shown, Instant now, std::string_view promise) {
  const auto differs = [&](std::string_view named, std::string_view what, const auto& is, const auto& must) {
    broken(named, job.id,
           "shows " + std::string(what) + " " + std::to_string(is) + ", it must be " + std::to_string(must));
  };
  if (shown.state != job.state)
    return broken(job.finished() ? "J3" : promise, job.id,
                  "is " + std::string(to_string(shown.state)) + ", it must be " + std::string(to_string(job.state)));
  if (shown.fence != job.fence)
    return differs(shown.fence < job.fence ? "L2" : promise, "fence", shown.fence, job.fence);
  if (shown.owner != job.owner)
    return broken(promise, job.id, "shows owner '" + shown.owner + "', it must be '" + job.owner + "'");
  if (shown.deliveries != job.deliveries) return differs("J5", "deliveries", shown.deliveries, job.deliveries);
  if (shown.failures != job.failures) return differs("J5", "failures", shown.failures, job.failures);
  if (shown.losses != job.losses) return differs("J5", "losses", shown.losses, job.losses);
  if (shown.losses_in_row != job.losses_in_row)
    return differs("J5", "losses in a row", shown.losses_in_row, job.losses_in_row);
  if (shown.laters != job.laters) return differs("J5", "laters", shown.laters, job.laters);
  if (job.state == JobState::ready && shown.run_at != job.run_at)
    return differs(promise, "run time", shown.run_at.time_since_epoch().count(), job.run_at.time_since_epoch().count());
  if (job.finished() && shown.finished_at != job.finished_at)
    return broken(promise, job.id, "shows another time of its finish");
  if (shown.progress != job.progress) return broken("notes", job.id, "shows another progress than it said");
  const Duration left = job.lease_end - now;
  if (job.state == JobState::running && shown.lease_left != left)
    differs(promise, "left of its lease", shown.lease_left.value_or(Duration{0}).count(), left.count());
}

void StoreChecks::compare_all(Instant now) {
  std::set<JobId> seen;
  std::map<JobState, std::int64_t> in_state;
  JobsRequest request{.ns = ns_, .limit = 1000};
  while (true) {
    const Result<JobsReply> page = store_.jobs(request);
    if (!page) return violations_.add("J4", "the store cannot be listed: " + page.error().message);
    for (const Job& shown : page->jobs) {
      if (!seen.insert(shown.id).second) broken("J4", shown.id, "is listed twice");
      in_state[shown.state] += 1;
      if (const KnownJob* job = find(shown.id)) compare(*job, shown, now, "J4");
      else broken("J4", shown.id, "is there and nobody enqueued it");
    }
    if (!page->next) break;
    request.after = *page->next;
  }
  for (const auto& [id, job] : jobs_) {
    if (!seen.contains(id)) return broken("J1", id, "was enqueued and is gone");
  }
  compare_queues();
  compare_effects(now);
  for (const JobState state : kStates) {
    const Result<JobsReply> page = store_.jobs({.ns = ns_, .state = state, .limit = 1000});
    if (page && page->next) continue;
    if (page && static_cast<std::int64_t>(page->jobs.size()) != in_state[state])
      violations_.add("J4", "the list of " + std::string(to_string(state)) + " jobs has " +
                                std::to_string(page->jobs.size()) + ", the whole list " +
                                std::to_string(in_state[state]));
  }
}

void StoreChecks::compare_queues() {
  const Result<std::vector<QueueRow>> rows = store_.queues(ns_);
  if (!rows) return violations_.add("J4", "the queues cannot be listed: " + rows.error().message);
  std::map<std::string, std::map<JobState, std::int64_t>> depths;
  for (const auto& [id, job] : jobs_) depths[job.queue][job.state] += 1;
  for (const auto& [name, queue] : queues_) {
    const auto row = std::find_if(rows->begin(), rows->end(), [&](const QueueRow& one) { return one.queue == name; });
    if (row == rows->end() && depths[name].empty() && !queue.paused && queue.settings == QueueSettings{}) continue;
    if (row == rows->end()) return violations_.add("J4", "queue " + name + " is not listed");
    for (const JobState state : kStates) {
      if (row->depth_of(state) == depths[name][state]) continue;
      return violations_.add("J4", "queue " + name + " shows " + std::to_string(row->depth_of(state)) + " " +
                                       std::string(to_string(state)) + " jobs, there are " +
                                       std::to_string(depths[name][state]));
    }
    if (row->paused.has_value() != queue.paused)
      violations_.add("pause", "queue " + name + " shows a wrong word on its pause");
    if (!(row->settings == queue.settings))
      violations_.add("J4", "queue " + name + " shows other settings than it was given");
  }
}

void StoreChecks::compare_stories() {
  for (const auto& [id, job] : jobs_) {
    compare_attempts(job);
    compare_log(job);
  }
}

void StoreChecks::compare_attempts(const KnownJob& job) {
  const Result<std::vector<Attempt>> shown = store_.attempts(ns_, job.id);
  if (!shown) return broken("history", job.id, "cannot be shown: " + shown.error().message);
  if (shown->size() != job.attempts.size())
    return broken(
        "history", job.id,
        "shows " + std::to_string(shown->size()) + " attempts, it must be " + std::to_string(job.attempts.size()));
  for (std::size_t i = 0; i < shown->size(); ++i) {
    const Attempt& is = (*shown)[i];
    const KnownAttempt& must = job.attempts[i];
    const std::string which = "attempt " + std::to_string(must.delivery);
    if (is.delivery != must.delivery || is.fence != must.fence || is.owner != must.owner)
      return broken("history", job.id, "shows another " + which);
    if (is.end != must.end)
      return broken(
          "history", job.id,
          "shows " + which + " as " + std::string(to_string(is.end)) + ", it was " + std::string(to_string(must.end)));
    if (is.ended_at.has_value() != (must.end != AttemptEnd::running))
      return broken("history", job.id, "shows " + which + " with a wrong word on whether it has ended");
  }
}

void StoreChecks::explains_what_waits(Instant now, WallTime wall, std::size_t most, std::size_t turn) {
  std::erase_if(kept_, [&](const auto& slot) { return slot.second.end <= now; });
  const Slots slots(jobs_, kept_, queues_);
  std::vector<const KnownJob*> waiting;
  for (const auto& [id, job] : jobs_) {
    if (!job.finished()) waiting.push_back(&job);
  }
  for (std::size_t i = 0; i < std::min(most, waiting.size()); ++i) {
    const KnownJob& job = *waiting[(turn + i) % waiting.size()];
    const Result<std::optional<JobFacts>> facts = store_.facts(ns_, job.id);
    if (!facts || !*facts) return broken("J8", job.id, "waits and the store cannot say for what");
    compare_facts(job, slots.why(job, now, wall), **facts);
  }
}

void StoreChecks::compare_facts(const KnownJob& job, Blocked by, const JobFacts& facts) {
  const QueueSettings& settings = queues_[job.queue].settings;
  const auto wrong = [&](std::string_view what) {
    broken("J8", job.id, "waits and the store does not name " + std::string(what));
  };
  if (facts.paused.has_value() != is_paused(job.queue))
    return wrong("the pause of its queue, or names one that is over");
  if (facts.effects_in_doubt != (job.state == JobState::waiting ? job.held_for() : std::vector<std::string>{}))
    return wrong("the effects in doubt for which it waits, or others");
  switch (by) {
    case Blocked::no:
    case Blocked::not_waiting:
    case Blocked::paused: break;
    case Blocked::not_its_time:
      if (!facts.due_in) wrong("its time");
      break;
    case Blocked::own_slot:
      if (!facts.slot_left) wrong("its revoked delivery");
      break;
    case Blocked::group:
      if (!facts.group_head || *facts.group_head == job.id) wrong("the job of its group that comes first");
      break;
    case Blocked::limit:
      if (facts.limit != settings.limit || facts.limit_holders.empty()) wrong("the limit of its queue");
      break;
    case Blocked::limit_key:
      if (facts.limit_per_key != settings.limit_per_key || facts.limit_key_holders.empty())
        wrong("the limit of its key");
      break;
  }
}

}  // namespace fenceline::sim

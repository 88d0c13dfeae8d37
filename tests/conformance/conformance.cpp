#include "conformance/conformance.hpp"

#include <stdexcept>

namespace fenceline::test {

JobId StoreConformance::new_id() {
  ++last_number_;
  return make_uuid7(WallTime{std::chrono::seconds{1'700'000'000}}, last_number_, last_number_);
}

NewJob StoreConformance::new_job(std::string queue) {
  return {.id = new_id(), .queue = std::move(queue), .payload = "{\"n\":" + std::to_string(last_number_) + "}"};
}

JobId StoreConformance::added(const NewJob& job, const std::string& ns) {
  must(store().enqueue({.ns = ns, .jobs = {job}}));
  return job.id;
}

ClaimRequest StoreConformance::asking(const std::string& owner, int limit) {
  return {.ns = "default",
          .queues = {"q"},
          .owner = owner,
          .request = "request-" + std::to_string(++last_number_),
          .limit = limit,
          .ttl = kTtl};
}

ClaimedJob StoreConformance::claimed_by(const std::string& owner) {
  std::vector<ClaimedJob> jobs = claimed(asking(owner));
  if (jobs.size() != 1) throw std::runtime_error("no job could be claimed");
  return jobs.front();
}

std::vector<JobId> StoreConformance::claimed_ids(const ClaimRequest& request) {
  std::vector<JobId> ids;
  for (const ClaimedJob& job : claimed(request)) ids.push_back(job.job.id);
  return ids;
}

Result<void> StoreConformance::give_back(const ClaimRequest& request) {
  return store().give_back({.ns = request.ns, .owner = request.owner, .request = request.request, .ttl = request.ttl});
}

std::string StoreConformance::settled(const std::string& owner, const Holding& holding, const Outcome& outcome,
                                      const std::string& ns) {
  const SettleReply reply =
      must(store().settle({.ns = ns, .owner = owner, .settlements = {{holding.id, holding.fence, outcome}}}));
  return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
}

std::string StoreConformance::extended(const std::string& owner, const Holding& holding, Duration ttl,
                                       const std::string& ns) {
  const ExtendReply reply = must(store().extend({.ns = ns, .owner = owner, .jobs = {holding}, .ttl = ttl}));
  return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
}

std::string StoreConformance::ended(const ClaimedJob& claimed, const Outcome& outcome) {
  return settled(claimed.job.owner, holding_of(claimed), outcome);
}

ClaimedJob StoreConformance::claimed_as_next(const JobId& id, const std::string& owner) {
  ClaimedJob claim = claimed_by(owner);
  if (claim.job.id != id) throw std::runtime_error("another job came first");
  return claim;
}

std::vector<JobId> StoreConformance::claimable_ids(const std::string& queue) {
  ClaimRequest request = asking("looks", 1000);
  request.queues = {queue};
  const std::vector<JobId> ids = claimed_ids(request);
  must(give_back(request));
  return ids;
}

std::string StoreConformance::cancelled(const JobId& id, const std::string& request) {
  const ActReply reply = must(store().cancel(
      {.ns = "default", .ids = {id}, .request = request.empty() ? to_string(new_id()) : request, .act = kAct}));
  return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
}

std::string StoreConformance::retried(const JobId& id, const std::string& request) {
  const ActReply reply = must(store().retry(
      {.ns = "default", .ids = {id}, .request = request.empty() ? to_string(new_id()) : request, .act = kAct}));
  return reply.refused.empty() ? "" : std::string(to_string(reply.refused.front().reason));
}

void StoreConformance::set_queue(const QueueChange& change, const std::string& queue) {
  must(store().set_queue({.ns = "default", .queue = queue, .change = change, .act = kAct}));
}

void StoreConformance::pause(const std::string& queue) {
  must(store().pause({.ns = "default", .queue = queue, .act = kAct}));
}
void StoreConformance::resume(const std::string& queue) {
  must(store().pause({.ns = "default", .queue = queue, .paused = false, .act = kAct}));
}

void StoreConformance::stopped(const ClaimedJob& claimed) {
  must(store().stopped({.ns = "default", .owner = claimed.job.owner, .jobs = {holding_of(claimed)}}));
}

std::int64_t StoreConformance::tidied(const std::string& ns) {
  std::int64_t removed = 0;
  for (bool more = true; more;) {
    const TidyReply reply = must(store().tidy({.ns = ns}));
    removed += reply.removed;
    more = reply.more;
  }
  return removed;
}

std::vector<TrailEntry> StoreConformance::trail(const std::string& ns) {
  std::vector<TrailEntry> entries = must(store().trail(ns, 1000));
  std::erase_if(entries, [](const TrailEntry& entry) { return entry.ns.empty(); });
  return entries;
}

JobFacts StoreConformance::facts(const JobId& id) {
  std::optional<JobFacts> facts = must(store().facts("default", id));
  if (!facts) throw std::runtime_error("job " + to_string(id) + " is not there");
  return *facts;
}

QueueRow StoreConformance::queue_row(const std::string& queue) {
  for (const QueueRow& row : must(store().queues("default"))) {
    if (row.queue == queue) return row;
  }
  throw std::runtime_error("queue " + queue + " is not known");
}

Job StoreConformance::look(const JobId& id, const std::string& ns) {
  std::optional<Job> job = must(store().job(ns, id));
  if (!job) throw std::runtime_error("job " + to_string(id) + " is not there");
  return *job;
}

void StoreConformance::lose(const JobId& id, int times) {
  for (int i = 0; i < times; ++i) {
    const std::vector<JobId> got = claimed_ids(asking("dies-" + std::to_string(i)));
    if (got != std::vector{id}) throw std::runtime_error("the job to be lost was not the one claimed");
    let_time_pass(kTtl);
  }
}

std::vector<Job> StoreConformance::everything(const std::string& ns) {
  std::vector<Job> all;
  std::optional<std::int64_t> after = 0;
  while (after) {
    const JobsReply page = must(store().jobs({.ns = ns, .after = *after, .limit = 1000, .with_payload = true}));
    all.insert(all.end(), page.jobs.begin(), page.jobs.end());
    after = page.next;
  }
  for (Job& job : all) job.ran_for.reset();  // as look() shows them
  return all;
}

std::vector<JobId> ids_of(const std::vector<Job>& jobs) {
  std::vector<JobId> ids;
  for (const Job& job : jobs) ids.push_back(job.id);
  return ids;
}

}  // namespace fenceline::test

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

std::string StoreConformance::settled(const std::string& owner, const Holding& holding, const Outcome& outcome, const std::string& ns) {
  const SettleReply reply = must(store().settle({.ns = ns, .owner = owner, .settlements = {{holding.id, holding.fence, outcome}}}));
  return reply.refused.empty() ? "" : reply.refused.front().reason;
}

std::string StoreConformance::extended(const std::string& owner, const Holding& holding, Duration ttl, const std::string& ns) {
  const ExtendReply reply = must(store().extend({.ns = ns, .owner = owner, .jobs = {holding}, .ttl = ttl}));
  return reply.refused.empty() ? "" : reply.refused.front().reason;
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
  return all;
}

std::vector<JobId> ids_of(const std::vector<Job>& jobs) {
  std::vector<JobId> ids;
  for (const Job& job : jobs) ids.push_back(job.id);
  return ids;
}

}  // namespace fenceline::test

// The verbs of the stream that look, and those about workers, trail and namespaces.
#include <algorithm>

#include "conformance/differential_stream.hpp"

namespace fenceline::test {

using namespace std::chrono_literals;

void DifferentialStream::job() {
  std::string ns = any_namespace();
  JobId id = make_uuid7(WallTime{}, 0, chance_());
  if (!enqueued_.empty() && !one_in(4))
    std::tie(ns, id) = [&] {
      const auto& [where, job] = enqueued_[below(enqueued_.size())];
      return std::pair(where, job.id);
    }();
  if (one_in(5)) ns = one_in(2) ? "" : "none";
  const auto reply = both("job", to_string(id) + " in " + ns, [&](Store& store) { return store.job(ns, id); });
  if (reply) note("job", *reply ? "found" : "none");
}

// A cursor belongs to the store that gave it, so both walk their own.
void DifferentialStream::jobs() {
  JobsRequest request{.ns = any_namespace(), .limit = static_cast<int>(1 + below(40)), .with_payload = one_in(2)};
  if (one_in(3)) request.queue = one_in(5) ? "none" : one_in(2) ? "q" : "r";
  if (one_in(3)) request.state = static_cast<JobState>(below(6));
  if (one_in(20)) request.limit = 0;
  JobsRequest others = request;
  for (int page = 0; page < 5; ++page) {
    const auto expected = oracle_.jobs(request);
    const auto got = store_.jobs(others);
    compare("jobs", "ns " + request.ns + " limit " + std::to_string(request.limit), text_of(expected), text_of(got));
    if (!expected) return note("jobs", std::string(to_string(expected.error().code)));
    note("jobs", expected->jobs.empty() ? "empty" : expected->next ? "more" : "last");
    if (!expected->next || !got || !got->next) return;
    request.after = *expected->next;
    others.after = *got->next;
  }
}

void DifferentialStream::compare_everything() {
  std::size_t unfinished = 0;
  for (const char* ns : {"one", "two"}) {
    JobsRequest request{.ns = ns, .limit = 1000, .with_payload = true};
    JobsRequest others = request;
    for (;;) {
      const auto expected = oracle_.jobs(request);
      const auto got = store_.jobs(others);
      compare("jobs (all)", ns, text_of(expected), text_of(got));
      if (!expected || !got) return;
      for (const Job& job : expected->jobs) {
        note("jobs", std::string(to_string(job.state)));
        if (!is_finished(job.state)) ++unfinished;
        if (job.state == JobState::dead && job.owner.empty()) note("jobs", "buried");
        if (job.lease_left && *job.lease_left <= 0s) note("jobs", "run_out");
      }
      if (!expected->next || !got->next) break;
      request.after = *expected->next;
      others.after = *got->next;
    }
  }
  crowded_ = unfinished > 60;
}

void DifferentialStream::backlog() {
  BacklogRequest request{.ns = any_namespace(), .queues = any_queues(), .stage = any_stage()};
  if (one_in(20)) request.queues.clear();
  if (one_in(8)) request.queues = {"none"};
  const auto reply = both("backlog", request.ns, [&](Store& store) { return store.backlog(request); });
  if (!reply) return;
  if (reply->running) note("backlog", "running");
  if (reply->claimable) note("backlog", "claimable");
  if (reply->ahead > 0) note("backlog", "ahead");
  if (!reply->running && !reply->claimable && reply->ahead == 0) note("backlog", "nothing");
}

void DifferentialStream::report_worker() {
  WorkerReport report{
      .ns = any_namespace(), .owner = any_owner(), .host = "h", .pid = static_cast<std::int64_t>(below(100'000)), .version = "1"};
  report.queues = any_queues();
  report.stage = any_stage();
  report.concurrency = static_cast<int>(1 + below(8));
  report.ttl = any_ttl();
  for (const Remembered& remembered : holdings_) {
    if (remembered.ns == report.ns && remembered.owner == report.owner && one_in(4)) report.holding.push_back(remembered.holding);
  }
  if (one_in(8)) spoil(report.ns, report.owner, report.ttl);
  if (both("report_worker", report.ns + " " + report.owner, [&](Store& store) { return store.report_worker(report); }))
    note("report_worker", "ok");
}

void DifferentialStream::remove_worker() {
  const std::string ns = one_in(8) ? "a/b" : any_namespace();
  const std::string owner = one_in(4) ? "unknown" : any_owner();
  if (both("remove_worker", ns + " " + owner, [&](Store& store) { return store.remove_worker(ns, owner); })) note("remove_worker", "ok");
}

void DifferentialStream::workers() {
  const std::string ns = one_in(8) ? "" : one_in(4) ? "none" : any_namespace();
  const auto reply = both("workers", ns, [&](Store& store) { return store.workers(ns); });
  if (reply) note("workers", reply->empty() ? "none" : "some");
}

void DifferentialStream::trail() {
  const std::string ns = one_in(8) ? "" : one_in(3) ? "untouched" : any_namespace();
  const int limit = static_cast<int>(1 + below(10));
  const auto reply = both("trail", ns, [&](Store& store) { return store.trail(ns, limit); });
  if (!reply) return;
  const bool some = std::any_of(reply->begin(), reply->end(), [](const TrailEntry& entry) { return !entry.ns.empty(); });
  note("trail", some ? "some" : "none");
}

void DifferentialStream::remove_namespace() {
  const std::string ns = one_in(3) ? "" : one_in(4) ? "none" : any_namespace();
  const auto held = oracle_.jobs({.ns = ns.empty() ? "none" : ns, .limit = 1});
  const bool nothing = !held || held->jobs.empty();
  const auto reply = both("remove_namespace", ns, [&](Store& store) { return store.remove_namespace(ns, {"tester", "differential"}); });
  if (reply) note("remove_namespace", nothing ? "nothing" : "ok");
}

}  // namespace fenceline::test

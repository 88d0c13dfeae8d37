// The verbs of the stream that look, and those about workers, trail and namespaces.
#include <algorithm>

#include "conformance/differential_stream.hpp"

namespace fenceline::test {

using namespace std::chrono_literals;

std::pair<std::string, JobId> DifferentialStream::any_job() {
  if (enqueued_.empty() || one_in(10)) return {any_namespace(), make_uuid7(WallTime{}, 0, chance_())};
  // Rare ones are looked for: of any state, running with a live lease, finished with a unique key.
  const std::string ns = any_namespace();
  const auto state = static_cast<JobState>(below(6));
  std::optional<JobId> found;
  switch (below(5)) {
    case 0: found = one_such(ns, [&](const Job& job) { return job.state == state; }); break;
    case 1: found = one_such(ns, [](const Job& job) { return job.lease_left && *job.lease_left > 0s; }); break;
    case 2: found = one_such(ns, [](const Job& job) { return is_finished(job.state) && !job.key.empty(); }); break;
    default: break;
  }
  if (found) return {ns, *found};
  const std::size_t reach = std::min<std::size_t>(enqueued_.size(), one_in(4) ? 400 : 40);
  const auto& [where, job] = enqueued_[enqueued_.size() - 1 - below(reach)];
  return {where, job.id};
}

std::optional<JobId> DifferentialStream::one_such(const std::string& ns,
                                                  const std::function<bool(const Job&)>& is_such) {
  const auto listed = oracle_.jobs({.ns = ns, .limit = 1000});
  std::vector<JobId> such;
  for (const Job& job : listed->jobs) {
    if (is_such(job)) such.push_back(job.id);
  }
  return such.empty() ? std::nullopt : std::optional(one_of(such));
}

void DifferentialStream::ids() {
  auto [ns, first] = any_job();
  JobId last = first;
  for (std::size_t i = 6; i < last.bytes.size(); ++i) {  // those of one millisecond
    if (one_in(2)) first.bytes[i] = 0;
    last.bytes[i] = 255;
  }
  if (one_in(4)) std::swap(first, last);
  if (one_in(8)) ns = one_in(2) ? "" : "none";
  const IdsRequest request{.ns = ns, .first = first, .last = last, .limit = static_cast<int>(1 + below(3))};
  const auto reply = both("ids", to_string(first) + " to " + to_string(last) + " in " + ns,
                          [&](Store& store) { return store.ids(request); });
  if (reply)
    note("ids", reply->empty() ? "none" : reply->size() == static_cast<std::size_t>(request.limit) ? "limit" : "some");
  ids_ending();
}

// By chance of its own, as add_details().
void DifferentialStream::ids_ending() {
  const auto& [ns, job] = enqueued_[details_() % enqueued_.size()];
  IdsRequest request{.ns = ns, .first = {}, .last = {}, .limit = 3};
  request.last.bytes.fill(255);
  request.suffix = details_() % 4 == 0 ? "ffffffffff" : hex_digits(job.id).substr(details_() % 2 == 0 ? 30 : 24);
  const auto reply =
      both("ids", "ending " + request.suffix + " in " + ns, [&](Store& store) { return store.ids(request); });
  if (reply) note("ids", reply->empty() ? "none ends so" : "some end so");
}

void DifferentialStream::job() {
  auto [ns, id] = any_job();
  if (one_in(5)) ns = one_in(2) ? "" : "none";
  const auto reply = both("job", to_string(id) + " in " + ns, [&](Store& store) { return store.job(ns, id); });
  if (reply) note("job", *reply ? "found" : "none");
}

// By chance of its own: what else the stream does is the same with and without it.
void DifferentialStream::add_details(JobsRequest& request) {
  const auto in = [&](std::uint64_t n) { return details_() % n == 0; };
  if (in(6)) request.key = "k" + std::to_string(1 + details_() % 3);
  if (in(6)) request.error = in(2) ? std::string("\0\xfe", 2) : "7";
  if (in(2)) request.newest_first = true;
  const auto newest = oracle_.jobs({.ns = request.ns, .newest_first = true, .limit = 20});
  if (!newest || newest->jobs.empty() || !in(5)) return;
  const WallTime at = newest->jobs[details_() % newest->jobs.size()].created_at;
  (in(2) ? request.since : request.before) = at;
}

// A cursor belongs to the store that gave it, so both walk their own.
void DifferentialStream::jobs() {
  JobsRequest request{.ns = any_namespace(), .limit = static_cast<int>(1 + below(40)), .with_payload = one_in(2)};
  if (one_in(3)) request.queue = one_in(5) ? "none" : one_in(2) ? "q" : "r";
  if (one_in(3)) request.state = static_cast<JobState>(below(6));
  if (one_in(6)) request.tag = one_in(3) ? "red" : "blue";
  if (one_in(20)) request.limit = 0;
  add_details(request);
  JobsRequest others = request;
  for (int page = 0; page < 5; ++page) {
    const auto expected = oracle_.jobs(request);
    const auto got = store_.jobs(others);
    compare("jobs", "ns " + request.ns + " limit " + std::to_string(request.limit), text_of(expected), text_of(got));
    if (!expected) return note("jobs", std::string(to_string(expected.error().code)));
    note("jobs", expected->jobs.empty() ? "empty" : expected->next ? "more" : "last");
    if (!request.tag.empty() && !expected->jobs.empty()) note("jobs", "tagged");
    if (!request.key.empty() && !expected->jobs.empty()) note("jobs", "keyed");
    if (!request.error.empty() && !expected->jobs.empty()) note("jobs", "by_error");
    if ((request.since || request.before) && !expected->jobs.empty()) note("jobs", "by_time");
    if (request.newest_first && !expected->jobs.empty()) note("jobs", "newest_first");
    if (!expected->next || !got || !got->next) return;
    request.after = *expected->next;
    others.after = *got->next;
  }
}

void DifferentialStream::compare_everything() {
  locks_.compare_everything();
  schedules_.compare_everything();
  pipelines_.compare_everything();
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
        if (!is_finished(job.state) && job.queue != kTicksQueue) ++unfinished;
        if (job.state == JobState::dead && job.owner.empty()) note("jobs", "buried");
        if (job.lease_left && *job.lease_left <= 0s) note("jobs", "run_out");
        const bool may_meet_a_limit = job.state == JobState::ready && !job.limit_key.empty();
        if (one_in(may_meet_a_limit ? 3 : 20)) {
          compare_facts(ns, job.id);
          compare_attempts(ns, job.id);
        }
      }
      if (!expected->next || !got->next) break;
      request.after = *expected->next;
      others.after = *got->next;
    }
  }
  for (const char* ns : {"one", "two"}) compare_effects({.ns = ns, .job = {}, .limit = 1000, .with_result = true});
  for (const char* ns : {"one", "two"}) both("queues", ns, [&](Store& store) { return store.queues(ns); });
  crowded_ = unfinished > (alike_ ? 600 : 60);
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
  if (reply->blocked > 0) note("backlog", "blocked");
  if (!reply->running && !reply->claimable && reply->ahead == 0 && reply->blocked == 0) note("backlog", "nothing");
}

void DifferentialStream::report_worker() {
  WorkerReport report{.ns = any_namespace(),
                      .owner = any_owner(),
                      .host = "h",
                      .pid = static_cast<std::int64_t>(below(100'000)),
                      .version = "1"};
  report.queues = any_queues();
  report.stage = any_stage();
  report.concurrency = static_cast<int>(1 + below(8));
  report.ttl = any_ttl();
  for (const Remembered& remembered : holdings_) {
    if (remembered.ns == report.ns && remembered.owner == report.owner && one_in(4))
      report.holding.push_back(remembered.holding);
  }
  if (one_in(8)) spoil(report.ns, report.owner, report.ttl);
  if (both("report_worker", report.ns + " " + report.owner, [&](Store& store) { return store.report_worker(report); }))
    note("report_worker", "ok");
}

void DifferentialStream::remove_worker() {
  const std::string ns = one_in(8) ? "a/b" : any_namespace();
  const std::string owner = one_in(4) ? "unknown" : any_owner();
  if (both("remove_worker", ns + " " + owner, [&](Store& store) { return store.remove_worker(ns, owner); }))
    note("remove_worker", "ok");
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
  const bool some =
      std::any_of(reply->begin(), reply->end(), [](const TrailEntry& entry) { return !entry.ns.empty(); });
  note("trail", some ? "some" : "none");
}

void DifferentialStream::remove_namespace() {
  const std::string ns = one_in(3) ? "" : one_in(3) ? "none" : any_namespace();
  const auto held = oracle_.jobs({.ns = ns.empty() ? "none" : ns, .limit = 1});
  const bool nothing = !held || held->jobs.empty();
  const auto reply = both("remove_namespace", ns, [&](Store& store) {
    return store.remove_namespace(ns, {"tester", "differential"});
  });
  if (reply) note("remove_namespace", nothing ? "nothing" : "ok");
}

void DifferentialStream::queues() {
  const std::string ns = one_in(8) ? "a b" : one_in(6) ? "none" : any_namespace();
  const auto reply = both("queues", ns, [&](Store& store) { return store.queues(ns); });
  if (!reply) return;
  note("queues", reply->empty() ? "none" : "some");
  for (const QueueRow& row : *reply) {
    if (row.paused) note("queues", "paused");
    if (row.oldest_ready_at) note("queues", "oldest");
    if (row.ahead > 0) note("queues", "ahead");
  }
}

void DifferentialStream::facts() {
  auto [ns, id] = any_job();
  if (one_in(20)) ns = one_in(2) ? "" : "none";
  compare_facts(ns, id);
}

void DifferentialStream::compare_facts(const std::string& ns, const JobId& id) {
  const auto reply = both("facts", to_string(id) + " in " + ns, [&](Store& store) { return store.facts(ns, id); });
  if (!reply) return;
  if (!*reply) return note("facts", "none");
  const JobFacts& facts = **reply;
  note("facts", "found");
  if (facts.due_in) note("facts", "due_in");
  if (facts.paused) note("facts", "paused");
  if (facts.group_head) note("facts", facts.group_head_revoked ? "behind_revoked" : "behind");
  if (facts.limit > 0) note("facts", "limit");
  if (facts.limit_per_key > 0) note("facts", "limit_per_key");
  if (facts.key_holder) note("facts", *facts.key_holder == id ? "own_key" : "key_holder");
  if (facts.slot_left) note("facts", "slot_left");
  if (facts.must_run_alone) note("facts", "alone");
  if (!facts.effects_in_doubt.empty()) note("facts", "effects");
  if (facts.workers > 0) note("facts", "workers");
  if (!facts.quiet_workers.empty()) note("facts", "quiet");
}

void DifferentialStream::compare_attempts(const std::string& ns, const JobId& id) {
  const auto reply =
      both("attempts", to_string(id) + " in " + ns, [&](Store& store) { return store.attempts(ns, id); });
  if (!reply) return;
  if (reply->empty()) note("attempts", "none");
  for (const Attempt& attempt : *reply) note("attempts", std::string(to_string(attempt.end)));
}

void DifferentialStream::attempts() {
  auto [ns, id] = any_job();
  if (one_in(20)) ns = one_in(2) ? "" : "none";
  compare_attempts(ns, id);
}

void DifferentialStream::log() {
  auto [ns, id] = any_job();
  if (!logged_.empty() && !one_in(6)) {
    const auto& logged = logged_[logged_.size() - 1 - below(std::min<std::size_t>(logged_.size(), 8))];
    std::tie(ns, id) = std::pair(logged.ns, logged.id);
  }
  compare_log(ns, id);
}

// A cursor belongs to the store that gave it, as in jobs().
void DifferentialStream::compare_log(const std::string& ns, const JobId& id) {
  LogRequest request{.ns = ns, .id = id, .limit = static_cast<int>(1 + below(4))};
  if (one_in(15)) request.limit = 1001;
  LogRequest others = request;
  for (int page = 0; page < 5; ++page) {
    const auto expected = oracle_.log(request);
    const auto got = store_.log(others);
    compare("log", to_string(id) + " in " + ns, text_of(expected), text_of(got));
    if (!expected) return note("log", std::string(to_string(expected.error().code)));
    if (!*expected) return note("log", "none");
    const LogReply& reply = **expected;
    note("log", reply.chunks.empty() ? "end" : "some");
    if (page > 0 && !reply.chunks.empty()) note("log", "more");
    if (reply.dropped > 0) note("log", "dropped");
    if (reply.chunks.empty() || !got || !*got) return;
    request.after = reply.next;
    others.after = (*got)->next;
  }
}

}  // namespace fenceline::test

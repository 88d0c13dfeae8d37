// What makes a request malformed, the same on every backend.
#include <set>

#include "base/duration_text.hpp"
#include "store/store.hpp"

namespace fenceline {
namespace {

Result<void> check_id(std::string_view what, const std::string& id) {
  if (id.empty() || id.size() > kNameBytesMax) return fail(Code::invalid, std::string(what) + " must have 1 to 128 bytes");
  return {};
}

Result<void> check_ttl(Duration ttl) {
  if (ttl < kTtlRange.least || ttl > kTtlRange.most) return fail(Code::invalid, "ttl " + format_duration(ttl) + " is out of range; use 1s to 24h");
  return {};
}

Result<void> check_size(std::size_t size, std::string_view what) {
  if (size > static_cast<std::size_t>(kBatchMax)) return fail(Code::invalid, "too many " + std::string(what) + " in one call: at most 10000");
  return {};
}

Result<void> check_queues(const std::vector<std::string>& queues, const std::string& stage) {
  if (queues.empty()) return fail(Code::invalid, "no queue was named");
  if (auto ok = check_size(queues.size(), "queues"); !ok) return ok;
  for (const std::string& queue : queues) {
    if (auto ok = check_name("queue", queue); !ok) return ok;
  }
  if (std::set<std::string>(queues.begin(), queues.end()).size() != queues.size()) return fail(Code::invalid, "a queue was named twice");
  return stage.empty() ? Result<void>{} : check_name("stage", stage);
}

// The first error of several checks.
template <class... Results>
Result<void> first_error(Results... results) {
  Result<void> first;
  const auto take = [&](Result<void>& next) {
    if (first && !next) first = next;
  };
  (take(results), ...);
  return first;
}

template <class Items>
Result<void> check_no_job_twice(const Items& items) {
  std::set<JobId> seen;
  for (const auto& item : items) {
    if (!seen.insert(item.id).second) return fail(Code::invalid, "job " + to_string(item.id) + " is named twice in one call");
  }
  return {};
}

}  // namespace

Result<void> check_request(const EnqueueRequest& request) {
  if (auto ok = first_error(check_name("namespace", request.ns), check_size(request.jobs.size(), "jobs"), check_no_job_twice(request.jobs)); !ok) return ok;
  for (const NewJob& job : request.jobs) {
    if (auto ok = check_new_job(job); !ok) return ok;
  }
  return {};
}

Result<void> check_request(const ClaimRequest& request) {
  if (request.limit < 1 || request.limit > kBatchMax) return fail(Code::invalid, "limit must be 1 to 10000");
  return first_error(check_name("namespace", request.ns), check_queues(request.queues, request.stage), check_id("owner", request.owner),
                     check_id("request", request.request), check_ttl(request.ttl));
}

Result<void> check_request(const GiveBackRequest& request) {
  return first_error(check_name("namespace", request.ns), check_id("owner", request.owner), check_id("request", request.request), check_ttl(request.ttl));
}

Result<void> check_request(const ExtendRequest& request) {
  return first_error(check_name("namespace", request.ns), check_id("owner", request.owner), check_size(request.jobs.size(), "jobs"),
                     check_no_job_twice(request.jobs), check_ttl(request.ttl));
}

Result<void> check_request(const SettleRequest& request) {
  if (auto ok = first_error(check_name("namespace", request.ns), check_id("owner", request.owner), check_size(request.settlements.size(), "jobs"),
                            check_no_job_twice(request.settlements));
      !ok)
    return ok;
  for (const Settlement& settlement : request.settlements) {
    const Outcome& outcome = settlement.outcome;
    if (outcome.result.size() > kResultBytesMax) return fail(Code::invalid, "result is too large; at most 1 MiB");
    if (outcome.error.size() > kErrorBytesMax) return fail(Code::invalid, "error is too long; at most 4096 bytes");
    if (outcome.retry_in < Duration{0} || outcome.retry_in > kDelayRange.most) return fail(Code::invalid, "retry delay is out of range; use 0s to 366d");
  }
  return {};
}

Result<void> check_request(const JobsRequest& request) {
  if (request.limit < 1 || request.limit > 1000) return fail(Code::invalid, "limit must be 1 to 1000");
  if (request.after < 0) return fail(Code::invalid, "cursor must not be negative");
  return first_error(check_name("namespace", request.ns), request.queue ? check_name("queue", *request.queue) : Result<void>{});
}

Result<void> check_request(const BacklogRequest& request) {
  return first_error(check_name("namespace", request.ns), check_queues(request.queues, request.stage));
}

Result<void> check_request(const WorkerReport& report) {
  return first_error(check_name("namespace", report.ns), check_queues(report.queues, report.stage), check_id("owner", report.owner),
                     check_size(report.holding.size(), "jobs"), check_ttl(report.ttl));
}

}  // namespace fenceline

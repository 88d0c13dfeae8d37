// What makes a request malformed, the same on every backend.
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <vector>

#include "base/duration_text.hpp"
#include "base/utf8.hpp"
#include "model/lock.hpp"
#include "store/request_checks.hpp"
#include "store/store.hpp"

namespace fenceline {

Result<void> check_id(std::string_view what, const std::string& id) {
  if (id.empty() || id.size() > kNameBytesMax)
    return fail(Code::invalid, std::string(what) + " must have 1 to 128 bytes");
  return {};
}

Result<void> check_note(std::string_view what, const std::string& note) {
  if (note.size() > kLockNoteBytesMax || !is_valid_utf8(note))
    return fail(Code::invalid, std::string(what) + " must have at most 256 bytes of UTF-8");
  return {};
}

Result<void> check_act(const Act& act) {
  if (act.actor.empty() || act.actor.size() > kNameBytesMax || !is_valid_utf8(act.actor))
    return fail(Code::invalid, "actor must have 1 to 128 bytes of UTF-8");
  if (act.reason.size() > kNoteBytesMax || !is_valid_utf8(act.reason))
    return fail(Code::invalid, "reason must have at most 1024 bytes of UTF-8");
  return {};
}

Result<void> check_limit(int limit, int most) {
  if (limit < 1 || limit > most) return fail(Code::invalid, "limit must be 1 to " + std::to_string(most));
  return {};
}

namespace {

constexpr std::int64_t kLogAtMost = std::int64_t{1} << 53;  // so that no sum of it and a length overflows

Result<void> check_ttl(Duration ttl) {
  if (ttl < kTtlRange.least || ttl > kTtlRange.most)
    return fail(Code::invalid, "ttl " + format_duration(ttl) + " is out of range; use 1s to 24h");
  return {};
}

Result<void> check_size(std::size_t size, std::string_view what) {
  if (size > static_cast<std::size_t>(kBatchMax))
    return fail(Code::invalid, "too many " + std::string(what) + " in one call: at most 10000");
  return {};
}

Result<void> check_queues(const std::vector<std::string>& queues, const std::string& stage) {
  if (queues.empty()) return fail(Code::invalid, "no queue was named");
  if (auto ok = check_size(queues.size(), "queues"); !ok) return ok;
  for (const std::string& queue : queues) {
    if (auto ok = check_name("queue", queue); !ok) return ok;
  }
  if (std::set<std::string>(queues.begin(), queues.end()).size() != queues.size())
    return fail(Code::invalid, "a queue was named twice");
  return stage.empty() ? Result<void>{} : check_name("stage", stage);
}

Result<void> check_slots(std::string_view what, const std::optional<int>& slots) {
  if (slots && (*slots < 0 || *slots > kLimitMost))
    return fail(Code::invalid, std::string(what) + " must be 0 (none) to 10000");
  return {};
}

Result<void> check_keep(std::string_view what, const std::optional<Duration>& keep) {
  if (keep && (*keep < kKeepRange.least || *keep > kKeepRange.most))
    return fail(Code::invalid, std::string(what) + " is out of range; use " + format_duration(kKeepRange.least) +
                                   " to " + format_duration(kKeepRange.most));
  return {};
}

// Numbers go on after a cursor, so the last there is leaves no room for one.
Result<void> check_cursor(std::int64_t after) {
  if (after < 0) return fail(Code::invalid, "cursor must not be negative");
  if (after == std::numeric_limits<std::int64_t>::max()) return fail(Code::invalid, "cursor is out of range");
  return {};
}

// A store may rest on it that no call names a job twice (J1).
template <class Items>
Result<void> check_no_job_twice(const Items& items) {
  std::vector<const JobId*> ids;
  ids.reserve(items.size());
  bool ascending = true;  // as a producer makes them: then one look at each neighbour is enough
  for (const auto& item : items) {
    ascending = ascending && (ids.empty() || *ids.back() < item.id);
    ids.push_back(&item.id);
  }
  if (ascending) return {};
  std::sort(ids.begin(), ids.end(), [](const JobId* a, const JobId* b) { return *a < *b; });
  const auto twice =
      std::adjacent_find(ids.begin(), ids.end(), [](const JobId* a, const JobId* b) { return *a == *b; });
  if (twice == ids.end()) return {};
  return fail(Code::invalid, "job " + to_string(**twice) + " is named twice in one call");
}

}  // namespace

Result<void> check_request(const EnqueueRequest& request) {
  if (auto ok = first_error(check_name("namespace", request.ns), check_size(request.jobs.size(), "jobs"),
                            check_no_job_twice(request.jobs));
      !ok)
    return ok;
  for (const NewJob& job : request.jobs) {
    if (auto ok = check_new_job(job); !ok) return ok;
  }
  return {};
}

Result<void> check_request(const ClaimRequest& request) {
  if (request.limit < 1 || request.limit > kBatchMax) return fail(Code::invalid, "limit must be 1 to 10000");
  return first_error(check_name("namespace", request.ns), check_queues(request.queues, request.stage),
                     check_id("owner", request.owner), check_id("request", request.request), check_ttl(request.ttl));
}

Result<void> check_request(const GiveBackRequest& request) {
  return first_error(check_name("namespace", request.ns), check_id("owner", request.owner),
                     check_id("request", request.request), check_ttl(request.ttl));
}

Result<void> check_request(const ExtendRequest& request) {
  return first_error(check_name("namespace", request.ns), check_id("owner", request.owner),
                     check_size(request.jobs.size(), "jobs"), check_no_job_twice(request.jobs), check_ttl(request.ttl));
}

Result<void> check_request(const SettleRequest& request) {
  if (auto ok = first_error(check_name("namespace", request.ns), check_id("owner", request.owner),
                            check_size(request.settlements.size(), "jobs"), check_no_job_twice(request.settlements));
      !ok)
    return ok;
  for (const Settlement& settlement : request.settlements) {
    const Outcome& outcome = settlement.outcome;
    if (outcome.result.size() > kResultBytesMax) return fail(Code::invalid, "result is too large; at most 1 MiB");
    if (outcome.error.size() > kErrorBytesMax) return fail(Code::invalid, "error is too long; at most 4096 bytes");
    if (outcome.exit_status && (*outcome.exit_status < 0 || *outcome.exit_status > kExitStatusMost))
      return fail(Code::invalid, "exit status must be 0 to 255");
    if (outcome.retry_in < Duration{0} || outcome.retry_in > kDelayRange.most)
      return fail(Code::invalid, "retry delay is out of range; use 0s to 366d");
  }
  return {};
}

Result<void> check_request(const JobsRequest& request) {
  if (request.limit < 1 || request.limit > 1000) return fail(Code::invalid, "limit must be 1 to 1000");
  if (auto ok = check_cursor(request.after); !ok) return ok;
  if (request.error.size() > kErrorBytesMax) return fail(Code::invalid, "error text is too long; at most 4096 bytes");
  return first_error(check_name("namespace", request.ns),
                     request.queue ? check_name("queue", *request.queue) : Result<void>{},
                     request.tag.empty() ? Result<void>{} : check_key("tag", request.tag),
                     request.key.empty() ? Result<void>{} : check_key("key", request.key));
}

bool matches_details(const JobsRequest& request, const Job& job) {
  return (request.key.empty() || job.key == request.key) && (!request.since || job.created_at >= *request.since) &&
         (!request.before || job.created_at < *request.before) && job.error.find(request.error) != std::string::npos;
}

Result<void> check_request(const IdsRequest& request) {
  if (request.limit < 1 || request.limit > 1000) return fail(Code::invalid, "limit must be 1 to 1000");
  if (request.suffix.size() > kIdDigits || request.suffix.find_first_not_of("0123456789abcdef") != std::string::npos)
    return fail(Code::invalid, "the end of an id must be up to 32 lower-case hex digits");
  return check_name("namespace", request.ns);
}

Result<void> check_request(const BacklogRequest& request) {
  return first_error(check_name("namespace", request.ns), check_queues(request.queues, request.stage));
}

Result<void> check_request(const WorkerReport& report) {
  return first_error(check_name("namespace", report.ns), check_queues(report.queues, report.stage),
                     check_id("owner", report.owner), check_size(report.holding.size(), "jobs"), check_ttl(report.ttl));
}

Result<void> check_request(const BatchRequest& request) {
  return first_error(check_name("namespace", request.ns), check_key("batch name", request.name));
}

Result<void> check_request(const RecordRequest& request) {
  if (auto ok = first_error(check_name("namespace", request.ns), check_size(request.notes.size(), "notes")); !ok)
    return ok;
  for (const Note& note : request.notes) {
    if (note.fence < 1) return fail(Code::invalid, "fence must be at least 1, as every grant's is");
    if (note.log.size() > kLogBytesMax || note.log_at < 0 || note.log_at > kLogAtMost)
      return fail(Code::invalid, "log is too long; at most 1 MiB, from 0 to 2^53 of its delivery");
    if (!note.progress) continue;
    if (note.progress->percent < 0 || note.progress->percent > 100)
      return fail(Code::invalid, "progress must be 0 to 100");
    if (note.progress->note.size() > kNoteBytesMax || !is_valid_utf8(note.progress->note))
      return fail(Code::invalid, "the progress note must have at most 1024 bytes of UTF-8");
  }
  return {};
}

Result<void> check_request(const LogRequest& request) {
  if (auto ok = check_cursor(request.after); !ok) return ok;
  return first_error(check_name("namespace", request.ns), check_limit(request.limit, 1000));
}

Result<void> check_request(const ActRequest& request) {
  std::set<JobId> seen;
  for (const JobId& id : request.ids) {
    if (!seen.insert(id).second) return fail(Code::invalid, "job " + to_string(id) + " is named twice in one call");
  }
  return first_error(check_name("namespace", request.ns), check_size(request.ids.size(), "jobs"),
                     check_id("request", request.request), check_act(request.act));
}

Result<void> check_request(const SetQueueRequest& request) {
  const QueueChange& change = request.change;
  return first_error(check_name("namespace", request.ns), check_name("queue", request.queue),
                     check_slots("limit", change.limit), check_slots("limit per key", change.limit_per_key),
                     check_keep("time to keep done jobs", change.keep_done),
                     check_keep("time to keep dead jobs", change.keep_dead), check_act(request.act));
}

Result<void> check_request(const PauseRequest& request) {
  return first_error(check_name("namespace", request.ns), check_name("queue", request.queue), check_act(request.act));
}

Result<void> check_request(const PurgeRequest& request) {
  if (auto ok = check_cursor(request.after); !ok) return ok;
  if (request.up_to < 0) return fail(Code::invalid, "cursor must not be negative");
  return first_error(check_name("namespace", request.ns), check_name("queue", request.queue),
                     check_limit(request.limit, kBatchMax), check_act(request.act));
}

Result<void> check_request(const TidyRequest& request) {
  return first_error(check_name("namespace", request.ns), check_limit(request.limit, kBatchMax));
}

Result<void> check_request(const OrderRequest& request) {
  return first_error(check_name("namespace", request.ns), check_id("owner", request.owner), check_act(request.act));
}

Result<void> check_request(const StoppedRequest& request) {
  return first_error(check_name("namespace", request.ns), check_id("owner", request.owner),
                     check_size(request.jobs.size(), "jobs"));
}

Result<void> check_request(const RaiseFloorRequest& request) {
  if (request.floor < 1 || request.floor >= kFenceMax) return fail(Code::invalid, "a floor must be 1 to 2^53 - 2");
  return first_error(check_name("namespace", request.ns), check_act(request.act));
}

Result<void> check_request(const BeginEffectRequest& request) {
  if (request.digest.empty() || request.digest.size() > kEffectDigestBytesMax)
    return fail(Code::invalid, "digest must have 1 to 128 bytes");
  if (request.actor.size() > kEffectActorBytesMax || !is_valid_utf8(request.actor))
    return fail(Code::invalid, "actor must have at most 256 bytes of UTF-8");
  if (!request.dead_call.empty() && request.dead_call == request.call)
    return fail(Code::invalid, "a call cannot both give up and begin again");
  return first_error(check_name("namespace", request.ns), check_effect_name(request.name),
                     check_id("call", request.call));
}

Result<void> check_request(const FinishEffectRequest& request) {
  if (request.result.size() > kEffectResultBytesMax)
    return fail(Code::invalid, "the result of an effect is too large; at most 1 MiB");
  if (request.exit_status && (*request.exit_status < 0 || *request.exit_status > kExitStatusMost))
    return fail(Code::invalid, "exit status must be 0 to 255");
  return first_error(check_name("namespace", request.ns), check_effect_name(request.name),
                     check_id("call", request.call));
}

Result<void> check_request(const ResolveEffectRequest& request) {
  if (request.result.size() > kEffectResultBytesMax)
    return fail(Code::invalid, "the result of an effect is too large; at most 1 MiB");
  if (!request.done && !request.result.empty())
    return fail(Code::invalid, "an effect that did not happen cannot have a result");
  return first_error(check_name("namespace", request.ns), check_effect_name(request.name), check_act(request.act));
}

Result<void> check_request(const EffectsRequest& request) {
  if (auto ok = check_cursor(request.after); !ok) return ok;
  return first_error(check_name("namespace", request.ns), check_limit(request.limit, 1000));
}

std::string_view to_string(EffectVerdict verdict) {
  constexpr std::array<std::string_view, 7> kNames{"act", "again", "probe", "done", "busy", "held", "lost"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view to_string(WorkerOrder order) {
  switch (order) {
    case WorkerOrder::work: return "work";
    case WorkerOrder::quiet: return "quiet";
    case WorkerOrder::stop: return "stop";
  }
  return "unknown";
}

}  // namespace fenceline

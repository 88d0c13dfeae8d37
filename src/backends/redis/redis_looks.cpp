// Looks at jobs: lists, ids, why a job is where it is, and its history.
#include <algorithm>

#include "backends/redis/job_wire.hpp"
#include "backends/redis/looks.hpp"
#include "backends/redis/msgpack.hpp"

namespace fenceline {
namespace {

using namespace redis;

constexpr int kStringsAtOnce = 64;  // of 1,024 ids each
constexpr std::size_t kIdBytes = 16;
constexpr int kScriptsMost = 25;  // of kPlacesAtOnce each

std::vector<JobId> ids_in(std::string_view text) {
  std::vector<JobId> ids;
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), kIdBytes)))
    ids.push_back(id_in(text.substr(0, kIdBytes)));
  return ids;
}

JobFacts facts_in(const Value& value) {
  const std::vector<Value>& parts = list_in(value, 13);
  const auto duration = [&](std::size_t i) {
    return text_in(parts[i]).empty() ? std::nullopt : std::optional(duration_in(parts[i]));
  };
  const auto id = [&](std::size_t i) {
    return text_in(parts[i]).empty() ? std::nullopt : std::optional(id_in(parts[i]));
  };
  JobFacts facts;
  facts.job = job_in(parts[0]);
  facts.due_in = duration(1);
  const std::vector<Value>& pause = list_in(parts[2], 3);
  if (number_in(pause[0]) >= 0) facts.paused = QueuePause{wall_in(pause[0]), text_in(pause[1]), text_in(pause[2])};
  facts.group_head = id(3);
  facts.group_head_revoked = number_in(parts[4]) == 1;
  facts.limit = static_cast<int>(number_in(parts[5]));
  facts.limit_holders = ids_in(text_in(parts[6]));
  facts.limit_per_key = static_cast<int>(number_in(parts[7]));
  facts.limit_key_holders = ids_in(text_in(parts[8]));
  facts.key_holder = id(9);
  facts.slot_left = duration(10);
  facts.must_run_alone = number_in(parts[11]) == 1;
  for (const Value& name : list_in(parts[12])) facts.effects_in_doubt.push_back(text_in(name));
  return facts;
}

// As attempt_of() of lua/10_jobs.lua packs it.
Attempt attempt_in(MsgpackReader& reader) {
  if (reader.list() != 8) throw WireFailure("an attempt is not understood");
  Attempt attempt;
  attempt.delivery = reader.number();
  attempt.fence = reader.number();
  attempt.owner = reader.text();
  attempt.started_at = WallTime{Duration{reader.number()}};
  if (const std::int64_t at = reader.number(); at >= 0) attempt.ended_at = WallTime{Duration{at}};
  const std::int64_t end = reader.number();
  if (end < 0 || end > static_cast<std::int64_t>(AttemptEnd::held)) throw WireFailure("an attempt has an unknown end");
  attempt.end = static_cast<AttemptEnd>(end);
  if (const std::int64_t status = reader.number(); status >= 0) attempt.exit_status = static_cast<int>(status);
  attempt.error = reader.text();
  if (reader.has_failed()) throw WireFailure("an attempt is not understood");
  return attempt;
}

}  // namespace

// In short scripts, kScriptsMost of them at most: one that looks through a long list for few jobs must not hold up all
// others. After that many, or when its time is over, it answers what it has found, and where to go on.
Result<JobsReply> RedisStore::jobs(const JobsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("list_jobs");
  const Instant deadline = parts_->runtime.now() + request.timeout;
  const auto limit = static_cast<std::size_t>(request.limit);
  JobsReply reply;
  std::vector<std::int64_t> orders;
  std::optional<std::int64_t> behind = std::min(request.after, kCursorMost);
  int scripts = 0;
  do {
    const Duration left = deadline - parts_->runtime.now();
    if (left <= Duration{0}) break;
    Command call = parts_->call_of(script, request.ns);
    call.arg(*behind)
        .arg(limit + 1 - reply.jobs.size())
        .arg(request.queue.value_or(""))
        .arg(request.state ? static_cast<int>(*request.state) : -1);
    const auto micros = [](const std::optional<WallTime>& time) {
      return time ? std::to_string(time->time_since_epoch().count()) : std::string();
    };
    call.arg(request.tag).arg(request.with_payload ? 1 : 0).arg(kPlacesAtOnce).arg(request.newest_first ? 1 : 0);
    call.arg(request.key).arg(request.error).arg(micros(request.since)).arg(micros(request.before));
    const Result<Value> answer = parts_->run(call, CallKind::look, left);
    if (!answer) return std::unexpected(answer.error());
    const auto read = read_answer(parts_->url(), [&] {
      const std::vector<Value>& parts = list_in(*answer, 2);
      behind = text_in(parts[0]).empty() ? std::nullopt : std::optional(number_in(parts[0]));
      for (const Value& row : list_in(parts[1])) {
        const std::vector<Value>& one = list_in(row, 3);
        orders.push_back(number_in(one[0]));
        reply.jobs.push_back(job_in(one[1]));
        if (!text_in(one[2]).empty()) reply.jobs.back().ran_for = duration_in(one[2]);
      }
    });
    if (!read) return std::unexpected(read.error());
  } while (behind && reply.jobs.size() <= limit && ++scripts < kScriptsMost);
  if (reply.jobs.size() > limit) {
    reply.jobs.resize(limit);
    reply.next = orders[limit - 1];
  } else {
    reply.next = behind;
  }
  return reply;
}

// Ids are kept in the order of enqueue only, so all of them are read, or the newest; they are sixteen bytes each.
Result<std::vector<JobId>> RedisStore::ids(const IdsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("list_ids");
  const std::string_view first = bytes_of(request.first);
  const std::string_view last = bytes_of(request.last);
  const std::string none(kIdBytes, '\0');
  const auto limit = static_cast<std::size_t>(request.limit);
  const bool newest_first = !request.suffix.empty();
  std::vector<JobId> found;
  int searched = 0;
  std::optional<std::string> from = newest_first ? "" : "0";
  while (from && (!newest_first || searched < kNewestIds)) {
    Command call = parts_->call_of(script, request.ns);
    call.arg(std::string_view(*from)).arg(kStringsAtOnce).arg(newest_first ? -1 : 1);
    const Result<Value> answer = parts_->run(call, CallKind::look, request.timeout);
    if (!answer) return std::unexpected(answer.error());
    const auto read = read_answer(parts_->url(), [&] {
      const std::vector<Value>& parts = list_in(*answer, 2);
      from = text_in(parts[0]).empty() ? std::nullopt : std::optional(std::string(text_in(parts[0])));
      const std::string_view all = text_in(parts[1]);
      for (std::size_t at = 0; at + kIdBytes <= all.size(); at += kIdBytes) {
        const std::string_view id = all.substr(at, kIdBytes);
        if (id == none) continue;
        searched += 1;
        if (id >= first && id <= last && hex_digits(id_in(id)).ends_with(request.suffix)) found.push_back(id_in(id));
      }
    });
    if (!read) return std::unexpected(read.error());
    std::ranges::sort(found);
    if (found.size() > limit) found.resize(limit);
  }
  return found;
}

// The job by one script, the workers by another: who works here is for people, and decides nothing.
Result<std::optional<JobFacts>> RedisStore::facts(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("facts");
  Command call = parts_->call_of(script, ns);
  call.arg(bytes_of(id));
  const Result<Value> answer = parts_->run(call, CallKind::look, kCallTimeout);
  if (!answer) return std::unexpected(answer.error());
  if (answer->is_nil()) return std::nullopt;
  Result<JobFacts> facts = decoded(parts_->url(), [&] { return facts_in(*answer); });
  if (!facts) return std::unexpected(facts.error());
  const Result<std::vector<WorkerRow>> rows = workers(ns);
  if (!rows) return std::unexpected(rows.error());
  for (const WorkerRow& row : *rows) {
    const WorkerReport& report = row.report;
    const bool serves =
        report.stage == facts->job.stage && std::ranges::find(report.queues, facts->job.queue) != report.queues.end();
    if (!serves || row.unseen > report.ttl) continue;
    if (row.order == WorkerOrder::work) facts->workers += 1;
    if (row.order == WorkerOrder::quiet && facts->quiet_workers.size() < kHoldersShown)
      facts->quiet_workers.push_back(report.owner);
  }
  return std::move(*facts);
}

Result<std::vector<Attempt>> RedisStore::attempts(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("attempts");
  Command call = parts_->call_of(script, ns);
  call.arg(bytes_of(id));
  const Result<Value> answer = parts_->run(call, CallKind::look, kCallTimeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    const std::vector<Value>& parts = list_in(*answer, 2);
    std::vector<Attempt> attempts;
    if (!text_in(parts[0]).empty()) {
      MsgpackReader before(text_in(parts[0]));
      for (std::size_t left = before.list(); left > 0; --left) attempts.push_back(attempt_in(before));
    }
    if (!text_in(parts[1]).empty()) {
      MsgpackReader last(text_in(parts[1]));
      attempts.push_back(attempt_in(last));
    }
    return attempts;
  });
}

}  // namespace fenceline

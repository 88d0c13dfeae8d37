// What workers do: claim, renew, settle, and look whether there is more.
#include <map>
#include <optional>

#include "backends/redis/job_wire.hpp"
#include "backends/redis/store_parts.hpp"

namespace fenceline {
namespace {

using namespace redis;

std::optional<Duration> optional_duration(const Value& value) {
  return text_in(value).empty() ? std::nullopt : std::optional(duration_in(value));
}

// {id, its newest fence, reason} of each.
std::vector<Refusal> refusals_in(const Value& answer, const auto& sent) {
  std::map<JobId, Fence> fences;
  std::vector<Refusal> refused;
  if (list_in(answer).empty()) return refused;
  for (const auto& one : sent) fences.emplace(one.id, one.fence);
  for (const Value& item : answer.items) {
    const std::vector<Value>& parts = list_in(item, 3);
    const JobId id = id_in(parts[0]);
    refused.push_back({id, fences[id], number_in(parts[1]), text_in(parts[2])});
  }
  return refused;
}

// One job, or a batch of jobs that nobody had before, which have all but id and body in common.
void add_claimed(const Value& value, const std::string& owner, std::vector<ClaimedJob>& jobs) {
  const std::vector<Value>& parts = list_in(value, 5);
  if (text_in(parts[0]) != "b") {
    list_in(value, 7);
    ClaimedJob claimed;
    claimed.job = job_in(value);
    claimed.left = claimed.job.lease_left.value_or(Duration{0});
    claimed.forced = number_in(parts[5]) != 0;
    claimed.previous_owner = text_in(parts[6]);
    jobs.push_back(std::move(claimed));
    return;
  }
  const Duration left = duration_in(parts[1]);
  const Fence fence = number_in(parts[2]);
  jobs.reserve(jobs.size() + (parts.size() - 3) / 2);
  for (std::size_t at = 3; at + 1 < parts.size(); at += 2) {
    ClaimedJob& claimed = jobs.emplace_back();
    Job& job = claimed.job;
    read_body(id_in(parts[at]), text_in(parts[at + 1]), job);
    job.run_at = job.created_at;
    job.state = JobState::running;
    job.fence = fence;
    job.owner = owner;
    job.deliveries = 1;
    job.lease_left = claimed.left = left;
  }
}

}  // namespace

Result<ClaimReply> RedisStore::claim(const ClaimRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("claim");
  const Instant deadline = parts_->runtime.now() + request.timeout;
  while (true) {
    Command command = parts_->call_of(script, request.ns);
    command.arg(request.owner).arg(request.request).arg(request.limit).arg(request.ttl.count()).arg(request.holds_others ? 1 : 0).arg(request.stage);
    for (const std::string& queue : request.queues) command.arg(queue);
    const Result<Value> answer = parts_->run(command, CallKind::change, deadline - parts_->runtime.now());
    if (!answer) return std::unexpected(answer.error());
    if (answer->is_list() && answer->items.size() == 1) continue;  // it put aside what is blocked, and found nothing yet
    return decoded(parts_->url(), [&] {
      const std::vector<Value>& parts = list_in(*answer, 3);
      ClaimReply reply;
      reply.ordered = number_in(parts[0]) != 0;
      reply.alone_waiting = number_in(parts[1]) != 0;
      reply.next_due = optional_duration(parts[2]);
      for (std::size_t at = 3; at < parts.size(); ++at) add_claimed(parts[at], request.owner, reply.jobs);
      return reply;
    });
  }
}

Result<void> RedisStore::give_back(const GiveBackRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  static const Script& script = script_of("give_back");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.owner).arg(request.request).arg(request.ttl.count());
  const Result<Value> answer = parts_->run(command, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Result<ExtendReply> RedisStore::extend(const ExtendRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("extend");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.owner).arg(request.ttl.count());
  for (const Holding& holding : request.jobs) command.arg(bytes_of(holding.id)).arg(holding.fence);
  const Result<Value> answer = parts_->run(command, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] { return ExtendReply{.left = request.ttl, .waited = Duration{0}, .refused = refusals_in(*answer, request.jobs)}; });
}

Result<SettleReply> RedisStore::settle(const SettleRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("settle");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.owner);
  std::string words;
  for (const Settlement& settlement : request.settlements) {
    const Outcome& outcome = settlement.outcome;
    words = std::to_string(settlement.fence) + ' ' + std::to_string(static_cast<int>(outcome.kind)) + ' ' + std::to_string(outcome.retry_in.count()) + ' ' +
            std::to_string(outcome.exit_status.value_or(-1));
    command.arg(bytes_of(settlement.id)).arg(words).arg(outcome.kind == OutcomeKind::done ? outcome.result : outcome.error);
  }
  const Result<Value> answer = parts_->run(command, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] { return SettleReply{refusals_in(*answer, request.settlements)}; });
}

Result<std::optional<Job>> RedisStore::job(const std::string& ns, const JobId& id) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("job");
  Command command = parts_->call_of(script, ns);
  command.arg(bytes_of(id));
  const Result<Value> answer = parts_->run(command, CallKind::look, kCallTimeout);
  if (!answer) return std::unexpected(answer.error());
  if (answer->is_nil()) return std::nullopt;
  return decoded(parts_->url(), [&] { return std::optional(job_in(*answer)); });
}

Result<BacklogReply> RedisStore::backlog(const BacklogRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("backlog");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.stage);
  for (const std::string& queue : request.queues) command.arg(queue);
  const Result<Value> answer = parts_->run(command, CallKind::look, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    const std::vector<Value>& parts = list_in(*answer, 5);
    BacklogReply reply;
    reply.running = number_in(parts[0]) != 0;
    reply.claimable = number_in(parts[1]) != 0;
    reply.ahead = number_in(parts[2]);
    reply.blocked = number_in(parts[3]);
    reply.next_due = optional_duration(parts[4]);
    return reply;
  });
}

}  // namespace fenceline

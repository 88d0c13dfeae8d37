// What workers do: claim, renew, settle, and look whether there is more.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

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
    refused.push_back({id, fences[id], number_in(parts[1]), reason_from(text_in(parts[2]))});
  }
  return refused;
}

void read_plain_body(const Value& body, Job& job) {
  read_body(job.id, text_in(body), job);
  job.run_at = job.created_at;
}

// One job, or a batch of jobs that nobody had before, which have all but id and body in common. Those whose body is
// still to be read are counted in `without_body`.
void add_claimed(const Value& value, const std::string& owner, std::vector<ClaimedJob>& jobs,
                 std::vector<std::size_t>& without_body) {
  const std::vector<Value>& parts = list_in(value, 4);
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
  const std::string_view ids = text_in(parts[3]);
  const std::size_t count = ids.size() / 16;
  const bool has_bodies = parts.size() > 4;
  if (has_bodies) list_in(value, 4 + count);
  jobs.reserve(jobs.size() + count);
  for (std::size_t i = 0; i < count; ++i) {
    ClaimedJob& claimed = jobs.emplace_back();
    Job& job = claimed.job;
    job.id = id_in(ids.substr(i * 16, 16));
    if (has_bodies) read_plain_body(parts[4 + i], job);
    else without_body.push_back(jobs.size() - 1);
    job.state = JobState::running;
    job.fence = fence;
    job.owner = owner;
    job.deliveries = 1;
    job.lease_left = claimed.left = left;
  }
}

// Settlements that follow one another with the same words are sent as one: see lua/25_settle.lua.
void add_settlements(Command& command, std::span<const Settlement> all) {
  const auto text_of = [](const fenceline::Outcome& outcome) -> const std::string& {
    return outcome.kind == OutcomeKind::done ? outcome.result : outcome.error;
  };
  std::string words;
  std::string ids;
  while (!all.empty()) {
    const Settlement& first = all.front();
    const auto is_other = [&](const Settlement& each) {
      return each.fence != first.fence || each.outcome.kind != first.outcome.kind ||
             each.outcome.retry_in != first.outcome.retry_in || each.outcome.exit_status != first.outcome.exit_status;
    };
    const auto some = all.first(static_cast<std::size_t>(std::ranges::find_if(all, is_other) - all.begin()));
    const bool alike = std::ranges::all_of(
        some, [&](const Settlement& each) { return text_of(each.outcome) == text_of(first.outcome); });
    words = std::to_string(first.fence) + ' ' + std::to_string(static_cast<int>(first.outcome.kind)) + ' ' +
            std::to_string(first.outcome.retry_in.count()) + ' ' +
            std::to_string(first.outcome.exit_status.value_or(-1)) + ' ' + std::to_string(alike ? 1 : some.size());
    ids.clear();
    for (const Settlement& each : some) ids += bytes_of(each.id);
    command.arg(words).arg(ids);
    for (const Settlement& each : some.first(alike ? 1 : some.size())) command.arg(text_of(each.outcome));
    all = all.subspan(some.size());
  }
}

}  // namespace

// A body never changes, and who runs a job keeps it there: so this need not be one step with the claim. One that is
// gone all the same was removed by a person.
Result<void> RedisStore::Parts::read_bodies(const std::string& ns, std::vector<ClaimedJob>& jobs,
                                            std::span<const std::size_t> which, Instant deadline) {
  constexpr std::size_t kAtFirst = 64, kAtOnce = 1000, kAnswerBytes = std::size_t{16} << 20;
  std::set<JobId> gone;
  std::size_t largest = 1;
  for (std::size_t count = kAtFirst; !which.empty();
       count = std::clamp<std::size_t>(kAnswerBytes / largest, 1, kAtOnce)) {
    const std::span<const std::size_t> some = which.first(std::min(count, which.size()));
    Command command("HMGET");
    command.reserve(some.size() * 24).key(prefix_of(ns) + "body");
    for (const std::size_t at : some) command.arg(bytes_of(jobs[at].job.id));
    const Result<Value> answer = client.call(command, CallKind::look, deadline - runtime.now());
    // The claim has happened, and a repeat of it brings the bodies along.
    if (!answer)
      return fail(Code::in_doubt, "jobs were claimed, but their payloads could not be read: " + answer.error().message);
    const Result<bool> read = decoded(url(), [&] {
      const std::vector<Value>& bodies = list_in(*answer, some.size());
      for (std::size_t i = 0; i < some.size(); ++i) {
        Job& job = jobs[some[i]].job;
        if (bodies[i].is_nil()) gone.insert(job.id);
        else read_plain_body(bodies[i], job);
        largest = std::max(largest, bodies[i].text.size());
      }
      return true;
    });
    if (!read) return std::unexpected(read.error());
    which = which.subspan(some.size());
  }
  if (!gone.empty()) std::erase_if(jobs, [&](const ClaimedJob& claimed) { return gone.contains(claimed.job.id); });
  return {};
}

Result<ClaimReply> RedisStore::claim(const ClaimRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("claim");
  const Instant deadline = parts_->runtime.now() + request.timeout;
  std::int64_t buried = 0;
  while (true) {
    Command command = parts_->call_of(script, request.ns);
    command.arg(request.owner)
        .arg(request.request)
        .arg(request.limit)
        .arg(request.ttl.count())
        .arg(request.holds_others ? 1 : 0)
        .arg(request.stage);
    for (const std::string& queue : request.queues) command.arg(queue);
    const Result<Value> answer = parts_->run(command, CallKind::change, deadline - parts_->runtime.now());
    if (!answer) return std::unexpected(answer.error());
    if (answer->is_list() && answer->items.size() == 2) {  // it put aside what is blocked, and found nothing yet
      if (answer->items[1].kind == Value::Kind::integer) buried += answer->items[1].integer;
      continue;
    }
    std::vector<std::size_t> without_body;
    Result<ClaimReply> claimed = decoded(parts_->url(), [&] {
      const std::vector<Value>& parts = list_in(*answer, 3);
      ClaimReply reply;
      reply.ordered = number_in(parts[0]) != 0;
      reply.alone_waiting = number_in(parts[1]) % 2 != 0;
      reply.buried = buried + number_in(parts[1]) / 2;
      reply.next_due = optional_duration(parts[2]);
      for (std::size_t at = 3; at < parts.size(); ++at) add_claimed(parts[at], request.owner, reply.jobs, without_body);
      return reply;
    });
    if (claimed && !without_body.empty()) {
      if (const Result<void> read = parts_->read_bodies(request.ns, claimed->jobs, without_body, deadline); !read)
        return std::unexpected(read.error());
    }
    return claimed;
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
  return decoded(parts_->url(), [&] {
    return ExtendReply{.left = request.ttl, .waited = Duration{0}, .refused = refusals_in(*answer, request.jobs)};
  });
}

Result<SettleReply> RedisStore::settle(const SettleRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("settle");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.owner);
  add_settlements(command, request.settlements);
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

// What people do to jobs: cancel, retry, purge. See lua/13_acts.lua.
#include <algorithm>

#include "backends/redis/looks.hpp"

namespace fenceline {
namespace {

using namespace redis;

std::string in_one_text(const std::vector<JobId>& ids) {
  std::string text;
  text.reserve(ids.size() * 16);
  for (const JobId& id : ids) text += bytes_of(id);
  return text;
}

Command act_call(Command call, const ActRequest& request) {
  call.arg(request.request)
      .arg(request.only ? static_cast<int>(*request.only) : -1)
      .arg(request.act.actor)
      .arg(request.act.reason);
  return std::move(call.arg(in_one_text(request.ids)));
}

ActReply act_reply(const Value& answer) {
  ActReply reply;
  for (const Value& one : list_in(answer)) {
    const std::vector<Value>& refusal = list_in(one, 3);
    std::optional<JobId> holder;
    if (!text_in(refusal[2]).empty()) holder = id_in(refusal[2]);
    reply.refused.push_back({id_in(refusal[0]), reason_from(text_in(refusal[1])), holder});
  }
  return reply;
}

}  // namespace

Result<ActReply> RedisStore::cancel(const ActRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("cancel");
  const Result<Value> answer =
      parts_->run(act_call(parts_->call_of(script, request.ns), request), CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] { return act_reply(*answer); });
}

Result<ActReply> RedisStore::retry(const ActRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("retry");
  const Result<Value> answer =
      parts_->run(act_call(parts_->call_of(script, request.ns), request), CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] { return act_reply(*answer); });
}

// First looks for the jobs, in as many short scripts as it takes, then cancels in one step those of them that are still
// idle. What became idle behind the search stays, as if it had become so after the purge.
Result<PurgeReply> RedisStore::purge(const PurgeRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& idle_jobs = script_of("idle_jobs");
  static const Script& script = script_of("purge");
  const Instant deadline = parts_->runtime.now() + request.timeout;
  const auto limit = static_cast<std::size_t>(request.limit);
  std::string ids;
  std::vector<std::int64_t> orders;
  std::optional<std::int64_t> behind =
      std::min(request.after, kCursorMost);  // what was not looked at lies behind it; empty: there is nothing
  do {
    const Duration left = deadline - parts_->runtime.now();
    if (left <= Duration{0}) break;  // the next call goes on from here
    Command look = parts_->call_of(idle_jobs, request.ns);
    look.arg(*behind)
        .arg(std::min(request.up_to, kCursorMost))
        .arg(request.queue)
        .arg(limit + 1 - orders.size())
        .arg(kPlacesAtOnce);
    const Result<Value> answer = parts_->run(look, CallKind::look, left);
    if (!answer) return std::unexpected(answer.error());
    const Result<void> read = read_answer(parts_->url(), [&] {
      const std::vector<Value>& parts = list_in(*answer, 3);
      behind = text_in(parts[0]).empty() ? std::nullopt : std::optional(number_in(parts[0]));
      ids += text_in(parts[1]);
      for (const Value& order : list_in(parts[2])) orders.push_back(number_in(order));
    });
    if (!read) return std::unexpected(read.error());
  } while (behind && orders.size() <= limit);

  PurgeReply reply{.next = request.after};
  reply.more = behind.has_value();
  if (orders.size() > limit) {
    reply.more = true;
    orders.resize(limit);
    ids.resize(limit * 16);
    behind.reset();
  }
  if (!orders.empty()) {
    Command call = parts_->call_of(script, request.ns);
    call.arg(request.queue).arg(request.act.actor).arg(request.act.reason).arg(ids);
    const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
    if (!answer) return std::unexpected(answer.error());
    const Result<std::int64_t> cancelled = decoded(parts_->url(), [&] { return number_in(*answer); });
    if (!cancelled) return std::unexpected(cancelled.error());
    reply.cancelled = *cancelled;
    reply.next = orders.back();
  }
  if (behind) reply.next = *behind;
  return reply;
}

}  // namespace fenceline

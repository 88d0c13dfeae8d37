// Locks. Whose turn it is stands in lua/14_lock_turns.lua.
#include "backends/redis/looks.hpp"
#include "backends/redis/msgpack.hpp"
#include "backends/redis/redis_store.hpp"
#include "backends/redis/store_parts.hpp"

namespace fenceline {
namespace {

using namespace redis;

AcquireReply acquired_in(const Value& value) {
  const std::vector<Value>& words = list_in(value, 2);
  AcquireReply reply;
  if (number_in(words[0]) == 0) {
    if (words.size() != 8) throw WireFailure("an acquire's answer has not eight words");
    reply.held = LockHeld{text_in(words[1]), reason_from(text_in(words[2])), number_in(words[3]), text_in(words[4]),
                          text_in(words[5])};
    reply.again_in = duration_in(words[6]);
    reply.ahead = number_in(words[7]);
    return reply;
  }
  reply.left = duration_in(words[1]);
  for (std::size_t i = 2; i + 2 < words.size(); i += 3)
    reply.grants.push_back({text_in(words[i]), number_in(words[i + 1]), text_in(words[i + 2])});
  return reply;
}

bool is_plain_lock(const AcquireRequest& request) {
  return request.names.size() == 1 && request.slots == 1 && request.mode == LockMode::exclusive &&
         !request.to_its_end && request.hold_at_least == Duration{0} && request.delay == Duration{0};
}

void add_holdings(Command& command, const std::vector<LockHolding>& locks) {
  for (const LockHolding& lock : locks) command.arg(lock.resource).arg(lock.owner).arg(lock.fence);
}

// Number, newest fence and reason of each.
std::vector<LockRefusal> lock_refusals_in(const Value& value, const std::vector<LockHolding>& sent) {
  std::vector<LockRefusal> out;
  const std::vector<Value>& words = list_in(value);
  for (std::size_t i = 0; i + 2 < words.size(); i += 3) {
    const std::int64_t number = number_in(words[i]);
    if (number < 1 || static_cast<std::size_t>(number) > sent.size())
      throw WireFailure("a refusal is of no lock that was sent");
    out.push_back(
        {sent[static_cast<std::size_t>(number) - 1], number_in(words[i + 1]), reason_from(text_in(words[i + 2]))});
  }
  return out;
}

LockMode mode_in(const Value& value) { return number_in(value) == 0 ? LockMode::exclusive : LockMode::shared; }

// As lua/14_lock_queries.lua has it.
LockRow lock_in(const Value& value) {
  const std::vector<Value>& words = list_in(value, 9);
  LockRow row{.resource = text_in(words[0]),
              .fence = number_in(words[1]),
              .mode = mode_in(words[2]),
              .pattern = text_in(words[3])};
  row.holders_count = number_in(words[4]);
  if (!text_in(words[5]).empty()) row.free_in = duration_in(words[5]);
  row.waiters_count = number_in(words[6]);
  const std::vector<Value>& holders = list_in(words[7]);
  for (std::size_t i = 0; i + 3 < holders.size(); i += 4)
    row.holders.push_back(
        {text_in(holders[i]), text_in(holders[i + 1]), wall_in(holders[i + 2]), duration_in(holders[i + 3])});
  const std::vector<Value>& waiters = list_in(words[8]);
  for (std::size_t i = 0; i + 3 < waiters.size(); i += 4)
    row.waiters.push_back(
        {text_in(waiters[i]), text_in(waiters[i + 1]), wall_in(waiters[i + 2]), mode_in(waiters[i + 3])});
  return row;
}

}  // namespace

namespace redis {

void ScriptedReleases::add(const std::string& ns, const LockHolding& lock) {
  constexpr std::size_t kMost = 10'000;  // of those that were never released
  const std::lock_guard guard(mutex_);
  if (grants_.size() >= kMost) grants_.clear();
  grants_.emplace(ns, lock);
}

bool ScriptedReleases::take(const std::string& ns, const LockHolding& lock) {
  const std::lock_guard guard(mutex_);
  return grants_.erase({ns, lock}) > 0;
}

}  // namespace redis

Result<AcquireReply> RedisStore::acquire(const AcquireRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("acquire");
  Command command = parts_->call_of(script, request.ns);
  if (is_plain_lock(request)) {
    std::string who;
    MsgpackWriter(who).list(4).text(request.pattern).text(request.owner).text(request.request).text(request.place);
    command.arg("p")
        .arg(request.names.front())
        .arg(request.owner)
        .arg(request.request)
        .arg(request.ttl.count())
        .arg(who)
        .arg(request.wait ? 1 : 0);
    const Result<Value> answer = parts_->run(command, CallKind::change, request.timeout);
    if (!answer) return std::unexpected(answer.error());
    return decoded(parts_->url(), [&] {
      if (!answer->is_text()) {
        AcquireReply contended = acquired_in(*answer);
        for (const LockGrant& grant : contended.grants)
          parts_->scripted.add(request.ns, {grant.resource, request.owner, grant.fence});
        return contended;
      }
      AcquireReply reply;
      reply.grants.push_back({request.names.front(), number_in(*answer), ""});
      reply.left = request.ttl;
      return reply;
    });
  }
  command.arg(request.names.size());
  for (const std::string& name : request.names) command.arg(name);
  command.arg(request.owner)
      .arg(request.request)
      .arg(request.mode == LockMode::exclusive ? 0 : 1)
      .arg(request.slots)
      .arg(request.ttl.count());
  command.arg(request.to_its_end ? 1 : 0)
      .arg(request.hold_at_least.count())
      .arg(request.delay.count())
      .arg(request.wait ? 1 : 0)
      .arg(request.pattern)
      .arg(request.place);
  const Result<Value> answer = parts_->run(command, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] { return acquired_in(*answer); });
}

Result<RenewReply> RedisStore::renew(const RenewRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  if (request.locks.empty()) return RenewReply{.left = request.ttl};
  static const Script& script = script_of("renew");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.ttl.count());
  add_holdings(command, request.locks);
  const Result<Value> answer = parts_->run(command, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    return RenewReply{.left = request.ttl, .waited = {}, .refused = lock_refusals_in(*answer, request.locks)};
  });
}

Result<ReleaseReply> RedisStore::release(const ReleaseRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  if (request.locks.empty()) return ReleaseReply{};
  const Instant deadline = parts_->runtime.now() + request.timeout;
  // Of a plain lock that nobody waits for the lease is one field, named by its fence and owner: nothing is deleted
  // under any other. With the clock of a test the moment counts, which this would not write down.
  if (request.locks.size() == 1 && !parts_->test_clock && !parts_->scripted.take(request.ns, request.locks.front())) {
    const LockHolding& lock = request.locks.front();
    const Result<Value> gone = parts_->client.call(Command("HDEL")
                                                       .key(parts_->prefix_of(request.ns) + "lock:" + lock.resource)
                                                       .arg(std::to_string(lock.fence) + " " + lock.owner),
                                                   CallKind::change, request.timeout);
    if (!gone) return std::unexpected(gone.error());
    if (whole_number(*gone) == 1) return ReleaseReply{};
  }
  static const Script& script = script_of("release");
  Command command = parts_->call_of(script, request.ns);
  add_holdings(command, request.locks);
  const Result<Value> answer = parts_->run(command, CallKind::change, deadline - parts_->runtime.now());
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] { return ReleaseReply{lock_refusals_in(*answer, request.locks)}; });
}

Result<void> RedisStore::withdraw(const WithdrawRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  static const Script& script = script_of("withdraw");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.names.size());
  for (const std::string& name : request.names) command.arg(name);
  command.arg(request.slots).arg(request.owner).arg(request.request).arg(request.ttl.count());
  const Result<Value> answer = parts_->run(command, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

// In short scripts, each of which looks at a bounded number of locks: of very many hardly one may be held.
Result<LocksReply> RedisStore::locks(const LocksRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("list_locks");
  const std::size_t limit = static_cast<std::size_t>(request.limit);
  LocksReply reply;
  std::string after = request.after;
  // One more than was asked for, to know whether there are more.
  for (bool more = true; more && reply.locks.size() <= limit;) {
    Command command = parts_->call_of(script, request.ns);
    command.arg(request.prefix)
        .arg(request.held ? 1 : 0)
        .arg(after)
        .arg(limit + 1 - reply.locks.size())
        .arg(parts_->walked_at_once);
    const Result<Value> answer = parts_->run(command, CallKind::look, request.timeout);
    if (!answer) return std::unexpected(answer.error());
    const Result<void> read = read_answer(parts_->url(), [&] {
      const std::vector<Value>& words = list_in(*answer, 1);
      after = text_in(words[0]);
      more = !after.empty();
      for (std::size_t i = 1; i < words.size(); ++i) reply.locks.push_back(lock_in(words[i]));
    });
    if (!read) return std::unexpected(read.error());
  }
  if (reply.locks.size() > limit) {
    reply.locks.resize(limit);
    reply.next = reply.locks.back().resource;
  }
  return reply;
}

Result<std::optional<LockRow>> RedisStore::lock(const std::string& ns, const std::string& resource) {
  if (auto ok = check_name("namespace", ns); !ok) return std::unexpected(ok.error());
  if (auto ok = check_lock_resource(resource); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("show_lock");
  Command command = parts_->call_of(script, ns);
  command.arg(resource);
  const Result<Value> answer = parts_->run(command, CallKind::look, kCallTimeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&]() -> std::optional<LockRow> {
    return answer->is_nil() ? std::nullopt : std::optional(lock_in(*answer));
  });
}

Result<BreakReply> RedisStore::break_lock(const BreakRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("break_lock");
  Command command = parts_->call_of(script, request.ns);
  command.arg(request.resource)
      .arg(request.only ? std::to_string(*request.only) : "")
      .arg(request.request)
      .arg(request.act.actor)
      .arg(request.act.reason);
  const Result<Value> answer = parts_->run(command, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    const std::vector<Value>& fences = list_in(*answer, 2);
    return BreakReply{.ended = number_in(fences[0]), .current = number_in(fences[1])};
  });
}

Result<TidyReply> RedisStore::Parts::tidy_locks(const std::string& ns, int limit, Duration timeout) {
  static const Script& script = script_of("tidy_locks");
  Command command = call_of(script, ns);
  command.arg(limit);
  const Result<Value> answer = run(command, CallKind::change, timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(url(), [&] {
    const std::vector<Value>& words = list_in(*answer, 2);
    return TidyReply{.removed = number_in(words[0]), .more = number_in(words[1]) == 1};
  });
}

}  // namespace fenceline

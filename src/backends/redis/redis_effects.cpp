// The ledger: what of a job's side effects has happened. See lua/12_effects.lua.
#include <algorithm>

#include "backends/redis/looks.hpp"
#include "backends/redis/msgpack.hpp"

namespace fenceline {
namespace {

using namespace redis;

BeginEffectReply begin_reply(const Value& value, const BeginEffectRequest& request) {
  const std::vector<Value>& parts = list_in(value, 1);
  const std::int64_t verdict = number_in(parts[0]);
  if (verdict < 0 || verdict > static_cast<std::int64_t>(EffectVerdict::lost))
    throw WireFailure("a verdict is unknown");
  BeginEffectReply reply;
  reply.verdict = static_cast<EffectVerdict>(verdict);
  if (reply.verdict == EffectVerdict::done) {
    list_in(value, 3);
    reply.result = text_in(parts[1]);
    if (const std::int64_t status = number_in(parts[2]); status >= 0) reply.exit_status = static_cast<int>(status);
  } else if (reply.verdict == EffectVerdict::busy) {
    list_in(value, 3);
    reply.call = text_in(parts[1]);
    reply.actor = text_in(parts[2]);
  } else if (reply.verdict == EffectVerdict::lost) {
    list_in(value, 3);
    reply.refusal = Refusal{request.job, request.fence, number_in(parts[2]), reason_from(text_in(parts[1]))};
  }
  return reply;
}

struct NumberedEffect {
  std::int64_t number = 0;
  Effect effect;
};

// In the order of EFFECT.
NumberedEffect effect_in(const Value& value) {
  const std::vector<Value>& parts = list_in(value, 6);
  NumberedEffect one;
  Effect& effect = one.effect;
  effect.job = id_in(parts[1]);
  effect.name = text_in(parts[2]);
  MsgpackReader reader(text_in(parts[3]));
  if (reader.list() != 13) throw WireFailure("an effect is not understood");
  one.number = reader.number();
  const std::int64_t state = reader.number();
  effect.held = reader.number() == 1;
  const std::int64_t policy = reader.number();
  if (state < 0 || state > static_cast<std::int64_t>(EffectState::done) || policy < 0 ||
      policy > static_cast<std::int64_t>(InDoubt::probe))
    throw WireFailure("an effect has an unknown state");
  effect.state = static_cast<EffectState>(state);
  effect.policy = static_cast<InDoubt>(policy);
  effect.digest = reader.text();
  effect.fence = reader.number();
  effect.call = reader.text();
  effect.actor = reader.text();
  effect.doubts = reader.number();
  effect.began_at = WallTime{Duration{reader.number()}};
  if (const std::int64_t at = reader.number(); at >= 0) effect.ended_at = WallTime{Duration{at}};
  if (const std::int64_t status = reader.number(); status >= 0) effect.exit_status = static_cast<int>(status);
  effect.resolved_by = reader.text();
  if (reader.has_failed()) throw WireFailure("an effect is not understood");
  effect.in_doubt = number_in(parts[4]) == 1;
  effect.result = text_in(parts[5]);
  return one;
}

}  // namespace

Result<BeginEffectReply> RedisStore::begin_effect(const BeginEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("begin_effect");
  Command call = parts_->call_of(script, request.ns);
  call.arg(bytes_of(request.job))
      .arg(request.fence)
      .arg(request.name)
      .arg(request.digest)
      .arg(request.call)
      .arg(request.actor);
  call.arg(static_cast<int>(request.in_doubt)).arg(request.dead_call).arg(to_string(request.job));
  const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] { return begin_reply(*answer, request); });
}

Result<FinishEffectReply> RedisStore::finish_effect(const FinishEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("finish_effect");
  Command call = parts_->call_of(script, request.ns);
  call.arg(bytes_of(request.job))
      .arg(request.fence)
      .arg(request.name)
      .arg(request.call)
      .arg(static_cast<int>(request.end))
      .arg(request.result);
  call.arg(request.exit_status.value_or(-1)).arg(to_string(request.job));
  const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return decoded(parts_->url(), [&] {
    FinishEffectReply reply;
    const std::vector<Value>& parts = list_in(*answer);
    if (parts.empty()) return reply;
    list_in(*answer, 2);
    reply.refusal = Refusal{request.job, request.fence, number_in(parts[1]), reason_from(text_in(parts[0]))};
    return reply;
  });
}

Result<void> RedisStore::resolve_effect(const ResolveEffectRequest& request) {
  if (auto ok = check_request(request); !ok) return ok;
  static const Script& script = script_of("resolve_effect");
  Command call = parts_->call_of(script, request.ns);
  call.arg(bytes_of(request.job)).arg(request.name).arg(request.call).arg(request.done ? 1 : 0).arg(request.result);
  call.arg(request.act.actor).arg(request.act.reason).arg(to_string(request.job));
  const Result<Value> answer = parts_->run(call, CallKind::change, request.timeout);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

// In short scripts, as jobs().
Result<EffectsReply> RedisStore::effects(const EffectsRequest& request) {
  if (auto ok = check_request(request); !ok) return std::unexpected(ok.error());
  static const Script& script = script_of("list_effects");
  const Instant deadline = parts_->runtime.now() + request.timeout;
  const auto limit = static_cast<std::size_t>(request.limit);
  EffectsReply reply;
  std::vector<std::int64_t> numbers;
  std::optional<std::int64_t> behind = std::min(request.after, kCursorMost);
  do {
    const Duration left = deadline - parts_->runtime.now();
    if (left <= Duration{0}) break;
    Command call = parts_->call_of(script, request.ns);
    call.arg(*behind).arg(limit + 1 - numbers.size()).arg(request.job ? bytes_of(*request.job) : std::string_view{});
    call.arg(request.in_doubt ? 1 : 0).arg(request.with_result ? 1 : 0);
    const Result<Value> answer = parts_->run(call, CallKind::look, left);
    if (!answer) return std::unexpected(answer.error());
    const auto read = read_answer(parts_->url(), [&] {
      const std::vector<Value>& parts = list_in(*answer, 2);
      behind = text_in(parts[0]).empty() ? std::nullopt : std::optional(number_in(parts[0]));
      for (const Value& row : list_in(parts[1])) {
        NumberedEffect one = effect_in(row);
        numbers.push_back(one.number);
        reply.effects.push_back(std::move(one.effect));
      }
    });
    if (!read) return std::unexpected(read.error());
  } while (behind && numbers.size() <= limit);
  if (numbers.size() > limit) {
    reply.effects.resize(limit);
    reply.next = numbers[limit - 1];
  } else {
    reply.next = behind;
  }
  return reply;
}

}  // namespace fenceline

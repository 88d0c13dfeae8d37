#include "fenceline/loop_lock.hpp"

#include <algorithm>
#include <utility>

#include "services/backoff.hpp"
#include "services/lock_parts.hpp"

namespace fenceline {
namespace {

LockOptions as_loop(LockOptions options) {
  options.pattern = LockPattern::loop;
  options.contention = Contention::skip;
  if (options.every <= Duration{0}) options.every = options.ttl / 2;
  return options;
}

}  // namespace

LoopLock::LoopLock(LockClient& locks, LockOptions options) : locks_(locks), options_(as_loop(std::move(options))) {}

Result<bool> LoopLock::run_once(const std::function<void(const HeldLock&)>& body, std::stop_token stop) {
  const Result<void> ran = locks_.with(options_, body, std::move(stop));
  if (ran) return true;
  if (ran.error().code != Code::held) return std::unexpected(ran.error());
  LockParts::of(locks_).counts.skipped_held += 1;
  LockParts::of(locks_).log.debug("loop_skipped", {{"lock", options_.names.front()}, {"reason", "held"}});
  return false;
}

Result<std::int64_t> LoopLock::run(const std::function<void(const HeldLock&)>& body, std::stop_token stop) {
  std::int64_t times = 0;
  const std::function<void(const HeldLock&)> counted = [&](const HeldLock& held) {
    times += 1;
    body(held);
  };
  Runtime& runtime = LockParts::of(locks_).runtime;
  for (Instant next = runtime.now(); runtime.sleep_until(next, stop);) {
    const Result<bool> ran = run_once(counted, stop);
    if (!ran && may_repeat(ran.error().code)) {
      LockParts::of(locks_).counts.skipped_failed += 1;
      LockParts::of(locks_).log.warn(
          "loop_skipped",
          {{"lock", options_.names.front()}, {"reason", "store"}, {"code", to_string(ran.error().code)}});
    } else if (!ran && ran.error().code != Code::lost) {
      return std::unexpected(ran.error());
    }
    // Turns that a long sweep took are not made up for.
    const Instant now = runtime.now();
    while (next <= now) next += options_.every;
  }
  return times;
}

}  // namespace fenceline

#include "fenceline/singleton.hpp"

#include <algorithm>
#include <utility>

#include "base/utc_text.hpp"
#include "services/backoff.hpp"
#include "services/lock_parts.hpp"

namespace fenceline {

Singleton::Singleton(LockClient& locks, SingletonOptions options) : locks_(locks), options_(std::move(options)) {}

Result<SingletonEnd> Singleton::run(const std::function<void(const SingletonRun&)>& job, std::stop_token stop) {
  if (options_.soft_timeout < Duration{0} || options_.hard_timeout < Duration{0})
    return fail(Code::invalid, "a timeout cannot be negative; 0 means none");
  Runtime& runtime = LockParts::of(locks_).runtime;
  const LockOptions lock{.names = {options_.name},
                         .ttl = options_.ttl,
                         .renew_every = options_.renew_every,
                         .renewal_tries = options_.renewal_tries,
                         .contention = Contention::skip,
                         .hold_at_least = options_.hold_at_least,
                         .on_release_error = OnReleaseError::ignore};
  const auto body = [&](const HeldLock& held) {
    const Instant began = runtime.now();
    const auto watch_the_clock = [&](std::stop_token over) {
      const bool soft = options_.soft_timeout > Duration{0};
      const bool hard = options_.hard_timeout > Duration{0};
      const auto warn = [&] {
        LockParts::of(locks_).counts.soft_timeouts += 1;
        LockParts::of(locks_).log.warn(
            "singleton_slow", {{"lock", options_.name},
                               {"fence", held.fence()},
                               {"seconds", std::chrono::floor<std::chrono::seconds>(options_.soft_timeout).count()}});
      };
      const bool warns_first = soft && (!hard || options_.soft_timeout <= options_.hard_timeout);
      if (warns_first && !runtime.sleep_until(began + options_.soft_timeout, over)) return;
      if (warns_first) warn();
      if (!hard || !runtime.sleep_until(began + options_.hard_timeout, over)) return;
      LockParts::of(locks_).log.warn(
          "singleton_timed_out",
          {{"lock", options_.name},
           {"fence", held.fence()},
           {"seconds", std::chrono::floor<std::chrono::seconds>(options_.hard_timeout).count()}});
      held.request_stop();
    };
    Task clock = runtime.spawn("singleton_clock", watch_the_clock);
    job({.fence = held.fence(), .stop = held.stop(), .held = held});
    clock.request_stop();
    clock.join();
  };
  const Result<void> ran = locks_.with(lock, body, stop);
  if (ran) return SingletonEnd::ran;
  const Error& error = ran.error();
  if (error.code == Code::lost) return SingletonEnd::lost;
  if (error.code == Code::held) {
    LockParts::of(locks_).counts.skipped_held += 1;
    LockParts::of(locks_).log.debug("singleton_skipped",
                                    {{"lock", options_.name}, {"reason", "held"}, {"message", error.message}});
    return SingletonEnd::skipped_held;
  }
  if (!may_repeat(error.code)) return std::unexpected(error);
  LockParts::of(locks_).counts.skipped_failed += 1;
  const std::string next_try = options_.every > Duration{0} ? utc_text(runtime.wall_now() + options_.every) : "";
  LockParts::of(locks_).log.warn("singleton_skipped", {{"lock", options_.name},
                                                       {"reason", "store"},
                                                       {"code", to_string(error.code)},
                                                       {"message", error.message},
                                                       {"next_try", next_try}});
  return SingletonEnd::skipped_failed;
}

Result<void> Singleton::run_every(const std::function<void(const SingletonRun&)>& job, std::stop_token stop) {
  if (options_.every < std::chrono::seconds{1})
    return fail(Code::invalid, "a singleton cannot run more often than every second");
  Runtime& runtime = LockParts::of(locks_).runtime;
  for (Instant next = runtime.now(); runtime.sleep_until(next, stop);) {
    const Result<SingletonEnd> end = run(job, stop);
    if (!end) return std::unexpected(end.error());
    const Instant now = runtime.now();
    while (next <= now) next += options_.every;
  }
  return {};
}

}  // namespace fenceline

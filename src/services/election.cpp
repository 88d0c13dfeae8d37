#include "fenceline/election.hpp"

#include <utility>

#include "services/backoff.hpp"
#include "services/lock_parts.hpp"

namespace fenceline {

Election::Election(LockClient& locks, ElectionOptions options) : locks_(locks), options_(std::move(options)) {}

Result<TermEnd> Election::serve(const std::function<void(const Term&)>& lead, std::stop_token stop) {
  const LockOptions lock{.names = {options_.name},
                         .ttl = options_.ttl,
                         .renewal_tries = options_.renewal_tries,
                         .wait = std::chrono::hours{24},
                         .delay = options_.delay,
                         .pattern = LockPattern::election,
                         .on_release_error = OnReleaseError::ignore};
  Result<void> served;
  bool led = false;
  const auto body = [&](const HeldLock& held) {
    led = true;
    {
      const std::lock_guard guard(mutex_);
      term_ = std::stop_source();
      serving_ = true;
    }
    const std::stop_callback step_down(term_.get_token(), [&held] { held.request_stop(); });
    const LockParts& parts = LockParts::of(locks_);
    parts.log.info(
        "term_began",
        {{"name", options_.name}, {"owner", held.owner()}, {"place", parts.options.place}, {"term", held.fence()}});
    lead({.number = held.fence(), .stop = held.stop(), .held = held});
    {
      const std::lock_guard guard(mutex_);
      serving_ = false;
    }
    parts.log.info("term_ended", {{"name", options_.name},
                                  {"owner", held.owner()},
                                  {"place", parts.options.place},
                                  {"term", held.fence()},
                                  {"lost", held.lost()}});
  };
  for (int failures = 0;; ++failures) {
    served = locks_.with(lock, body, stop);
    if (led) break;
    const Code code = served.error().code;
    if (stop.stop_requested() || !(may_repeat(code) || code == Code::held)) return std::unexpected(served.error());
    if (!LockParts::of(locks_).runtime.sleep_for(
            backoff(failures, kBackoffMost, LockParts::of(locks_).runtime.random()), stop))
      return std::unexpected(served.error());
  }
  return served || served.error().code != Code::lost ? TermEnd::stepped_down : TermEnd::lost;
}

Result<std::int64_t> Election::run(const std::function<void(const Term&)>& lead, std::stop_token stop) {
  std::int64_t terms = 0;
  while (!stop.stop_requested()) {
    const Result<TermEnd> end = serve(lead, stop);
    if (end) terms += 1;
    else if (!stop.stop_requested()) return std::unexpected(end.error());
  }
  return terms;
}

void Election::step_down() {
  std::stop_source term(std::nostopstate);
  {
    const std::lock_guard guard(mutex_);
    if (serving_) term = term_;
  }
  term.request_stop();  // outside the mutex: it calls back
}

Result<std::optional<Leader>> Election::leader(LockClient& locks, const std::string& name) {
  const Result<std::optional<LockRow>> row = locks.look(name);
  if (!row) return std::unexpected(row.error());
  if (!*row || (*row)->holders.empty()) return std::nullopt;
  const LockHolder& holder = (*row)->holders.front();
  if (holder.left <= Duration{0}) return std::nullopt;
  return Leader{.term = (*row)->fence, .owner = holder.owner, .place = holder.place, .left = holder.left};
}

}  // namespace fenceline

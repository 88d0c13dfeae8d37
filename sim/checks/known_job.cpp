#include "sim/checks/known_job.hpp"

#include <algorithm>

namespace fenceline::sim {

void KnownJob::grant(Fence granted, const std::string& to, const std::string& by_request, Instant until) {
  state = JobState::running;
  fence = granted;
  owner = to;
  request = by_request;
  lease_end = until;
  deliveries += 1;
  outcome.reset();
  logged = 0;
  attempts.push_back({deliveries, fence, owner, AttemptEnd::running});
  if (attempts.size() > kAttemptsKept) attempts.erase(attempts.begin());
}

void KnownJob::end_attempt(AttemptEnd end) {
  if (!attempts.empty()) attempts.back().end = end;
}

void KnownJob::finish(JobState in, WallTime now) {
  state = in;
  finished_at = now;
}

bool KnownJob::may_wait(const Outcome& sent) const {
  using std::chrono::seconds;
  if (sent.kind == OutcomeKind::later) {
    Duration step = seconds{1};
    for (std::int64_t i = 0; i < laters && step < seconds{60}; ++i) step *= 2;
    return sent.retry_in == std::min<Duration>(step, seconds{60});
  }
  if (sent.kind != OutcomeKind::failed) return true;
  Duration most = std::min(backoff.first, backoff.most);
  for (std::int64_t i = 0; i < failures && most < backoff.most; ++i) most = std::min(2 * most, backoff.most);
  return sent.retry_in >= Duration{0} && sent.retry_in <= most;
}

void KnownJob::settle(const Outcome& accepted, WallTime now) {
  outcome = accepted.kind;
  end_attempt(attempt_end(accepted.kind));
  if (accepted.kind == OutcomeKind::given_back) {
    state = JobState::ready;
    return;
  }
  losses_in_row = 0;
  poisoned_in_row = 0;
  if (accepted.kind == OutcomeKind::failed || accepted.kind == OutcomeKind::dead) failures += 1;
  if (accepted.kind == OutcomeKind::later) laters += 1;
  const bool used_up = accepted.kind == OutcomeKind::failed && failures >= attempts_max;
  if (accepted.kind == OutcomeKind::done) {
    finish(JobState::done, now);
  } else if (accepted.kind == OutcomeKind::dead || used_up) {
    finish(JobState::dead, now);
  } else {
    state = JobState::ready;
    run_at = now + accepted.retry_in;
  }
}

void KnownJob::lose(bool by_a_neighbour) {
  end_attempt(AttemptEnd::lost);
  losses += 1;
  losses_in_row += 1;
  if (by_a_neighbour) poisoned_in_row += 1;
}

bool KnownJob::has_doubt(Instant now) const {
  return std::any_of(effects.begin(), effects.end(), [&](const auto& one) { return in_doubt(one.second, now); });
}

std::vector<std::string> KnownJob::held_for() const {
  std::vector<std::string> names;
  for (const auto& [name, effect] : effects) {
    if (effect.held) names.push_back(name);
  }
  return names;
}

void KnownJob::hold(KnownEffect& for_this) {
  for_this.held = true;
  state = JobState::waiting;
  owner = attempts.back().owner;  // its fence and its owner stay
  end_attempt(AttemptEnd::held);
  losses_in_row = 0;
  poisoned_in_row = 0;
  outcome.reset();
}

void KnownJob::end_effect(KnownEffect& effect, EffectState as) {
  effect.state = as;
  effect.held = false;
  if (state == JobState::waiting && held_for().empty()) state = JobState::ready;
}

void KnownJob::note(const std::optional<Progress>& said, std::string_view bytes, std::int64_t at) {
  if (said) progress = said;
  const std::int64_t known = std::clamp<std::int64_t>(logged - at, 0, static_cast<std::int64_t>(bytes.size()));
  log += bytes.substr(static_cast<std::size_t>(known));
  logged = std::max(logged, at + static_cast<std::int64_t>(bytes.size()));
}

}  // namespace fenceline::sim

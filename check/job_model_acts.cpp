// What operators may do to a job: J3, J7.
#include <algorithm>

#include "check/job_model_at.hpp"

namespace fenceline::audit {

void JobModel::revoke(At& at) const {
  JobState& s = at.state;
  s.slot_fence = s.fence;
  s.slot_least = s.lease_least;
  s.bump = 2;
  s.owner = 0;
  s.request = 0;
  s.outcome = Outcome::none;
}

bool JobModel::cancel(At& at) const {
  JobState& s = at.state;
  const Reason reason = at.item().reason;
  const Name request = at.call().request;
  if (s.strange) {
    if (reason != Reason::none) return true;
    s.strange = false;
    s.life = Life::cancelled;
    s.bump = 2;
    s.act = request;
    s.ended = at.op.call;
    return true;
  }
  const bool repeated = request != 0 && s.act == request;
  const bool too_late = s.life == Life::done || s.life == Life::dead;
  const bool other_state = at.call().only != Life::absent && at.call().only != s.life;
  const bool whole = log_.about.whole;
  switch (reason) {
    case Reason::not_found:
      return s.life == Life::absent || !whole || at.no("J1", "is not there any more: cancel was told so", {s.enqueued});
    case Reason::finished:
      return too_late || !whole ||
             at.no("J3", "was not cancelled as finished, and it is " + std::string(to_string(s.life)),
                   {s.enqueued, s.granted, s.ended});
    case Reason::none: break;
    default: return true;
  }
  if (repeated) return true;
  if (at.op.optional && (too_late || s.life == Life::absent || other_state)) return true;  // to no effect
  if (s.life == Life::absent) return !whole || at.no("J3", "was cancelled and nobody enqueued it");
  if (s.life == Life::done || (too_late && whole))
    return at.no("J3", "was cancelled though it is " + std::string(to_string(s.life)), {s.granted, s.ended});
  s.act = request;
  if (s.life == Life::cancelled) return true;
  if (s.life == Life::running) revoke(at);
  else s.bump = s.life == Life::waiting ? std::uint8_t{2} : std::max<std::uint8_t>(s.bump, 1);
  s.life = Life::cancelled;
  s.ended = at.op.call;
  return true;
}

bool JobModel::retry(At& at) const {
  JobState& s = at.state;
  const Name request = at.call().request;
  const bool whole = log_.about.whole;
  if (s.strange) {
    if (at.item().reason == Reason::none) s.bump = 1;
    return true;
  }
  const bool repeated = request != 0 && s.act == request;
  switch (at.item().reason) {
    case Reason::not_found:
      return repeated || s.life == Life::absent || !whole ||
             at.no("J1", "is not there any more: retry was told so", {s.enqueued});
    case Reason::finished:
      return repeated || s.life == Life::done || !whole ||
             at.no("J3", "was not retried as done, and it is " + std::string(to_string(s.life)),
                   {s.enqueued, s.granted, s.ended});
    case Reason::effect_in_doubt:
      return repeated || s.life == Life::waiting || !whole ||
             at.no("E2", "was not retried since it waits for an effect, and it is " + std::string(to_string(s.life)),
                   {s.granted, s.ended});
    case Reason::none: break;
    default: return true;
  }
  if (repeated) return true;
  const bool other_state = at.call().only != Life::absent && at.call().only != s.life;
  if (at.op.optional && (s.life == Life::done || s.life == Life::absent || other_state)) return true;  // to no effect
  if (s.life == Life::absent) return !whole || at.no("J3", "was retried and nobody enqueued it");
  if (s.life == Life::done) return at.no("J3", "was retried though it is done", {s.granted, s.ended});
  if (s.life == Life::waiting && !s.held.empty() && whole)
    return at.op.optional || at.no("E2", "was retried though it waits for an effect in doubt", {s.granted, s.ended});
  s.act = request;
  if (s.life == Life::waiting) return true;
  if (s.life == Life::running) revoke(at);
  else s.bump = std::max<std::uint8_t>(s.bump, 1);
  if (is_finished(s.life)) s.failures = s.losses_in_row = 0;
  s.life = Life::ready;
  s.ended = at.op.call;
  return true;
}

// Nobody says which jobs it was.
bool JobModel::purge(At& at) const {
  JobState& s = at.state;
  if (s.strange || (s.life != Life::ready && s.life != Life::waiting)) return true;
  s.bump = s.life == Life::waiting ? std::uint8_t{2} : std::max<std::uint8_t>(s.bump, 1);
  s.life = Life::cancelled;
  s.ended = at.op.call;
  return true;
}

bool JobModel::stopped(At& at) const {
  JobState& s = at.state;
  if (s.slot_fence == at.item().fence) s.slot_least = kAlways;
  return true;
}

}  // namespace fenceline::audit
